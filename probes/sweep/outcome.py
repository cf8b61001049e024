"""What a sweep tells while it runs, what it asks for and what it leaves behind; values and shapes, no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from probes.answer_values import Crossover
from probes.sweep.plan import ArmPlan, CellSlot
from probes.values import Cell, Identity

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
        """`phase` is preflight, restart, warmup, cells, backoff, refine, estimate or done.

        `total` shrinks when an arm stops climbing and grows with cells that are measured again or refine the answer.
        """
        ...

    def stop_requested(self) -> str | None:
        """Why the sweep must stop, or None. Asked at least every half second and before every cell."""
        ...


class BringUp(Protocol):
    """Turns the one server of a restart plan into an arm. Called before each pass, also where an arm follows itself."""

    async def __call__(self, arm: ArmPlan) -> None:
        """Return once the server is up as `arm`, started anew.

        May be cancelled at any await (a stop, the end of the budget); whoever made it restores the server afterwards.
        Raises ArmMismatch where the arm does not come up (the sweep ends with code 5) or ForeignTraffic where others'
        requests keep the server from draining (the sweep backs off and asks again). Anything else goes through to the
        caller of the sweep.
        """
        ...


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """How a sweep ended. Cells are there whatever happened."""

    outcome: str
    """measured | aborted | arm_mismatch | failed."""
    reason: str
    exit_code: int
    """0 measured, 4 aborted by traffic, an outage, stop or budget, 5 an arm is not what it claims or no cell is valid.

    A sweep that was stopped after the whole ladder is measured; its reason says what it did not come to.
    """
    cells: tuple[Cell, ...] = ()
    crossover: Crossover | None = None
    identities: Mapping[str, Identity] = field(default_factory=dict)
    arm_k: Mapping[str, int | None] = field(default_factory=dict)
    """Configured K by arm; None where the page shows no speculation."""
    cache_config: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By arm, as the metrics page shows it; for the fingerprint."""
    prompts_sha256: str = ""
    cause: str = ""
    """Of an aborted sweep: traffic | outage | stop | budget. This word decides whether it is worth another try."""
    tokens: int = 0
    """Output tokens that the servers made for this sweep, those of cells it went on after included; where a count is
    missing, the most it can have been."""
    backoffs: int = 0
    """How often the sweep gave way to others' traffic and waited."""
    refined_cells: int = 0
    """Cells added around the crossing once the ladder was done."""
    starts: int = 0
    """Starts of the server that this sweep asked for."""
    signature: str = ""
    """`probes.sweep.resume.signature` of the plan."""
    resumable: bool = False
    """Whether going on later, by `run_sweep(resume=...)`, can help: aborted, and not because the tokens are spent."""
