"""`specwatch demo`: simulated servers, the real daemon, a sweep, and traffic over the crossover and back."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import click

from monitor.demo.run import run_demo

INTERRUPTED = 130
"""What shells give for a command that Ctrl-C ended."""


def _crossover(_ctx: click.Context, _param: click.Parameter, value: str) -> float | None:
    if value == "none":
        return None
    try:
        number = float(value)
    except ValueError:
        raise click.BadParameter("give a number of concurrent requests, or none") from None
    if not 4 <= number <= 100:
        raise click.BadParameter("the demo's ladder sees crossovers from 4 to 100")
    return number


@click.command()
@click.option("--headless", is_flag=True, help="Print the story as lines (also chosen where there is no terminal).")
@click.option("--seconds", type=click.FloatRange(5), default=90.0, show_default=True, help="Give up after this long.")
@click.option("--seed", default=1, show_default=True, help="Of the simulated servers' noise.")
@click.option("--sim-crossover", default="24", show_default=True, callback=_crossover, help="Or none.")
def demo(headless: bool, seconds: float, seed: int, sim_crossover: float | None) -> None:
    """See the whole thing work, on simulated servers: needs no GPU and no config."""
    headless = headless or not (sys.stdin.isatty() and sys.stdout.isatty())
    with tempfile.TemporaryDirectory(prefix="specwatch-demo-") as folder:
        told = run_demo(Path(folder), headless=headless, seconds=seconds, seed=seed, crossover=sim_crossover)
        try:
            sys.exit(asyncio.run(told))
        except asyncio.CancelledError:
            sys.exit(INTERRUPTED)
