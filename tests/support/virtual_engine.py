"""Scenes of whole sweeps in virtual time, each with one thing happening to it; prints what came of them.

`python -m tests.support.virtual_engine SCENE...` writes one JSON line per scene: what the hooks were told, how it ended
and what the servers saw.
"""

from __future__ import annotations

from tests.support import virtual_time

virtual_time.install()

import asyncio  # noqa: E402 - the clock must be in place first
import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable, Coroutine  # noqa: E402
from dataclasses import replace  # noqa: E402
from typing import Any  # noqa: E402

from probes.sweep.plan import ArmPlan, CellSlot, LoadSpec  # noqa: E402
from probes.sweep.watch import ForeignTraffic  # noqa: E402
from tests.support.virtual_stage import React, Stage, play  # noqa: E402
from tests.support.virtual_sweep import demo_spec  # noqa: E402

Scene = Callable[[], Coroutine[Any, Any, dict[str, Any]]]


def _visit(stay_s: float | None) -> React:
    """Others come to k3 in the middle of its first cell on 4 clients and stay for `stay_s` (None: for good)."""

    def react(stage: Stage, phase: str, slot: CellSlot | None) -> None:
        server = stage.servers["k3"]

        def come() -> None:
            stage.told["came_s"] = time.monotonic()
            server.set_faults(foreign_clients=3)
            if stay_s is not None:
                stage.after(stay_s, leave)

        def leave() -> None:
            stage.told["left_s"] = time.monotonic()
            server.set_faults(foreign_clients=0)

        def look() -> None:
            stage.told["ours_after_2_s"] = stage.in_system("k3") - 3

        if phase == "cells" and slot is not None and (slot.arm, slot.rung) == ("k3", 4) and "came_s" not in stage.told:
            stage.told["came_s"] = None
            stage.after(1.0, come)
        if phase == "backoff" and "ours_after_2_s" not in stage.told:
            stage.told["ours_after_2_s"] = None
            stage.told["gave_way_after_s"] = time.monotonic() - stage.told["came_s"]
            stage.after(2.0, look)
        if phase == "cells" and "left_s" in stage.told and "resumed_after_s" not in stage.told:
            stage.told["resumed_after_s"] = time.monotonic() - stage.told["left_s"]

    return react


async def gives_way() -> dict[str, Any]:
    """Others come for 30 s; the sweep waits until they have been gone for 10."""
    return (await play(_visit(30.0), backoff_s=120.0, quiet_s=10.0, cell_s=4.0))[1]


async def gives_up() -> dict[str, Any]:
    """Others come and stay."""
    return (await play(_visit(None), backoff_s=120.0, quiet_s=10.0, cell_s=4.0))[1]


async def gives_up_with_its_minutes() -> dict[str, Any]:
    """Others stay beyond the end of the sweep's own time."""
    return (await play(_visit(None), backoff_s=3600.0, quiet_s=10.0, cell_s=4.0, max_minutes=2.0))[1]


async def come_back_each_time() -> dict[str, Any]:
    """Others leave when the sweep does, and are there again as soon as it is."""

    def react(stage: Stage, phase: str, slot: CellSlot | None) -> None:
        if phase == "cells":
            stage.after(1.0, lambda: stage.servers["off"].set_faults(foreign_clients=3))
        if phase == "backoff":
            stage.servers["off"].set_faults(foreign_clients=0)

    return (await play(react, backoff_s=120.0, quiet_s=5.0, cell_s=4.0))[1]


async def met_while_warming() -> dict[str, Any]:
    """Others are there for the first 20 s, before anything counts."""

    def react(stage: Stage, phase: str, slot: CellSlot | None) -> None:
        if phase == "warmup" and not any(told[0] == "backoff" for told in stage.phases):
            stage.servers["off"].set_faults(foreign_clients=3)
            stage.after(20.0, lambda: stage.servers["off"].set_faults(foreign_clients=0))

    return (await play(react, backoff_s=120.0, quiet_s=5.0, warmup_s=3.0))[1]


async def come_back_while_warming() -> dict[str, Any]:
    """Others leave when the warm-up does, and are there again as soon as it is."""

    def react(stage: Stage, phase: str, slot: CellSlot | None) -> None:
        if phase in ("warmup", "backoff"):
            stage.servers["off"].set_faults(foreign_clients=3 if phase == "warmup" else 0)

    return (await play(react, backoff_s=120.0, quiet_s=5.0, warmup_s=3.0, max_minutes=10.0))[1]


