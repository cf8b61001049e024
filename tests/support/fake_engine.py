"""A tiny vLLM-like server for tests of the load and the sweep: real sockets, a step loop, and faults on demand.

It models no performance: every running request gets its tokens each step. One `Faults` switch breaks one thing.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Faults:
    """What is broken; every field's default is a healthy server."""

    drafting: bool = True
    """A speculative server that drafts."""
    usage: bool = True
    refuse_every: int = 0
    """Every n-th request is answered 500."""
    break_every: int = 0
    """Every n-th request's connection is dropped in mid-stream."""
    error_object_every: int = 0
    """Every n-th request gets an error object in its stream."""
    phantom_running: int = 0
    """Requests in the gauge that nobody sent us."""
    foreign_per_request: int = 0
    """Foreign requests that finish with each of ours."""
    preempt_every: int = 0
    """A preemption every n finished requests."""
    kv_usage: float = 0.2
    prefix_hit_share: float = 0.0
    counter_factor: float = 1.0
    """What the server's token counter makes of each token."""
    gauge_factor: float = 1.0
    uneven: bool = False
    """All requests go to the first engine."""
    restart_after: int = 0
    """Counters start again from zero after this many finished requests."""
    metrics_status: int = 200
    fail_metrics_after: int = 0
    """The metrics page answers 503 from its n-th read after the first request on."""


@dataclass(slots=True, eq=False)
class _Running:
    engine: int
    left: int
    prompt_tokens: int
    sent: int = 0
    out: asyncio.Queue[int] = field(default_factory=asyncio.Queue)


@dataclass(slots=True)
class _Counters:
    generation: float = 0.0
    prompt: float = 0.0
    finished: float = 0.0
    preemptions: float = 0.0
    queries: float = 0.0
    hits: float = 0.0
    drafts: float = 0.0
    draft_tokens: float = 0.0
    per_pos: list[float] = field(default_factory=list)


