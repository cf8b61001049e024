"""The `specwatch` command: each subcommand lives in its own file and is loaded only when it is called.

`serve`, `once` and `sweep` must never pay for, or break with, the terminal library.
"""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import version
from keyword import iskeyword

import click

from monitor import exit_codes
from monitor.store.errors import StoreError

COMMANDS = {
    "demo": "A simulated server pair, a quick sweep, and traffic that crosses the crossover; needs no GPU.",
    "watch": "The terminal dashboard.",
    "serve": "The daemon: scrape, store, alert, scheduled sweeps.",
    "sweep": "Measure the crossover of one pool now.",
    "stop": "Abort a running sweep.",
    "pause": "Let no sweep start until a given time.",
    "once": "Every endpoint against its crossover, once; exit 1 if any is above.",
    "report": "What speculation brought and cost, from stored traffic: text, JSON or one HTML page.",
    "check": "Explain every error in the config, then try to reach everything it names.",
    "crossover": "The verdict from results measured elsewhere.",
    "import": "Store results measured elsewhere, so that live traffic is compared with them.",
    "calibrate": "How far this machine's load client can be trusted.",
}


class LazyGroup(click.Group):
    """Lists every command without importing any."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a store that fails halfway (disk full, locked) is told like one that cannot be opened.

        Exit 1 would be `once` saying "above".
        """
        try:
            return super().invoke(ctx)
        except StoreError as error:
            click.echo(str(error), err=True)
            sys.exit(exit_codes.CONFIG)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        module = importlib.import_module(f"monitor.commands.{name}")
        command = getattr(module, name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("specwatch"), prog_name="specwatch")
def main() -> None:
    """Is speculative decoding paying on this endpoint at the load it has right now?

    Data goes to stdout, narration to stderr.
    """


if __name__ == "__main__":
    main()
