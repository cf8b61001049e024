"""The request function of `vllm bench serve`, unchanged, in the same closed loop as ours; runs in `.venv-vllm`.

The function is loaded from vLLM's installed file rather than through the package, whose import of torch takes half a
minute and changes nothing here. Session and connector are set as `vllm bench serve` sets them.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import ssl
import sys
import time
from itertools import accumulate
from pathlib import Path
from types import ModuleType

import aiohttp  # type: ignore[import-not-found]

from benchmarks.load.driver import CpuClock, serve
from benchmarks.load.jobs import MODEL, PROMPT, Job, Sample

FILE = "vllm/benchmarks/lib/endpoint_request_func.py"


def load_request_functions() -> ModuleType:
    """vLLM's own module. Raises FileNotFoundError where vLLM is not installed."""
    for folder in map(Path, sys.path):
        if (folder / FILE).is_file():
            spec = importlib.util.spec_from_file_location("vllm_request_functions", folder / FILE)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module  # its dataclasses look themselves up there
            spec.loader.exec_module(module)
            return module
    raise FileNotFoundError(f"no {FILE} on sys.path: vLLM is not installed here")


VLLM = load_request_functions()


async def measure(job: Job) -> Sample:
    """One sample with aiohttp and vLLM's parsing."""
    context = ssl.create_default_context(cafile=job.ca_file) if job.ca_file else None
    connector = aiohttp.TCPConnector(
        limit=job.streams,
        limit_per_host=job.streams,
        ttl_dns_cache=300,
        use_dns_cache=True,
        keepalive_timeout=60,
        enable_cleanup_closed=True,
        force_close=False,
        ssl=False if context is None else context,
    )
    outputs: list[tuple[str, object]] = []
    async with aiohttp.ClientSession(connector=connector, trust_env=True, timeout=VLLM.AIOHTTP_TIMEOUT) as session:
        step_s = job.spread_s / job.streams
        tasks = [
            asyncio.create_task(_client(job, session, number, number * step_s, outputs))
            for number in range(job.streams)
        ]
        await asyncio.sleep(job.spread_s + job.settle_s)
        start_s, clock = time.monotonic(), CpuClock()
        await asyncio.sleep(job.window_s)
        end_s, spent = time.monotonic(), clock.spent()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return _sample(job, outputs, Sample(start_s, end_s, spent.ran_s, spent.waited_s, lag_p99_ms=None))


async def _client(
    job: Job, session: aiohttp.ClientSession, number: int, delay_s: float, outputs: list[tuple[str, object]]
) -> None:
    await asyncio.sleep(delay_s)
    turn = 0
    while True:
        request_id = f"{job.tag}-{number}-{turn}"
        asked = VLLM.RequestFuncInput(
            prompt=PROMPT,
            api_url=f"{job.url}/v1/completions",
            prompt_len=128,
            output_len=job.chunks,
            model=MODEL,
            ignore_eos=True,
            request_id=request_id,
        )
        with contextlib.suppress(asyncio.CancelledError):
            output = await VLLM.async_request_openai_completions(asked, session)
            outputs.append((request_id, output))
            turn += 1
            continue
        return


def _sample(job: Job, outputs: list[tuple[str, object]], sample: Sample) -> Sample:
    for request_id, output in outputs:
        if not output.success:  # type: ignore[attr-defined]
            sample.errors.append(output.error)  # type: ignore[attr-defined]
            continue
        first_s = output.start_time + output.ttft  # type: ignore[attr-defined]
        sample.requests.append((request_id, output.start_time, first_s))  # type: ignore[attr-defined]
        if job.every_chunk:
            sample.chunks[request_id] = list(accumulate(output.itl, initial=first_s))  # type: ignore[attr-defined]
    return sample


if __name__ == "__main__":
    serve(measure, asyncio.run)
