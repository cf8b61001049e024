"""`python -m probes.sim`: simulated servers in one process until SIGTERM, until stdin closes, or until the parent dies.

stdout gets one JSON line once all of them answer: `{"urls": {"off": "http://127.0.0.1:41234", ...}, "pid": 1234}`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import stat
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack

from probes.sim.model import ACCEPTANCE
from probes.sim.server import SimServer
from probes.sim.spec import SimSpec

PARENT_POLL_S = 0.5


class _StdinWatch(asyncio.Protocol):
    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop.set()


def _crossover(text: str) -> float | None:
    if text.lower() == "none":
        return None
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of requests nor `none`") from error


def _arm_k(text: str) -> int:
    match = re.fullmatch(r"off|k([1-9]\d?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no arm: `off`, `k1`, `k3` ...")
    return int(match[1] or 0)


def _profile(text: str) -> list[tuple[float, float]]:
    try:
        return [(float(at), float(clients)) for at, clients in (point.split(":") for point in text.split(","))]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no profile: `seconds:clients,seconds:clients`") from error


def _rates(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of rates: `0.7,0.5,0.4`") from error


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m probes.sim",
        description="Simulated vLLM servers on loopback, until SIGTERM, stdin closes, or their parent ends.",
    )
    which = made.add_mutually_exclusive_group()
    which.add_argument("--k", type=int, default=None, help="one server with this many draft tokens (0: off)")
    which.add_argument("--arm", type=_arm_k, action="append", default=None, help="off, k1, k3 ...; repeat for several")
    made.add_argument(
        "--port", type=int, default=0, help="of the first server, the next ones follow; 0 picks free ones"
    )
    made.add_argument("--crossover", type=_crossover, default=24.0, help="requests where k3 crosses off, or none")
    made.add_argument("--time-scale", type=float, default=1.0, help="slows every step down")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--start-noise", type=float, default=1.0, help="bias per start; 1 as measured, 0 none")
    made.add_argument("--step-noise", type=float, default=1.0, help="noise per run and step; 1 as measured, 0 none")
    made.add_argument("--engines", type=int, default=1, help="data-parallel engines per server")
    made.add_argument("--max-num-seqs", type=int, default=256)
    made.add_argument("--kv-tokens", type=int, default=114_688)
    made.add_argument("--mean-output-tokens", type=float, default=256.0)
    made.add_argument("--prompt-cost", type=float, default=1.0, help="scales what a prompt token costs")
    made.add_argument(
        "--acceptance",
        type=_rates,
        default=ACCEPTANCE,
        help="by position; --crossover holds at it, so that another one is another server too",
    )
    made.add_argument(
        "--acceptance-now",
        type=_rates,
        default=None,
        help="by position, what drafts really get on the server that --crossover and --acceptance describe: the same "
        "hardware under other traffic",
    )
    made.add_argument("--model-name", default="sim-8b")
    made.add_argument("--release", default="0.26.0", help="the vLLM version to look like")
    made.add_argument("--profile", type=_profile, help="traffic on the last server: seconds:clients,seconds:clients")
    return made


def spec_of(arguments: argparse.Namespace, k: int) -> SimSpec:
    """The server that drafts `k` tokens. Raises ValueError where the arguments make none."""
    return SimSpec(
        k=k,
        crossover=arguments.crossover,
        time_scale=arguments.time_scale,
        seed=arguments.seed,
        start_noise=arguments.start_noise,
        step_noise=arguments.step_noise,
        engines=arguments.engines,
        max_num_seqs=arguments.max_num_seqs,
        kv_tokens=arguments.kv_tokens,
        mean_output_tokens=arguments.mean_output_tokens,
        prompt_cost=arguments.prompt_cost,
        acceptance=arguments.acceptance_now or arguments.acceptance,
        crossover_at=arguments.acceptance,
        model_name=arguments.model_name,
        version=arguments.release,
    )


async def serve(arguments: argparse.Namespace) -> None:
    """Run until told to stop. Raises ValueError for a spec that makes no server, OSError for a taken port."""
    # Before anybody is told that we run: a parent may die right upon that.
    parent = os.getppid()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    ks = arguments.arm if arguments.arm is not None else [arguments.k or 0]
    async with AsyncExitStack() as stack:
        servers: dict[str, SimServer] = {}
        for offset, k in enumerate(ks):
            spec = spec_of(arguments, k)
            port = arguments.port + offset if arguments.port else 0
            servers[spec.arm] = await stack.enter_async_context(SimServer(spec, port=port))
        if len(servers) < len(ks):
            raise ValueError("every --arm may be given once")
        watch = await _watch_stdin(stop)
        sys.stdout.write(json.dumps({"urls": {arm: s.url for arm, s in servers.items()}, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()
        if arguments.profile:
            list(servers.values())[-1].traffic.follow(arguments.profile)
        while not stop.is_set() and os.getppid() == parent:
            try:
                await asyncio.wait_for(stop.wait(), PARENT_POLL_S)
            except TimeoutError:
                continue
        if watch is not None:
            watch.close()


async def _watch_stdin(stop: asyncio.Event) -> asyncio.BaseTransport | None:
    """A pipe or socket on stdin is a lifeline: its end is ours. A terminal or /dev/null says nothing."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return None
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return None
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: _StdinWatch(stop), sys.stdin)
    return transport


def main(argv: Sequence[str] | None = None) -> int:
    """Exit 0 after a stop, 2 where the servers could not be made."""
    arguments = parser().parse_args(argv)
    try:
        asyncio.run(serve(arguments))
    except (ValueError, OSError) as error:
        sys.stderr.write(f"probes.sim: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
