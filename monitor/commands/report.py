"""`specwatch report`: what the store knows of an endpoint, as text, JSON or one page; asks no server."""

from __future__ import annotations

import json
import time
from importlib.metadata import version
from pathlib import Path

import click

from monitor.commands.common import config_option, fail, load_or_exit, names_or_exit, open_or_exit
from monitor.config.errors import ConfigError
from monitor.config.targets import parse_duration, pool_of
from monitor.report.document import reports_json
from monitor.report.page import page
from monitor.report.text import report_lines
from monitor.report.values import EndpointReport
from monitor.service.reporting import endpoint_reports


@click.command()
@click.argument("endpoint", required=False)
@config_option
@click.option("--since", default="24h", show_default=True, help="How far back: 90m, 24h, 7d.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable, one object.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write one self-contained HTML page here.")
def report(endpoint: str | None, config_path: Path, since: str, as_json: bool, out: Path | None) -> None:
    """What speculation brought and cost: the crossover, the load since then, and what other arms would have done.

    ENDPOINT is an endpoint or a pool; without one, all. Reads the store only. Exit 2 where nothing is stored.
    """
    loaded = load_or_exit(config_path)
    if not loaded.config.endpoint:
        fail(f"{loaded.path}: no [[endpoint]], so there is nothing to report on.")
    names = names_or_exit(loaded, endpoint)
    now_s = time.time()
    since_s = max(0.0, now_s - _seconds(since))
    pools = dict.fromkeys(pool_of(e) for e in loaded.config.endpoint if e.name in names)
    sweeps = ", ".join(f"`specwatch sweep {pool}`" for pool in pools)
    if not loaded.store_path.exists():
        fail(
            f"{loaded.store_path}: nothing is stored yet. {sweeps} measures the crossover; `specwatch serve`, left "
            "running, stores the traffic that it is held against."
        )
    with open_or_exit(loaded, readonly=True) as store:
        reports = endpoint_reports(loaded.config, store, names, since_s, now_s)
    if not any(one.stored is not None or one.minutes for one in reports):
        fail(
            f"{loaded.store_path}: no sweep and no traffic of the last {since} is stored for {', '.join(names)}; "
            f"`specwatch serve` stores traffic, {sweeps} measures the crossover."
        )
    if out is not None:
        _write(out, reports)
    if as_json:
        click.echo(json.dumps(reports_json(reports), indent=1))
    else:
        click.echo("\n\n".join("\n".join(report_lines(one)) for one in reports))


def _seconds(since: str) -> float:
    try:
        return parse_duration(since)
    except (ValueError, ConfigError) as error:
        fail(f"--since {since}: {error}")


def _write(out: Path, reports: list[EndpointReport]) -> None:
    try:
        out.write_text(page(reports, version("specwatch")), encoding="utf-8")
    except OSError as error:
        fail(f"The page cannot be written to {out}: {error.strerror or error}.")
    click.echo(f"wrote {out}", err=True)
