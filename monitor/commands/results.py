"""What the two commands that read results from elsewhere share: their options, and one clear error per bad file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from monitor.commands.common import fail
from probes.imports import Imported, ResultFileError, read_results


def _arm(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, Path], ...]:
    named: list[tuple[str, Path]] = []
    for value in values:
        name, separator, path = value.partition("=")
        if not separator or not name.strip() or not path:
            raise click.BadParameter(f"{value!r} is not NAME=FILE, like k3=results/k3.json.")
        named.append((name.strip(), Path(path)))
    return tuple(named)


def result_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """FILES, --arm, --baseline and --engines."""
    for decorate in (
        click.option("--engines", type=click.IntRange(min=1), help="Data-parallel engines that shared the load."),
        click.option("--baseline", help="The arm without speculation, where its name does not tell."),
        click.option(
            "--arm", "arms", multiple=True, callback=_arm, metavar="NAME=FILE", help="A file or folder of one arm."
        ),
        click.argument("files", nargs=-1, type=click.Path(path_type=Path)),
    ):
        command = decorate(command)
    return command


def read_or_exit(
    files: tuple[Path, ...], arms: tuple[tuple[str, Path], ...], baseline: str | None, engines: int | None
) -> Imported:
    """The results, their notes on stderr; exit 2 with the file, the place and the remedy where one cannot be used."""
    if not files and not arms:
        fail("Name the files of results, or folders of them: FILE..., or --arm NAME=FILE. See --help.")
    try:
        imported = read_results(list(files), baseline, arms=list(arms), engines=engines)
    except ResultFileError as error:
        fail(str(error))
    for note in imported.notes:
        click.echo(f"note: {note}", err=True)
    return imported
