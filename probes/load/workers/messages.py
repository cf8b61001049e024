"""What parent and workers say to each other, and how it is cut into frames; both ends are this program itself.

Instants are `time.monotonic`, which all processes of one machine share.
"""

from __future__ import annotations

import asyncio
import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from probes.load.health import LoopSample
from probes.load.ready import Share, Source
from probes.load.records import RequestRecord
from probes.values import Target

_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class Job:
    """The first message to a worker: warm up with this."""

    target: Target = field(repr=False)
    source: Callable[[], Source] = field(repr=False)
    clients: int
    share: Share


@dataclass(frozen=True, slots=True)
class Start:
    """Start the clients, spread over `spread_s`, the first one after `offset_s`."""

    spread_s: float
    offset_s: float


@dataclass(frozen=True, slots=True)
class Stop:
    """Start no new request."""


@dataclass(frozen=True, slots=True)
class Drain:
    """Let running requests end, and cut them off after `timeout_s`."""

    timeout_s: float


Order = Job | Start | Stop | Drain


@dataclass(frozen=True, slots=True)
class Report:
    """How a worker does; what happened is told once."""

    warmed: bool
    in_flight: int
    peak: int
    """Most in flight at once since the last report."""
    max_in_flight: int
    records: tuple[RequestRecord, ...]
    loop: LoopSample
    """Of the stretch since the last report."""
    cut_off: int | None
    """Known once the drain is over."""


def frame(message: Order | Report) -> bytes:
    """Raises what pickle raises where a job's source cannot be sent."""
    data = pickle.dumps(message)
    return _LENGTH.pack(len(data)) + data


async def read_message(reader: asyncio.StreamReader) -> Order | Report | None:
    """The next message, None where the other end is gone."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        message: Order | Report = pickle.loads(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return message
