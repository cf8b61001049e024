"""Cells whose answers all end at max_tokens, in virtual time, by the production code over real sockets.

`python -m tests.support.virtual_starts` writes one JSON line per cell: who was launched when, and what the cell told.
"""

from __future__ import annotations

import json
import sys

from tests.support import virtual_time

virtual_time.install()

from dataclasses import replace  # noqa: E402 - the clock must be in place first
from typing import Any  # noqa: E402
from unittest.mock import patch  # noqa: E402

from probes.load.prompts import load_prompts  # noqa: E402
from probes.load.shape import LengthShape  # noqa: E402
from probes.scrape.scrape import Scraper  # noqa: E402
from probes.sim.server import SimServer  # noqa: E402
from probes.sim.spec import SimSpec  # noqa: E402
from probes.sweep import cell as cells  # noqa: E402
from probes.sweep.assemble import assemble as make_cell  # noqa: E402
from probes.sweep.evidence import Evidence  # noqa: E402
from probes.sweep.plan import ArmPlan, CellSlot, LoadSpec  # noqa: E402
from probes.values import Cell, Target  # noqa: E402
from tests.support.start_scenes import MAX_TOKENS, SCENES, Scene  # noqa: E402

SPEC = SimSpec(mean_output_tokens=100_000.0, start_noise=0.0, step_noise=0.0, prefix_caching=False)
PROMPTS = load_prompts("builtin")


async def look(scene: Scene) -> dict[str, Any]:
    """One cell of a server that does not speculate, and the requests behind it."""
    seen: list[Evidence] = []

    def assemble(evidence: Evidence) -> Cell:
        seen.append(evidence)
        return make_cell(evidence)

    with patch.object(cells, "assemble", assemble):
        async with SimServer(replace(SPEC, time_scale=scene.time_scale)) as server:
            cell = await _measure(scene, Target("t", server.url))
    (evidence,) = seen
    window = evidence.window
    assert window is not None
    return {
        "launched_s": [r.launched_s for r in evidence.records if window.start_s <= r.launched_s < window.end_s],
        "cut_in_window": sum(
            1
            for r in evidence.records
            if (r.output_tokens or 0) < MAX_TOKENS and window.overlap_s(r.launched_s, r.end_s) > 0
        ),
        "window_s": window.length_s,
        "concurrency": cell.concurrency,
        "requests": cell.requests,
        "sent": len(evidence.records),
        "tokens": sum(r.output_tokens or 0 for r in evidence.records),
        "server_tokens": cell.server_tokens,
        "foreign": cell.foreign_requests,
        "output_tokens_mean": cell.output_tokens_mean,
        "capped_share": cell.capped_share,
        "e2e_s": [None if ms is None else ms / 1e3 for ms in (cell.e2e.p50_ms, cell.e2e.p99_ms)],
        "ramp_s": window.start_s - min(r.launched_s for r in evidence.records),
        "first_going_on": sum(r.index < scene.clients and r.end_s > window.start_s for r in evidence.records),
        "void": [reason.code for reason in cell.void],
    }


async def _measure(scene: Scene, target: Target) -> Cell:
    scraper = Scraper(target, timeout_s=4.0, max_bytes=1_000_000)
    job = cells.CellJob(
        slot=CellSlot("off", scene.clients, 0, 0),
        arm=ArmPlan("off", target, False),
        model=SPEC.model_name,
        cell_s=scene.cell_s,
        load=LoadSpec(max_tokens=scene.longest, shape=_shape(scene)),
        prompts=PROMPTS,
        nonce="n0nce",
        max_foreign=1.0,
        request_s=scene.request_s,
    )
    try:
        return await cells.measure_cell(job, scraper)
    finally:
        await scraper.aclose()


def _shape(scene: Scene) -> LengthShape | None:
    """Prompts of one length, and one answer in 32 longer than the others."""
    if scene.longest == MAX_TOKENS:
        return None
    return LengthShape((100.0,) * 32, (float(MAX_TOKENS),) * 31 + (float(scene.longest),), 0.0)


async def main() -> None:
    """Every scene."""
    for name, scene in SCENES.items():
        sys.stdout.write(json.dumps({"name": name, **await look(scene)}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    virtual_time.run(main())
