"""Whatever a page claims, judging it must not fail: one endpoint's odd numbers would silence the alerts of all."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.commands.once import status_json
from monitor.commands.once_text import status_line
from tests.support.drift import live_minute, live_mix_of
from tests.unit.monitor.test_as_of_now import status

LOADS = st.floats(0.0, 1e5)
SHARES = st.lists(st.floats(0.0, 2.0), min_size=1, max_size=6)
TOKENS = st.floats(0.0, 1e7)


@settings(max_examples=150)
@given(
    load=LOADS,
    accepted=SHARES,
    tok_s=st.floats(0.0, 1e7),
    drafts_per_s=st.none() | st.floats(0.0, 1e6),
    prompts=TOKENS,
    outputs=st.floats(1e-3, 1e6),
    requests=st.none() | st.floats(20.0, 1e6),
)
def test_any_live_traffic_is_judged_or_said_to_be_unknown(
    load: float,
    accepted: list[float],
    tok_s: float,
    drafts_per_s: float | None,
    prompts: float,
    outputs: float,
    requests: float | None,
) -> None:
    mix = live_mix_of(prompts, outputs, requests) if requests is not None else None
    k = len(accepted)
    readings = live_minute(load, accepted=accepted, k=k, output_tok_s=tok_s, drafts_per_s=drafts_per_s)
    seen = status(readings, mix=mix)
    now = seen.as_of_now
    if now is not None:
        numbers = [now.value, now.low, now.high, *(edge for p in now.band for edge in (p.ratio, p.low, p.high))]
        assert all(math.isfinite(n) for n in numbers if n is not None)
        assert not (now.decides and not now.band and seen.alerting)
    assert status_line(seen)
    assert status_json(seen)