async def gives_up_to_a_crowd() -> dict[str, Any]:
    """Others come, and more of them while the sweep waits."""

    def react(stage: Stage, phase: str, slot: CellSlot | None) -> None:
        if phase in ("cells", "backoff"):
            stage.servers["off"].set_faults(foreign_clients=3 if phase == "cells" else 9)

    return (await play(react, backoff_s=60.0, quiet_s=5.0, cell_s=4.0))[1]


async def never_waits() -> dict[str, Any]:
    """As before there was any waiting: others end the sweep."""
    return (await play(_visit(30.0), backoff_s=0.0, cell_s=4.0))[1]


async def short_requests() -> dict[str, Any]:
    """Others' requests are too short for any gauge, and only counters show them, during one cell."""

    def react(stage: Stage, phase: str, slot: CellSlot | None) -> None:
        at = phase == "cells" and slot is not None and (slot.arm, slot.rung, slot.repeat) == ("off", 4, 0)
        stage.servers["off"].set_faults(foreign_per_request=int(at and stage.told.setdefault("times", 0) == 0))
        stage.told["times"] = stage.told.get("times", 0) + at

    return (await play(react, backoff_s=60.0, quiet_s=5.0))[1]


async def comes_while_refining() -> dict[str, Any]:
    """The ladder is done when others come, and stay."""

    def react(stage: Stage, phase: str, slot: CellSlot | None) -> None:
        if phase == "refine":
            stage.after(0.5, lambda: stage.servers["k3"].set_faults(foreign_clients=9))

    return (await play(react, ladder=(2, 8, 32), refine_octaves=0.3, backoff_s=30.0, quiet_s=5.0))[1]


def _stop_in(arm: str, rung: int, **faults: Any) -> React:
    def react(stage: Stage, phase: str, slot: CellSlot | None) -> None:
        if phase == "cells" and slot is not None and (slot.arm, slot.rung) == (arm, rung):
            stage.servers[arm].set_faults(**faults)
            stage.after(1.0, stage.ask_stop)

    return react


async def stopped() -> dict[str, Any]:
    """Somebody stops it in the middle of a cell."""
    return (await play(_stop_in("k3", 4)))[1]


async def stopped_behind_a_deaf_proxy() -> dict[str, Any]:
    """The server does not hear that its clients left, and generates on for half a minute."""
    spec = replace(demo_spec(8.0, 1), mean_output_tokens=4000.0, time_scale=20.0)
    arms = {"off": replace(spec, k=0), "k3": spec}
    load = LoadSpec(max_tokens=3000)
    return (await play(_stop_in("off", 4, deaf=True), arms=arms, ladder=(4, 8), load=load, warmup_s=0.0))[1]


async def goes_on() -> dict[str, Any]:
    """Stopped in the second half, and gone on with."""
    first, before = await play(_stop_in("k3", 4))
    return {**(await play(resume=first.cells))[1], "before": before}


async def goes_on_with_restarts() -> dict[str, Any]:
    """Stopped in the second pass, and gone on with on new starts."""
    first, before = await play(_stop_in("k3", 4), bring_up=Restarts)
    return {**(await play(bring_up=Restarts, resume=first.cells))[1], "before": before}


async def loses_a_server() -> dict[str, Any]:
    """k3 dies after its first rung; later it is back, and the sweep is gone on with."""

    def react(stage: Stage, phase: str, slot: CellSlot | None) -> None:
        if phase == "cells" and slot is not None and (slot.arm, slot.rung) == ("k3", 4):
            stage.servers["k3"].set_faults(dead=True)

    first, before = await play(react)
    return {**(await play(resume=first.cells))[1], "before": before}


