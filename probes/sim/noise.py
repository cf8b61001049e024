"""Why two runs of one simulated server differ, as measured on the H200; seeded, no clock of its own."""

from __future__ import annotations

from math import exp
from random import Random

from probes.sim.spec import SimSpec

START_SD = 0.01
START_SD_DRAFTING = 0.02
RUN_SD = 0.005
RUN_SD_PER_DRAFT = 0.004
STEP_SD = 0.03
IDLE_S = 0.05
"""The bias of a run is drawn anew when the engine was idle this long: once per cell of a sweep, whatever its length."""


class Noise:
    """A factor for each step: one bias per start, one per busy stretch, and jitter. Repeats never see the first."""

    def __init__(self, spec: SimSpec, rng: Random) -> None:
        self._rng = rng
        start_sd = START_SD_DRAFTING if spec.k else START_SD
        self._start = exp(rng.gauss(0.0, start_sd) * spec.start_noise)
        self._run_sd = (RUN_SD + RUN_SD_PER_DRAFT * spec.k) * spec.step_noise
        self._step_sd = STEP_SD * spec.step_noise
        self._run = 1.0
        self._busy_until_s = float("-inf")

    @property
    def start_bias(self) -> float:
        """The factor that every step of this start carries."""
        return self._start

    def factor(self, now_s: float) -> float:
        """Multiplier for the step that begins now."""
        if now_s - self._busy_until_s > IDLE_S:
            self._run = exp(self._rng.gauss(0.0, self._run_sd)) if self._run_sd else 1.0
        jitter = exp(self._rng.gauss(0.0, self._step_sd)) if self._step_sd else 1.0
        return self._start * self._run * jitter

    def busy_until(self, end_s: float) -> None:
        """The step that was drawn last ends then."""
        self._busy_until_s = end_s
