"""What a sweep will do follows from the config, the store's history and the words on the command line."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.config.errors import ConfigError, explain
from monitor.config.load import load_config
from monitor.service.sweep_plan import plan_for
from monitor.service.sweep_run import Caller, describe_plan
from monitor.store.db import Store, open_store
from monitor.store.identities import save_identity
from monitor.store.imports import insert_imported
from monitor.store.readings import append_readings
from monitor.store.sweeps import add_cell, begin_sweep, end_sweep
from probes.answer_values import Axis, Crossover
from probes.sweep.plan import SweepPlan, estimate
from probes.sweep.resume import signature
from probes.values import Histogram, Identity
from tests.support.imported_sweeps import imported
from tests.support.readings import engine, reading
from tests.support.records import a_cell

CONFIG = """\
[[endpoint]]
name = "chat"
url = "http://127.0.0.1:8000"
pool = "chat-70b"
hardware = "1xH200"
  [endpoint.probe]
  live_arm = "k3"
  ladder = {ladder}
  [[endpoint.arm]]
  name = "off"
  url = "http://127.0.0.1:8001"
  [[endpoint.arm]]
  name = "k3"
  [[endpoint.arm]]
  name = "k5"
  url = "http://127.0.0.1:8005"
[[endpoint]]
name = "quiet"
url = "http://127.0.0.1:9000"
"""


def config(folder: Path, ladder: str = "[1, 4]", text: str = CONFIG) -> Path:
    path = folder / "config.toml"
    path.write_text(text.replace("{ladder}", ladder).replace('name = "k3"\n  [[', f'name = "k3"\n  {URL}\n  [['))
    return path


URL = 'url = "http://127.0.0.1:8000"'


def test_pool_and_endpoint_name_the_same_sweep(tmp_path: Path) -> None:
    loaded = load_config(config(tmp_path))
    by_pool, by_name = plan_for(loaded, "chat-70b", (), None), plan_for(loaded, "chat", (), None)
    assert by_pool == by_name
    assert [(a.name, a.speculative) for a in by_pool.arms] == [("off", False), ("k3", True), ("k5", True)]
    assert by_pool.ladder == (1, 4)
    assert {a.hardware for a in by_pool.arms} == {"1xH200"}


def test_chosen_arms_keep_the_baseline(tmp_path: Path) -> None:
    plan = plan_for(load_config(config(tmp_path)), "chat", ("k5",), None)
    assert [a.name for a in plan.arms] == ["off", "k5"]


@pytest.mark.parametrize(
    ("subject", "arms", "words"),
    [
        ("chta", (), "did you mean chat"),
        ("quiet", (), "[endpoint.probe]"),
        ("chat", ("k9",), "known: off, k3, k5"),
    ],
)
def test_what_cannot_be_swept_is_said_in_words(tmp_path: Path, subject: str, arms: tuple[str, ...], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan_for(load_config(config(tmp_path)), subject, arms, None)
    assert words in explain(caught.value)


def test_an_automatic_ladder_climbs_over_the_stored_peak_but_not_over_a_sweep(tmp_path: Path) -> None:
    loaded = load_config(config(tmp_path, '"auto"'))
    with open_store(loaded.store_path) as store:
        assert plan_for(loaded, "chat", (), store).ladder[-1] == 64
        now_s = time.time()
        busy = [reading(now_s - 60 + n, [engine(running=90.0, waiting=10.0)]) for n in range(5)]
        append_readings(store, busy, {})
        append_readings(store, [reading(now_s, [engine(running=4000.0)])], {"chat": 1})
        assert plan_for(loaded, "chat", (), store).ladder == (1, 2, 4, 8, 16, 32, 64, 128, 256)


def test_what_a_sweep_may_take_comes_from_the_config(tmp_path: Path) -> None:
    said = """live_arm = "k3"
  backoff_minutes = 2.5
  quiet_s = 7.0
  refine_octaves = 0.25
  max_ttft_s = 3.0
  max_total_tokens = 1000
  workers = 3"""
    plan = plan_for(load_config(config(tmp_path, text=CONFIG.replace('live_arm = "k3"', said))), "chat", (), None)
    assert (plan.backoff_s, plan.quiet_s, plan.refine_octaves) == (150.0, 7.0, 0.25)
    assert (plan.max_ttft_s, plan.max_total_tokens, plan.workers) == (3.0, 1000, 3)
    assert plan_for(load_config(config(tmp_path)), "chat", (), None).workers is None


def test_restarted_arms_are_the_endpoints_own_server(tmp_path: Path) -> None:
    text = CONFIG.replace('live_arm = "k3"', 'live_arm = "k3"\n  allow_restart = true')
    for name, port in (("off", 8001), ("k5", 8005)):
        text = text.replace(
            f'name = "{name}"\n  url = "http://127.0.0.1:{port}"', f'name = "{name}"\n  restart = "up {name}"'
        )
    path = tmp_path / "config.toml"
    path.write_text(text.replace("{ladder}", "[1, 4]").replace('name = "k3"', 'name = "k3"\n  restart = "up k3"'))
    plan = plan_for(load_config(path), "chat", (), None)
    assert [a.restart for a in plan.arms] == ["up off", "up k3", "up k5"]
    assert {a.target.url for a in plan.arms} == {"http://127.0.0.1:8000"}
    assert plan.restarts


def measured(
    store: Store, plan: SweepPlan, at_s: float, *, print_: str = "f1", tok_s: float = 400.0, engines: int = 1
) -> None:
    """A finished sweep of this plan with one cell of the baseline and one of k3."""
    sweep_id = begin_sweep(
        store,
        pool=plan.pool,
        endpoint=plan.endpoint,
        started_at_s=at_s,
        trigger="command",
        who="me",
        pid=1,
        host="h",
        baseline=plan.baseline,
        live_arm=plan.live_arm,
        plan=describe_plan(plan, Caller("command", "me")),
    )
    add_cell(store, sweep_id, a_cell("off", 0, output_tok_s=tok_s, engine_count=engines))
    add_cell(store, sweep_id, a_cell("k3", 1, output_tok_s=2 * tok_s))
    end_sweep(
        store,
        sweep_id,
        ended_at_s=at_s + 60,
        outcome="measured",
        reason="",
        exit_code=0,
        fingerprint=print_,
        result=Crossover("off", Axis.CONCURRENCY_PER_ENGINE, {}),
        arm_k={},
    )


def test_the_plan_knows_how_fast_the_baseline_was_last_time(tmp_path: Path) -> None:
    loaded = load_config(config(tmp_path))
    with open_store(loaded.store_path) as store:
        plan = plan_for(loaded, "chat", (), store)
        measured(store, plan, 1000.0, tok_s=300.0)
        measured(store, plan, 2000.0, tok_s=500.0)
        unseen = plan_for(loaded, "chat", (), store)
        assert unseen.history == (), "what is served now is not known"
        assert [one.arm for one in unseen.seen] == ["k3", "off"], "its tokens are a better guess than none"
        save_identity(store, "chat", 3000.0, Identity(version="1"), "f1")
        history = plan_for(loaded, "chat", (), store).history
        assert [(point.arm, point.output_tok_s) for point in history] == [("off", 500.0)]


def test_a_baseline_of_fewer_engines_is_compared_by_the_engine(tmp_path: Path) -> None:
    loaded = load_config(config(tmp_path))
    with open_store(loaded.store_path) as store:
        measured(store, plan_for(loaded, "chat", (), store), 1000.0, tok_s=800.0, engines=2)
        save_identity(store, "chat", 3000.0, Identity(version="1"), "f1")
        assert [point.output_tok_s for point in plan_for(loaded, "chat", (), store).history] == [400.0]


def test_prompts_that_changed_change_what_a_sweep_can_go_on_after(tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text('{"prompt": "Say something."}')
    loaded = load_config(config(tmp_path, text=CONFIG.replace("  ladder", f'  prompts = "{own}"\n  ladder')))
    before = signature(plan_for(loaded, "chat", (), None))
    own.write_text('{"prompt": "Say something else."}')
    assert signature(plan_for(loaded, "chat", (), None)) != before


def test_a_budget_of_tokens_goes_by_what_every_arms_cells_made_last_time(tmp_path: Path) -> None:
    loaded = load_config(config(tmp_path, "[16, 64]"))
    with open_store(loaded.store_path) as store:
        first = plan_for(loaded, "chat", ("k3",), store)
        measured(store, first, 1000.0)
        save_identity(store, "chat", 3000.0, Identity(version="1"), "f1")
        plan = plan_for(loaded, "chat", ("k3",), store)
    assert [(one.arm, one.rung) for one in plan.seen] == [("k3", 16), ("off", 16)]
    one_cell = replace(plan, ladder=(16,), repeats=1, warmup_s=0.0)
    assert estimate(one_cell).tokens_upper == pytest.approx(2 * 1.25 * 54_010, abs=1), "both cells made 54,010"
    assert estimate(plan).tokens_upper < estimate(first).tokens_upper / 2
    unseen = replace(one_cell, ladder=(8,))
    assert estimate(unseen).tokens_upper == estimate(replace(unseen, seen=())).tokens_upper, "fewer may be faster each"


@pytest.mark.parametrize("change", ["server", "load", "address", "prompts", "older release"])
def test_another_server_or_load_is_no_history(tmp_path: Path, change: str) -> None:
    loaded = load_config(config(tmp_path))
    with open_store(loaded.store_path) as store:
        plan = plan_for(loaded, "chat", (), store)
        if change == "load":
            plan = replace(plan, load=replace(plan.load, max_tokens=64))
        if change == "prompts":
            plan = replace(plan, load=replace(plan.load, prompts_sha256="0" * 64))
        if change == "older release":
            plan = replace(plan, load=replace(plan.load, prompts_sha256=""))
        if change == "address":
            moved = [replace(a, target=replace(a.target, url=f"{a.target.url}/old")) for a in plan.arms]
            plan = replace(plan, arms=tuple(moved))
        measured(store, plan, 1000.0, print_="f2" if change == "server" else "f1")
        save_identity(store, "chat", 3000.0, Identity(version="1"), "f1")
        found = plan_for(loaded, "chat", (), store)
        assert not found.history
        assert not found.seen


def lived(store: Store, prompt: float, output: float, *, hits: float, since_s: float | None = None) -> None:
    """Three hundred requests of the endpoint's own users, of these lengths, `hits` of each prompt from the cache."""
    start_s = time.time() - 600 if since_s is None else since_s
    edges = (100.0, 1000.0, float("inf"))
    for at_s, count in ((start_s, 0.0), (start_s + 60, 300.0)):
        counted = {
            name: Histogram(edges, tuple(count * (each <= edge) for edge in edges), count * each, count)
            for name, each in (("prompt_tokens", prompt), ("generation_tokens", output))
        }
        one = replace(
            engine(), finished=count, prefix_queries=count * prompt, prefix_hits=count * hits, histograms=counted
        )
        append_readings(store, [reading(at_s, [one], process_start_s=start_s)], {})


