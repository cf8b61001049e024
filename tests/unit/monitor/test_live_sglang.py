"""What a live window says of SGLang servers, from pages made of the real page's names with made-up numbers."""

from __future__ import annotations

import pytest

from monitor.live_window import LiveWindow, live_window
from monitor.values import StoredReading
from probes.values import Reading
from tests.unit.engines.pages import Line, histogram, page, reading

FRONT = {"model_name": "llama8b", "engine_type": "unified"}
RANK = {**FRONT, "tp_rank": "0", "pp_rank": "0", "moe_ep_rank": "0"}


def shown(at_s: float, *, finished: float, calls: float | None, decoded: float, gauges: dict[str, float]) -> Reading:
    """A page on which every finished answer had 128 tokens."""
    lines: list[Line] = [
        ("sglang:num_running_reqs", RANK, 8.0),
        ("sglang:num_queue_reqs", RANK, 0.0),
        ("sglang:realtime_tokens_total", {**RANK, "mode": "decode"}, decoded),
        ("sglang:num_requests_total", FRONT, finished),
        *histogram("sglang:generation_tokens_histogram", FRONT, {"100": 0, "+Inf": finished}, 128 * finished),
        *((f"sglang:{name}", RANK, value) for name, value in gauges.items()),
    ]
    if calls is not None:
        lines.append(("sglang:spec_verify_calls_total", FRONT, calls))
    return reading(page(lines), at_s, wall_s=1e6)


def window(*readings: Reading) -> LiveWindow:
    return live_window([StoredReading(one, None) for one in readings], 0.0)


DRAFTING = {"spec_num_draft_tokens": 4.0, "spec_num_steps": 3.0, "spec_accept_length": 2.9, "decode_sum_seq_lens": 9.0}
PREFILLED = {"spec_num_draft_tokens": 0.0, "spec_num_steps": 0.0, "spec_accept_length": 0.0, "decode_sum_seq_lens": 0.0}
OFF = {**PREFILLED, "decode_sum_seq_lens": 9.0}


def test_acceptance_is_of_the_requests_that_finished_in_the_window() -> None:
    first = shown(0.0, finished=10.0, calls=600.0, decoded=2000.0, gauges=DRAFTING)
    last = shown(60.0, finished=30.0, calls=600.0 + 20 * 127 / 2.54, decoded=4600.0, gauges=DRAFTING)
    seen = window(first, last)
    assert seen.acceptance_length == pytest.approx(2.54), "not the gauge's 2.9, which is of the last 40 steps"
    assert (seen.k, seen.drafting) == (3, True)
    assert seen.effective_k == pytest.approx(3.0)
    assert seen.drafts == pytest.approx(1000.0)


@pytest.mark.parametrize(
    ("finished", "calls", "gauges", "configured", "drafting", "length"),
    [
        # Nothing finished: the calls of what runs are not counted yet.
        (10.0, 600.0, DRAFTING, True, True, 2.9),
        # The series is not there before the first drafting request has finished.
        (10.0, None, PREFILLED, None, None, None),
        (10.0, None, OFF, False, False, None),
        (30.0, 600.0, DRAFTING, True, False, None),
    ],
)
def test_what_the_window_does_not_tell_is_unknown(
    finished: float,
    calls: float | None,
    gauges: dict[str, float],
    configured: bool | None,
    drafting: bool | None,
    length: float | None,
) -> None:
    first = shown(0.0, finished=10.0, calls=calls, decoded=2000.0, gauges=gauges)
    last = shown(60.0, finished=finished, calls=calls, decoded=4600.0, gauges=gauges)
    seen = window(first, last)
    assert (seen.speculation_configured, seen.drafting) == (configured, drafting)
    assert seen.acceptance_length == length
    assert seen.tpot_ms == (None, None), "0.5.15 has no time per token by request"


def test_an_adaptive_k_that_changed_has_no_draft_length() -> None:
    first = shown(0.0, finished=10.0, calls=600.0, decoded=2000.0, gauges=DRAFTING)
    last = shown(60.0, finished=30.0, calls=1600.0, decoded=4600.0, gauges={**DRAFTING, "spec_num_draft_tokens": 2.0})
    seen = window(first, last)
    assert (seen.k, seen.effective_k) == (1, None)
    assert seen.acceptance_length == pytest.approx(2.54)
