"""Lets work that must reach its end reach it: through cancellation, and through a second Ctrl-C or SIGTERM.

SIGKILL nobody can hold off; for that there is the guardian.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
TIMES = 3
"""A task of its own may be cancelled too, by a loop that is being closed; then the work begins anew."""

log = logging.getLogger(__name__)


async def uninterrupted(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of `work()`, which must be fit to run again. A cancellation meanwhile is raised once it is done."""
    cancelled = False
    for _ in range(TIMES):
        task = asyncio.ensure_future(work())
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                cancelled = True
        if task.cancelled() or isinstance(task.exception(), KeyboardInterrupt | SystemExit):
            cancelled = True
            continue
        result = task.result()
        if cancelled:
            break
        return result
    raise asyncio.CancelledError


@contextmanager
def first_signal_only(what: str) -> Iterator[None]:
    """Inside, the first stop signal does what it did before and further ones do nothing: `what` says why, for people.

    Ctrl-Z does nothing either.
    Elsewhere than in the main thread, and for signals without a handler, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept: dict[int, Callable[[int, FrameType | None], object]] = {}
    seen: list[int] = []

    def once(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        if len(seen) == 1:
            kept[number](number, frame)
        else:
            log.warning("event=signal_ignored signal=%s reason=%s", signal.Signals(number).name, what)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        handler = signal.getsignal(number)
        if callable(handler):
            kept[number] = handler
            signal.signal(number, once)
    # Ctrl-Z would leave the server as it is for as long as nobody types `fg`.
    stopping = signal.signal(signal.SIGTSTP, lambda _number, _frame: log.warning("event=not_suspended reason=%s", what))
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, stopping)
        for taken, before in kept.items():
            signal.signal(taken, before)
