"""Learns from a server's own counts how many characters its tokens hold, so that drawn lengths come out right; pure."""

from __future__ import annotations

from collections.abc import Iterable

from probes.load.records import RequestRecord
from probes.load.request import RequestSource

_LEAST_TOKENS = 2000
_PLAUSIBLE = (1.0, 10.0)
"""Outside of these the server did not count what we sent."""


def chars_per_token(source: RequestSource, records: Iterable[RequestRecord]) -> float | None:
    """Characters per prompt token over requests of a fresh `source`; None where too little was counted."""
    counted = {record.index: record.prompt_tokens for record in records if record.prompt_tokens}
    if sum(counted.values()) < _LEAST_TOKENS:
        return None
    chars = 0
    for index in range(max(counted) + 1):
        if index in counted:
            chars += source.next()[2].chars
        else:
            source.skip()
    ratio = chars / sum(counted.values())
    return round(ratio, 2) if _PLAUSIBLE[0] <= ratio <= _PLAUSIBLE[1] else None
