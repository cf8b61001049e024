"""`specwatch report` on traffic whose acceptance fell: every part is judged as of its own traffic, and all agree."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from monitor.cli import main
from monitor.config.load import load_config
from monitor.report.charts import load_chart, load_legend
from monitor.report.text import headline
from monitor.service.reporting import endpoint_reports
from monitor.store.alerts import save_transition
from monitor.store.db import Store, open_store
from monitor.store.identities import save_identity
from monitor.store.readings import append_readings
from monitor.values import AlertEvent, AlertPhase, AlertState
from probes.answer_values import Verdict
from probes.values import Histogram, Identity
from tests.support.drift import SWEPT, stored_h200
from tests.support.records import a_reading, an_engine
from tests.support.stored_day import CONFIG, DAY_S
from tests.support.stored_sweeps import begun, measured

POOR = (0.40, 0.20, 0.10)
"""Acceptance length 1.70 against the sweep's 2.62: k3, which crossed at 162, crosses under 60."""
LOAD = 120.0
EVERY_S = 10.0


def run(folder: Path, *args: str) -> Result:
    return CliRunner().invoke(main, ["report", "--config", str(folder / "config.toml"), *args])


def lengths(mean: float, count: float) -> Histogram:
    return Histogram((4096.0, float("inf")), (count, count), mean * count, count)


def traffic(store: Store, now_s: float, fell_s: float, length_s: float, grew_s: float) -> None:
    """Up to now, at LOAD; acceptance fell `fell_s` ago, and prompts grew to 900 tokens `grew_s` ago."""
    drafts, positions, tokens, prompts, before = 1e6, [1e6 * share for share in SWEPT], 3e6, 178.0 * 3e6 / 256, 3e6
    for n in range(int(length_s / EVERY_S) + 1):
        at_s = now_s - length_s + n * EVERY_S
        accepted = POOR if at_s > now_s - fell_s else SWEPT
        step = 3500.0 * EVERY_S
        if n:
            drafts += step
            positions = [old + step * share for old, share in zip(positions, accepted, strict=True)]
            tokens += step * (1 + sum(accepted))
        done = tokens / 256.0
        prompts += (tokens - before) / 256.0 * (900.0 if at_s > now_s - grew_s else 178.0)
        before = tokens
        one = an_engine(
            tokens=tokens, running=LOAD, waiting=0.0, drafts=drafts, draft_tokens=3 * drafts,
            accepted_tokens=sum(positions), accepted_per_pos=tuple(positions), finished=done, prefix_queries=0.0,
            prefix_hits=0.0,
            histograms={"generation_tokens": lengths(256.0, done), "prompt_tokens": lengths(prompts / done, done)},
        )  # fmt: skip
        append_readings(store, [a_reading(at_s=at_s, engines=(one,), process_start_s=1.0)], {})


HELD_S = 20.0
"""How long an alert's condition had held when it fired."""


def alert(store: Store, alert_id: str, kind: str, at_s: float, title: str) -> None:
    firing = kind == "firing"
    phase = AlertPhase.FIRING if firing else AlertPhase.INACTIVE
    state = AlertState("chat", "crossover", phase, None, at_s if firing else None, None, alert_id, at_s)
    event = AlertEvent(alert_id, "chat", "chat-70b", "crossover", kind, at_s, at_s - HELD_S, title, "text", {})
    save_transition(store, state, event, [], at_s)


def made(folder: Path, fell_s: float, length_s: float = 480.0, grew_s: float = -1.0) -> Path:
    (folder / "config.toml").write_text(CONFIG, encoding="utf-8")
    held, now_s = stored_h200(), time.time()
    with open_store(load_config(folder / "config.toml").store_path) as store:
        sweep = begun(store, now_s - 3 * DAY_S, pool="chat-70b", trigger="schedule")
        measured(store, sweep, now_s - 2 * DAY_S, held.result, held.arm_k, fingerprint=held.fingerprint)
        save_identity(store, "chat", now_s - 2 * DAY_S, Identity(model_root="m"), held.fingerprint)
        traffic(store, now_s, fell_s, length_s, grew_s)
        alert(store, "old", "firing", now_s - 3 * DAY_S, "an old one")
        alert(store, "old", "resolved", now_s - 2.5 * DAY_S, "an old one: resolved")
        alert(store, "a", "firing", now_s - 100, "chat: k3 costs 20%")
        alert(store, "a", "resolved", now_s - 40, "chat: resolved after 1 min")
        alert(store, "b", "firing", now_s - 20, "chat: k3 costs 21%")
    return folder