@pytest.mark.parametrize(
    ("said", "shaped", "target"),
    [
        ("", True, 0.25),
        ('shape = "live"', True, 0.25),
        ('shape = "none"', False, 0.25),
        ('prompts = "own.jsonl"', False, 0.25),
        ("prefix_hit_ratio = 0.0", True, 0.0),
        ("prefix_hit_ratio = 0.6", True, 0.6),
    ],
)
def test_the_load_looks_like_live_traffic_where_the_config_lets_it(
    tmp_path: Path, said: str, shaped: bool, target: float
) -> None:
    (tmp_path / "own.jsonl").write_text('{"prompt": "Why?"}\n')
    loaded = load_config(config(tmp_path, text=CONFIG.replace('live_arm = "k3"', f'live_arm = "k3"\n  {said}')))
    with open_store(loaded.store_path) as store:
        assert plan_for(loaded, "chat", (), store).load.shape is None, "nothing is known yet"
        lived(store, 400.0, 80.0, hits=100.0)
        load = plan_for(loaded, "chat", (), store).load
    assert load.prefix_hit_target == target
    assert (load.shape is not None) is shaped
    if load.shape is not None:
        assert load.shape.means == pytest.approx((400, 80), rel=0.02)
    assert plan_for(loaded, "chat", (), None).load.prefix_hit_target in (0.0, 0.6), "without a store nothing is live"