class FakeEngine:
    """Use `async with fake_engine(...) as engine`, then `engine.url`."""

    def __init__(
        self,
        *,
        k: int = 0,
        step_s: float = 0.005,
        engines: int = 1,
        max_running: int = 10_000,
        output_tokens: int = 20,
        models: tuple[str, ...] = ("tiny",),
        version: str = "0.33.0",
        root: str = "org/tiny",
        crlf: bool = False,
        faults: Faults | None = None,
    ) -> None:
        self.k, self.step_s, self.engines, self.max_running = k, step_s, engines, max_running
        self.output_tokens = output_tokens
        self.models, self.version, self.root = models, version, root
        self.eol = b"\r\n" if crlf else b"\n"
        self.faults = faults or Faults()
        self.counters = [self._fresh() for _ in range(engines)]
        self.running: list[_Running] = []
        self.waiting: deque[_Running] = deque()
        self.requests: list[dict[str, object]] = []
        self.headers: list[dict[str, str]] = []
        self.open_streams = 0
        self.metrics_reads = 0
        self.finished = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.url = ""

    def _fresh(self) -> _Counters:
        return _Counters(per_pos=[0.0] * self.k)

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._on_connect, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self._spawn(self._steps())

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _steps(self) -> None:
        next_s = time.monotonic()
        while True:
            next_s = max(next_s + self.step_s, time.monotonic())
            await asyncio.sleep(max(0.0, next_s - time.monotonic()))
            while self.waiting and len(self.running) < self.max_running:
                self.running.append(self.waiting.popleft())
            for request in tuple(self.running):
                self._advance(request)

    def _advance(self, request: _Running) -> None:
        counters = self.counters[request.engine]
        tokens = 1
        if self.k and self.faults.drafting and request.sent:
            accepted = min(self.k, 1, request.left - 1)
            tokens += accepted
            counters.drafts += 1
            counters.draft_tokens += self.k
            for position in range(accepted):
                counters.per_pos[position] += 1
        request.sent += tokens
        request.left -= tokens
        counters.generation += tokens * self.faults.counter_factor
        request.out.put_nowait(tokens)
        if request.left <= 0:
            self._finish(request)

    def _finish(self, request: _Running) -> None:
        if request in self.running:
            self.running.remove(request)
        elif request in self.waiting:
            self.waiting.remove(request)
        else:
            return
        counters, faults = self.counters[request.engine], self.faults
        self.finished += 1
        counters.finished += 1 + faults.foreign_per_request
        if faults.preempt_every and self.finished % faults.preempt_every == 0:
            counters.preemptions += 1
        if faults.restart_after and self.finished == faults.restart_after:
            self.counters = [self._fresh() for _ in range(self.engines)]

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if method == "POST":
            self.headers.append(headers)
            self.requests.append(json.loads(body))
            return await self._stream(writer, chat=path.endswith("/chat/completions"))
        await self._page(writer, path.partition("?")[0].rstrip("/"))
        return True

    async def _page(self, writer: asyncio.StreamWriter, path: str) -> None:
        status, kind, text = 404, "application/json", '{"detail":"Not Found"}'
        if path == "/metrics":
            self.metrics_reads += bool(self.requests)
            broken = self.faults.fail_metrics_after and self.metrics_reads >= self.faults.fail_metrics_after
            status = 503 if broken else self.faults.metrics_status
            kind, text = "text/plain; version=0.0.4", self.metrics_page()
        elif path == "/version":
            status, text = 200, json.dumps({"version": self.version})
        elif path == "/v1/models":
            data = [{"id": m, "root": self.root, "max_model_len": 4096, "owned_by": "vllm"} for m in self.models]
            status, text = 200, json.dumps({"object": "list", "data": data})
        await _answer(writer, status, kind, text)

    async def _stream(self, writer: asyncio.StreamWriter, *, chat: bool) -> bool:
        number, faults = len(self.requests), self.faults
        if faults.refuse_every and number % faults.refuse_every == 0:
            await _answer(writer, 500, "application/json", '{"error":{"message":"out of luck"}}')
            return True
        body = self.requests[-1]
        most = body["max_tokens"]
        assert isinstance(most, int)
        engine = 0 if faults.uneven else number % self.engines
        request = _Running(engine, min(most, self.output_tokens + number % 5), 100)
        counters = self.counters[engine]
        counters.prompt += request.prompt_tokens
        counters.queries += request.prompt_tokens
        counters.hits += request.prompt_tokens * faults.prefix_hit_share
        self.waiting.append(request)
        finish = "length" if most <= self.output_tokens + number % 5 else "stop"
        self.open_streams += 1
        try:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            if chat:
                self._event(writer, {"choices": [{"delta": {"role": "assistant", "content": ""}}]})
            while request.sent == 0 or request.left > 0 or not request.out.empty():
                tokens = await request.out.get()
                last = request.left <= 0 and request.out.empty()
                if faults.break_every and number % faults.break_every == 0:
                    writer.transport.abort()
                    return False
                if faults.error_object_every and number % faults.error_object_every == 0:
                    self._event(writer, {"error": {"message": "the engine died", "code": 500}})
                    break
                text = " w" * tokens
                choice: dict[str, object] = {"delta": {"content": text}} if chat else {"text": text}
                self._event(writer, {"choices": [{**choice, "finish_reason": finish if last else None}]})
                await writer.drain()
            if faults.usage:
                usage = {"prompt_tokens": request.prompt_tokens, "completion_tokens": request.sent}
                self._event(writer, {"choices": [], "usage": usage})
            self._chunk(writer, b"data: [DONE]" + 2 * self.eol)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        finally:
            self.open_streams -= 1
            self._finish(request)
        return True

    def _event(self, writer: asyncio.StreamWriter, value: object) -> None:
        self._chunk(writer, b"data: " + json.dumps(value).encode() + 2 * self.eol)

    def _chunk(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        if writer.is_closing():
            raise ConnectionResetError
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))

    def metrics_page(self) -> str:
        """The page, with vLLM's names."""
        lines = ['python_info{implementation="CPython"} 1.0', "process_start_time_seconds 1.7e9"]
        for engine, c in enumerate(self.counters):
            label = f'engine="{engine}",model_name="{self.models[0]}"'
            running = sum(r.engine == engine for r in self.running) * self.faults.gauge_factor
            waiting = sum(r.engine == engine for r in self.waiting) * self.faults.gauge_factor
            phantom = self.faults.phantom_running if engine == 0 else 0
            values = {
                "num_requests_running": ("gauge", running + phantom),
                "num_requests_waiting": ("gauge", waiting),
                "kv_cache_usage_perc": ("gauge", self.faults.kv_usage),
                "prompt_tokens_total": ("counter", c.prompt),
                "generation_tokens_total": ("counter", c.generation),
                "num_preemptions_total": ("counter", c.preemptions),
                "prefix_cache_queries_total": ("counter", c.queries),
                "prefix_cache_hits_total": ("counter", c.hits),
            }
            if self.k:
                values["spec_decode_num_drafts_total"] = ("counter", c.drafts)
                values["spec_decode_num_draft_tokens_total"] = ("counter", c.draft_tokens)
                values["spec_decode_num_accepted_tokens_total"] = ("counter", sum(c.per_pos))
            for name, (kind, value) in values.items():
                if engine == 0:
                    lines.append(f"# TYPE vllm:{name} {kind}")
                lines.append(f"vllm:{name}{{{label}}} {value}")
            lines.append(f'vllm:request_success_total{{{label},finished_reason="stop"}} {c.finished}')
            for name in ("time_to_first_token", "e2e_request_latency", "request_time_per_output_token"):
                lines.append(f'vllm:{name}_seconds_bucket{{{label},le="+Inf"}} {c.finished}')
                lines.append(f"vllm:{name}_seconds_count{{{label}}} {c.finished}")
                lines.append(f"vllm:{name}_seconds_sum{{{label}}} {c.finished}")
            for position, accepted in enumerate(c.per_pos):
                name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
                lines.append(f'{name}{{{label},position="{position}"}} {accepted}')
            lines.append(f'vllm:cache_config_info{{engine="{engine}",block_size="16"}} 1.0')
        return "\n".join(lines) + "\n"


async def _answer(writer: asyncio.StreamWriter, status: int, kind: str, text: str) -> None:
    data = text.encode()
    writer.write(f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data)
    await writer.drain()


@asynccontextmanager
async def fake_engine(engine: FakeEngine | None = None) -> AsyncIterator[FakeEngine]:
    """Start one server on a free loopback port and stop it at the end."""
    engine = engine or FakeEngine()
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()
