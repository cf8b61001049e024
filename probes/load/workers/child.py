"""The inside of one worker process: obeys orders, reports twenty times a second, ends with its parent.

Whatever happens, its streams are closed on the way out.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress

from probes.load.closed_loop import ClosedLoop
from probes.load.health import LoopWatch, quiet_gc
from probes.load.workers.messages import Drain, Job, Report, Start, Stop, frame, read_message

REPORT_S = 0.05
DEAF_S = 10.0
"""A parent that takes no report for so long is stopped or stuck: it no longer sees whom our load disturbs."""


async def serve(orders_fd: int, reports_fd: int) -> None:
    """Work off one load: a Job, then orders until the pipe closes."""
    orders = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), os.fdopen(orders_fd, "rb", 0))
    pipe, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(reports_fd, "wb", 0))
    job = await read_message(orders)
    if not isinstance(job, Job):
        return
    load = ClosedLoop(job.target, job.source(), job.clients, share=job.share)
    worker = _Worker(load, pipe)
    try:
        with quiet_gc():
            await worker.obey(orders)
    finally:
        await load.aclose()
        worker.report()
        if worker.heard:
            pipe.close()
        else:
            pipe.abort()


class _Worker:
    def __init__(self, load: ClosedLoop, pipe: asyncio.WriteTransport) -> None:
        self._load, self._pipe = load, pipe
        self._watch = LoopWatch()
        self._warmed = False
        self._told = 0
        self._cut_off: int | None = None
        self._unread_since_s: float | None = None

    @property
    def heard(self) -> bool:
        """Whether the parent takes our reports; the pipe holds some seconds of them."""
        return self._unread_since_s is None or time.monotonic() - self._unread_since_s < DEAF_S

    async def obey(self, orders: asyncio.StreamReader) -> None:
        """Until the parent closes the pipe, dies or is stopped; what takes long runs beside the listening."""
        self._watch.start()
        warming = asyncio.create_task(self._warm())
        doing = [warming, asyncio.create_task(self._report_while_heard(orders))]
        try:
            while (order := await read_message(orders)) is not None:
                if isinstance(order, Start):
                    await _ended(warming)  # it would open connections under the requests
                    self._load.start(order.spread_s, order.offset_s)
                elif isinstance(order, Stop):
                    self._load.stop_launching()
                elif isinstance(order, Drain):
                    doing.append(asyncio.create_task(self._drain(order.timeout_s)))
        finally:
            self._watch.stop()
            for task in doing:
                await _ended(task)

    async def _warm(self) -> None:
        await self._load.warm()
        self._warmed = True
        self.report()

    async def _drain(self, timeout_s: float) -> None:
        self._cut_off = await self._load.drain(timeout_s)
        self.report()

    async def _report_while_heard(self, orders: asyncio.StreamReader) -> None:
        while self.heard:
            await asyncio.sleep(REPORT_S)
            self.report()
            if not self._pipe.get_write_buffer_size():
                self._unread_since_s = None
            elif self._unread_since_s is None:
                self._unread_since_s = time.monotonic()
        orders.feed_eof()

    def report(self) -> None:
        """Tell how it stands, and what has not been told yet."""
        records = tuple(self._load.records[self._told :])
        self._told += len(records)
        if not self._pipe.is_closing():
            self._pipe.write(
                frame(
                    Report(
                        warmed=self._warmed,
                        in_flight=self._load.in_flight,
                        peak=self._load.take_peak(),
                        max_in_flight=self._load.max_in_flight,
                        records=records,
                        loop=self._watch.take(),
                        cut_off=self._cut_off,
                    )
                )
            )


async def _ended(task: asyncio.Task[None]) -> None:
    """Cut it off where it still runs. Raises what it failed with."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
