"""A sweep's stored answer knows the mixes that the same servers were swept with before.

The sweep goes on with a broken-off one that lacks no cell, so that all it does is put its answer together.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from monitor.config.load import Loaded
from monitor.service.sweep_plan import plan_for
from monitor.service.sweep_run import Caller, run_stored_sweep
from monitor.store.db import Store, open_store
from monitor.store.sweeps import add_cell, get_sweep
from monitor.values import SweepRecord
from probes.steptime.values import Mix
from probes.values import Cell
from tests.support.canned_server import canned_server, vllm_routes
from tests.support.configs import sound
from tests.support.drift import SWEPT_MIX, cells_with

CONFIG = """\
[[endpoint]]
name = "chat"
url = "{on}"
  [endpoint.probe]
  live_arm = "k3"
  ladder = [1, 2, 4, 8, 16, 32, 64, 128]
  repeats = 2
  refine_octaves = 0.0
  shape = "none"
  [[endpoint.arm]]
  name = "off"
  url = "{off}"
  [[endpoint.arm]]
  name = "k3"
  url = "{on}"
"""


def swept_with(mix: Mix) -> list[Cell]:
    return [cell for cell in cells_with(mix) if cell.arm in ("off", "k3") and cell.rung <= 128]


async def run(loaded: Loaded, store: Store, *, to_the_end: bool) -> int:
    """One sweep, or one that is called off at the gate; its id."""
    notes: list[str] = []
    ended = await run_stored_sweep(
        loaded,
        store,
        plan_for(loaded, "chat", (), store),
        Caller("command", "me@here", now=True),
        interrupted=lambda: "enough" if not to_the_end and any("watching" in note for note in notes) else None,
        show=lambda progress: notes.append(progress.note),
        on_cell=lambda _cell: None,
    )
    return ended.sweep_id


async def sweep(loaded: Loaded, store: Store, cells: Sequence[Cell]) -> SweepRecord:
    """A sweep that found these cells."""
    broken_off = await run(loaded, store, to_the_end=False)
    for cell in cells:
        add_cell(store, broken_off, cell)
    with store.write() as db:
        db.execute("UPDATE sweeps SET outcome = 'died', tally = '{}' WHERE id = ?", (broken_off,))
    found = get_sweep(store, await run(loaded, store, to_the_end=True))
    assert found is not None
    return found


async def test_the_answer_knows_the_mix_of_the_sweep_before(tmp_path: Path) -> None:
    pages = [vllm_routes(f"vllm-0.26.0-h200-{arm}-c32.prom") for arm in ("off", "k3")]
    with canned_server(pages[0]) as off, canned_server(pages[1]) as on:
        loaded = sound(tmp_path, CONFIG.replace("{on}", on.url).replace("{off}", off.url))
        with open_store(loaded.store_path) as store:
            first = await sweep(loaded, store, swept_with(Mix(1024.0, 128.0)))
            second = await sweep(loaded, store, swept_with(SWEPT_MIX))
    assert (first.outcome, second.outcome) == ("measured", "measured")
    assert second.result is not None
    assert second.result.step_model is not None
    assert len(second.result.step_model.mixes) == 2
