"""Measures the cells of `cell_scenes` in virtual time, by the production code over real sockets; prints what it got.

`python -m tests.support.virtual_cells` writes one JSON line per fault: name, and the codes of both of its cells.
"""

from __future__ import annotations

import json
import sys

from tests.support import virtual_time

virtual_time.install()

import asyncio  # noqa: E402 - the clock must be in place first
from contextlib import suppress  # noqa: E402

from probes.answer_values import CurvePoint  # noqa: E402
from probes.load.prompts import load_prompts  # noqa: E402
from probes.scrape.identity import identify  # noqa: E402
from probes.scrape.scrape import Scraper  # noqa: E402
from probes.sim.server import SimServer  # noqa: E402
from probes.sweep.cell import CellJob, measure_cell  # noqa: E402
from probes.sweep.plan import ArmPlan, CellSlot  # noqa: E402
from probes.sweep.sameness import Seen  # noqa: E402
from probes.sweep.watch import ForeignTraffic, settled  # noqa: E402
from probes.values import Cell, Target  # noqa: E402
from tests.support.cell_scenes import BROKE_OFF, FAULTS, NOT_SETTLED, Scene  # noqa: E402

BUSY_EVERY_S = 0.25
PROMPTS = load_prompts("builtin")


async def look(scene: Scene) -> dict[str, dict[str, str]]:
    """Void reasons and notes of one scene's cell: code to text."""
    async with SimServer(scene.spec) as server:
        server.set_faults(**scene.faults)
        target = Target("t", server.url)
        scraper = Scraper(target, timeout_s=4.0, max_bytes=1_000_000)
        page = await scraper.read()
        seen = Seen(await identify(target, timeout_s=4.0), page.cache_config, page.k, page.process_start_s)
        if scene.restarted:
            await asyncio.sleep(1.0)
            server.restart()
        side = asyncio.ensure_future(_beside(scene, server))
        try:
            measuring = asyncio.ensure_future(measure_cell(_job(scene, target, seen), scraper))
            if scene.break_off:
                return await _break_off(measuring, scraper, scene)
            return _told(await measuring)
        except ForeignTraffic as foreign:
            return {"void": {BROKE_OFF: str(foreign)}, "notes": {}}
        finally:
            side.cancel()
            with suppress(asyncio.CancelledError):
                await side
            await scraper.aclose()


def _job(scene: Scene, target: Target, seen: Seen) -> CellJob:
    name = "k3" if scene.speculative else "off"
    rate = scene.history_tok_s
    # In a closed loop and at few clients the rate grows with the concurrency.
    history = () if rate is None else tuple(CurvePoint("off", n, rate * n / scene.clients, 0) for n in (1, 2, 4, 8))
    return CellJob(
        slot=CellSlot(name, scene.clients, 0, 0),
        arm=ArmPlan(name, target, scene.speculative, restart=scene.restart),
        model=scene.spec.model_name,
        cell_s=scene.cell_s,
        load=scene.load,
        prompts=PROMPTS,
        nonce="n0nce",
        max_foreign=scene.max_foreign,
        request_s=0.5,
        seen=seen,
        history=history,
    )


def _told(cell: Cell) -> dict[str, dict[str, str]]:
    return {
        "void": {reason.code: reason.text for reason in cell.void},
        "notes": {reason.code: reason.text for reason in cell.notes},
        "numbers": {"tok_s": str(cell.output_tok_s), "window_s": str(cell.window_s), "requests": str(cell.requests)},
    }


async def _break_off(measuring: asyncio.Future[Cell], scraper: Scraper, scene: Scene) -> dict[str, dict[str, str]]:
    await asyncio.sleep(scene.later_at_s)
    measuring.cancel()
    with suppress(asyncio.CancelledError):
        await measuring
    left = await settled(scraper, "off")
    return {"void": {} if left is None else {NOT_SETTLED: left}, "notes": {}}


async def _beside(scene: Scene, server: SimServer) -> None:
    """What happens while the cell is measured."""
    if scene.busy_s:
        while True:
            await asyncio.sleep(BUSY_EVERY_S)
            virtual_time.stand_still(scene.busy_s)
    await asyncio.sleep(scene.later_at_s)
    if scene.later is not None:
        scene.later(server)


async def main(names: list[str]) -> None:
    """The named faults, or all."""
    for name in names or FAULTS:
        fault = FAULTS[name]
        line = {"name": name, "broken": await look(fault.broken), "sound": await look(fault.sound)}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    virtual_time.run(main(sys.argv[1:]))
