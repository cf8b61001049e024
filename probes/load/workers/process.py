"""The parent's end of one worker: starts the process, sends orders, keeps what it last reported.

A worker that ends unasked is seen at once and said in words.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable

from probes.load.health import LoopSample
from probes.load.records import RequestRecord
from probes.load.workers.messages import Job, Order, Report, frame, read_message


class WorkerProcess:
    """`await start(job)`, any number of `send(order)`, then `await stop(timeout_s)`."""

    def __init__(
        self, on_records: Callable[[tuple[RequestRecord, ...]], None], on_gone: Callable[[str, int], None]
    ) -> None:
        self._on_records, self._on_gone = on_records, on_gone
        self._process: Process | None = None
        self._listener: asyncio.Task[None] | None = None
        self._stopping = False
        self._peak = 0
        self.samples: list[LoopSample] = []
        """Of its event loop, since they were last cleared."""
        self.warmed = False
        self.in_flight = 0
        self.max_in_flight = 0
        self.cut_off: int | None = None
        self.gone = False
        """It ended, and nobody had asked it to."""
        self.changed = asyncio.Event()
        """Set with each report; whoever waits clears it."""

    @property
    def pid(self) -> int | None:
        """Of the process, while it runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def start(self, job: Job) -> None:
        """Raises OSError where no process can be started, and what pickle raises for a source it cannot send."""
        order = frame(job)
        self._process = await asyncio.create_subprocess_exec(
            # -P: a probes.py in the folder that we were started in must not be taken for ours.
            *(sys.executable, "-P", "-m", "probes.load.workers"),
            stdin=PIPE,
            stdout=PIPE,
        )
        self._listener = asyncio.create_task(self._listen(self._process))
        self._write(order)

    def send(self, order: Order) -> None:
        """Nothing happens where it is gone."""
        self._write(frame(order))

    def take_peak(self) -> int:
        """Most in flight at once since the last call."""
        peak, self._peak = self._peak, self.in_flight
        return peak

    def ask_to_end(self) -> None:
        """Close its orders: it closes its streams and ends."""
        self._stopping = True
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    async def stop(self, timeout_s: float) -> None:
        """End it, by force after `timeout_s`; its sockets close with it."""
        self.ask_to_end()
        if self._process is None or self._listener is None:
            return
        try:
            await asyncio.wait([self._listener], timeout=timeout_s)
        finally:
            if self._process.returncode is None:
                self._process.kill()
        await self._listener

    def _write(self, data: bytes) -> None:
        stdin = self._process.stdin if self._process is not None else None
        if stdin is not None and not stdin.is_closing():
            stdin.write(data)

    async def _listen(self, process: Process) -> None:
        assert process.stdout is not None
        while isinstance(report := await read_message(process.stdout), Report):
            self._take(report)
        status = await process.wait()
        if not self._stopping:
            how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
            lost, self.in_flight, self.gone = self.in_flight, 0, True
            self._on_gone(f"a load process of ours ended by itself ({how}) and took its {lost} streams along", lost)
        self.changed.set()

    def _take(self, report: Report) -> None:
        self.warmed, self.in_flight = report.warmed, report.in_flight
        self._peak = max(self._peak, report.peak)
        self.max_in_flight, self.cut_off = report.max_in_flight, report.cut_off
        self.samples.append(report.loop)
        self._on_records(report.records)
        self.changed.set()
