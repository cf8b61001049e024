"""Which pages the live mix is read from: the server's own traffic of the last minutes, whoever took the pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.now_values import LiveMix
from monitor.service.statuses import MemoryReadings, Readings, StoredReadings, all_statuses
from monitor.store.db import Store, open_store
from monitor.store.readings import append_readings
from probes.values import Identity, Reading
from tests.support.configs import sound
from tests.support.drift import ARM_K, h200
from tests.support.readings import NOW_S
from tests.support.stored_sweeps import begun, measured
from tests.unit.monitor.test_live_mix import page

SETTLED_S = 60.0
SWEPT, OWN = 5000.0, 300.0


class Local(MemoryReadings):
    """What a viewer scraped for itself; nobody tagged the sweep's load."""

    def identity(self, endpoint: object) -> tuple[Identity | None, str | None]:
        return Identity(version="0.26.0", model_root="m"), "f1"


class Daemon(StoredReadings):
    """The same from a daemon's store."""

    def identity(self, endpoint: object) -> tuple[Identity | None, str | None]:
        return Identity(version="0.26.0", model_root="m"), "f1"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.db") as opened:
        yield opened


def swept(store: Store, ended_at_s: float) -> int:
    sweep = begun(store, ended_at_s - 120.0)
    return measured(store, sweep, ended_at_s, h200(), ARM_K)


def pages(ended_at_s: float) -> list[Reading]:
    """Long prompts while the sweep ran, short ones since: the histograms of both are one."""
    found, finished, total = [], 0.0, 0.0
    for number in range(160):
        at_s = NOW_S - 5.0 * (159 - number)
        finished, total = finished + 4.0, total + 4.0 * (SWEPT if at_s <= ended_at_s else OWN)
        found.append(page(at_s, finished, prompt=total / finished, hit_share=0.0))
    return found


def mix_seen(folder: Path, store: Store, readings: Readings) -> LiveMix | None:
    (status,) = all_statuses(sound(folder).config, store, readings, NOW_S)
    return status.as_of_now.mix if status.as_of_now is not None else None


def test_a_sweeps_own_load_is_no_live_mix_even_where_no_page_says_so(tmp_path: Path, store: Store) -> None:
    ended_at_s = NOW_S - 400.0
    sweep = swept(store, ended_at_s)
    local = Local()
    for one in pages(ended_at_s):
        local.add(one)
        append_readings(store, [one], {"chat": sweep if one.at_s <= ended_at_s + SETTLED_S else None})
    for readings in (local, Daemon(store)):
        mix = mix_seen(tmp_path, store, readings)
        assert mix is not None
        assert mix.mix.prompt_tokens == pytest.approx(OWN)
        assert 300.0 < mix.span_s <= 400.0 - SETTLED_S


def test_a_server_that_has_just_started_has_shown_no_mix_of_its_own(tmp_path: Path, store: Store) -> None:
    swept(store, NOW_S - 86400.0)
    for one in pages(0.0):
        append_readings(store, [one], {})
    assert mix_seen(tmp_path, store, Daemon(store)) is not None
    for number in (1, 2):
        append_readings(store, [page(NOW_S + number, 0.0, process_start_s=NOW_S)], {})
    assert mix_seen(tmp_path, store, Daemon(store)) is None


def test_a_mix_that_changed_is_followed_within_two_minutes(tmp_path: Path, store: Store) -> None:
    """Not the mean of a quarter of an hour, which is a third mix that nobody sends."""
    swept(store, NOW_S - 86400.0)
    local = Local()
    for one in pages(NOW_S - 121.0):
        local.add(one)
        append_readings(store, [one], {})
    for readings in (local, Daemon(store)):
        mix = mix_seen(tmp_path, store, readings)
        assert mix is not None
        assert mix.mix.prompt_tokens == pytest.approx(OWN)
        assert mix.span_s == 120.0
