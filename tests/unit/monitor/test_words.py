"""The lines that people read on a terminal: verdict first, units and intervals beside every number."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.commands.once import status_json, status_line, unmeasured
from monitor.service.progress import progress_line
from monitor.state import EndpointInputs, LiveSettings, endpoint_status
from monitor.units import age_text, interval_text, number
from monitor.values import SweepProgress
from monitor.verdict_text import capacity_sentence, crossover_lines
from probes.answer_values import Capacity, Verdict
from probes.values import Identity
from tests.support.readings import NOW_S, crossing, minute, stored
from tests.support.records import sweep_record


@pytest.mark.parametrize(
    ("seconds", "text"), [(4, "4 s"), (89, "89 s"), (600, "10 min"), (12600, "3.5 h"), (6 * 86400, "6 d")]
)
def test_ages(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


def test_open_edges_are_not_numbers() -> None:
    assert interval_text(24.0, 20.04, None) == "24.0 [20.0, ...]"
    assert interval_text(None, None, None) == "unknown"
    assert number(1234.5) == "1234"


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.CROSSES, "crosses at 24.0 [20.0, 29.0] concurrent per engine"),
        (Verdict.ALWAYS_FASTER, "always faster"),
        (Verdict.NEVER_FASTER, "never faster"),
        (Verdict.UNCLEAR, "unclear"),
        (Verdict.INSUFFICIENT, "insufficient"),
    ],
)
def test_every_verdict_has_its_sentence(verdict: Verdict, words: str) -> None:
    low = 64.0 if verdict is Verdict.ALWAYS_FASTER else 20.0
    lines = crossover_lines(stored(crossing(verdict=verdict, low=low)).result)
    assert words in lines[0]
    assert any("1.50x [1.45, 1.55]" in line for line in lines)


def test_a_ladder_that_met_no_limit_has_not_found_the_capacity() -> None:
    assert capacity_sentence(Capacity(7.1, 920.0, "top_of_ladder")) == (
        "capacity: limit not reached (7.1 running, 920 tok/s per engine)"
    )
    assert capacity_sentence(Capacity(40.0, 3900.0, "kv")) == (
        "capacity: 40.0 running, 3900 tok/s per engine, limited by kv"
    )


def test_progress_shows_where_it_is_and_what_is_left() -> None:
    line = progress_line(SweepProgress("cells", 12, 56, "k3", 16, 1, 540.0))
    assert "12/56" in line
    assert "k3 x16 #1" in line
    assert "9 min left" in line
    assert "left" not in progress_line(SweepProgress("done", 9, 12, None, None, None, 19.0, "gave way"))
    assert progress_line(SweepProgress("gate", 0, 0, None, None, None, 60.0, "watching")) == "gate: watching"


def test_once_gives_the_contracts_keys_and_a_line_with_the_verdict_first() -> None:
    status = endpoint_status(
        EndpointInputs("chat", "chat", None, minute(40.0), Identity(version="0.26.0"), "f" * 12, stored()),
        LiveSettings(60.0, 20.0, 86400.0, 3.0),
        NOW_S,
    )
    shown = status_json(status)
    contract = "name state reason engine version engines running_max concurrency speculation live_arm crossover verdict"
    assert set(shown) >= {*contract.split(), "alerting", "speedup_now"}
    assert set(shown["speculation"]) == {"configured", "drafting", "k", "acceptance_length"}
    assert set(shown["crossover"]) == {"for_arm", "verdict", "value", "low", "high", "age_s", "imported"}
    assert shown["alerting"] is True
    line = status_line(status)
    assert line.startswith("ABOVE   chat")
    assert "crossover of k3 24.0 [20.0, 29.0], measured 60 min ago" in line


def test_once_says_why_a_load_above_raises_no_alert() -> None:
    status = endpoint_status(
        EndpointInputs("chat", "chat", None, minute(40.0), Identity(version="0.26.0"), "f" * 12, stored()),
        LiveSettings(60.0, 20.0, 86400.0, 90.0),
        NOW_S,
    )
    point = status.speedup_now
    assert point is not None
    assert f"no alert: the band reaches {point.high:.2f}x, and a loss of 90% is tolerated" in status_line(status)
    assert status_json(status)["alerting_reason"].startswith("the band reaches")
    tolerant = replace(status, alerting=True, alerting_reason="")
    assert "no alert" not in status_line(tolerant)
    assert status_line(tolerant).endswith("; alert: the whole band is beyond the tolerated loss")


def test_once_says_what_to_do_where_nothing_was_swept() -> None:
    status = endpoint_status(
        EndpointInputs("chat", "chat-70b", None, minute(40.0), Identity(version="0.26.0"), "f" * 12, None),
        LiveSettings(60.0, 20.0, 86400.0, 3.0),
        NOW_S,
    )
    assert "no sweep has measured this pool yet: `specwatch sweep chat-70b --plan` says" in status_line(status)
    aborted = sweep_record(outcome="aborted", reason="foreign traffic on chat")
    assert unmeasured([aborted]) == [f"its last sweep ({aborted.id}) gave no answer: aborted, foreign traffic on chat"]
    assert unmeasured([sweep_record(outcome="running")]) == []
