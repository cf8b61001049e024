"""The alerts screen under pressure: long texts, many channels, narrow terminals; nothing that went wrong is hidden."""

from __future__ import annotations

from dataclasses import replace

from monitor.tui.draw.alerts import draw
from monitor.tui.lines import as_text
from monitor.tui.view import View, settled
from monitor.values import AlertPhase, AlertState, Delivery, Intent, Snapshot
from tests.support.scene_sweeps import NOW
from tests.support.scenes import firing

REFUSED = "http://127.0.0.1:9/hook could not be reached (connection refused; nothing listens there)"


def crowded() -> Snapshot:
    """Four channels told of an alert whose text wants the whole screen; the one that failed was asked last."""
    scene = firing()
    event = replace(scene.events[0], text="\n".join(f"- choice {n}" for n in range(30)))
    at_s = event.at_s
    good = [Delivery(n, event, f"log{n}", at_s, 1, at_s, at_s + 1, None, "") for n in (4, 3, 2)]
    dead = Delivery(1, event, "dead", at_s, 2, at_s, None, at_s + 40, REFUSED)
    return replace(scene, events=(event, *scene.events[1:]), deliveries=(*good, dead))


def rows(scene: Snapshot, width: int = 80, height: int = 21) -> list[str]:
    return as_text(draw(settled(View(scene, tab="alerts")), width, height)).split("\n")


def test_what_was_not_delivered_comes_first_with_its_whole_reason_and_the_rest_is_counted() -> None:
    seen = rows(crowded())
    start = next(n for n, row in enumerate(seen) if row.startswith(" Delivery"))
    assert seen[start + 1] == " dead firing   chat-a ✕ GIVEN UP 03:03Z after 2 tries"
    assert " ".join(row.strip() for row in seen[start + 2 : start + 4]) == REFUSED
    assert "… 3 more not shown" in seen[start + 4]


def test_every_channel_is_shown_where_there_is_room() -> None:
    seen = "\n".join(rows(crowded(), height=60))
    assert all(f" log{n} " in seen for n in (2, 3, 4))
    assert "not shown" not in seen


def test_what_was_over_before_it_could_be_told_is_no_failure() -> None:
    scene = crowded()
    late = replace(scene.deliveries[0], delivered_at_s=None, dead_at_s=1.0, attempts=0, superseded=True, last_error="x")
    seen = "\n".join(rows(replace(scene, deliveries=(late,))))
    assert "○ not sent: it was over before it could be told" in seen
    assert "GIVEN UP" not in seen


def test_the_history_begins_with_numbers_and_not_with_the_name_again() -> None:
    row = next(row for row in rows(firing()) if "▲ fired    chat-a" in row)
    assert row.startswith(" 03:02Z        ▲ fired    chat-a speculation is costing about 10%")


def test_who_acknowledged_is_whole_on_a_small_screen() -> None:
    scene = firing()
    name = "chat-with-a-long-name"
    alert = replace(scene.alerts[0], endpoint=name)
    ack = Intent(1, "ack", "a1", "ana-from-the-night-shift", "gpu1", scene.at_s - 120, "", {}, None, None, "")
    seen = rows(replace(scene, alerts=(alert,), acks={"a1": ack}))
    assert any("acknowledged by ana-from-the-night-shift 2m00s ago" in row for row in seen)


def test_without_a_daemon_nothing_fires_on_and_nothing_is_tried_again() -> None:
    scene = firing()
    waiting = AlertState("chat-c", "above_crossover", AlertPhase.PENDING, NOW - 45, clear_since_s=NOW - 9)
    for mode in ("local", "daemon_gone"):
        seen = "\n".join(rows(replace(scene, mode=mode, alerts=(scene.alerts[0], waiting)), height=40))
        assert "Active when the last daemon ended" in seen
        assert "▲ fired    chat-a above crossover since 03:00Z\n" in seen
        assert "△ waited   chat-c above crossover since 03:12Z\n" in seen
        assert "◌ not tried, for no daemon runs: 503 from the webhook" in seen
        for claim in ("FIRING", "pending", "clearing", "Active now", "try 4"):
            assert claim not in seen
    assert "◌ try 4 in 40s" in "\n".join(rows(scene, height=40))
    late = settled(View(scene, tab="alerts", lag_s=10.0))
    assert "◌ try 4 in 30s" in as_text(draw(late, 80, 40))
