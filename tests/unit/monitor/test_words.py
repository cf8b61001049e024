"""The lines that people read on a terminal: verdict first, units and intervals beside every number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.commands.once import status_json
from monitor.commands.once_text import MISSED_S, gone_words, is_missed, pause_words, status_line, unmeasured
from monitor.service.locks import Gone, Holder
from monitor.service.progress import progress_line
from monitor.state import EndpointInputs, LiveSettings, endpoint_status
from monitor.units import age_text, interval_text, number
from monitor.values import EndpointStatus, StoredCrossover, StoredReading, SweepProgress
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
    assert "; alert: the whole band is beyond the tolerated loss; " in status_line(tolerant)


def test_once_says_what_to_do_where_nothing_was_swept() -> None:
    status = endpoint_status(
        EndpointInputs("chat", "chat-70b", None, minute(40.0), Identity(version="0.26.0"), "f" * 12, None),
        LiveSettings(60.0, 20.0, 86400.0, 3.0),
        NOW_S,
    )
    assert "no sweep has measured this pool yet: `specwatch sweep chat-70b --plan` says" in status_line(status)
    aborted = sweep_record(outcome="aborted", reason="foreign traffic on chat")
    aborted = replace(aborted, ended_at_s=NOW_S - 720.0)
    assert unmeasured([aborted], NOW_S, owed=False) == [
        f"its last sweep ({aborted.id}) gave no answer: aborted 12 min ago, foreign traffic on chat"
    ]
    assert unmeasured([sweep_record(outcome="running")], NOW_S, owed=False) == []
    line = status_line(status, ["its last sweep gave no answer"])
    assert line.index("no answer") < line.index("40.0 concurrent per engine")


def test_a_server_that_is_back_is_not_said_to_be_away() -> None:
    """The refusal was true when it was written; `specwatch stop` has put the server back since."""
    refused = replace(
        sweep_record(outcome="refused", reason="chat is not put back yet"),
        ended_by="not_restored",
        ended_at_s=NOW_S - 60.0,
    )
    assert "not put back yet" in unmeasured([refused], NOW_S, owed=True)[0]
    (back,) = unmeasured([refused], NOW_S, owed=False)
    assert back.endswith("refused 60 s ago, a server was not put back then; it is now")


def test_what_else_a_refusal_named_is_still_told_once_the_server_is_back() -> None:
    both = replace(
        sweep_record(outcome="refused", reason="chat is not put back yet; sweeps are paused until 2030"),
        ended_by="not_restored,paused",
        ended_at_s=NOW_S - 60.0,
    )
    (said,) = unmeasured([both], NOW_S, owed=False)
    assert "sweeps are paused until 2030" in said
    assert said.endswith("; that server is put back now")


def test_a_long_tie_is_told_in_words() -> None:
    tie = ((1, 1.2, 1.1, 1.3), (32, 1.05, 1.01, 1.1), (64, 1.01, 0.94, 1.08))
    always = crossing(verdict=Verdict.ALWAYS_FASTER, value=None, low=40.0, high=None, band=tie)
    line = status_line(_of(minute(48.0), stored(always)))
    assert line.startswith("BELOW   chat  48.0 concurrent per engine; crossover of k3 none up to 64.0, measured")
    assert "_" not in line


def test_the_reason_stands_before_the_details() -> None:
    line = status_line(_of(minute(24.0), stored()))
    assert line.index("inside the crossover's interval") < line.index("live arm k3")
    unknown = status_line(_of(minute(24.0), stored(), settled_at_s=NOW_S + 48.0))
    assert unknown.startswith(
        "UNKNOWN chat  sweep 9 has ended and settles for another 48 s; traffic is not compared; 24.0"
    )
    assert "is loading" in status_line(_of(minute(24.0), stored(), sweep_id=9))


def _of(
    readings: Sequence[StoredReading],
    crossover: StoredCrossover,
    *,
    sweep_id: int | None = None,
    settled_at_s: float | None = None,
) -> EndpointStatus:
    inputs = EndpointInputs("chat", "chat", None, readings, Identity(version="0.26.0"), "f" * 12, crossover)
    sweep_id = 9 if settled_at_s is not None else sweep_id
    inputs = replace(inputs, sweep_id=sweep_id, settled_at_s=settled_at_s)
    return endpoint_status(inputs, LiveSettings(60.0, 20.0, 86400.0, 3.0), NOW_S)


def test_a_daemon_that_is_gone_and_a_pause_are_said_with_what_to_do() -> None:
    died = gone_words(Gone(Holder(12, "vm")), Path("/srv/config.toml"), 15.0)
    assert died.startswith("The daemon (pid 12 on vm) died; it last looked 15 s ago. Nobody is alerted")
    assert "`specwatch serve --config /srv/config.toml`" in died
    assert gone_words(Gone(None), Path("c.toml"), None).startswith("The daemon is not running. Nobody is alerted")
    paused = pause_words(NOW_S + 7200.0, "launch (ann on vm)", NOW_S)
    assert "(for 2.0 h): launch (ann on vm)" in paused
    assert "UTC" in paused


def test_a_daemon_that_ended_in_order_is_missed_for_a_day_and_one_that_died_until_another_runs() -> None:
    """A job that mails what `once` says must not mail for ever because somebody tried `serve` once."""
    assert is_missed(Gone(None), MISSED_S - 1.0)
    assert not is_missed(Gone(None), MISSED_S)
    assert not is_missed(Gone(None), None)
    assert is_missed(Gone(Holder(12, "vm")), 30 * MISSED_S)
    assert is_missed(Gone(Holder(12, "vm")), None)
