"""Before any load a sweep looks whether the servers are the ones that a broken-off sweep measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from monitor.service.sweep_plan import plan_for
from monitor.service.sweep_run import Caller, run_stored_sweep
from monitor.store.db import open_store
from monitor.store.sweeps import add_cell
from probes.values import Cell
from tests.support.canned_server import canned_server, vllm_routes
from tests.support.configs import sound
from tests.support.records import a_cell

OFF, K3 = "vllm-0.26.0-h200-off-c32.prom", "vllm-0.26.0-h200-k3-c32.prom"

CONFIG = """\
[[endpoint]]
name = "chat"
url = "{on}"
  [endpoint.probe]
  live_arm = "k3"
  ladder = [16, 32]
  [[endpoint.arm]]
  name = "off"
  url = "{off}"
  [[endpoint.arm]]
  name = "k3"
  url = "{on}"
"""
CELLS = a_cell("off", 0, k=None), a_cell("k3", 1)


async def says_at_the_gate(folder: Path, cells: tuple[Cell, ...]) -> str:
    """What the second of two sweeps says that are called off at the gate, the first one with these cells."""
    notes: list[str] = []
    with canned_server(vllm_routes(OFF)) as off, canned_server(vllm_routes(K3)) as on:
        loaded = sound(folder, CONFIG.replace("{on}", on.url).replace("{off}", off.url))
        with open_store(loaded.store_path) as store:
            for _ in range(2):
                notes.clear()
                ended = await run_stored_sweep(
                    loaded,
                    store,
                    plan_for(loaded, "chat", (), store),
                    Caller("command", "me@here"),
                    interrupted=lambda: "enough" if any("watching" in note for note in notes) else None,
                    show=lambda progress: notes.append(progress.note),
                    on_cell=lambda _cell: None,
                )
                assert ended.exit_code == 4
                for cell in cells:
                    add_cell(store, ended.sweep_id, cell)
                with store.write() as db:
                    db.execute("UPDATE sweeps SET outcome = 'died', tally = '{}'")
    return next(note for note in notes if "watching" in note)


async def test_the_same_servers_are_gone_on_with(tmp_path: Path) -> None:
    assert "goes on with sweep 1, 2 cells" in await says_at_the_gate(tmp_path, CELLS)


async def test_an_arm_that_drafts_another_number_of_tokens_now_is_measured_anew(tmp_path: Path) -> None:
    assert "goes on" not in await says_at_the_gate(tmp_path, (CELLS[0], replace(CELLS[1], k=5)))
