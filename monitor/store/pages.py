"""Packs what a page carries besides plain numbers: names, settings and histograms; no SQL here.

Histogram edges and page facts change only when a server does, so they are texts that many rows share. Counts are
written as differences between buckets and compressed: most buckets of an interval are empty.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from probes.values import Histogram, Reading

_EXACT = 2.0**53
"""Whole numbers below this are exact as floats, and so are their differences."""


def pack_facts(reading: Reading) -> str:
    """The parts of a page that stay the same from scrape to scrape."""
    return _dump([list(reading.model_names), dict(reading.cache_config), dict(reading.matched_names)])


@lru_cache(maxsize=512)
def unpack_facts(text: str) -> tuple[tuple[str, ...], dict[str, str], dict[str, str]]:
    """Model names, cache config, matched metric names."""
    names, cache_config, matched = json.loads(text)
    return tuple(names), cache_config, matched


def pack_edges(histograms: Mapping[str, Histogram]) -> str:
    """Names and bucket edges, in the page's order."""
    return _dump([[name, list(h.edges)] for name, h in histograms.items()])


@lru_cache(maxsize=512)
def _edges(text: str) -> tuple[tuple[str, tuple[float, ...]], ...]:
    return tuple((name, tuple(edges)) for name, edges in json.loads(text))


def pack_counts(histograms: Mapping[str, Histogram]) -> bytes:
    """The numbers of all histograms, in the order of `pack_edges`."""
    return zlib.compress(_dump([_pack(h) for h in histograms.values()]).encode(), 1)


@lru_cache(maxsize=4096)
def unpack_histograms(edges: str, counts: bytes) -> Mapping[str, Histogram]:
    """What `pack_edges` and `pack_counts` took apart.

    Remembered, because the live window is read again at every evaluation and all but its newest page are old friends.
    """
    packed = json.loads(zlib.decompress(counts))
    return {name: _unpack(bounds, one) for (name, bounds), one in zip(_edges(edges), packed, strict=True)}


def unpack_counted(edges: str, counts: bytes, whole: Collection[str]) -> dict[str, Histogram]:
    """The same, with buckets for those in `whole` only: of all others the total and the count are known.

    Not remembered: whoever walks through a long history would drive everything else out.
    """
    packed = json.loads(zlib.decompress(counts))
    return {
        name: _unpack(bounds, one) if name in whole else Histogram((), (), float(one[0]), float(one[1]))
        for (name, bounds), one in zip(_edges(edges), packed, strict=True)
    }


def _pack(histogram: Histogram) -> list[object]:
    counts = histogram.counts
    if all(float(c).is_integer() and abs(c) < _EXACT for c in counts):
        whole = [int(c) for c in counts]
        return [histogram.total, histogram.count, 1, [b - a for a, b in pairwise([0, *whole])]]
    return [histogram.total, histogram.count, 0, list(counts)]


def _unpack(edges: tuple[float, ...], packed: Sequence[object]) -> Histogram:
    total, count, differences, numbers = packed
    assert isinstance(total, int | float)
    assert isinstance(count, int | float)
    assert isinstance(numbers, list)
    counts = tuple(map(float, accumulate(numbers) if differences else numbers))
    return Histogram(edges=edges, counts=counts, total=float(total), count=float(count))


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
