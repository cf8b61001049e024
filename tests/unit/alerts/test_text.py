"""What somebody woken at night reads: every number with its unit and band, and nothing that is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from monitor.alerts import text
from monitor.alerts.rule import RuleSettings
from monitor.now_values import ArmAtRate, AsOfNow, Cost, LiveMix, Span
from monitor.values import EngineNow, LiveVerdict, StoredCrossover
from probes.answer_values import ArmVerdict, BandPoint, Verdict
from probes.steptime.values import Mix
from probes.values import Reason
from tests.support.records import a_status, a_stored_crossover

SETTINGS = RuleSettings(for_s=120.0, keep_firing_for_s=300.0, tolerated_loss_pct=3.0, clear_loss_pct=1.0)
NOW_S = 1_700_000_000.0


def test_the_title_says_it_all_in_one_line() -> None:
    title, _ = text.firing(a_status(0.88), SETTINGS, NOW_S - 120, NOW_S, a_stored_crossover())
    assert title == (
        "chat (pool chat-70b): speculation is costing about 12% (14% more time per token) at 48.0 concurrent; "
        "crossover 24.0 [21.0, 28.0], measured 3 d ago"
    )


def test_the_text_says_what_how_much_and_what_to_do_before_any_detail() -> None:
    _, body = text.firing(a_status(0.88, cost=COST), SETTINGS, NOW_S - 120, NOW_S, a_stored_crossover())
    assert body.splitlines() == [
        "What: speculative decoding (arm k3, K=3) makes chat slower than off at the load it has now.",
        "How much: 12% [9, 15] less output at the same concurrency (14% [10, 18] more time per token) than without "
        "speculation, at 48.0 concurrent (requests in the system).",
        "What to do, whichever suits:",
        "- run arm k1 (K=1): it is level with off here (measured 1.01x [0.98, 1.04]; k3 0.88x [0.85, 0.91]) and faster "
        "below 50.0: lowering K removes the loss too",
        "- switch speculation off, or route this traffic to servers that run off",
        "- scale out: under 21.0 concurrent per engine k3 pays again",
        "- leave it, if neither latency nor capacity is a concern now: nothing is broken",
        "Since: 2023-11-14 22:11:20 UTC (2 min ago).",
        "What it costs: Of the 26.0 ms per token (p50 now) about 3.1 [2.3, 3.9] ms are due to it. "
        "Nothing waits, so no output is lost, but capacity is: at this concurrency k1 would make 620 [410, 840] tok/s "
        "more per engine. If requests keep arriving as now, k1 would settle at 33.0 [30.0, ...] concurrent with 31% "
        "[..., 37] less time per token (a larger gain than at the same concurrency: a faster server also holds fewer "
        "requests at a time).",
        "Crossover: 24.0 [21.0, 28.0] concurrent requests per engine; sweep 17 measured it 3 d ago.",
        "Clears: once the slowdown has stayed under 1% for 5 min, or when speculation is switched off.",
        "Look: `specwatch watch` (live), `specwatch once` (one line per endpoint).",
    ]


def test_unknown_stays_unknown() -> None:
    status = a_status(0.88, k=None, tpot_p50_ms=None, output_tok_s=None, crossover=None, live_arm=None)
    title, body = text.firing(status, SETTINGS, NOW_S, NOW_S, None)
    assert title.endswith("crossover unknown")
    assert "(arm unknown, K=unknown)" in body
    assert "Crossover: unknown." in body
    assert "ms" not in body.split()
    assert "What it costs" not in body
    assert "a smaller K may pay at this load: not known, no sweep speaks for it" in body
    assert "None" not in title + body


def bent(**points: tuple[float, float, float]) -> StoredCrossover:
    """The stored sweep with these speedups (middle, low, high) at every load from 1 to 64 for the named arms."""
    stored = a_stored_crossover()
    some = stored.result.arms["k1"]
    flat = {
        name: replace(some, arm=name, speedup=tuple(BandPoint(x, *point) for x in (1, 64)))
        for name, point in points.items()
    }
    ks = {"off": None, **{name: int(name[1:]) for name in points}}
    return replace(stored, result=replace(stored.result, arms=flat), arm_k=ks)


LOST = (0.8, 0.77, 0.83)


def advice(measured: StoredCrossover | None, **status: Any) -> str:
    body = text.firing(a_status(0.8, **status), SETTINGS, NOW_S, NOW_S, measured)[1]
    return body.split("What to do, whichever suits:\n")[1].split("Since:")[0]


def test_a_smaller_k_is_no_way_out_only_where_every_other_arm_is_slower() -> None:
    said = advice(bent(k1=(0.9, 0.87, 0.93), k2=(0.85, 0.82, 0.88), k3=LOST))
    assert (
        "- every other measured arm is slower than off at 48.0 concurrent too (k1 0.90x [0.87, 0.93], "
        "k2 0.85x [0.82, 0.88]), so a smaller K is no way out\n"
    ) in said
    assert "run arm" not in said


def test_an_arm_that_is_level_with_the_baseline_is_worth_naming() -> None:
    said = advice(bent(k1=(0.99, 0.96, 1.02), k3=LOST))
    assert "run arm k1 (K=1): it is level with off here" in said
    assert "and faster below 50.0: lowering K removes the loss too" in said
    assert "no way out" not in said


def test_an_arm_that_noise_cannot_tell_from_level_is_offered_as_that() -> None:
    said = advice(bent(k1=(0.93, 0.84, 1.01), k3=LOST))
    assert "run arm k1 (K=1): it may be level with off here" in said
    assert "lowering K may remove the loss" in said


def test_of_arms_that_noise_cannot_tell_apart_the_smallest_k_is_named() -> None:
    assert "run arm k1 (K=1)" in advice(bent(k1=(1.0, 0.97, 1.03), k2=(1.02, 0.99, 1.05), k3=LOST))
    clear = advice(bent(k1=(1.0, 0.97, 1.03), k2=(1.12, 1.09, 1.15), k3=LOST))
    assert "run arm k2 (K=2): it is faster than off here (measured 1.12x [1.09, 1.15]; k3 0.80x" in clear
    assert "lowering K removes the loss\n" in clear


def test_where_no_other_k_was_measured_nothing_is_said_against_one() -> None:
    assert "a smaller K may pay at this load: not known, the sweep had no arm with one" in advice(bent(k3=LOST))
    larger = advice(bent(k5=(0.9, 0.87, 0.93), k3=LOST))
    assert "k5 0.90x [0.87, 0.93]); a smaller K may pay: the sweep had no arm with one\n" in larger
    assert "no way out" not in larger, "what K=5 loses says nothing of K=1"
    alone = advice(bent(k1=LOST), live_arm="k1", k=1)
    assert "smaller K" not in alone, "there is none"


def test_acceptance_that_fell_sends_to_its_cause_first() -> None:
    changed = moved(acceptance_length=1.73, acceptance_measured=2.61)
    first = advice(a_stored_crossover(), as_of_now=changed).splitlines()[0]
    assert first == "- acceptance fell from 2.61 to 1.73: look at what changed (prompts, drafter, deploy) first"
    assert "acceptance fell" not in advice(a_stored_crossover(), as_of_now=replace(changed, decides=False))
    assert "acceptance fell" not in advice(a_stored_crossover(), as_of_now=replace(changed, acceptance_length=2.6))


def test_requests_that_changed_send_to_who_sends_them() -> None:
    other = moved(acceptance_length=2.6, mix=LiveMix(Mix(900.0, 120.0), 812.0, 895.0))
    first = advice(a_stored_crossover(), as_of_now=other).splitlines()[0]
    assert first == (
        "- requests went from 178+256 to 900+120 tokens (prompt + answer): look at who sends them (clients, prompts, "
        "routing) first"
    )


COST = Cost(
    slower_pct=Span(13.6, 9.9, 17.6),
    ms_per_token=Span(3.1, 2.3, 3.9),
    best_arm="k1",
    capacity_tok_s=Span(620.0, 410.0, 840.0),
    saturated=False,
    lost_tok_s=None,
    at_same_rate=(
        ArmAtRate("off", Span(41.0, 38.0, 44.0), Span(0.85, 0.79, 0.92)),
        ArmAtRate("k1", Span(33.0, 30.0, None), Span(0.69, 0.63, None)),
    ),
)


def test_a_gain_that_is_no_larger_with_the_same_arrivals_needs_no_explanation() -> None:
    there = ArmAtRate("k1", Span(46.0, 44.0, 48.0), Span(0.9, 0.85, 0.95))
    _, body = text.firing(a_status(0.88, cost=replace(COST, at_same_rate=(there,))), SETTINGS, NOW_S, NOW_S, None)
    assert "k1 would settle at 46.0 [44.0, 48.0] concurrent with 10% [5, 15] less time per token.\n" in body


def test_lost_output_is_claimed_only_while_requests_wait() -> None:
    busy = replace(COST, saturated=True, lost_tok_s=COST.capacity_tok_s)
    _, body = text.firing(a_status(0.88, cost=busy), SETTINGS, NOW_S, NOW_S, None)
    assert "Requests are waiting, so output is lost too: k1 would make 620 [410, 840] tok/s more per engine." in body
    assert "keep arriving" not in body, "what arrives is more than what is made"
    _, silent = text.firing(a_status(0.88, cost=replace(COST, saturated=None)), SETTINGS, NOW_S, NOW_S, None)
    assert "whether requests wait is not on the page" in silent


def test_a_lead_inside_the_noise_is_no_lost_capacity() -> None:
    tie = replace(COST, capacity_tok_s=Span(100.0, -20.0, 220.0))
    _, body = text.firing(a_status(0.88, cost=tie), SETTINGS, NOW_S, NOW_S, None)
    assert "tok/s" not in body


def test_no_other_arm_is_offered_where_none_is_better() -> None:
    best = replace(COST, best_arm="k3", capacity_tok_s=Span(0.0, 0.0, 40.0))
    _, body = text.firing(a_status(0.88, cost=best), SETTINGS, NOW_S, NOW_S, None)
    assert "would make" not in body
    assert "would settle" not in body


def test_several_engines_name_the_busiest_and_claim_no_total() -> None:
    engines = tuple(EngineNow(str(n), 40.0, 8.0, 0.9, 48.0, 2100.0) for n in range(2))
    _, body = text.firing(a_status(0.8, engines=engines, busiest_engine="1"), SETTINGS, NOW_S, NOW_S, None)
    assert "on engine 1, the busiest" in body
    assert "tok/s" not in body


def test_never_faster_has_no_crossover_to_show() -> None:
    crossover = a_status().crossover
    assert crossover is not None
    never = replace(crossover, verdict=Verdict.NEVER_FASTER, value=None, low=None, high=None)
    title, body = text.firing(a_status(0.9, crossover=never), SETTINGS, NOW_S, NOW_S, None)
    assert "never faster at any load measured, measured 3 d ago" in title
    assert "Crossover: none: k3 was not faster at any load measured" in body


def test_an_endpoint_without_a_pool_is_named_once() -> None:
    title, _ = text.firing(a_status(0.88, pool="chat"), SETTINGS, NOW_S, NOW_S, None)
    assert title.startswith("chat: speculation")


def test_the_resolution_says_how_long_and_why() -> None:
    reason = text.recovery(a_status(1.02, concurrency=18.0), SETTINGS)
    title, body = text.resolved("chat", "chat-70b", reason, NOW_S - 2520, NOW_S)
    assert title == (
        "chat (pool chat-70b): resolved after 42 min: the slowdown has stayed under 1% for 5 min "
        "(speedup now 1.02x [0.99, 1.05] at 18.0 concurrent)"
    )
    assert "It lasted 42 min, from 2023-11-14 21:31:20 UTC to 2023-11-14 22:13:20 UTC." in body


def test_facts_are_the_same_numbers() -> None:
    facts = text.facts(a_status(0.88), a_stored_crossover())
    expected = {
        "concurrency": 48.0, "crossover": 24.0, "low": 21.0, "high": 28.0, "speedup": 0.88, "live_arm": "k3", "k": 3,
        "age_s": 259200.0, "sweep_id": 17, "best_arm": "k1",
    }  # fmt: skip
    assert {key: facts[key] for key in expected} == expected
    unknown = text.facts(a_status(None, crossover=None, concurrency=None), None)
    assert unknown["speedup"] is None
    assert unknown["best_arm"] is None


def moved(**changes: Any) -> AsOfNow:
    """k3 as of now: acceptance has fallen, and with it the crossover."""
    plain: dict[str, Any] = {
        "for_arm": "k3", "verdict": Verdict.CROSSES, "value": 15.0, "low": 13.0, "high": 17.5,
        "band": (BandPoint(1, 1.4, 1.3, 1.5), BandPoint(48, 0.85, 0.8, 0.9)), "acceptance_length": 2.1,
        "acceptance_measured": 2.6, "break_even": BandPoint(48.0, 2.75, 2.61, 2.9),
        "mix": LiveMix(Mix(191.0, 249.0), 812.0, 895.0), "mix_measured": Mix(178.0, 256.0), "observed": None,
        "decides": True, "acceptance_moved": True,
    }  # fmt: skip
    return AsOfNow(**{**plain, **changes})


def test_a_crossover_that_moved_says_where_to_why_and_what_acceptance_would_pay() -> None:
    status = a_status(0.85, as_of_now=moved())
    title, body = text.firing(status, SETTINGS, NOW_S, NOW_S, a_stored_crossover())
    assert title.endswith("crossover as of now 15.0 [13.0, 17.5], swept 3 d ago")
    assert (
        "Crossover: as of now 15.0 [13.0, 17.5] concurrent requests per engine; "
        "sweep 17 measured 24.0 [21.0, 28.0] 3 d ago.\n"
        "Why it moved: acceptance 2.10 now, 2.60 when swept.\n"
        "Break-even: k3 pays at 48.0 concurrent from an acceptance length of 2.75 [2.61, 2.90]; it has 2.10 now.\n"
    ) in body
    assert "scale out: under 13.0 concurrent per engine k3 pays again" in body
    both = text.firing(a_status(0.85, as_of_now=moved(mix_moved=True)), SETTINGS, NOW_S, NOW_S, None)[1]
    assert (
        "2.60 when swept; requests of 191+249 tokens (prompt + answer) over the last 15 min, 178+256 when swept.\n"
    ) in both


@pytest.mark.parametrize(
    ("even", "says"),
    [
        ((3.29, 2.8, 4.0), "pays at 48.0 concurrent from an acceptance length of 3.29 [2.80, 4.00]"),
        ((3.99, 3.62, 4.0), "can hardly pay at 48.0 concurrent: it takes an acceptance length of 3.99 [3.62, 4.00]"),
    ],
)
def test_a_break_even_that_ends_where_all_drafts_are_accepted_says_so(
    even: tuple[float, float, float], says: str
) -> None:
    status = a_status(0.85, as_of_now=moved(break_even=BandPoint(48.0, *even)))
    body = text.firing(status, SETTINGS, NOW_S, NOW_S, None)[1]
    assert f"Break-even: k3 {says}, and K=3 allows at most 4; it has 2.10 now.\n" in body


def test_an_alert_inside_the_interval_says_why_it_is_none_the_less_one() -> None:
    told = "inside the crossover's interval, and k3 is slower at this load beyond the noise"
    status = a_status(0.88, verdict=LiveVerdict.INSIDE, verdict_reason=told)
    body = text.firing(status, SETTINGS, NOW_S, NOW_S, None)[1]
    assert f"sweep 17 measured it 3 d ago. 48.0 is {told}.\n" in body


def test_what_the_server_itself_makes_stands_beside_the_loss() -> None:
    seen = moved(observed=BandPoint(48.0, 0.9, 0.8, 0.97))
    _, body = text.firing(a_status(0.85, as_of_now=seen), SETTINGS, NOW_S, NOW_S, a_stored_crossover())
    assert "The server's own output is 0.90x [0.80, 0.97] of what the baseline would make of this load.\n" in body
    _, body = text.firing(a_status(0.85, as_of_now=moved()), SETTINGS, NOW_S, NOW_S, a_stored_crossover())
    assert "own output" not in body


def test_never_faster_as_of_now_is_said_beside_what_was_swept() -> None:
    never = moved(verdict=Verdict.NEVER_FASTER, value=None, low=None, high=None)
    title, body = text.firing(a_status(0.85, as_of_now=never), SETTINGS, NOW_S, NOW_S, None)
    assert "never faster at any load as of now, swept 3 d ago" in title
    assert "as of now never faster up to 48.0 concurrent" in body


def test_the_other_arms_are_weighed_as_of_now() -> None:
    k1 = ArmVerdict("k1", Verdict.CROSSES, 60.0, 50.0, None, (BandPoint(1, 1.2, 1.1, 1.3),), None, ())
    better = replace(k1, speedup=(BandPoint(1, 1.2, 1.1, 1.3), BandPoint(64, 1.1, 1.05, 1.15)))
    worse = replace(k1, speedup=(BandPoint(1, 1.0, 0.9, 1.1), BandPoint(64, 0.9, 0.85, 0.95)))
    k3 = replace(better, arm="k3", speedup=moved().band)

    def said(arms: dict[str, ArmVerdict]) -> str:
        return advice(a_stored_crossover(), as_of_now=moved(arms=arms))

    assert "run arm k1 (K=1): it is faster than off here (reckoned for now 1.11x" in said({"k1": better, "k3": k3})
    assert "k1 0.91x [0.85, 0.96]), so a smaller K is no way out" in said({"k1": worse, "k3": k3})
    assert "- how k1 would do with the traffic of now is not known\n" in said({"k3": k3}), "nor is its acceptance"


def test_a_change_that_no_model_reckons_with_is_noted() -> None:
    seen = Reason("no_step_model", "The acceptance length of k3 is 2.10 now and was 2.60 in the sweep.")
    status = a_status(0.88, as_of_now=moved(decides=False, break_even=None, reasons=(seen,)))
    title, body = text.firing(status, SETTINGS, NOW_S, NOW_S, None)
    assert "crossover 24.0 [21.0, 28.0], measured 3 d ago" in title
    assert "Note: The acceptance length of k3 is 2.10 now and was 2.60 in the sweep." in body
    assert "Why it moved" not in body


def test_facts_tell_a_crossover_as_of_now_from_the_measured_one() -> None:
    facts = text.facts(a_status(0.85, as_of_now=moved()), a_stored_crossover())
    expected = {
        "crossover": 24.0, "as_of_now": True, "crossover_now": 15.0, "crossover_now_low": 13.0,
        "crossover_now_high": 17.5, "acceptance_length": 2.6, "acceptance_swept": 2.6, "break_even_acceptance": 2.75,
    }  # fmt: skip
    assert {key: facts[key] for key in expected} == expected
    assert text.facts(a_status(0.88), None)["as_of_now"] is False


def test_an_unclear_sweep_promises_no_load_under_which_it_pays() -> None:
    """Slower at low load and faster above: its lower edge is the highest load at which it was clearly faster."""
    crossover = a_status().crossover
    assert crossover is not None
    unclear = replace(crossover, verdict=Verdict.UNCLEAR, value=None, low=250.0, high=None)
    title, body = text.firing(a_status(0.88, crossover=unclear), SETTINGS, NOW_S, NOW_S, a_stored_crossover())
    assert "crossover unclear, measured 3 d ago" in title
    assert "Crossover: none that is clear (unclear), though k3 was slower at this load; sweep 17" in body
    assert "250" not in title + body
    assert "pays again" not in body
    assert "- scale out, if this much load per engine is not wanted anyway" in body
