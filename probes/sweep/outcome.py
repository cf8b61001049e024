"""What a sweep tells while it runs and what it leaves behind; values and the hooks' shape, no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from probes.sweep.plan import CellSlot
from probes.values import Cell, Crossover, Identity

MEASURED = 0
ABORTED = 4
MISMATCH = 5


class SweepHooks(Protocol):
    """The sweep's only way out: its caller stores, shows and stops. All three must return quickly."""

    def on_cell(self, cell: Cell) -> None:
        """A cell is finished, void or not."""
        ...

    def on_progress(
        self, done: int, total: int, slot: CellSlot | None, phase: str, eta_s: float | None, note: str
    ) -> None:
        """`phase` is preflight, warmup, cells, estimate or done; `total` shrinks when an arm stops climbing."""
        ...

    def stop_requested(self) -> str | None:
        """Why the sweep must stop, or None. Asked at least every half second and before every cell."""
        ...


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """How a sweep ended. Cells are there whatever happened."""

    outcome: str
    """measured | aborted | arm_mismatch | failed."""
    reason: str
    exit_code: int
    """0 measured, 4 aborted by traffic, stop or budget, 5 an arm is not what it claims or no cell is valid."""
    cells: tuple[Cell, ...] = ()
    crossover: Crossover | None = None
    identities: Mapping[str, Identity] = field(default_factory=dict)
    arm_k: Mapping[str, int | None] = field(default_factory=dict)
    """Configured K by arm; None where the page shows no speculation."""
    cache_config: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By arm, as the metrics page shows it; for the fingerprint."""
    prompts_sha256: str = ""
