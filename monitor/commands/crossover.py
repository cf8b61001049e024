"""`specwatch crossover FILE...`: the verdict from results measured elsewhere; touches no server and no store."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from monitor.commands.results import read_or_exit, result_options
from monitor.verdict_text import crossover_lines, no_verdict_because
from probes.crossover import to_json
from probes.imports import answer
from probes.values import Reason


@click.command()
@result_options
@click.option("--json", "as_json", is_flag=True, help="Machine-readable, one object.")
def crossover(
    files: tuple[Path, ...],
    arms: tuple[tuple[str, Path], ...],
    baseline: str | None,
    engines: int | None,
    as_json: bool,
) -> None:
    """Estimate the crossover from FILES measured elsewhere.

    CSV (arm,concurrency,output_tok_s[,in_system][,repeat]), `vllm bench serve` JSON, folders of `vllm bench sweep`,
    sglang.bench_serving JSONL, guidellm and aiperf reports, and what `specwatch sweep --out` wrote. Exit 0 read, also
    where they give no verdict (stderr says so), 2 where they cannot be read.
    """
    imported = read_or_exit(files, arms, baseline, engines)
    result = answer(imported)
    if why := no_verdict_because(result):
        click.echo(f"note: these results give no verdict. {why}", err=True)
    if as_json:
        notes = (*(Reason("imported_note", text) for text in imported.notes), *result.notes)
        click.echo(json.dumps(to_json(replace(result, notes=notes)), indent=1))
        return
    for line in crossover_lines(result):
        click.echo(line)
