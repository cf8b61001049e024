"""`specwatch crossover FILE...`: the verdict from results measured elsewhere; touches no server and no store."""

from __future__ import annotations

import json
from pathlib import Path

import click

from monitor.commands.common import fail
from monitor.verdict_text import crossover_lines
from probes.crossover import estimate, to_json
from probes.imports import ResultFileError, read_results


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--baseline", help="The arm without speculation, where its name does not tell.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable, one object.")
def crossover(files: tuple[Path, ...], baseline: str | None, as_json: bool) -> None:
    """Estimate the crossover from FILES: CSV, `vllm bench serve` or sglang.bench_serving results."""
    try:
        imported = read_results(list(files), baseline)
    except ResultFileError as error:
        fail(str(error))
    for note in imported.notes:
        click.echo(f"note: {note}", err=True)
    result = estimate(imported.points, baseline=imported.baseline, axis=imported.axis)
    if as_json:
        click.echo(json.dumps(to_json(result), indent=1))
        return
    for line in crossover_lines(result):
        click.echo(line)
