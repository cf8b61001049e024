"""Says in words what differs between two looks at a server, so that a sweep compares arms and nothing else; pure.

What a server does not show is no difference. HTTP shows no GPU: hardware is what the user declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from probes.values import Identity


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at one arm's server."""

    identity: Identity = field(default_factory=Identity)
    cache_config: Mapping[str, str] = field(default_factory=dict)
    """As the metrics page shows it."""
    k: int | None = None
    """Configured draft tokens per step; None where the page shows no speculation."""
    started_at_s: float | None = None
    """Unix time of the server process' start."""


_Pick = tuple[str, Callable[[Seen], object]]

_ALWAYS: tuple[_Pick, ...] = (
    ("model", lambda seen: seen.identity.model_root),
    ("server version", lambda seen: seen.identity.version),
    ("max_model_len", lambda seen: seen.identity.max_model_len),
    ("KV cache type", lambda seen: seen.cache_config.get("cache_dtype")),
)
"""What no two arms of a sweep may differ in."""
_WITHIN_AN_ARM: tuple[_Pick, ...] = (
    ("K", lambda seen: seen.k),
    ("KV block size", lambda seen: seen.cache_config.get("block_size")),
    ("prefix caching", lambda seen: seen.cache_config.get("enable_prefix_caching")),
)
"""What speculation itself may set, so that arms may differ in it, but no arm may change it during a sweep."""


def arms_differ(one: Seen, two: Seen) -> tuple[str, object, object] | None:
    """The first thing that two arms differ in beyond speculation: its name and both values."""
    return next(_differing(_ALWAYS, one, two), None)


def arm_changed(before: Seen, now: Seen) -> tuple[str, object, object] | None:
    """The first thing of one arm that is not what it was."""
    return next(_differing((*_ALWAYS, *_WITHIN_AN_ARM), before, now), None)


def _differing(picks: tuple[_Pick, ...], one: Seen, two: Seen) -> Iterator[tuple[str, object, object]]:
    for what, pick in picks:
        a, b = pick(one), pick(two)
        if a is not None and b is not None and a != b:
            yield what, a, b
