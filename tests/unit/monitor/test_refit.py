"""A second mix that the same servers were swept with widens what the newest sweep's answer covers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.service.refit import OTHER_MIXES, mix_of, refitted
from monitor.store.db import Store, open_store
from monitor.store.sweeps import add_cell
from probes.answer_values import Crossover, Verdict
from probes.steptime.adjust import adjusted
from probes.steptime.values import Mix
from probes.values import Reason
from tests.support.drift import ARM_K, SWEPT_MIX, cells_with, h200
from tests.support.measured_cells import h200_cells
from tests.support.stored_sweeps import begun, measured

LONG = Mix(1024.0, 128.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.db") as opened:
        yield opened


def swept(store: Store, mix: Mix, at_s: float, *, fingerprint: str = "f1", pool: str = "chat") -> None:
    """An earlier sweep with requests of `mix`."""
    sweep = begun(store, at_s, pool=pool, live_arm=None)
    with store.write():
        for cell in cells_with(mix):
            add_cell(store, sweep, cell)
    measured(store, sweep, at_s + 60.0, h200(), ARM_K, fingerprint=fingerprint)


def refit(store: Store) -> Crossover:
    return refitted(store, "chat", "f1", h200(), h200_cells())


def covers(found: Crossover, mix: Mix) -> bool:
    verdict = adjusted(found, "k3", acceptance_length=None, mix=mix).verdict
    return verdict is not Verdict.INSUFFICIENT


def test_a_mix_that_an_earlier_sweep_had_is_judged_again(store: Store) -> None:
    swept(store, LONG, 100.0)
    found = refit(store)
    assert not covers(h200(), LONG)
    assert covers(found, LONG)
    assert found.step_model is not None
    assert h200().step_model is not None
    assert len(found.step_model.mixes) == 2
    assert {arm: t.mix for arm, t in found.step_model.arms.items()} == dict.fromkeys(ARM_K, SWEPT_MIX)
    assert (found.arms, found.curves) == (h200().arms, h200().curves), "what was measured stays"


def test_a_model_of_both_takes_back_that_there_was_none(store: Store) -> None:
    swept(store, LONG, 100.0)
    untold = replace(h200(), step_model=None, notes=(Reason("other", "Kept."), Reason("no_step_model", "Scatter.")))
    found = refitted(store, "chat", "f1", untold, h200_cells())
    assert found.step_model is not None
    assert [note.code for note in found.notes] == ["other"]


@pytest.mark.parametrize("other", [{"fingerprint": "f2"}, {"pool": "summaries"}])
def test_sweeps_of_other_servers_are_left_out(store: Store, other: dict[str, str]) -> None:
    swept(store, LONG, 100.0, **other)
    assert refit(store) == h200()


def test_a_second_sweep_of_the_same_mix_adds_nothing(store: Store) -> None:
    swept(store, Mix(185.0, 250.0), 100.0)
    assert refit(store) == h200()


def test_only_the_newest_other_mixes_are_taken(store: Store) -> None:
    mixes = [Mix(178.0 * 1.3**n, 256.0) for n in range(1, OTHER_MIXES + 3)]
    for number, mix in enumerate(mixes):
        swept(store, mix, 100.0 * (number + 1))
    model = refit(store).step_model
    assert model is not None
    assert {round(m.prompt_tokens) for m in model.mixes[1:]} == {round(m.prompt_tokens) for m in mixes[-OTHER_MIXES:]}


def test_cells_that_do_not_count_tell_no_mix() -> None:
    cells = h200_cells()
    assert mix_of([]) is None
    assert mix_of([replace(cells[0], void=(Reason("short", "it was too short"),))]) is None
    assert mix_of(cells) == SWEPT_MIX
