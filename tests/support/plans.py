"""Sweep plans and hooks for tests: short cells against servers on loopback."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from probes.sweep.plan import ArmPlan, CellSlot, LoadSpec, SweepPlan
from probes.values import Cell, Target


def arm(name: str, url: str = "http://127.0.0.1:9", speculative: bool | None = None) -> ArmPlan:
    """An arm; all but `off` must draft unless said otherwise."""
    return ArmPlan(name, Target(name, url), name != "off" if speculative is None else speculative)


def plan(*arms: ArmPlan, **changes: Any) -> SweepPlan:
    """A plan of half-second cells."""
    values: dict[str, Any] = {
        "pool": "p",
        "endpoint": "e",
        "baseline": "off",
        "live_arm": None,
        "arms": arms or (arm("off"), arm("k3")),
        "ladder": (1, 2),
        "repeats": 2,
        "cell_s": 0.4,
        "warmup_s": 0.0,
        "load": LoadSpec(max_tokens=64),
        "max_foreign": 1.0,
        "max_minutes": 5.0,
    }
    return SweepPlan(**(values | changes))


@dataclass
class Recorder:
    """Hooks that remember; `stop` is what they answer when asked."""

    stop: str | None = None
    cells: list[Cell] = field(default_factory=list)
    progress: list[tuple[int, int, CellSlot | None, str, float | None, str]] = field(default_factory=list)
    asked: int = 0

    def on_cell(self, cell: Cell) -> None:
        self.cells.append(cell)

    def on_progress(
        self, done: int, total: int, slot: CellSlot | None, phase: str, eta_s: float | None, note: str
    ) -> None:
        self.progress.append((done, total, slot, phase, eta_s, note))

    def stop_requested(self) -> str | None:
        self.asked += 1
        return self.stop
