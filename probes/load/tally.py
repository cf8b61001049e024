"""Counts what is in flight and keeps the records of one load; plain bookkeeping without clock or socket."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from probes.load.records import RequestRecord
from probes.load.stream import Flight


class Tally:
    """`launch` and `end` once per request."""

    def __init__(self) -> None:
        self.records: list[RequestRecord] = []
        self.flights: set[Flight] = set()
        self.max_in_flight = 0
        self._peak = 0

    @property
    def in_flight(self) -> int:
        """Requests launched and not ended."""
        return len(self.flights)

    def launch(self, flight: Flight) -> None:
        """One more request is on its way."""
        self.flights.add(flight)
        self._peak = max(self._peak, self.in_flight)
        self.max_in_flight = max(self.max_in_flight, self.in_flight)

    def end(self, flight: Flight, record: RequestRecord) -> None:
        """It came to its end."""
        self.flights.discard(flight)
        self.records.append(record)

    def take_peak(self) -> int:
        """Most requests in flight at once since the last call."""
        peak, self._peak = self._peak, self.in_flight
        return peak

    def delays_since(self, begun_s: float) -> list[float]:
        """Seconds from due to sent of every request that was sent after `begun_s`, ended or not."""
        seen: Iterator[RequestRecord | Flight] = chain(self.records, self.flights)
        return [one.sent_s - one.launched_s for one in seen if one.sent_s is not None and one.sent_s >= begun_s]
