"""What a sweep will do follows from the config, the store's history and the words on the command line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from monitor.config.errors import ConfigError, explain
from monitor.config.load import load_config
from monitor.service.sweep_plan import plan_for
from monitor.store.db import open_store
from monitor.store.readings import append_readings
from tests.support.readings import engine, reading

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
