"""What an on-call engineer is told of one endpoint, for every situation that production can be in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from monitor.state import EndpointInputs, LiveSettings, endpoint_status
from monitor.values import EndpointStatus, LiveVerdict, StoredCrossover, StoredReading
from probes.answer_values import Axis, Verdict
from probes.values import Identity, State
from tests.support.readings import NOW_S, crossing, engine, minute, reading, stored

SETTINGS = LiveSettings(live_window_s=60.0, stale_after_s=20.0, max_age_s=14 * 86400.0, tolerated_loss_pct=3.0)
PRINT = "f" * 12


def status(
    readings: Sequence[StoredReading],
    crossover: StoredCrossover | None = None,
    *,
    declared: str | None = None,
    fingerprint: str | None = PRINT,
    sweep_id: int | None = None,
    now_s: float = NOW_S,
) -> EndpointStatus:
    inputs = EndpointInputs(
        name="chat",
        pool="chat",
        declared_live_arm=declared,
        readings=readings,
        identity=Identity(version="0.26.0", model_root="m"),
        fingerprint=fingerprint,
        crossover=crossover,
        sweep_id=sweep_id,
    )
    return endpoint_status(inputs, SETTINGS, now_s)


@pytest.mark.parametrize(
    ("concurrency", "verdict", "alerting"),
    [
        (10.0, LiveVerdict.BELOW, False),
        (25.0, LiveVerdict.INSIDE, False),
        (29.5, LiveVerdict.ABOVE, True),
        (40.0, LiveVerdict.ABOVE, True),
        (0.0, LiveVerdict.BELOW, False),
    ],
)
def test_live_concurrency_is_compared_with_the_interval(
    concurrency: float, verdict: LiveVerdict, alerting: bool
) -> None:
    seen = status(minute(concurrency), stored())
    assert seen.concurrency == pytest.approx(concurrency)
    assert seen.verdict is verdict
    assert seen.alerting is alerting
    assert seen.live_arm == "k3"
    if concurrency:
        assert seen.headroom == pytest.approx(20.0 / concurrency)


@pytest.mark.parametrize(
    ("here", "says"),
    [
        ((0.88, 0.8, 0.96), ", and k3 is slower at this load beyond the noise"),
        ((1.1, 1.03, 1.2), ", but k3 is still faster at this load beyond the noise"),
        ((1.01, 0.95, 1.08), ": a tie within what the sweep could tell"),
    ],
)
def test_inside_the_interval_is_a_tie_only_where_the_band_says_so(here: tuple[float, float, float], says: str) -> None:
    """A step lies somewhere between the edges, so the load of now may be clear of it."""
    stepped = crossing(band=((1, 1.9, 1.8, 2.0), (25, *here), (64, 0.8, 0.75, 0.85)))
    seen = status(minute(25.0), stored(stepped))
    assert seen.verdict is LiveVerdict.INSIDE
    assert seen.verdict_reason == f"inside the crossover's interval{says}"
    assert (
        "tie"
        not in status(minute(20.5), stored(crossing(band=((24, 1, 0.9, 1.1), (64, 0.8, 0.7, 0.9))))).verdict_reason
    )


def test_a_band_that_ends_just_over_the_limit_is_not_said_to_end_on_it() -> None:
    edge = crossing(band=((1, 1.9, 1.8, 2.0), (40, 0.9, 0.83, 0.9704), (64, 0.8, 0.75, 0.85)))
    told = status(minute(40.0), stored(edge)).alerting_reason
    assert told == "the band reaches just over 0.97x, and a loss of 3% is tolerated"


@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.CROSSES])
def test_without_a_crossover_there_is_no_headroom(verdict: Verdict) -> None:
    """An arm that was faster everywhere carries an edge too: how far up that was clear."""
    seen = status(minute(40.0), stored(crossing(verdict=verdict, value=None, low=32.0, high=None)))
    assert seen.headroom is None


def test_a_tolerated_loss_does_not_alert_even_above_the_crossover() -> None:
    small = crossing(band=((1, 1.9, 1.8, 2.0), (29, 0.985, 0.975, 0.995), (64, 0.98, 0.972, 0.99)))
    seen = status(minute(40.0), stored(small))
    assert seen.verdict is LiveVerdict.ABOVE
    assert seen.rule_applies
    assert not seen.alerting


def test_above_while_speculation_is_off_never_alerts() -> None:
    seen = status(minute(40.0, k=None), stored())
    assert seen.live_arm == "off"
    assert seen.crossover is not None
    assert seen.crossover.for_arm == "k3"
    assert seen.verdict is LiveVerdict.ABOVE
    assert not seen.rule_applies
    assert not seen.alerting
    assert seen.speedup_now is None


def test_an_operator_who_switched_speculation_off_is_believed_over_the_config() -> None:
    seen = status(minute(40.0, k=None), stored(), declared="k3")
    assert seen.live_arm == "off"
    assert "contradicts" in seen.live_arm_reason
    assert not seen.alerting


def test_an_ambiguous_arm_makes_the_verdict_unknown() -> None:
    twins = stored(crossing("k3"), crossing("k3-fp8"), arm_k={"off": None, "k3": 3, "k3-fp8": 3})
    seen = status(minute(40.0), twins)
    assert seen.live_arm is None
    assert seen.verdict is LiveVerdict.UNKNOWN
    assert "k3-fp8" in seen.verdict_reason
    assert status(minute(40.0), twins, declared="k3").verdict is LiveVerdict.ABOVE


def test_configured_but_not_drafting_is_not_mistaken_for_the_arm() -> None:
    seen = status(minute(40.0, drafts_per_s=0.0), stored())
    assert seen.drafting is False
    assert seen.live_arm is None
    assert seen.verdict is LiveVerdict.UNKNOWN


def test_beyond_the_measured_range_the_rule_does_not_apply() -> None:
    seen = status(minute(100.0), stored())
    assert seen.verdict is LiveVerdict.ABOVE
    assert seen.speedup_now is None
    assert not seen.rule_applies
    assert "outside the range" in seen.alerting_reason


def test_the_highest_measured_load_is_told_as_people_write_numbers() -> None:
    band = ((1, 1.9, 1.85, 1.95), (63.90742924317215, 1.2, 1.1, 1.3))
    always = crossing(verdict=Verdict.ALWAYS_FASTER, value=None, low=63.9, high=None, band=band)
    assert "faster everywhere up to 63.9, nothing" in status(minute(70.0), stored(always)).verdict_reason


@pytest.mark.parametrize(
    ("verdict", "concurrency", "expected"),
    [
        (Verdict.ALWAYS_FASTER, 40.0, LiveVerdict.BELOW),
        (Verdict.ALWAYS_FASTER, 65.0, LiveVerdict.BELOW),  # 64 was measured, and two looks at it differ as much
        (Verdict.ALWAYS_FASTER, 66.0, LiveVerdict.UNKNOWN),
        (Verdict.NEVER_FASTER, 0.5, LiveVerdict.ABOVE),
        (Verdict.NEVER_FASTER, 0.0, LiveVerdict.BELOW),
        (Verdict.UNCLEAR, 40.0, LiveVerdict.UNKNOWN),
        (Verdict.INSUFFICIENT, 40.0, LiveVerdict.UNKNOWN),
    ],
)
def test_every_sweep_verdict_has_its_live_meaning(verdict: Verdict, concurrency: float, expected: LiveVerdict) -> None:
    arm = crossing(verdict=verdict, value=None, low=None, high=None)
    assert status(minute(concurrency), stored(arm)).verdict is expected


@pytest.mark.parametrize(
    ("crossover", "options", "words"),
    [
        (None, {}, "no sweep"),
        (stored(age_s=15 * 86400.0), {}, "expired"),
        (stored(fingerprint="0" * 12), {}, "sweep again"),
        (stored(), {"fingerprint": None}, "not known yet"),
        (stored(), {"sweep_id": 9}, "sweep 9"),
    ],
)
def test_what_cannot_be_compared_is_unknown_with_a_reason(
    crossover: StoredCrossover | None, options: dict[str, str | int | None], words: str
) -> None:
    seen = status(minute(40.0), crossover, **options)  # type: ignore[arg-type]
    assert seen.verdict is LiveVerdict.UNKNOWN
    assert words in seen.verdict_reason
    assert not seen.alerting


def test_a_failed_scrape_is_a_state_and_not_a_zero() -> None:
    failed = StoredReading(reading(NOW_S, state=State.DOWN, reason="refused"), None)
    seen = status([*minute(40.0, end_s=NOW_S - 5), failed], stored())
    assert seen.state is State.DOWN
    assert seen.concurrency is None
    assert seen.age_s == pytest.approx(5.0)
    assert seen.verdict is LiveVerdict.UNKNOWN


def test_old_readings_are_stale() -> None:
    seen = status(minute(40.0), stored(), now_s=NOW_S + 30)
    assert seen.state is State.STALE
    assert seen.verdict is LiveVerdict.UNKNOWN


def test_one_reading_is_no_mean() -> None:
    seen = status(minute(40.0)[-1:], stored())
    assert seen.concurrency is None
    assert seen.verdict is LiveVerdict.UNKNOWN
    assert "only one reading" in seen.verdict_reason


def test_readings_of_a_sweep_are_not_live_load() -> None:
    seen = status(minute(64.0, sweep_id=7), stored())
    assert seen.concurrency is None
    assert seen.verdict is LiveVerdict.UNKNOWN


def test_the_busiest_engine_decides_not_the_sum() -> None:
    held = [
        StoredReading(
            reading(
                NOW_S - 5 * n,
                [
                    engine("0", running=15.0, tokens=1000.0 - n, drafts=100.0 - n),
                    engine("1", running=18.0, tokens=1000.0 - n, drafts=100.0 - n),
                ],
                k=3,
            ),
            None,
        )
        for n in (2, 1, 0)
    ]
    seen = status(held, stored())
    assert seen.concurrency == pytest.approx(18.0)
    assert seen.busiest_engine == "1"
    assert seen.verdict is LiveVerdict.BELOW
    by_clients = replace(stored(), result=replace(stored().result, axis=Axis.CLIENTS))
    assert status(held, by_clients).verdict is LiveVerdict.UNKNOWN


def test_nothing_is_averaged_across_a_restart() -> None:
    before = minute(60.0, end_s=NOW_S - 15, count=6)
    after = [
        StoredReading(reading(NOW_S - 5 * n, [engine(running=2.0, tokens=10.0 - n)], process_start_s=99.0), None)
        for n in (1, 0)
    ]
    seen = status([*before, *after], stored())
    assert seen.concurrency == pytest.approx(2.0)
    assert seen.live_arm == "off"


def test_a_server_that_was_not_measured_gets_no_number_from_the_sweep() -> None:
    seen = status(minute(40.0), stored(), fingerprint="0" * 12)
    assert seen.verdict is LiveVerdict.UNKNOWN
    assert seen.crossover is not None
    assert (seen.speedup_now, seen.loss_pct, seen.headroom) == (None, None, None)


def test_an_arm_without_speculation_beside_the_baseline_never_alerts() -> None:
    twin = replace(stored(), arm_k={"off": None, "k3": None})
    seen = status(minute(40.0, k=None), twin, declared="k3")
    assert seen.live_arm == "k3"
    assert seen.verdict is LiveVerdict.ABOVE
    assert not seen.alerting
    assert not seen.rule_applies


def test_an_unclear_curve_still_alerts_where_its_whole_band_is_slower() -> None:
    seen = status(minute(40.0), stored(crossing(verdict=Verdict.UNCLEAR, value=None, low=None, high=None)))
    assert seen.verdict is LiveVerdict.UNKNOWN
    assert seen.rule_applies
    assert seen.alerting


def test_a_declared_arm_that_drafts_nothing_is_not_compared() -> None:
    seen = status(minute(40.0, drafts_per_s=0.0), stored(), declared="k3")
    assert seen.live_arm is None
    assert "drafted nothing" in seen.verdict_reason
    assert not seen.alerting


def test_an_arm_whose_k_nobody_knows_is_neither_refuted_nor_mistaken_for_the_baseline() -> None:
    unknown_k = stored(arm_k={"off": None, "k3": None})
    assert status(minute(40.0), unknown_k, declared="k3").live_arm == "k3"
    assert status(minute(40.0, k=None), unknown_k, declared="off").live_arm == "off"
    held = [StoredReading(replace(r.reading, k=None), None) for r in minute(40.0)]
    assert status(held, unknown_k).live_arm is None


def test_nothing_is_averaged_across_a_sweep() -> None:
    before = minute(60.0, end_s=NOW_S - 40, count=3)
    during = minute(64.0, end_s=NOW_S - 20, count=3, sweep_id=7)
    seen = status([*before, *during, *minute(5.0, count=3)], stored())
    assert seen.concurrency == pytest.approx(5.0)


def test_before_the_first_sweep_the_page_still_tells_off_from_on() -> None:
    """A replica without speculation is not the pool's live arm just because the config says so of the pool."""

    def arm(k: int | None, declared: str) -> str | None:
        inputs = EndpointInputs("chat-b", "chat", declared, minute(40.0, k=k), Identity(version="1"), PRINT, None)
        return endpoint_status(replace(inputs, declared_baseline="off"), SETTINGS, NOW_S).live_arm

    assert arm(None, "k3") == "off"
    assert arm(3, "k3") == "k3"
    assert arm(3, "off") is None
    assert arm(None, "off") == "off"


def test_a_state_is_told_in_words() -> None:
    page = StoredReading(reading(NOW_S, state=State.NOT_AN_ENGINE, reason="a gateway's page"), None)
    assert status([page], stored()).verdict_reason == "not an engine: a gateway's page"
