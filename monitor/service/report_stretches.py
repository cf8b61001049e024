"""Reads what a report's account is judged by, stretch by stretch, from stored pages; a page is read only at their ends.

A day has a hundred stretches and an answer as of now takes tens of milliseconds, so that those nearly alike share one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from monitor.acceptance import MAX_NOISE, SAME_ACCEPTANCE, acceptance_noise
from monitor.account_values import EngineMinute, Stretch
from monitor.as_of_now import as_of_now
from monitor.day_account import shown_at
from monitor.day_stretches import Bounds, pieces, segments
from monitor.live_arm import find_live_arm
from monitor.live_mix import LIFETIMES, MIX_SPAN_S, NEWEST_SPAN_S, SAME_MIX, inside, live_mix, mix_distance, mix_noise
from monitor.live_window import LiveWindow, live_window
from monitor.now_values import AsOfNow, LiveMix
from monitor.store.db import Store
from monitor.store.readings import live_spans, load_readings
from monitor.values import StoredCrossover, StoredReading
from probes.values import Reading, State

SPANS = 200
"""Newest spans of own traffic that are looked at."""
MOST_LOOKS = 720
"""Pages on which a change of mix is looked for: one every two minutes of a day, fewer in longer times."""
MIX_MARGIN = 1.5
"""How far beyond both intervals two mixes must lie: that many looks would find chance changes otherwise."""
Ends = tuple[StoredReading, StoredReading]
_Key = tuple[str | None, int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class _Piece:
    """One stretch before its answer."""

    bounds: Bounds
    window: LiveWindow
    mix: LiveMix | None


def day_stretches(
    store: Store,
    endpoint: str,
    stored: StoredCrossover,
    declared: str | None,
    changes: Sequence[tuple[float, str]],
    minutes: Sequence[EngineMinute],
    since_s: float,
    hole_s: float,
) -> list[Stretch]:
    """Own traffic since then, oldest first, cut where acceptance or mix moved and after a quarter of an hour at the
    latest.

    Only of the server that was swept. What a new one is becomes known a little after its start: its end tells. Raises
    StoreError.
    """
    known = (None, stored.fingerprint)
    spans = [span for span in live_spans(store, endpoint, since_s, SPANS) if shown_at(changes, span[1]) in known]
    look_s = max(NEWEST_SPAN_S, sum(last_s - first_s for first_s, last_s in spans) / MOST_LOOKS)
    held = [
        piece
        for span in reversed(spans)
        for alike in segments(minutes, span)
        for segment in _by_mix(store, endpoint, alike, look_s, hole_s)
        for piece in _pieces(store, endpoint, span, segment, hole_s)
    ]
    answers: dict[_Key, AsOfNow | None] = {}
    # The one that rests on most requests speaks for all that are alike.
    for piece in sorted(held, key=lambda one: -(one.window.requests or 0.0)):
        key = _key(piece)
        if key not in answers:
            answers[key] = _answer(stored, declared, piece)
    return [Stretch(*piece.bounds, answers[_key(piece)], piece.mix) for piece in held]


def _by_mix(store: Store, endpoint: str, alike: Bounds, look_s: float, hole_s: float) -> list[Bounds]:
    """Parts of a segment in which the mix stayed the same too, told from a page every `look_s`."""
    first_s, last_s = alike
    looks = [first_s + n * look_s for n in range(max(1, int((last_s - first_s) / look_s)))]
    pages = [page for at_s in looks if (page := _page(store, endpoint, at_s, at_s + hole_s)) is not None]
    tail = _ends(store, endpoint, (looks[-1], last_s), hole_s)
    if len(pages) < 2 or tail is None:
        return [alike]
    pages.append(tail[1].reading)
    start, edges = pages[0], [first_s]
    for before, after in pairwise(pages[1:]):
        if _changed(start, before, after):
            start = before
            edges.append(before.at_s)
    return list(pairwise([*edges, last_s]))


def _changed(start: Reading, before: Reading, after: Reading) -> bool:
    """Whether what finished since `before` was of another mix than what did until then, beyond the noise of both.

    Fewer than LIFETIMES requests for each one inside would be the short ones of what is under way.
    """
    old, new = live_mix(start, before), live_mix(before, after)
    if old is None or new is None or new.requests < LIFETIMES * inside(after):
        return False
    return mix_distance(new.mix, old.mix) > max(SAME_MIX, MIX_MARGIN * (mix_noise(old) + mix_noise(new)))


def _page(store: Store, endpoint: str, first_s: float, last_s: float) -> Reading | None:
    held = load_readings(store, endpoint, first_s, last_s)
    return next((one.reading for one in held if one.reading.state is State.OK and one.sweep_id is None), None)


def _pieces(store: Store, endpoint: str, span: Bounds, segment: Bounds, hole_s: float) -> list[_Piece]:
    """A segment's pieces with what their pages tell; a piece too quiet to tell goes by its segment."""
    whole = _ends(store, endpoint, segment, hole_s)
    if whole is None:
        return []
    whole_window = live_window(whole, segment[0])
    before = max(span[0], segment[1] - MIX_SPAN_S)
    lately = _ends(store, endpoint, (before, segment[1]), hole_s) if before < segment[0] else None
    whole_mix = _mix(whole) or (_mix(lately) if lately is not None else None)
    found = []
    for bounds in pieces(segment):
        own = whole if bounds == segment else _ends(store, endpoint, bounds, hole_s)
        window = live_window(own, bounds[0]) if own is not None else whole_window
        noise = acceptance_noise(window)
        if noise is None or noise > MAX_NOISE:
            window = whole_window
        found.append(_Piece(bounds, window, (_mix(own) if own is not None else None) or whole_mix))
    return found


def _ends(store: Store, endpoint: str, bounds: Bounds, hole_s: float) -> Ends | None:
    """The first and the last good page inside; None where there are no two."""
    first_s, last_s = bounds
    head = load_readings(store, endpoint, first_s, min(last_s, first_s + hole_s))
    tail = load_readings(store, endpoint, max(first_s, last_s - hole_s), last_s)
    good = [one for one in (*head, *tail) if one.reading.state is State.OK and one.sweep_id is None]
    return (good[0], good[-1]) if len(good) > 1 and good[0].reading.at_s < good[-1].reading.at_s else None


def _mix(ends: Ends) -> LiveMix | None:
    return live_mix(ends[0].reading, ends[1].reading)


def _key(piece: _Piece) -> _Key:
    """What stretches must share to share an answer: differences that also pass as the sweep's own are none."""
    window, mix = piece.window, piece.mix
    shown = f"{window.speculation_configured} {window.drafting} {window.k}"
    return (
        shown,
        _step(window.acceptance_length, SAME_ACCEPTANCE),
        _step(mix.mix.prompt_tokens if mix is not None else None, SAME_MIX),
        _step(mix.mix.output_tokens if mix is not None else None, SAME_MIX),
    )


def _step(value: float | None, width: float) -> int | None:
    return round(math.log(value) / width) if value is not None and value > 0 else None


def _answer(stored: StoredCrossover, declared: str | None, piece: _Piece) -> AsOfNow | None:
    live = find_live_arm(declared, stored, piece.window).name
    arm = live if live in stored.result.arms else declared
    if arm is None or arm not in stored.result.arms:
        return None
    return as_of_now(stored, arm, live, piece.window, piece.mix)
