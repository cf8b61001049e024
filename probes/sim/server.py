"""A vLLM-like HTTP server on loopback whose engine is simulated, for the demo and for tests; it never runs a model.

Speaks /health, /version, /v1/models, /v1/completions, /v1/chat/completions and /metrics as vLLM does, and /sim/* for
faults, background traffic and its own state. Never bind it to anything but loopback: /sim/* has no key.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any, Self

from probes.sim.answers import Answer, Templates
from probes.sim.api import ApiError, parse
from probes.sim.backend import Backend
from probes.sim.engine import Engine
from probes.sim.faults import Faults
from probes.sim.metrics_page import CONTENT_TYPE, PageState, render
from probes.sim.request import Request
from probes.sim.spec import SimSpec
from probes.sim.traffic import Traffic
from probes.sim.wire import Connection, HttpRequest

HOST = "127.0.0.1"
COMPLETIONS = "/v1/completions"
CHAT = "/v1/chat/completions"
BACKLOG = 1024


class SimServer:
    """`async with SimServer(spec) as server: server.url`. All its sockets, timers and traffic end with the block."""

    def __init__(self, spec: SimSpec, *, port: int = 0) -> None:
        self._spec = spec
        self._port = port
        self._server: asyncio.Server | None = None
        self._backend: Backend | None = None
        self._traffic: Traffic | None = None
        self._connections: set[Connection] = set()
        self._delayed: set[asyncio.TimerHandle] = set()
        self._answered: Counter[tuple[str, str, str]] = Counter()
        self._numbers = count(1)
        most = len(spec.acceptance) + 1
        self._templates = {chat: Templates(spec.model_name, chat=chat, most_tokens=most) for chat in (False, True)}
        self._routes: dict[tuple[str, str], Callable[[Connection, HttpRequest], None]] = {
            ("GET", "/health"): self._health,
            ("GET", "/version"): self._version,
            ("GET", "/v1/models"): self._models,
            ("GET", "/metrics"): self._metrics,
            ("POST", COMPLETIONS): self._complete,
            ("POST", CHAT): self._complete,
            ("GET", "/sim/state"): self._state,
            ("POST", "/sim/faults"): self._post_faults,
            ("POST", "/sim/restart"): self._post_restart,
            ("POST", "/sim/traffic"): self._post_traffic,
        }

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self._handle, self._connections), HOST, self._port, backlog=BACKLOG
        )
        self._port = self._server.sockets[0].getsockname()[1]
        self._backend = Backend(self._spec, loop)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop serving and drop every client."""
        if self._traffic is not None:
            await self._traffic.close()
        for timer in self._delayed:
            timer.cancel()
        self._delayed.clear()
        self.backend.close()
        if self._server is not None:
            self._server.close()
        connections = list(self._connections)
        for connection in connections:
            connection.close()
        await asyncio.gather(*(connection.closed for connection in connections))
        if self._server is not None:
            await self._server.wait_closed()

    @property
    def url(self) -> str:
        """Base URL without a trailing slash."""
        return f"http://{HOST}:{self._port}"

    @property
    def backend(self) -> Backend:
        """The simulated process; for tests that look inside."""
        if self._backend is None:
            raise RuntimeError("the simulated server is not started: use `async with`")
        return self._backend

    @property
    def engines(self) -> list[Engine]:
        """The engines now; a restart replaces them."""
        return self.backend.engines

    @property
    def refused(self) -> int:
        """Requests answered with an error so far."""
        return sum(count for (_, _, status), count in self._answered.items() if status != "2xx")

    @property
    def traffic(self) -> Traffic:
        """Background clients of this server; none until asked for."""
        if self._traffic is None:
            self._traffic = Traffic(self.url, seed=self._spec.seed)
        return self._traffic

    def set_faults(self, **changes: Any) -> Faults:
        """Change some faults. Raises ValueError where one is unknown."""
        return self._change_faults(changes)

    def _change_faults(self, changes: dict[str, Any], asked_by: Connection | None = None) -> Faults:
        starts, lived = self.backend.starts, not self.backend.faults.dead
        faults = self.backend.set_faults(changes)
        if faults.dead and lived:
            for connection in self._connections - {asked_by}:
                connection.close()
            self.backend.restart()
        if self.backend.starts != starts:
            self._answered.clear()
        return faults

    def restart(self) -> None:
        """Lose what is in flight and count from zero, with a new start bias."""
        self._answered.clear()
        self.backend.restart()

    def _handle(self, connection: Connection, request: HttpRequest) -> None:
        if self.backend.faults.dead and not request.path.startswith("/sim/"):
            connection.close()
            return
        route = self._routes.get((request.method, request.path.rstrip("/") or "/"))
        if route is None:
            connection.respond(404, b'{"detail":"Not Found"}')
            return
        route(connection, request)

    def _refuse(self, connection: Connection, request: HttpRequest, error: ApiError) -> None:
        self._answered[request.path, request.method, f"{error.status // 100}xx"] += 1
        connection.respond(error.status, error.body())

    def _health(self, connection: Connection, request: HttpRequest) -> None:
        connection.respond(self.backend.faults.health_status, b"")

    def _version(self, connection: Connection, request: HttpRequest) -> None:
        connection.respond(200, json.dumps({"version": self.backend.faults.version or self._spec.version}).encode())

    def _models(self, connection: Connection, request: HttpRequest) -> None:
        if self._api_fault(connection, request):
            return
        spec = self.backend.spec
        card = {
            "id": spec.model_name,
            "object": "model",
            "created": int(self.backend.started_at_s),
            "owned_by": "vllm",
            "root": f"sim/{spec.model_name}",
            "parent": None,
            "max_model_len": spec.context_limit,
        }
        connection.respond(200, json.dumps({"object": "list", "data": [card]}).encode())

    def _api_fault(self, connection: Connection, request: HttpRequest) -> bool:
        status = self.backend.faults.api_status
        if status == 200:
            return False
        self._refuse(connection, request, ApiError(status, "simulated failure", "InternalServerError"))
        return True

    def _metrics(self, connection: Connection, request: HttpRequest) -> None:
        delay_s = self.backend.faults.page_delay_s
        if delay_s <= 0:
            self._answer_metrics(connection)
            return

        def answer() -> None:
            self._delayed.discard(timer)
            self._answer_metrics(connection)

        timer = asyncio.get_running_loop().call_later(delay_s, answer)
        self._delayed.add(timer)

    def _answer_metrics(self, connection: Connection) -> None:
        faults = self.backend.faults
        if faults.page_status != 200:
            connection.respond(faults.page_status, b"simulated failure", "text/plain")
            return
        state = PageState(
            started_at_s=self.backend.started_at_s,
            answered=self._answered,
            sleep_level=faults.sleep_level,
            show_spec=not faults.drop_spec,
            show_vllm=not faults.drop_vllm,
        )
        body = b"" if faults.page_empty else render(self.backend.spec, self.engines, state)
        connection.respond(200, body, CONTENT_TYPE)

    def _complete(self, connection: Connection, request: HttpRequest) -> None:
        if self._api_fault(connection, request):
            return
        backend = self.backend
        faults, number = backend.faults, next(self._numbers)
        if _is_nth(number, faults.refuse_every):
            self._refuse(connection, request, ApiError(faults.refuse_status, "simulated refusal", "ServerBusyError"))
            return
        try:
            ask = parse(request.body, chat=request.path.rstrip("/") == CHAT, spec=backend.spec)
        except ApiError as error:
            self._refuse(connection, request, error)
            return
        usage_factor = None if faults.no_usage else faults.usage_factor
        ident, templates = secrets.token_hex(16), self._templates[ask.chat]
        answer = Answer(connection, ask, templates, ident, int(time.time()), usage_factor)
        cut = ask.stream and _is_nth(number, faults.truncate_every)
        route = (request.path, request.method, "2xx")

        def sink(running: Request, tokens: int, reason: str | None) -> None:
            if reason is not None:
                self._answered[route] += 1
            answer.step(running, tokens, reason)
            if cut and reason is None:
                answer.cut()
                backend.abort(running)

        running = backend.submit(
            ask.prompt,
            ask.prompt_tokens,
            ask.max_tokens,
            min_tokens=ask.min_tokens,
            ignore_eos=ask.ignore_eos,
            sink=sink,
        )
        connection.on_lost = lambda: None if backend.faults.deaf else backend.abort(running)

    def _state(self, connection: Connection, request: HttpRequest) -> None:
        backend = self.backend
        state = {
            "arm": backend.spec.arm,
            "behind_s": backend.behind_s,
            "steps": backend.steps,
            "starts": backend.starts,
            "traffic_clients": self._traffic.clients if self._traffic else 0,
        }
        connection.respond(200, json.dumps(state).encode())

    def _post_faults(self, connection: Connection, request: HttpRequest) -> None:
        def change(data: dict[str, Any]) -> object:
            faults = self._change_faults(data, connection)
            return {name: getattr(faults, name) for name in faults.__slots__}

        self._control(connection, request, change)

    def _post_restart(self, connection: Connection, request: HttpRequest) -> None:
        def change(data: dict[str, Any]) -> object:
            self.restart()
            return {"starts": self.backend.starts}

        self._control(connection, request, change)

    def _post_traffic(self, connection: Connection, request: HttpRequest) -> None:
        def change(data: dict[str, Any]) -> object:
            clients = data.get("clients")
            if type(clients) is not int or clients < 0:
                raise ValueError("clients must be a number of clients, 0 or more")
            self.traffic.set_clients(clients)
            return {"clients": clients}

        self._control(connection, request, change)

    def _control(
        self, connection: Connection, request: HttpRequest, change: Callable[[dict[str, Any]], object]
    ) -> None:
        try:
            data = json.loads(request.body or b"{}")
            if not isinstance(data, dict):
                raise ValueError("the body must be a JSON object")
            answer = change(data)
        except ValueError as error:
            connection.respond(400, ApiError(400, str(error)).body())
            return
        connection.respond(200, json.dumps(answer).encode())


def _is_nth(number: int, every: int) -> bool:
    return every > 0 and number % every == 0