async def too_few_tokens() -> dict[str, Any]:
    """A budget that ends within the ladder."""
    whole = (await play())[0].tokens
    return {**(await play(max_total_tokens=whole // 2))[1], "limit": whole // 2}


async def refines() -> dict[str, Any]:
    """A coarse ladder, and time for more."""
    return (await play(ladder=(2, 8, 32), refine_octaves=0.3))[1]


async def refines_until_its_tokens_end() -> dict[str, Any]:
    """The ladder fits, little more does."""
    ladder = (2, 8, 32)
    whole = (await play(ladder=ladder))[0].tokens
    limit = int(1.3 * whole)
    return {**(await play(ladder=ladder, refine_octaves=0.3, max_total_tokens=limit))[1], "limit": limit}


async def stopped_while_refining() -> dict[str, Any]:
    """Somebody stops it when the ladder is done."""

    def react(stage: Stage, phase: str, slot: CellSlot | None) -> None:
        if phase == "refine":
            stage.after(1.0, stage.ask_stop)

    return (await play(react, ladder=(2, 8, 32), refine_octaves=0.3))[1]


class Restarts:
    """Brings the one server up as the arm asked for; `shy` first finds others on it, `wrong` fails to change it."""

    def __init__(self, stage: Stage, *, shy: bool = False, wrong: bool = False) -> None:
        self._stage, self._shy, self._wrong = stage, shy, wrong
        self._starts: list[str] = stage.told.setdefault("brought_up", [])

    async def __call__(self, arm: ArmPlan) -> None:
        if self._shy:
            self._shy = False
            raise ForeignTraffic("the server does not drain: 2 requests are running", arm.name, 2.0)
        await asyncio.sleep(5.0)
        self._starts.append(arm.name)
        server = self._stage.servers[arm.name]
        starts = server.backend.starts
        if not self._wrong:
            server.set_faults(arm_k=3 if arm.speculative else 0)
        if server.backend.starts == starts:
            server.restart()


async def restarts() -> dict[str, Any]:
    """Two arms of one server, each pass on a start of its own."""
    return (await play(bring_up=Restarts, backoff_s=60.0, quiet_s=5.0))[1]


async def restarts_when_others_have_left() -> dict[str, Any]:
    """The first try to drain meets others."""
    return (await play(bring_up=lambda stage: Restarts(stage, shy=True), backoff_s=60.0, quiet_s=5.0))[1]


async def comes_up_wrong() -> dict[str, Any]:
    """The command says it worked and the server is still the other arm."""
    return (await play(bring_up=lambda stage: Restarts(stage, wrong=True)))[1]


async def refines_restarts() -> dict[str, Any]:
    """More starts, for cells around the crossing."""
    return (await play(bring_up=Restarts, ladder=(2, 8, 32), refine_octaves=0.3))[1]


def _drift(per_s: float, seed: int, **changes: Any) -> Scene:
    """One configuration as both arms, on a server whose speed changes all the while."""

    async def scene() -> dict[str, Any]:
        spec = replace(demo_spec(8.0, seed), k=0, start_noise=0.0)

        def before(stage: Stage) -> None:
            for server in stage.servers.values():
                server.set_faults(drift_per_s=per_s)

        arms = {"off": spec, "again": replace(spec, seed=seed + 100)}
        return (await play(arms=arms, before=before, ladder=(2, 4, 8, 16), repeats=4, **changes))[1]

    return scene


SCENES: dict[str, Scene] = {
    one.__name__: one
    for one in (
        gives_way,
        gives_up,
        gives_up_with_its_minutes,
        come_back_each_time,
        met_while_warming,
        come_back_while_warming,
        gives_up_to_a_crowd,
        never_waits,
        short_requests,
        comes_while_refining,
        stopped,
        stopped_behind_a_deaf_proxy,
        goes_on,
        goes_on_with_restarts,
        loses_a_server,
        too_few_tokens,
        refines,
        refines_until_its_tokens_end,
        stopped_while_refining,
        restarts,
        restarts_when_others_have_left,
        comes_up_wrong,
        refines_restarts,
    )
}
DRIFTS = {"faster": 0.03, "slower": -0.01}
"""Per second, of what the servers were at first: at the end of the sweep they are twice or half as fast."""
SCENES |= {f"drifts_{way}_{seed}": _drift(per_s, seed) for way, per_s in DRIFTS.items() for seed in (1, 2)}
SCENES |= {f"restarts_drift_{way}": _drift(per_s / 3, 1, bring_up=Restarts) for way, per_s in DRIFTS.items()}


if __name__ == "__main__":
    for scene in sys.argv[1:]:
        found = virtual_time.run(SCENES[scene]())
        sys.stdout.write(json.dumps({"scene": scene, **found}) + "\n")
        sys.stdout.flush()
