"""`specwatch calibrate`: up to how many streams and chunks per second this machine's load client can be believed."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from monitor import exit_codes
from monitor.commands.common import fail
from monitor.units import age_text
from probes.load.calibrate import STREAMS, cores, takes_s
from probes.load.calibrate import calibrate as measure
from probes.load.loop import loop_factory, run
from probes.load.trust import CPU_SHARE_MAX, LAG_MAX_MS, TTFT_ERROR_MAX_MS, StepResult, Trust, faults, judge_steps

HEAD = f"{'streams':>8} {'chunks/s':>9} {'TTFT error p99':>15} {'stamp lag p99':>14} {'loop lag p99':>13} {'CPU':>5}"


@click.command()
@click.option(
    "--seconds", type=click.FloatRange(0.2, 60), default=2.0, show_default=True, help="Length of each step's window."
)
@click.option(
    "--streams", type=click.IntRange(1), default=STREAMS[-1], show_default=True, help="Try no more streams than this."
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable, one object.")
def calibrate(seconds: float, streams: int, as_json: bool) -> None:
    """Measure the load client against a stamping server on loopback, and say how far it can be trusted here.

    Needs no config and reaches no other machine. Everything else that runs on this machine counts against it.
    """
    where = f"{loop_name()}, {cores()} cores shared with the stamping server"
    about = age_text(takes_s(seconds, streams))
    click.echo(f"Load client on {where}.", err=True)
    click.echo(f"At least {about}; half as long again where the cores have other work.", err=True)
    click.echo(HEAD, err=True)
    try:
        results = run(measure(seconds, streams, lambda result: click.echo("\n".join(step_lines(result)), err=True)))
    except (RuntimeError, OSError) as error:
        fail(f"Could not calibrate: {error}", exit_codes.FAILED)
    trust = judge_steps(results)
    click.echo(json.dumps(as_dict(results, trust), indent=1) if as_json else verdict(trust))


def step_lines(result: StepResult) -> list[str]:
    """One step's row of the table, and under it what is wrong with it."""
    share = "?" if result.cpu_share is None else f"{100 * result.cpu_share:.0f}%"
    line = (
        f"{result.step.streams:>8} {result.chunks_per_s:>9,.0f} {_ms(result.ttft_error_p99_ms):>15} "
        f"{_ms(result.lag_p99_ms):>14} {_ms(result.loop_lag_p99_ms):>13} {share:>5}"
    )
    return [line, *(f"{'':>10}not trusted: {fault}" for fault in faults(result))]


def verdict(trust: Trust) -> str:
    """The answer in sentences."""
    if not trust.streams:
        lines = ["Not to be trusted on this machine now, not even with the fewest streams."]
    else:
        least = "" if trust.limits else "at least "
        lines = [
            f"Trusted up to {least}{trust.streams} streams and {trust.chunks_per_s:,.0f} chunks/s in one process "
            f"(TTFT error p99 within {TTFT_ERROR_MAX_MS:g} ms, stamp lag p99 within {LAG_MAX_MS:g} ms, "
            f"CPU within {100 * CPU_SHARE_MAX:.0f}% of a core)."
        ]
    lines += [f"Not beyond: {limit}." for limit in trust.limits]
    if trust.held_up:
        lines.append("The client used little of its core meanwhile: something else on this machine held it up.")
    if trust.server_limited:
        lines.append("The stamping server could send no more on this machine; the client may be good for more.")
    lines.append("Loopback without a network is the best case: a real one adds its own delays to every stamp.")
    return "\n".join(lines)


def as_dict(results: list[StepResult], trust: Trust) -> dict[str, Any]:
    """Machine-readable."""
    return {
        "schema": 1,
        "loop": loop_name(),
        "cores": cores(),
        "limits": {"ttft_error_p99_ms": TTFT_ERROR_MAX_MS, "lag_p99_ms": LAG_MAX_MS, "cpu_share": CPU_SHARE_MAX},
        "steps": [{**asdict(result), "trusted": not faults(result)} for result in results],
        "trusted": asdict(trust),
    }


def loop_name() -> str:
    """The event loop that the load runs on here."""
    return "uvloop" if loop_factory().__module__.startswith("uvloop") else "asyncio"


def _ms(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f} ms"
