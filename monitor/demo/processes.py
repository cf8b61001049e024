"""Starts and ends the demo's other processes: the simulated servers and the daemon; leaves none behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from monitor.service.daemon import SERVING

OUTPUT_TOKENS = 32
"""Short answers make short cells."""
PROMPT_COST = 0.03
"""Prompts are made cheaper with them: the mix is as of 43 prompt tokens to an answer of 256, short questions."""
ACCEPTANCE = (0.62, 0.38, 0.24)
"""By draft position: a mean of 2.24 tokens a step, as real text gives an EAGLE-3 head, and a loss that shows."""
CROSSES_AT = 0.97
"""With answers this short the servers cross at that share of what the simulator is told (long cells without noise)."""
START_TIMEOUT_S = 20.0
END_TIMEOUT_S = 8.0
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class SimServers:
    """The simulator's process and where each arm listens."""

    process: asyncio.subprocess.Process
    urls: dict[str, str]


async def start_sim(arms: list[str], *, crossover: float | None, seed: int, time_scale: float) -> SimServers:
    """Start one process that serves every arm. Raises RuntimeError with its last words where it does not come up."""
    command = [sys.executable, "-P", "-m", "probes.sim", "--port", "0", "--seed", str(seed)]
    command += ["--crossover", "none" if crossover is None else str(told(crossover)), "--time-scale", str(time_scale)]
    command += ["--mean-output-tokens", str(OUTPUT_TOKENS), "--prompt-cost", str(PROMPT_COST)]
    command += ["--acceptance", ",".join(map(str, ACCEPTANCE))]
    command += [part for arm in arms for part in ("--arm", arm)]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # A Ctrl-C is for us alone: a sweep whose servers go first takes long to end.
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            line = await process.stdout.readline()
            urls = json.loads(line)["urls"]
    except (TimeoutError, ValueError, KeyError):
        await end(process)
        words = (await process.stderr.read()).decode(errors="replace")[-500:]
        raise RuntimeError(f"the simulated servers did not start: {words}") from None
    return SimServers(process, urls)


async def start_daemon(config: Path, log: Path) -> asyncio.subprocess.Process:
    """`specwatch serve` on the demo's config, its narration in a file; it may not serve yet."""
    with log.open("wb") as stream:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "monitor.cli",
            "serve",
            "--config",
            str(config),
            "--parent",
            str(os.getpid()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )


async def serving(daemon: asyncio.subprocess.Process, log: Path) -> None:
    """Until the daemon serves: before that it looks like one that is gone. Raises RuntimeError where it never does."""
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while f"event={SERVING} " not in (words := _written(log)):
                if daemon.returncode is not None:
                    raise RuntimeError(f"the daemon ended as it started: {words[-500:]}")
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise RuntimeError(f"the daemon did not start in {START_TIMEOUT_S:.0f} s") from None


def _written(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


async def end(process: asyncio.subprocess.Process) -> None:
    """SIGTERM, then SIGKILL where that is not enough."""
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(END_TIMEOUT_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def told(crossover: float) -> float:
    """What the simulator is told so that its servers cross at `crossover`."""
    return crossover / CROSSES_AT


def time_scale_for(crossover: float | None) -> float:
    """Step times against an H200's: as fast as Python keeps up with a chunk per request and step, for short cells."""
    if crossover is None:
        return 1.3
    return 0.45 if crossover <= 12 else 1.1 if crossover <= 32 else 2.2