@pytest.fixture(scope="module")
def fallen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight minutes at 120 concurrent; acceptance fell for the last two."""
    return made(tmp_path_factory.mktemp("fallen"), fell_s=120.0)


def test_the_minutes_after_the_fall_are_above_and_those_before_below(fallen: Path) -> None:
    (endpoint,) = json.loads(run(fallen, "--json").stdout)["endpoints"]
    account = endpoint["account"]
    assert account["above"]["seconds"] == pytest.approx(120, abs=61)
    assert account["below"]["seconds"] == pytest.approx(360, abs=61)
    assert account["more_time_per_token_pct_above"]["by_time"]["low"] > 5
    before, after = account["stretches"]
    assert (before["moved"], after["moved"]) == (False, True)
    assert before["acceptance_length"] == pytest.approx(1 + sum(SWEPT), rel=0.02)
    assert after["acceptance_length"] == pytest.approx(1 + sum(POOR), rel=0.05)
    assert after["high"] < LOAD
    assert after["last_s"] - after["first_s"] == pytest.approx(120, abs=61)


def test_every_mean_says_over_what_time_it_is_one(fallen: Path) -> None:
    text = run(fallen).stdout
    assert re.search(
        r"\d\d:\d\d to \d\d:\d\d UTC: mean acceptance length 2\.6\d \(2\.62 when swept\), .*judged by the crossover as "
        r"swept",
        text,
    )
    assert re.search(
        r"\d\d:\d\d to \d\d:\d\d UTC: mean acceptance length 1\.7\d \(2\.62 when swept\), .*; judged by k3's crossover "
        r"as of then, \d\d\.\d \[",
        text,
    )


def test_how_far_each_answer_moved_is_told_once(fallen: Path) -> None:
    text = run(fallen).stdout
    assert "today's traffic" not in text
    assert "k5: left out where acceptance had moved" in text
    assert text.index("above the crossover") < text.index("crossover as swept"), "what happened before what was swept"


def test_alerts_of_the_time_are_told_with_their_instants(fallen: Path) -> None:
    text = run(fallen).stdout
    when = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"
    assert re.search(rf"alert fired {when}, resolved {when} \(lasted 80 s\): chat: k3 costs 20%", text)
    assert re.search(rf"alert firing since {when}: chat: k3 costs 21%", text)
    assert "an old one" not in text
    (endpoint,) = json.loads(run(fallen, "--json").stdout)["endpoints"]
    assert [(one["title"], one["resolved_at_s"] is None) for one in endpoint["alerts"]] == [
        ("chat: k3 costs 20%", False),
        ("chat: k3 costs 21%", True),
    ]


def test_an_alert_from_before_is_told_while_it_fires(tmp_path: Path) -> None:
    text = run(made(tmp_path, fell_s=120.0), "--since", "12s").stdout
    assert "firing since" in text
    assert "k3 costs 21%" in text
    assert "k3 costs 20%" not in text, "it was over before"


def test_the_page_says_one_thing_of_now(fallen: Path, tmp_path: Path) -> None:
    text = run(fallen, "--out", str(tmp_path / "r.html"))
    assert text.exit_code == 0
    document = (tmp_path / "r.html").read_text(encoding="utf-8")
    (endpoint,) = json.loads(run(fallen, "--json").stdout)["endpoints"]
    now, speedup = endpoint["as_of_now"], endpoint["speedup_now"]
    assert now["decides"]
    said = f"{speedup['ratio']:.2f}x [{speedup['low']:.2f}, {speedup['high']:.2f}]"
    assert document.count(said) == 2, "the badge's line and the row of k3"
    answer = re.search(r'class="answer">(.*?)<', document)
    assert answer is not None
    assert answer[1].startswith(f"As of now k3 pays below {now['crossover']:.1f} [")
    assert "; as swept the crossover was 162 [" in answer[1]
    assert "<th>against off, as swept</th><th>as of now</th><th>at the load now, as of now</th>" in document
    assert re.search(r"k3 crosses at [^<]* as of now</text>", document)
    assert "chat: k3 costs 20%" in document
    assert document.count('class="band cross"') == 2, "the shaded interval is each time's own"
    assert "rule edge" not in document
    assert "Shaded: the crossover's interval as of each time" in document
    assert "Red: an alert fired." in document
    assert "Dotted" not in document, "no sweep is in the chart"
    assert document.count('class="shade alert"') == 2, "both times an alert fired"


def test_requests_that_no_sweep_speaks_for_are_the_headline(fallen: Path) -> None:
    loaded, now_s = load_config(fallen / "config.toml"), time.time()
    with open_store(loaded.store_path, readonly=True) as store:
        (report,) = endpoint_reports(loaded.config, store, ["chat"], now_s - DAY_S, now_s)
    now = report.status.as_of_now
    assert now is not None
    gone = replace(now, band=(), verdict=Verdict.INSUFFICIENT, value=None, low=None, high=None)
    assert headline(replace(report, status=replace(report.status, as_of_now=gone))) == (
        "As of now no sweep says whether k3 pays with requests like these; as swept the crossover was 162 [140, 187]"
    )


def test_an_arm_whose_gain_ends_in_the_noise_is_not_said_to_pay_at_every_load(fallen: Path) -> None:
    loaded, now_s = load_config(fallen / "config.toml"), time.time()
    with open_store(loaded.store_path, readonly=True) as store:
        (report,) = endpoint_reports(loaded.config, store, ["chat"], now_s - DAY_S, now_s)
    now = report.status.as_of_now
    assert now is not None
    top = now.band[-1].concurrency
    ties = replace(now, verdict=Verdict.ALWAYS_FASTER, value=None, low=100.0, high=None)
    said = headline(replace(report, status=replace(report.status, as_of_now=ties)))
    assert said.startswith(f"As of now k3 pays up to 100; from there to {top:.0f}, the highest measured, the diff")
    sure = replace(ties, low=top)
    assert "pays at every load" in headline(replace(report, status=replace(report.status, as_of_now=sure)))


def test_prompts_that_grew_are_a_stretch_of_their_own(tmp_path: Path) -> None:
    (endpoint,) = json.loads(run(made(tmp_path, fell_s=-1.0, length_s=1200.0, grew_s=245.0), "--json").stdout)[
        "endpoints"
    ]
    before, *between, after = endpoint["account"]["stretches"]
    assert len(between) <= 1, "the two minutes in which they grew hold both"
    assert (before["moved"], after["moved"]) == (False, True)
    assert before["mix"]["prompt_tokens"] == pytest.approx(178, rel=0.02)
    assert after["mix"]["prompt_tokens"] > 800
    assert after["last_s"] - after["first_s"] == pytest.approx(245, abs=125)


def test_a_day_as_swept_has_one_stretch_and_no_second_crossover(tmp_path: Path) -> None:
    (endpoint,) = json.loads(run(made(tmp_path, fell_s=-1.0), "--json").stdout)["endpoints"]
    assert [one["moved"] for one in endpoint["account"]["stretches"]] == [False]
    text = run(tmp_path).stdout
    assert "as of now" not in text
    assert "as of then" not in text


def test_without_a_store_the_sweep_s_command_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG, encoding="utf-8")
    result = run(tmp_path)
    assert result.exit_code == 2
    assert "`specwatch sweep chat-70b` measures the crossover" in result.stderr


def test_a_load_that_fell_from_one_minute_to_the_next_is_no_slope(fallen: Path) -> None:
    """Between two means of a minute a straight line would show loads that nobody saw; a sweep's load is named."""
    loaded, now_s = load_config(fallen / "config.toml"), time.time()
    with open_store(loaded.store_path, readonly=True) as store:
        (report,) = endpoint_reports(loaded.config, store, ["chat"], now_s - DAY_S, now_s)
    one = report.minutes[-1]
    high, low, swept = (
        replace(one, at_s=now_s - back_s, concurrency=load, swept=under)
        for back_s, load, under in ((270.0, 51.0, False), (210.0, 2.5, False), (150.0, 2.5, True))
    )
    short = replace(report, minutes=(high, low, swept), alerts=(), hole_s=20.0)
    line = re.search(r'class="line load"[^>]*points="([^"]*)"', load_chart(short))
    assert line is not None
    (_, y0), (x1, y1), (x2, y2), (_, y3) = (map(float, point.split(",")) for point in line[1].split())
    assert (y0, y2) == (y1, y3), "each mean lies over its whole minute"
    assert x1 == x2
    assert "Dotted: load that a sweep made, not traffic." in load_legend(short)
    assert "Red" not in load_legend(short)
