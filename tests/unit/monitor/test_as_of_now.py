"""What is said of live traffic that left what the sweep measured, by the step times of a real H200."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from monitor.alerts.crossover_text import as_of_now_lines
from monitor.commands.once import status_json
from monitor.commands.once_text import status_line
from monitor.now_values import LiveMix
from monitor.now_words import reason_words
from monitor.state import EndpointInputs, LiveSettings, endpoint_status
from monitor.units import interval_text
from monitor.values import CrossoverNow, EndpointStatus, LiveVerdict, StoredCrossover, StoredReading
from monitor.verdict_now import place
from probes.answer_values import ArmVerdict, Axis, BandPoint, Verdict
from probes.crossover import speedup_at
from probes.crossover.estimate import curve_at
from probes.values import Identity, Reason
from tests.support.drift import SWEPT, SWEPT_MIX, h200, live_minute, live_mix_of, stored_h200
from tests.support.readings import NOW_S

SETTINGS = LiveSettings(live_window_s=60.0, stale_after_s=20.0, max_age_s=14 * 86400.0, tolerated_loss_pct=3.0)
POOR = (0.50, 0.30, 0.20)
RICH = (0.85, 0.72, 0.60)
AS_SWEPT = live_mix_of(178.0, 256.0)


def status(
    readings: Sequence[StoredReading],
    stored: StoredCrossover | None = None,
    *,
    mix: LiveMix | None = None,
) -> EndpointStatus:
    inputs = EndpointInputs(
        name="chat",
        pool="chat",
        declared_live_arm=None,
        readings=readings,
        identity=Identity(version="0.26.0", model_root="m"),
        fingerprint="f" * 12,
        crossover=stored or stored_h200(),
        mix=mix,
    )
    return endpoint_status(inputs, SETTINGS, NOW_S)


def baseline_tok_s(concurrency: float) -> float:
    found = curve_at(h200().curves["off"], concurrency)
    assert found is not None
    return found.tok_s


def test_traffic_as_swept_is_judged_by_the_sweep_alone() -> None:
    seen = status(live_minute(120.0), mix=live_mix_of(190.0, 250.0))
    k3 = h200().arms["k3"]
    now = seen.as_of_now
    assert now is not None
    assert not now.decides
    assert (now.value, now.low, now.high, now.band) == (k3.crossover, k3.low, k3.high, k3.speedup)
    assert seen.speedup_now == speedup_at(k3, 120.0)
    assert seen.verdict is LiveVerdict.BELOW
    assert now.break_even is not None
    assert now.break_even.low < now.break_even.ratio < 2.62
    assert now.acceptance_length == pytest.approx(2.62)
    assert now.mix_measured == SWEPT_MIX


def test_poorer_acceptance_moves_the_crossover_below_the_load_and_alerts() -> None:
    swept, now = status(live_minute(120.0)), status(live_minute(120.0, accepted=POOR))
    assert swept.verdict is LiveVerdict.BELOW
    assert now.as_of_now is not None
    assert now.as_of_now.decides
    assert now.as_of_now.value == pytest.approx(82.0, rel=0.05)
    assert now.verdict is LiveVerdict.ABOVE
    assert now.speedup_now is not None
    assert now.speedup_now.high < 0.97
    assert now.rule_applies
    assert now.alerting
    assert now.headroom == pytest.approx((now.as_of_now.low or 0.0) / 120.0)
    assert now.crossover is not None
    assert now.crossover.value == swept.crossover.value if swept.crossover else False


def test_richer_acceptance_takes_an_alert_away_that_the_sweep_alone_would_raise() -> None:
    swept, now = status(live_minute(230.0)), status(live_minute(230.0, accepted=RICH))
    assert swept.alerting
    assert now.verdict is LiveVerdict.BELOW
    assert not now.alerting
    assert "and at this load the difference is inside the noise" in now.verdict_reason


def test_the_moved_band_is_wider_than_the_measured_one() -> None:
    moved = status(live_minute(120.0, accepted=POOR)).speedup_now
    measured = speedup_at(h200().arms["k3"], 120.0)
    assert moved is not None
    assert measured is not None
    assert moved.high / moved.low > measured.high / measured.low


def test_break_even_does_not_depend_on_the_live_acceptance() -> None:
    now, then = status(live_minute(120.0, accepted=POOR)).as_of_now, status(live_minute(120.0)).as_of_now
    assert now is not None
    assert then is not None
    assert now.break_even == then.break_even
    assert now.break_even is not None
    assert now.break_even.ratio == pytest.approx(2.31, rel=0.05)


@pytest.mark.parametrize(
    ("accepted", "drafts_per_s", "decides"),
    [
        ((0.70, 0.505, 0.37), None, False),
        ((0.66, 0.47, 0.33), None, True),
        (POOR, 1.0, False),
        (POOR, 100.0, True),
    ],
    ids=["within 3%", "beyond 3%", "sixty drafts", "six thousand drafts"],
)
def test_acceptance_has_moved_only_beyond_its_own_noise(
    accepted: tuple[float, ...], drafts_per_s: float | None, decides: bool
) -> None:
    now = status(live_minute(120.0, accepted=accepted, drafts_per_s=drafts_per_s)).as_of_now
    assert now is not None
    assert now.decides is decides


@pytest.mark.parametrize(("answer_tokens", "decides"), [(256.0, True), (60_000.0, False)])
def test_acceptance_of_a_few_long_requests_is_theirs_and_no_drift(answer_tokens: float, decides: bool) -> None:
    """However many steps they take: two hundred thousand drafts of sixty requests are sixty requests."""
    readings = live_minute(50.0, accepted=(0.66, 0.47, 0.33), answer_tokens=answer_tokens)
    now = status(readings).as_of_now
    assert now is not None
    assert now.decides is decides


@pytest.mark.parametrize(("requests", "decides"), [(800.0, True), (25.0, False)])
def test_another_mix_moves_the_crossover_once_enough_requests_have_shown_it(requests: float, decides: bool) -> None:
    now = status(live_minute(120.0), mix=live_mix_of(240.0, 256.0, requests)).as_of_now
    assert now is not None
    assert now.decides is decides


def test_a_mix_that_no_sweep_covers_is_not_judged() -> None:
    seen = status(live_minute(230.0), mix=live_mix_of(6000.0, 240.0))
    assert seen.as_of_now is not None
    assert seen.as_of_now.verdict is Verdict.INSUFFICIENT
    assert seen.verdict is LiveVerdict.UNKNOWN
    assert "6000 prompt" in seen.verdict_reason
    assert "Sweep with requests like today's" in seen.verdict_reason
    assert (seen.speedup_now, seen.headroom, seen.loss_pct, seen.cost) == (None, None, None, None)
    assert not seen.rule_applies
    assert not seen.alerting


def test_a_mix_that_few_requests_have_shown_leaves_a_wider_band() -> None:
    few, many = (status(live_minute(120.0), mix=live_mix_of(400.0, 256.0, n)).as_of_now for n in (30.0, 3000.0))
    assert few is not None
    assert many is not None
    assert few.decides
    assert many.decides
    assert few.band[-1].high / few.band[-1].low > many.band[-1].high / many.band[-1].low


def test_without_a_model_the_measured_band_stands_and_the_change_is_told() -> None:
    seen = status(live_minute(230.0, accepted=POOR), stored_h200(step_model=None))
    assert seen.as_of_now is not None
    assert not seen.as_of_now.decides
    assert seen.speedup_now == speedup_at(h200().arms["k3"], 230.0)
    assert seen.alerting
    assert seen.verdict_reason == "", "the two numbers speak for themselves"
    assert "2.00 now and was 2.62 in the sweep" in reason_words(seen)
    assert "likely too high" in status_json(seen)["verdict_reason"]


def test_a_result_without_model_curves_or_acceptance_says_nothing_as_of_now() -> None:
    bare = stored_h200(step_model=None, curves={}, acceptance={})
    assert status(live_minute(120.0, accepted=POOR), bare).as_of_now is None


UNTOLD = Reason("no_step_model", "The crossover as swept will not follow: the cells scatter by 9.1%.")


@pytest.mark.parametrize("accepted", [SWEPT, POOR], ids=["acceptance as swept", "poorer acceptance"])
def test_where_the_sweep_has_no_model_its_reason_is_told(accepted: tuple[float, ...]) -> None:
    """Break-even and crossover as of now do not just vanish."""
    seen = status(live_minute(120.0, accepted=accepted), stored_h200(step_model=None, notes=(UNTOLD,)), mix=AS_SWEPT)
    assert seen.speedup_now == speedup_at(h200().arms["k3"], 120.0)
    assert "scatter by 9.1%" in status_line(seen)
    shown = status_json(seen)["as_of_now"]
    assert shown["break_even_acceptance"] is None
    assert shown["reasons"][-1] == {"code": UNTOLD.code, "text": UNTOLD.text}
    assert any("likely too high" in reason["text"] for reason in shown["reasons"]) is (accepted == POOR)


@pytest.mark.parametrize(
    ("load", "moved", "verdict"),
    [
        (4.0, True, LiveVerdict.BELOW),
        (16.0, True, LiveVerdict.UNKNOWN),
        (40.0, True, LiveVerdict.ABOVE),
        (80.0, True, LiveVerdict.UNKNOWN),
        (4.0, False, LiveVerdict.UNKNOWN),
        (40.0, False, LiveVerdict.UNKNOWN),
    ],
)
def test_a_band_as_of_now_without_a_crossover_still_tells_its_sure_sides(
    load: float, moved: bool, verdict: LiveVerdict
) -> None:
    band = (
        BandPoint(1, 1.5, 1.4, 1.6), BandPoint(8, 1.2, 1.1, 1.3), BandPoint(16, 1.0, 0.8, 1.2),
        BandPoint(32, 0.9, 0.8, 0.98), BandPoint(64, 0.8, 0.7, 0.9),
    )  # fmt: skip
    unclear = CrossoverNow("k3", Verdict.UNCLEAR, None, None, None, 60.0, 7, expired=False, band=band)
    assert place(load, unclear, moved=moved)[0] is verdict


@pytest.mark.parametrize(
    ("load", "sure", "verdict", "words"),
    [
        (20.0, 40.0, LiveVerdict.BELOW, "faster at this load, and no loss is sure up to 64.0, the highest measured"),
        (0.5, 40.0, LiveVerdict.BELOW, "faster up to 40.0, and nothing was measured at this load"),
        (60.0, 40.0, LiveVerdict.BELOW, "faster up to 40.0, and at this load the difference is inside the noise"),
        (60.0, 64.0, LiveVerdict.BELOW, "faster at every concurrency measured"),
        (80.0, 40.0, LiveVerdict.UNKNOWN, "nothing measured beyond"),
    ],
)
def test_above_its_last_sure_gain_an_arm_that_never_loses_is_said_to_tie(
    load: float, sure: float, verdict: LiveVerdict, words: str
) -> None:
    low = 0.98 if sure < 64 else 1.01
    band = (BandPoint(1, 1.5, 1.4, 1.6), BandPoint(32, 1.2, 1.1, 1.3), BandPoint(64, 1.03, low, 1.08))
    faster = CrossoverNow("k3", Verdict.ALWAYS_FASTER, None, sure, None, 60.0, 7, expired=False, band=band)
    where, why = place(load, faster)
    assert where is verdict
    assert words in why


@pytest.mark.parametrize(("load", "low"), [(1.0, 40.0), (1.0, 64.0), (1.0, None), (2.0, 40.0)])
def test_a_tie_at_low_load_is_not_called_a_gain(load: float, low: float | None) -> None:
    band = (BandPoint(1, 1.02, 0.97, 1.07), BandPoint(8, 1.3, 1.2, 1.4), BandPoint(40, 1.1, 1.01, 1.2))
    top = BandPoint(64, 1.03, 0.98, 1.08)
    faster = CrossoverNow("k3", Verdict.ALWAYS_FASTER, None, low, None, 60.0, 7, expired=False, band=(*band, top))
    where, why = place(load, faster)
    assert where is LiveVerdict.BELOW
    assert ("inside the noise" in why) is (load == 1.0)
    assert ("was faster at this load" in why) is (load == 2.0)


def test_other_arms_get_the_live_acceptance_of_their_own_positions() -> None:
    now = status(live_minute(60.0, accepted=POOR)).as_of_now
    assert now is not None
    assert set(now.arms) == {"k1", "k3"}, "what a longer draft would get accepted is not known"
    measured, moved = h200().arms["k1"].crossover, now.arms["k1"].crossover
    assert measured is not None
    assert moved is not None
    assert moved < measured


def test_while_speculation_is_off_the_mix_alone_moves_the_best_arms_crossover() -> None:
    seen = status(live_minute(120.0, k=None), mix=live_mix_of(240.0, 256.0))
    assert seen.live_arm == "off"
    now = seen.as_of_now
    assert now is not None
    assert now.decides
    assert (now.acceptance_length, now.observed) == (None, None)
    assert not seen.alerting


def test_the_output_is_put_beside_what_the_baseline_would_make_of_the_load() -> None:
    now = status(live_minute(120.0, output_tok_s=1.1 * baseline_tok_s(120.0)), mix=AS_SWEPT).as_of_now
    assert now is not None
    assert now.observed is not None
    assert now.observed.ratio == pytest.approx(1.1)
    assert now.observed.low < 1.0, "a gauge that reads a fifth low would explain as much"
    assert now.observed.high > 1.1


def test_an_output_that_is_clearly_ahead_holds_the_alert_back() -> None:
    seen = status(live_minute(230.0, output_tok_s=1.6 * baseline_tok_s(230.0)), mix=AS_SWEPT)
    assert seen.verdict is LiveVerdict.ABOVE
    assert not seen.alerting
    assert "contradicts the sweep" in seen.alerting_reason
    assert status(live_minute(230.0, output_tok_s=0.5 * baseline_tok_s(230.0)), mix=AS_SWEPT).alerting


def test_an_output_that_does_not_show_the_loss_is_not_sure_enough_for_an_alert() -> None:
    """As on the H200 whose K=3 server made 12% less than off when it was swept, and as much an hour later."""
    seen = status(live_minute(230.0, output_tok_s=1.05 * baseline_tok_s(230.0)), mix=AS_SWEPT)
    assert seen.speedup_now is not None
    assert seen.speedup_now.high < 0.97
    assert not seen.alerting
    assert "not sure enough for an alert" in seen.alerting_reason
    borne_out = status(live_minute(230.0, output_tok_s=seen.speedup_now.ratio * baseline_tok_s(230.0)), mix=AS_SWEPT)
    assert borne_out.alerting


@pytest.mark.parametrize(
    ("changes", "mix"),
    [({"step_model": None}, live_mix_of(178.0, 256.0)), ({}, None)],
    ids=["nothing tells the sweep's lengths", "nothing tells those of now"],
)
def test_an_output_holds_no_alert_back_where_requests_may_be_other_ones(
    changes: dict[str, object], mix: LiveMix | None
) -> None:
    """Shorter prompts alone make more output than the baseline made of the sweep's."""
    seen = status(live_minute(230.0, output_tok_s=1.6 * baseline_tok_s(230.0)), stored_h200(**changes), mix=mix)
    assert seen.alerting


