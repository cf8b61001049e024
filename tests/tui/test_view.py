"""Order, filter, selection and since-when: what a person sees first must be what is worst."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.tui.draw.alerts import draw as draw_alerts
from monitor.tui.view import View, above_since_s, alert_endpoint, firing_id, matches, moved, settled
from monitor.tui.words import alert_note, farewell, headline, sign
from monitor.values import AlertPhase, AlertState, Intent, LiveVerdict, SweepProgress
from probes.values import State
from tests.support.scene_parts import endpoint, silent, snapshot
from tests.support.scene_sweeps import NOW, measured_sweep, running_sweep
from tests.support.scenes import broken, daemon_gone, firing, healthy, multi_engine, pending, sweeping, undecided


def names(view: View) -> list[str]:
    return [status.name for status in view.rows]


def test_worst_headroom_comes_first_then_the_unreadable_then_the_unknown() -> None:
    assert names(View(firing())) == ["chat-a", "chat-b", "chat-c"]
    assert names(View(broken()))[:3] == ["chat-a", "chat-asleep", "chat-down"]
    assert names(View(undecided())) == [
        "never",
        "open-edge",
        "always",
        "spec-off",
        "expired",
        "few-cells",
        "new",
        "unclear",
    ]


def test_a_tie_under_a_wide_interval_does_not_stand_above_a_loss() -> None:
    tie = endpoint("tie", 26.0, headroom=0.4)
    loss = endpoint("loss", 29.0)
    off = endpoint("off", 60.0, live_arm="off", drafting=False)
    fine = endpoint("fine", 6.0)
    view = View(snapshot(fine, off, tie, loss))
    assert names(view) == ["loss", "tie", "fine", "off"]
    assert names(replace(view, reverse=True)) == names(view)[::-1]


def test_a_firing_endpoint_without_data_stays_on_top() -> None:
    assert names(View(daemon_gone()))[0] == "chat-a"


@pytest.mark.parametrize(
    ("sort", "first"), [("name", "chat-a"), ("concurrency", "chat-b"), ("speedup", "chat-b"), ("age", "chat-c")]
)
def test_each_sort_key_puts_its_worst_first_and_reverses(sort: str, first: str) -> None:
    view = View(healthy(), sort=sort)
    assert names(view)[0] == first
    assert names(replace(view, reverse=True)) == names(view)[::-1]


def test_unknown_values_stay_last_in_both_directions() -> None:
    view = View(broken(), sort="concurrency")
    assert names(view)[0] == names(replace(view, reverse=True))[0] == "chat-a"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("chat-A", True),
        ("70b", True),
        ("below", True),
        ("!below", False),
        ("^gateway", False),
        ("[", False),
        ("", True),
    ],
)
def test_the_filter_reads_names_pools_and_words(pattern: str, found: bool) -> None:
    assert matches(endpoint("chat-a"), pattern) is found


def test_the_selection_moves_within_the_rows_and_survives_a_new_snapshot() -> None:
    view = moved(settled(View(healthy())), 1)
    assert view.endpoint == names(view)[1]
    assert moved(view, 99).endpoint == names(view)[-1]
    assert moved(view, -99).endpoint == names(view)[0]
    assert settled(replace(view, snapshot=firing())).endpoint == view.endpoint
    assert settled(replace(view, pattern="nothing")).endpoint == ""


def test_the_sweep_screen_moves_by_pool() -> None:
    view = settled(View(multi_engine(), tab="sweep"))
    assert view.pool == "chat-70b"
    assert moved(view, 1).pool == "summaries-long-context-pool"
    assert moved(moved(view, 1), -1).pool == "chat-70b"


def test_since_when_comes_from_the_alert_and_else_from_unbroken_history() -> None:
    view = View(firing())
    assert above_since_s(view, view.rows[0]) == NOW - 720
    quiet = View(replace(firing(), alerts=()))
    since = above_since_s(quiet, quiet.rows[0])
    assert since is not None
    assert NOW - 3600 < since < NOW
    assert above_since_s(quiet, quiet.rows[2]) is None


def test_a_missing_sample_breaks_the_run_above() -> None:
    samples = list(firing().history["chat-a"])
    samples[-2] = replace(samples[-2], concurrency=None)
    view = View(replace(firing(), alerts=(), history={"chat-a": tuple(samples)}))
    assert above_since_s(view, view.rows[0]) == samples[-1].at_s


def test_signs_say_it_in_words() -> None:
    found = {s.name: sign(View(broken()), s).text for s in broken().endpoints}
    assert found == {
        "chat-a": "● below",
        "chat-stale": "◌ stale",
        "chat-down": "✕ down",
        "chat-key": "✕ unauthorized",
        "gateway": "✕ not an engine",
        "chat-empty": "○ empty page",
        "chat-asleep": "○ sleeping",
    }
    judged = {s.name: sign(View(undecided()), s).text for s in undecided().endpoints}
    assert judged["spec-off"] == "○ above, off"
    assert judged["expired"] == "? expired"
    assert judged["always"] == "● below"
    assert sign(View(pending()), pending().endpoints[0]).text == "▲ pending 45s"
    assert sign(View(firing()), firing().endpoints[0]).text == "▲ FIRING 12m"
    scene = sweeping()
    assert sign(View(scene), scene.endpoints[0]).text == "» sweep 29/56"
    early = replace(running_sweep(), progress=None)
    assert sign(View(replace(scene, sweeps=(early,))), scene.endpoints[0]).text == "» in a sweep"
    over = replace(running_sweep(), outcome="measured", ended_at_s=NOW - 5)
    assert sign(View(replace(scene, sweeps=(over,))), scene.endpoints[0]).text == "» after a sweep"


def test_the_headline_names_who_is_over_by_how_much_and_since_when() -> None:
    found, text = headline(View(firing()))
    assert found.text == "▲ 1 of 3 above"
    assert text == "chat-a 37.2 vs 24 [21–28], 10% less output since 03:00Z"
    assert headline(View(healthy()))[1] == "all 3 judged"
    assert "6 of 7 cannot be judged" in headline(View(broken()))[1]
    assert "data 2m50s old" in headline(View(daemon_gone()))[1]


def test_while_all_are_swept_the_headline_says_how_far_that_is() -> None:
    scene = sweeping()
    only = replace(scene, endpoints=scene.endpoints[:1])
    found, text = headline(View(only))
    assert found.text == "» in a sweep"
    assert text == "sweep 42: 29 of 56 cells, 28m left: 3 shows it"
    beside = replace(scene.endpoints[0], name="sink", pool="sink")
    assert headline(View(replace(only, endpoints=(*only.endpoints, beside))))[0].text == "» in a sweep"
    gate = replace(running_sweep(), progress=SweepProgress("gate", 0, 56, None, None, None, None))
    assert headline(View(replace(only, sweeps=(gate,))))[1] == "sweep 42 first looks for live load: 3 shows it"
    assert "1 of 2 cannot be judged" in headline(View(scene))[1]


def test_the_sweep_in_force_is_the_one_that_the_verdict_goes_by() -> None:
    used = measured_sweep()
    other = replace(used, id=44, started_at_s=used.started_at_s + 60, fingerprint="another server")
    view = View(replace(firing(), sweeps=(other, used)))
    assert view.in_force == used
    assert View(replace(firing(), sweeps=(other,))).in_force is None, "it is too old to be among those shown"
    unjudged = tuple(replace(s, crossover=None) for s in firing().endpoints)
    late = replace(used, ended_at_s=(other.ended_at_s or 0) + 3600)
    assert View(replace(firing(), endpoints=unjudged, sweeps=(other, late))).in_force == late


def test_one_that_is_down_is_not_hidden_behind_the_sweep_of_another() -> None:
    scene = sweeping()
    down = silent("chat-d", State.DOWN, "connection refused", 300.0)
    found, text = headline(View(replace(scene, endpoints=(scene.endpoints[0], down))))
    assert found.text == "? cannot judge"
    assert text == "none of 2 can be judged: the reasons are below"


def test_a_loss_is_not_called_off_where_nobody_knows_whether_it_drafts() -> None:
    losing = endpoint("chat-a", 40.0, drafting=None)
    assert losing.alerting
    view = View(snapshot(losing))
    assert sign(view, losing).text.startswith("▲ above")
    assert headline(view)[0].text == "▲ 1 of 1 above"


def test_without_a_daemon_no_alert_is_said_to_fire_or_to_wait() -> None:
    for scene in (firing(), pending()):
        view = View(replace(scene, mode="local"))
        assert sign(view, scene.endpoints[0]).text.startswith("▲ above")
        assert "The alert" not in alert_note(view, scene.endpoints[0])
        fine = replace(scene.endpoints[0], verdict=LiveVerdict.BELOW, alerting=False)
        eased = View(replace(scene, mode="local", endpoints=(fine,)))
        assert sign(eased, fine).text == "● below", "the viewer's own judgement, not what an old daemon left"
        assert "The alert" not in alert_note(eased, fine)
    gone = View(daemon_gone())
    assert sign(gone, gone.rows[0]).text == "▲ fired"
    assert headline(gone)[0].text == "▲ 1 of 3 fired"
    waits = replace(pending(), mode="daemon_gone")
    assert "pending" not in sign(View(waits), waits.endpoints[0]).text


def test_the_headline_speaks_of_the_fleet_even_where_the_filter_hides_the_one_above() -> None:
    assert headline(View(firing(), pattern="chat-c"))[1].startswith("chat-a 37.2")


def test_alert_rows_are_active_ones_first_then_history() -> None:
    view = settled(View(firing(), tab="alerts"))
    assert view.alert_items == ("active:chat-a", "event:a1:firing", "event:a0:resolved", "event:a0:firing")
    assert alert_endpoint(view) == "chat-a"
    assert alert_endpoint(moved(view, 2)) == "chat-b"


def test_a_new_event_does_not_move_the_selection_to_another_alert() -> None:
    view = moved(settled(View(firing(), tab="alerts")), 2)
    assert alert_endpoint(view) == "chat-b"
    newer = replace(firing().events[0], alert_id="a2", endpoint="chat-c")
    view = settled(replace(view, snapshot=replace(firing(), events=(newer, *firing().events))))
    assert alert_endpoint(view) == "chat-b"


def test_only_the_alert_that_fires_can_be_acknowledged() -> None:
    view = settled(View(firing(), tab="alerts"))
    assert firing_id(view) == "a1"
    assert firing_id(moved(view, 1)) == "a1"
    assert firing_id(moved(view, 2)) is None
    old = replace(firing().events[0], alert_id="a-1", at_s=NOW - 9000)
    view = settled(View(replace(firing(), events=(*firing().events, old)), tab="alerts"))
    assert firing_id(moved(view, 99)) is None


def test_firing_comes_before_pending() -> None:
    both = (
        AlertState("z", "above_crossover", AlertPhase.PENDING, NOW - 900),
        AlertState("y", "above_crossover", AlertPhase.FIRING, NOW - 60, NOW - 30),
    )
    assert [a.endpoint for a in View(replace(firing(), alerts=both)).active_alerts] == ["y", "z"]


@pytest.mark.parametrize(
    ("mode", "words"),
    [("daemon", "pid 7 on x) goes on"), ("local", "nothing watches"), ("daemon_gone", "daemon is gone")],
)
def test_the_farewell_says_what_goes_on(mode: str, words: str) -> None:
    assert words in farewell(mode, "pid 7 on x")


def test_an_acknowledged_alert_says_who_looks_after_it() -> None:
    scene = firing()
    ack = Intent(1, "ack", "a1", "ana", "gpu1", scene.at_s - 120, "", {}, None, None, "")
    rows = draw_alerts(View(replace(scene, acks={"a1": ack}), tab="alerts"), 120, 36)
    assert any("acknowledged by ana 2m00s ago" in row.text for row in rows)