def test_two_sweeps_of_about_the_same_traffic_send_the_same(tmp_path: Path) -> None:
    loaded = load_config(config(tmp_path))
    with open_store(loaded.store_path) as store:
        now_s = time.time()
        lived(store, 400.0, 80.0, hits=100.0, since_s=now_s - 900)
        first = plan_for(loaded, "chat", (), store)
        measured(store, first, now_s - 700)
        lived(store, 430.0, 84.0, hits=110.0, since_s=now_s - 500)
        again = plan_for(loaded, "chat", (), store)
        assert again.load == first.load
        assert signature(again) == signature(first)
        lived(store, 900.0, 84.0, hits=110.0, since_s=now_s - 300)
        other = plan_for(loaded, "chat", (), store)
        assert other.load != first.load
        assert signature(other) != signature(first), "cells of other lengths are no part of the same answer"


def test_imported_results_do_not_hide_what_the_last_sweep_took_for_the_load(tmp_path: Path) -> None:
    loaded = load_config(config(tmp_path))
    with open_store(loaded.store_path) as store:
        now_s = time.time()
        lived(store, 400.0, 80.0, hits=100.0, since_s=now_s - 900)
        first = plan_for(loaded, "chat", (), store)
        measured(store, first, now_s - 700)
        insert_imported(store, imported(started_at_s=now_s - 600, ended_at_s=now_s - 550))
        lived(store, 430.0, 84.0, hits=110.0, since_s=now_s - 500)
        assert plan_for(loaded, "chat", (), store).load == first.load
