"""`specwatch pause`: let no sweep start until a given time, with who asked and why."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from monitor.commands.common import config_option, fail, load_or_exit, open_or_exit
from monitor.config.errors import ConfigError
from monitor.config.targets import parse_duration
from monitor.store.intents import active_pause, add_intent
from monitor.who import who_am_i


@click.command()
@click.option(
    "--until",
    help="Needed unless --resume: a time (2026-12-01T06:00, 06:00) in the local zone, or a duration (2h, 3d).",
)
@click.option("--reason", help="Needed with --until: why, shown wherever the pause is shown.")
@click.option("--resume", is_flag=True, help="End the pause now.")
@config_option
def pause(until: str | None, reason: str | None, resume: bool, config_path: Path) -> None:
    """Let no sweep start until a given time. A running sweep goes on; `specwatch stop` ends it."""
    loaded = load_or_exit(config_path)
    if resume == (until is not None):
        fail("Say either --until T --reason R, or --resume.")
    if until is not None and not reason:
        fail("Say why with --reason: whoever finds sweeps missing will want to know.")
    now = datetime.now().astimezone()
    user, host = who_am_i()
    with open_or_exit(loaded) as store:
        until_s = parse_until(until, now).timestamp() if until is not None else time.time()
        add_intent(
            store,
            kind="resume" if resume else "pause",
            subject="",
            who=user,
            host=host,
            created_at_s=time.time(),
            reason=reason or "",
            args={"until_s": until_s},
        )
        paused = active_pause(store, time.time())
        if paused is None:
            click.echo("Sweeps may start again.")
        else:
            when = datetime.fromtimestamp(paused[0], UTC).astimezone()
            click.echo(f"No sweep starts before {when:%Y-%m-%d %H:%M %Z}: {paused[1]}")


def parse_until(text: str, now: datetime) -> datetime:
    """A duration from now, a clock time (today, else tomorrow), or an ISO date and time in the local zone."""
    try:
        return now + timedelta(seconds=parse_duration(text))
    except (ValueError, ConfigError, OverflowError):
        pass
    try:
        clock = datetime.strptime(text, "%H:%M").time()  # noqa: DTZ007 - a clock time has no zone of its own
    except ValueError:
        pass
    else:
        today = now.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0)
        return today if today > now else today + timedelta(days=1)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        fail(f"--until {text!r} is no time: use 2h, 06:00 or 2026-12-01T06:00.")
    when = when if when.tzinfo is not None else when.astimezone()
    if when <= now:
        fail(f"--until {text} is already past.")
    return when
