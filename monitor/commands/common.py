"""What every command shares: loading the config or store with one clear message and exit code 2 where it is bad."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from monitor import exit_codes
from monitor.config.errors import ConfigError, explain
from monitor.config.load import Loaded, load_config
from monitor.config.targets import pool_of
from monitor.store.db import Store, StoreError, open_store

config_option = click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    default=Path("config.toml"),
    show_default=True,
    help="The config file.",
)


def fail(message: str, code: int = exit_codes.CONFIG) -> NoReturn:
    """Say one thing on stderr and leave."""
    click.echo(message, err=True)
    sys.exit(code)


def load_or_exit(path: Path) -> Loaded:
    """The config, or every error in it and exit 2."""
    try:
        return load_config(path)
    except ConfigError as error:
        fail(explain(error))


def names_or_exit(loaded: Loaded, wanted: str | None) -> list[str]:
    """The endpoints that a name (of an endpoint or a pool) means, all without one; exit 2 where there is none."""
    found = [e.name for e in loaded.config.endpoint if wanted is None or wanted in (e.name, pool_of(e))]
    if not found:
        known = sorted({name for e in loaded.config.endpoint for name in (e.name, pool_of(e))})
        fail(f"{loaded.path}: no endpoint or pool is called {wanted}; there are {', '.join(known)}.")
    return found


def open_or_exit(loaded: Loaded, *, readonly: bool = False) -> Store:
    """The store, or what is wrong with it and exit 2."""
    try:
        return open_store(loaded.store_path, readonly=readonly)
    except StoreError as error:
        fail(str(error))


def secret_or_exit(call: Any, *args: Any) -> Any:
    """Run something that resolves secrets; a missing one is a config error."""
    try:
        return call(*args)
    except ConfigError as error:
        fail(explain(error))
