"""`sweep --plan` says what a sweep takes, costs and disturbs before anything is sent, and refuses what cannot fit."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from monitor.cli import main
from monitor.commands.check_fit import fit_remarks
from monitor.commands.plan_cost import sweep_cost
from monitor.commands.plan_text import plan_lines
from monitor.config.load import load_config
from monitor.config.model import EndpointConfig, ProbeConfig
from monitor.service.sweep_plan import plan_for
from monitor.store.db import open_store
from monitor.store.sweeps import add_cell, end_sweep
from probes.load.prompts import Prompt
from probes.load.shape import LengthShape
from probes.sweep.plan import LoadSpec, StreamRate, cell_order, loaded_s
from probes.sweep.resume import signature
from tests.support.canned_server import canned_server, vllm_routes
from tests.support.configs import SOUND, edited, restartable, write
from tests.support.plans import plan
from tests.support.records import a_cell
from tests.support.stored_sweeps import begun

PROMPTS = [Prompt(text="x" * 420)]


def shown(folder: Path, text: str, *more: str) -> Result:
    return CliRunner().invoke(main, ["sweep", "chat", "--plan", "--config", str(write(folder, text)), *more])


def said(result: Result) -> str:
    """The output as one line, so that it does not matter where it was wrapped."""
    return " ".join(result.output.split())


def test_the_plan_names_cells_minutes_tokens_load_and_every_side_effect(tmp_path: Path) -> None:
    result = shown(tmp_path, SOUND)
    words = said(result)
    assert result.exit_code == 0
    assert "must draft, live now" in words
    assert "24 cells" in words
    assert "up to 24 more cells around the crossing" in words
    for thing in (
        "output tokens",
        "prompt tokens",
        "up to 4 requests at once",
        "production runs there",
        "prefix cache",
        "dashboards and SLOs",
        "latency histograms",
        "quota",
        "router and autoscaler",
        "nothing is restarted",
        "closes its streams within 2 s and waits up to 10 min",
        "Nothing was sent",
    ):
        assert thing in words or (thing == "quota" and "without a key" in words), thing
    assert "costs" not in words, "no price is known"
    assert not (tmp_path / "specwatch.db").exists()


def test_the_plan_sends_nothing_at_all(tmp_path: Path) -> None:
    with canned_server(vllm_routes("vllm-0.26.0-h200-k3-c32.prom")) as server:
        assert shown(tmp_path, SOUND.replace("http://127.0.0.1:8000", server.url)).exit_code == 0
        assert server.asked == []


def test_what_is_configured_shows_in_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-verysecret")
    text = edited("ladder = [1, 2, 4]", "ladder = [1]\ncost_per_hour = 12\nmax_cost = 50\nmax_total_tokens = 9000000")
    text = edited('name = "chat"\n', 'name = "chat"\napi_key_env = "KEY"\n', text)
    words = said(shown(tmp_path, text))
    assert "(at 12 an hour); max_cost allows 50" in words
    assert "max_total_tokens allows 9.0 million" in words
    assert "count against its quota" in words
    assert "verysecret" not in words
    bare = said(
        shown(tmp_path, edited("ladder = [1, 2, 4]", "backoff_minutes = 0\nrefine_octaves = 0\nresume_hours = 0"))
    )
    assert "within 2 s and ends" in bare
    assert "more cells around the crossing" not in bare
    assert "goes on where it stopped" not in bare


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (
            LoadSpec(),
            "13 extract), as long as they are, nothing of it from the prefix cache",
        ),
        (
            LoadSpec("own.jsonl", prefix_hit_target=0.4),
            "the prompts of own.jsonl, as long as they are, 40% of the prompt tokens from the prefix cache",
        ),
        (LoadSpec(shape=LengthShape((1.0,), (1.0,), 1234.0)), "lengths as in 1234 requests of live traffic"),
    ],
)
def test_the_plan_says_what_is_sent(load: LoadSpec, words: str) -> None:
    sweep = plan(load=load)
    endpoint = EndpointConfig(name="e", url="http://127.0.0.1:9")
    probe = ProbeConfig()
    lines = plan_lines(sweep, endpoint, probe, sweep_cost(sweep, probe, PROMPTS), datetime.now(UTC), skip_gate=False)
    assert words in " ".join(" ".join(lines).split())


def test_restart_arms_say_how_often_how_long_and_what_happens_on_failure(tmp_path: Path) -> None:
    hooks = 'allow_restart = true\nbefore = "./drain"\nafter = "./undrain"'
    result = shown(tmp_path, edited("allow_restart = true", hooks, restartable()))
    words = said(result)
    assert result.exit_code == 0
    assert "brought up by: ./serve off" in words
    assert (
        "restarts 9, one per arm and repeat and one to bring k3 back: about 6 min each (a sixth of start_timeout_s"
        in words
    )
    assert "the server is not there for users" in words
    again = re.search(r"and up to (\d+) more where the crossing is refined", words)
    assert again is not None, "each look at the crossing is four more starts"
    assert int(again[1]) >= 4
    assert re.search(r"downtime: .* up to .* where the crossing is refined", words), (
        "refinement takes it away for longer"
    )
    assert "before: ./drain" in words
    assert "after: ./undrain" in words
    assert "k3 is started again and proved by health, model, counters and one completion" in words
    assert "exit code 7" in words
    assert "every restart empties it" in words


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        ('window = "01:00-01:10"', "its window 01:00-01:10 UTC has 10 min left"),
        ('schedule = "0 3 * * *"\nwindow = "01:00-03:05"', "started at 03:00, it takes about"),
        ("max_minutes = 1", "max_minutes allows 1 min"),
        ("max_total_tokens = 1000", "max_total_tokens allows 1,000"),
        ("max_cost = 1\ncost_per_hour = 100", "max_cost allows 1"),
    ],
)
def test_a_plan_that_the_gate_would_refuse_is_exit_2_with_the_reason(tmp_path: Path, probe: str, words: str) -> None:
    text = edited("ladder = [1, 2, 4]", f"ladder = [1, 2, 4]\n{probe}")
    result = shown(tmp_path, text)
    assert result.exit_code == 2
    assert "PROBLEM" in result.output
    assert words in said(result)
    past = shown(tmp_path, text, "--now")
    assert (past.exit_code == 0) == ("window" in probe), "--now knows no window, but budgets hold"


def test_the_plan_for_scripts_holds_the_same_numbers(tmp_path: Path) -> None:
    result = shown(tmp_path, edited("ladder = [1, 2, 4]", "ladder = [1, 4]\nmax_minutes = 1"), "--json")
    assert result.exit_code == 2
    told = json.loads(result.output)
    assert told["cost"]["cells"] == 16
    assert told["ladder"] == [1, 4]
    assert len(told["problems"]) == 1
    assert told["notes"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sweep", "chta", "--plan"], "chta is neither an endpoint nor a pool of this config: did you mean chat?\n"),
        (["sweep", "chat", "--plan", "--arm", "k9"], "--arm k9 is no arm of chat: known: off, k3\n"),
        (
            ["sweep", "chat", "--plan", "--arm", "off"],
            "nothing to compare the baseline with: add one of k3\n",
        ),
        (["sweep", "chta"], "did you mean chat?\n"),
    ],
)
def test_a_wrong_argument_is_not_blamed_on_the_config(tmp_path: Path, words: list[str], message: str) -> None:
    result = CliRunner().invoke(main, [*words, "--config", str(write(tmp_path, SOUND))])
    assert result.exit_code == 2
    assert result.output.endswith(message)
    assert "in the config:" not in result.output


def test_a_mistake_in_the_config_still_is(tmp_path: Path) -> None:
    assert "1 problem in the config:" in shown(tmp_path, edited("ladder = [1, 2, 4]", "ladder = [4, 2]")).output


def break_off(path: Path, cells: int, *, ended_at_s: float) -> None:
    """A store in which the newest sweep of this config ended after some of its cells."""
    loaded = load_config(path)
    with open_store(loaded.store_path) as store:
        planned = plan_for(loaded, "chat", (), store)
        sweep = begun(store, ended_at_s - 600, plan={"signature": signature(planned)})
        for slot in cell_order(planned)[:cells]:
            fields = {"rung": slot.rung, "repeat": slot.repeat, "started_at_s": ended_at_s - 600}
            add_cell(store, sweep, a_cell(slot.arm, slot.order, **fields))
        end_sweep(
            store,
            sweep,
            ended_at_s=ended_at_s,
            outcome="aborted",
            reason="traffic",
            exit_code=4,
            fingerprint="abc",
            result=None,
            arm_k={},
        )


def test_a_broken_off_sweep_shortens_the_next_one_unless_it_is_too_old_or_unwanted(tmp_path: Path) -> None:
    """Half of it is there: what is left fits a window that the whole does not."""
    ladder = 'ladder = [1, 2, 4, 8]\nwindow = "01:00-01:25"'
    path = write(tmp_path, edited("ladder = [1, 2, 4]", ladder))
    assert shown(tmp_path, path.read_text()).exit_code == 2
    break_off(path, 16, ended_at_s=time.time() - 3 * 3600)
    result = shown(tmp_path, path.read_text())
    assert result.exit_code == 0, result.output
    assert "was broken off 3.0 h ago with 16 of 32 cells measured" in said(result)
    assert "--fresh measures everything anew" in said(result)
    assert shown(tmp_path, path.read_text(), "--fresh").exit_code == 2
    assert shown(tmp_path, edited(ladder, f"{ladder}\nresume_hours = 2", path.read_text())).exit_code == 2
    other = edited(ladder, ladder.replace("8]", "16]"), path.read_text())
    assert "was broken off" not in shown(tmp_path, other).output


def test_refinement_lengthens_the_upper_end_only_and_never_past_the_limit() -> None:
    probe = ProbeConfig()
    alone = sweep_cost(plan(repeats=4), probe, PROMPTS)
    refined = sweep_cost(plan(repeats=4, refine_octaves=0.5, max_minutes=60.0), probe, PROMPTS)
    assert alone.seconds_low < alone.seconds == alone.seconds_high == refined.seconds
    assert refined.refine_cells == refined.cells
    assert refined.seconds * 1.9 < refined.seconds_high < refined.seconds * 2.1
    tight = sweep_cost(plan(repeats=4, refine_octaves=0.5, max_minutes=1.2 * refined.seconds / 60), probe, PROMPTS)
    assert tight.seconds_high == pytest.approx(1.2 * refined.seconds)
    poor = ProbeConfig(cost_per_hour=3600.0, max_cost=1.1 * refined.seconds)
    paid = sweep_cost(plan(repeats=4, refine_octaves=0.5, max_minutes=60.0), poor, PROMPTS)
    assert paid.seconds_high == pytest.approx(1.1 * refined.seconds)


def test_tokens_follow_the_last_sweeps_rates_where_there_was_one() -> None:
    seen = (StreamRate("off", 1, 100.0), StreamRate("off", 2, 90.0), StreamRate("k3", 1, 200.0))
    unknown, half = sweep_cost(plan(), ProbeConfig(), PROMPTS), sweep_cost(plan(seen=seen[:2]), ProbeConfig(), PROMPTS)
    known = sweep_cost(plan(seen=seen), ProbeConfig(), PROMPTS)
    assert unknown.output_tokens is half.output_tokens is unknown.prompt_tokens is None
    assert known.output_tokens is not None
    a_client_s = 2 * loaded_s(plan().cell_s, 64)
    assert known.output_tokens == pytest.approx((100 + 2 * 90 + 200 + 2 * 200) * a_client_s, abs=1)
    assert known.output_tokens_upper == pytest.approx(1.25 * known.output_tokens, rel=0.01)


def test_prompt_tokens_follow_the_lengths_of_live_traffic_where_they_are_known() -> None:
    load = LoadSpec(max_tokens=64)
    plain = sweep_cost(plan(load=load), ProbeConfig(), PROMPTS)
    assert plain.prompt_tokens_upper == pytest.approx(plain.output_tokens_upper * 100 / 32, rel=0.01)
    shape = LengthShape((500.0, 1500.0), (10.0, 400.0), 1000.0)
    live = sweep_cost(plan(load=LoadSpec(max_tokens=64, shape=shape)), ProbeConfig(), PROMPTS)
    assert live.answer_known
    assert live.answer_tokens == 37.0, "answers are cut at max_tokens"
    assert live.prompt_tokens_upper == pytest.approx(live.output_tokens_upper * 1000 / 37, rel=0.01)
    own = sweep_cost(plan(load=LoadSpec("own.jsonl", max_tokens=64, shape=shape)), ProbeConfig(), PROMPTS)
    assert own.prompt_tokens_upper == pytest.approx(own.output_tokens_upper * 100 / 37, rel=0.01)


def test_a_cap_below_live_answers_is_said_with_what_to_set() -> None:
    """A sweep of answers that are cut in half is not a sweep of live traffic."""
    answers = (50.0, 200.0, 250.0, 500.0)
    tight = plan(load=LoadSpec(max_tokens=128, shape=LengthShape((100.0,), answers, 1319.0)))
    probe, now = ProbeConfig(), datetime.now(UTC)
    (note,) = fit_remarks(tight, probe, now)
    assert not note.is_problem
    assert note.text == (
        "max_tokens = 128 cuts 75% of answers as long as live ones: the sweep's mean answer has 108 tokens, the live "
        "one 250; set max_tokens = 512 or more"
    )
    endpoint = EndpointConfig(name="e", url="http://127.0.0.1:9")
    cost = sweep_cost(tight, probe, PROMPTS)
    words = " ".join(" ".join(plan_lines(tight, endpoint, probe, cost, now, skip_gate=True)).split())
    assert "lengths as in 1319 requests of live traffic but answers cut at 128 tokens" in words
    assert "if the mean answer has 108 (live answers, 250 on average, cut at max_tokens)" in words
    roomy = replace(tight, load=replace(tight.load, max_tokens=512))
    assert list(fit_remarks(roomy, probe, now)) == []
    assert "(as in live traffic)" in " ".join(
        plan_lines(roomy, endpoint, probe, sweep_cost(roomy, probe, PROMPTS), now, skip_gate=True)
    )
