"""What a cell brings home before anybody judges it; plain values that the pure half of the room works on."""

from __future__ import annotations

from dataclasses import dataclass, field

from probes.answer_values import CurvePoint
from probes.load.first import is_cut
from probes.load.health import ClientHealth
from probes.load.records import Ending, RequestRecord
from probes.sweep.plan import ArmPlan, CellSlot, LoadSpec
from probes.sweep.sameness import Seen
from probes.sweep.window import Span
from probes.values import EngineKind, Identity, Reading


@dataclass(frozen=True, slots=True)
class Evidence:
    """Raw material of one cell. Readings are None where the page could not be read then."""

    slot: CellSlot
    arm: ArmPlan
    started_at_s: float
    before: Reading | None
    """Idle, before the load."""
    start: Reading | None
    """Edge of the steady window."""
    end: Reading | None
    after: Reading | None
    """Idle, after the drain."""
    was_idle: bool
    """Whether both idle readings were."""
    samples: tuple[Reading, ...]
    """Polls inside the window, edges included."""
    records: tuple[RequestRecord, ...]
    health: ClientHealth
    cut_off: int
    """Requests that the drain did not wait for."""
    load: LoadSpec = field(default_factory=LoadSpec)
    """What the clients were told to send."""
    first: int = 0
    """How many requests were the first of a client; all but one of their answers were cut."""
    history: tuple[CurvePoint, ...] = ()
    """Earlier points of this arm on the same servers, in tok/s of one engine, where it is the baseline."""
    seen: Seen | None = None
    """What the arm showed before the sweep's first load."""
    identity: Identity | None = None
    """What the server says it is after the cell."""
    chat: bool = False
    """Whether requests went through the server's chat template, which puts text before ours."""
    workers: int | None = None
    """Processes that carried the load."""
    ramp_cut_s: float | None = None
    """What was cut off the window's start (`steady.py`)."""

    @property
    def window(self) -> Span | None:
        """The steady window on the monotonic clock: first byte to first byte of the edge scrapes."""
        if self.start is None or self.end is None or self.end.mono_s <= self.start.mono_s:
            return None
        return Span(self.start.mono_s, self.end.mono_s)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """All good readings in time order."""
        outer = (self.before, *self.samples, self.after)
        return tuple(reading for reading in outer if reading is not None)

    @property
    def uncut(self) -> tuple[RequestRecord, ...]:
        """Records but those whose answers we cut: what tells how long requests are and take."""
        return tuple(record for record in self.records if not is_cut(record.index, self.first))

    @property
    def engine_count(self) -> int | None:
        """Engines on the newest page."""
        return len(self.readings[-1].engines) or None if self.readings else None

    @property
    def is_sglang(self) -> bool:
        """Which server wrote the pages."""
        return bool(self.readings) and self.readings[-1].engine_kind is EngineKind.SGLANG

    def is_clean(self, foreign_requests: float | None) -> bool:
        """Whether usage and the server's counts from idle to idle are of the same requests, all of them whole."""
        whole = all(record.ending is Ending.OK for record in self.records)
        return self.was_idle and not foreign_requests and whole
