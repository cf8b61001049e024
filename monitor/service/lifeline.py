"""What ties a child process to whoever started it, so that no sweep and no daemon outlives its owner unseen.

A parent that is killed outright can say nothing, so the child asks; it must not signal anybody.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType

import click

ASK_EVERY_S = 0.5

parent_option = click.option("--parent", type=int, hidden=True)
"""The pid of the process whose death ends this one."""


def parent_gone(parent: int | None) -> bool:
    """Whether the process that started this one is gone; one without a named parent stands alone."""
    return parent is not None and os.getppid() != parent


def on_stop_signals(act: Callable[[int, FrameType | None], object]) -> None:
    """Call `act` on Ctrl-C, SIGTERM and the terminal's end; what this process was told to ignore (nohup) it ignores."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, act)


async def until_parent_gone(parent: int) -> None:
    """Returns once the process that started this one is gone."""
    while not parent_gone(parent):  # noqa: ASYNC110 - nothing tells us, so we must ask
        await asyncio.sleep(ASK_EVERY_S)
