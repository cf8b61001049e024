"""`python -m benchmarks.load`: our load client beside others' against one stamping server, everything alternated.

Server on one core, client on the other; every sample of every client in turn, several rounds, medians over the rounds.
It needs a machine that does nothing else meanwhile, and says so when it does not get one.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from benchmarks.load.clients import VLLM_LOOP, VLLM_PYTHON, Client
from benchmarks.load.jobs import Job
from benchmarks.load.rows import Row, make_row, median_row, parse_log
from benchmarks.load.scenes import SCENES, Scene
from benchmarks.load.server import Mock, mock_server
from benchmarks.load.table import render, write_between_marks
from benchmarks.load.tools import TOOLS, ToolError, ToolRun, missing, run_tool

TOOL_SCENES = ((64, 0.020, 75, TOOLS), (256, 0.040, 40, TOOLS), (1024, 0.100, 20, TOOLS[:1]))
"""Streams, ITL, tokens, tools: the loads of the steady scenes. At 1024 the slower two would take minutes."""


def main() -> None:
    """Measure and print; see --help."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="scenes whose name contains this")
    parser.add_argument("--shrink", type=int, default=1, help="a rehearsal: this many times fewer streams")
    parser.add_argument("--no-tools", action="store_true", help="leave out the whole runs of other tools")
    parser.add_argument("--no-scenes", action="store_true", help="only the whole runs of other tools")
    parser.add_argument("--write", type=Path, help="replace the table between the marks of this page")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("the server and the client need a core each; this process may use one")
    say(f"the machine was {100 * busy_share():.0f}% busy before anything began")
    scenes = [shrunk(scene, options.shrink) for scene in SCENES if options.only in scene.name]
    if options.no_scenes:
        scenes = []
    with mock_server(cores[0]) as mock:
        results = measure(mock, scenes, options.rounds, cores)
        runs = [] if options.no_tools else run_tools(mock, cores, options.shrink)
    report = render(scenes, results, runs)
    sys.stdout.write(report + "\n")
    if options.write:
        write_between_marks(options.write, report)


def measure(mock: Mock, scenes: Sequence[Scene], rounds: int, cores: Sequence[int]) -> dict[tuple[str, str], Row]:
    """Every scene with every client in every round, the order turned round from round to round."""
    rows: dict[tuple[str, str], list[Row]] = {}
    with ExitStack() as stack:
        wanted = {name for scene in scenes for name in scene.clients}
        clients = {name: stack.enter_context(Client(name)) for name in available(wanted)}
        for number in range(rounds):
            for scene in scenes:
                if scene.tls and mock.tls_url is None:
                    continue
                order = [clients[name] for name in scene.clients if name in clients]
                for client in order if number % 2 == 0 else reversed(order):
                    row = sample(mock, scene, client, number, cores)
                    rows.setdefault((scene.name, client.name), []).append(row)
            say(f"round {number + 1} of {rounds}")
    return {key: median_row(values) for key, values in rows.items()}


def sample(mock: Mock, scene: Scene, client: Client, number: int, cores: Sequence[int]) -> Row:
    """One window of one client under one load."""
    mock.set(ttft_s=scene.ttft_s, itl_s=scene.itl_s, lockstep=scene.lockstep)
    job = Job(
        tag=f"r{number}x{time.monotonic_ns():x}",
        url=(mock.tls_url or mock.url) if scene.tls else mock.url,
        ca_file=mock.ca_file if scene.tls else None,
        streams=scene.streams,
        chunks=scene.chunks,
        spread_s=0.0 if scene.burst else scene.answer_s,
        settle_s=scene.ttft_s + 2 * scene.itl_s,
        window_s=scene.window_s,
        processes=scene.processes,
        every_chunk=scene.every_chunk,
    )
    # With a core to spare for each process the server has one to itself; on two cores it shares with the first.
    mine: Collection[int] = cores[1 : 1 + scene.processes] if len(cores) > scene.processes else cores
    seen = client.measure(job, mine)
    row = make_row(seen, parse_log(mock.log()))
    late_us = mock.stats()["late_mean_us"]
    loop = "" if seen.lag_p99_ms is None else f", loop late p99 {seen.lag_p99_ms:.2f} ms"
    say(
        f"  {scene.name}, {client.name}: {row.chunks_per_s:,.0f} of {scene.offered:,.0f} chunks/s, "
        f"{row.cpu_us_per_chunk:.1f} us each, {100 * row.cpu_share:.0f}% of a core, "
        f"kept from it {100 * row.waited_share:.1f}%{loop}; server late {late_us:.0f} us"
        + (f"; {row.errors} failed: {seen.errors[0][:200]}" if row.errors else "")
    )
    return row


def run_tools(mock: Mock, cores: Sequence[int], shrink: int) -> list[ToolRun]:
    """Each tool once per load on one core, those with processes also on all cores at 256 streams."""
    lacking = missing()
    if lacking:
        say(f"no whole runs of other tools ({'; '.join(lacking)}); see benchmarks/load/install_peers.sh")
        return []
    runs = []
    for streams, itl_s, chunks, tools in TOOL_SCENES:
        for tool in tools:
            for pinned in (cores[1:2], None) if tool.spreads and streams == 256 else (cores[1:2],):
                mock.set(ttft_s=0.05, itl_s=itl_s)
                try:
                    runs.append(run_tool(tool, mock, max(1, streams // shrink), chunks, pinned))
                except ToolError as error:
                    say(f"  {error}")
                else:
                    say(f"  {runs[-1]}")
    return runs


def available(wanted: Collection[str]) -> list[str]:
    """Those of the wanted drivers that can start here; what is missing is named."""
    if VLLM_LOOP not in wanted or VLLM_PYTHON.exists():
        return sorted(wanted)
    say(f"without {VLLM_LOOP}: no .venv-vllm; `make test-live` installs it")
    return sorted(set(wanted) - {VLLM_LOOP})


def shrunk(scene: Scene, times: int) -> Scene:
    return replace(scene, streams=max(1, scene.streams // times))


def busy_share() -> float:
    """Share of all cores that somebody else used over half a second."""

    def ticks() -> tuple[int, int]:
        values = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(values), values[3] + values[4]

    total, idle = ticks()
    time.sleep(0.5)
    total_after, idle_after = ticks()
    return 1 - (idle_after - idle) / max(1, total_after - total)


def say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