def test_an_output_that_is_behind_raises_no_alert_by_itself() -> None:
    assert not status(live_minute(120.0, output_tok_s=0.3 * baseline_tok_s(120.0))).alerting


@pytest.mark.parametrize(
    ("readings", "changes"),
    [
        (live_minute([20.0, 200.0] * 6 + [20.0]), {}),
        (live_minute([120.0] * 5), {}),
        (live_minute(120.0, live_counter=False), {}),
        (live_minute(400.0), {}),
        (live_minute(120.0), {"axis": Axis.CLIENTS}),
        (live_minute(120.0), {"curves": {}}),
    ],
    ids=[
        "unsteady load",
        "five looks",
        "counter moves at the end of requests",
        "beyond the baseline",
        "by clients",
        "no curves",
    ],
)
def test_where_output_cannot_be_compared_nothing_is_observed(
    readings: list[StoredReading], changes: dict[str, object]
) -> None:
    now = status(readings, stored_h200(**changes), mix=AS_SWEPT).as_of_now
    assert now is None or now.observed is None


def test_once_shows_the_sweeps_crossover_and_the_one_of_now() -> None:
    seen = status(live_minute(120.0, accepted=POOR), mix=live_mix_of(178.0, 256.0))
    line = status_line(seen)
    k3, now = h200().arms["k3"], seen.as_of_now
    assert now is not None
    assert f"crossover of k3 {interval_text(k3.crossover, k3.low, k3.high)}, measured" in line
    assert f"as of now {interval_text(now.value, now.low, now.high)}; " in line
    assert "; moved by acceptance 2.00 now, 2.62 when swept; pays" in line, "the requests are as they were"
    longer = status_line(status(live_minute(120.0, accepted=SWEPT), mix=live_mix_of(300.0, 256.0)))
    assert (
        "; moved by requests of 300+256 tokens (prompt + answer) over the last 15 min, 178+256 when swept; pays"
        in longer
    )
    shown = json.loads(json.dumps(status_json(seen)))
    assert shown["crossover"]["value"] == pytest.approx(162.0, rel=0.01)
    assert shown["as_of_now"]["decides"] is True
    assert shown["as_of_now"]["value"] == pytest.approx(82.0, rel=0.05)
    assert shown["as_of_now"]["break_even_acceptance"]["value"] == pytest.approx(2.31, rel=0.05)
    assert shown["as_of_now"]["mix"]["requests"] == 800.0
    assert shown["speedup_now"] == pytest.approx(seen.speedup_now.ratio if seen.speedup_now else 0.0)


def scaled(factor: float) -> dict[str, ArmVerdict]:
    """Every arm's speedup, this many times as high."""
    return {
        name: replace(
            verdict,
            speedup=tuple(
                BandPoint(p.concurrency, factor * p.ratio, factor * p.low, factor * p.high) for p in verdict.speedup
            ),
        )
        for name, verdict in h200().arms.items()
    }


@pytest.mark.parametrize(
    ("factor", "code", "words"),
    [
        (0.4, "never_pays", "k3 would lose even if every draft were accepted, 4 tokens per step"),
        (2.5, "always_pays", "k3 would win even if no draft were accepted"),
    ],
)
def test_where_no_acceptance_breaks_even_it_is_said_why(factor: float, code: str, words: str) -> None:
    seen = status(live_minute(120.0), stored_h200(arms=scaled(factor)), mix=AS_SWEPT)
    assert seen.as_of_now is not None
    assert seen.as_of_now.break_even is None
    assert words in status_line(seen)
    assert status_json(seen)["as_of_now"]["no_break_even"] == code
    assert any(words in line for line in as_of_now_lines(seen))


def test_where_one_does_nothing_of_the_kind_is_said() -> None:
    assert status_json(status(live_minute(120.0)))["as_of_now"]["no_break_even"] is None
