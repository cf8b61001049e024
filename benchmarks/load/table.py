"""Turns rows into the table of docs/benchmarks.md and says which targets were met; pure text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.load.clients import OURS, OURS_UVLOOP, VLLM_LOOP
from benchmarks.load.rows import Row
from benchmarks.load.scenes import BURST, FAST, ONE, STEADY, TWO, Scene
from benchmarks.load.tools import ToolRun

BEGIN, END = "<!-- load benchmark: begin -->", "<!-- load benchmark: end -->"
QUIET_SHARE = 0.03
Results = Mapping[tuple[str, str], Row]
"""By scene and client."""


def render(scenes: Sequence[Scene], results: Results, runs: Sequence[ToolRun]) -> str:
    """The whole report in Markdown."""
    lines = [
        "| load | client | chunks/s | CPU µs/chunk | chunks/s per core "
        "| TTFT error p50 / p99 ms | chunk lag p50 / p99 ms |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        _line(scene, client, results[scene.name, client])
        for scene in scenes
        for client in scene.clients
        if (scene.name, client) in results
    ]
    if runs:
        lines += [
            "",
            "| whole tool | cores | streams | TTFT mean / p99 ms it reports | true mean ms | error of the mean |",
            "|---|---|---|---|---|---|",
        ]
        lines += [_tool_line(run) for run in runs]
    lines += ["", *(f"* {text}" for text in [*targets(results), *quiet(results)])]
    return "\n".join(lines)


def _line(scene: Scene, client: str, row: Row) -> str:
    cpu = "" if scene.burst else f"{row.cpu_us_per_chunk:.1f}"
    capacity = "" if scene.burst else f"{1e6 / row.cpu_us_per_chunk:,.0f}"
    rate = "" if scene.burst else f"{row.chunks_per_s:,.0f}"
    errors = f" ({row.errors} failed)" if row.errors else ""
    return (
        f"| {scene.name} | {client}{errors} | {rate} | {cpu} | {capacity} | "
        f"{_pair(row.ttft_error_p50_ms, row.ttft_error_p99_ms)} | {_pair(row.lag_p50_ms, row.lag_p99_ms)} |"
    )


def _pair(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.2f} / {high:.2f}"


def _tool_line(run: ToolRun) -> str:
    cores = "one" if run.one_core else "all"
    return (
        f"| {run.tool} | {cores} | {run.streams} | {run.ttft_mean_ms:.1f} / {run.ttft_p99_ms:.1f} | "
        f"{run.true_mean_ms:.2f} | {run.ttft_mean_ms - run.true_mean_ms:+.1f} ms |"
    )


def targets(results: Results) -> list[str]:
    """One sentence per target, for each event loop of ours; only for what was measured."""
    said = []
    for client in (OURS, OURS_UVLOOP):
        for scene in STEADY:
            ours, theirs = results.get((scene.name, client)), results.get((scene.name, VLLM_LOOP))
            if ours and theirs:
                ratio = theirs.cpu_us_per_chunk / ours.cpu_us_per_chunk
                said.append(_met(ratio >= 2, f"{client}, {scene.name}: {ratio:.1f} times the vLLM loop per core", "2"))
        for scene, field, limit, what in (
            (STEADY[1], "ttft_error_p99_ms", 3.0, "TTFT error p99, 256 streams spread"),
            (BURST, "ttft_error_p99_ms", 10.0, "TTFT error p99, cold burst of 256"),
            (FAST, "lag_p99_ms", 3.0, "chunk lag p99 at 20,000 chunks/s"),
        ):
            row = results.get((scene.name, client))
            value = getattr(row, field) if row else None
            if value is not None:
                said.append(_met(value < limit, f"{client}: {what} {value:.2f} ms", f"below {limit:g} ms"))
    one, two = results.get((ONE.name, OURS_UVLOOP)), results.get((TWO.name, OURS_UVLOOP))
    if one and two:
        share = one.cpu_us_per_chunk / two.cpu_us_per_chunk
        said.append(
            f"two processes carry {two.chunks_per_s / one.chunks_per_s:.2f} times the chunks/s of one,"
            f" at {100 * share:.0f}% of its chunks per CPU second"
        )
    return said


def quiet(results: Results) -> list[str]:
    """How much of the windows other work took from the clients."""
    shares = [row.waited_share for row in results.values()]
    if not shares:
        return []
    worst = "; a machine that does nothing else would give smaller latencies" if max(shares) > QUIET_SHARE else ""
    return [f"other work kept the clients from their core for at most {100 * max(shares):.1f}% of a window{worst}"]


def _met(met: bool, text: str, limit: str) -> str:
    return f"{text} (target {limit}: {'met' if met else '**missed**'})"


def write_between_marks(path: Path, text: str) -> None:
    """Replace what stands between the two marks. Raises SystemExit where they are missing."""
    page = path.read_text(encoding="utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{path} has no lines {BEGIN} and {END}")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
