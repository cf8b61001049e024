"""The acceptance length at which an arm would equal the baseline, at one concurrency or along the sweep's; pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probes.answer_values import BandPoint, Crossover
from probes.crossover.estimate import speedup_at
from probes.crossover.noise import Z_BAND
from probes.steptime.adjust import adjusted
from probes.steptime.shape import Floats
from probes.steptime.shift import speedup_shift
from probes.steptime.values import Mix
from probes.values import Reason

GRID = 256
"""Acceptance lengths between 1 and K + 1 that are looked at."""


@dataclass(frozen=True, slots=True)
class _Gain:
    """Log speedup over acceptance length, with the 90% band's edges."""

    acceptance_length: Floats
    middle: Floats
    half: Floats


def break_even(
    found: Crossover, arm: str, concurrency: float, mix: Mix | None, k: float | None = None
) -> BandPoint | None:
    """Tokens per step at which `arm` equals the baseline at `concurrency` and `mix` (None: the sweep's).

    `ratio`, `low` and `high` of the point are acceptance lengths with a 90% interval; edges end at 1 and at one more
    than the `k` tokens that a step drafts (None: as swept), which no acceptance passes. None where there is none:
    `no_break_even` says why.
    """
    gain = _gain(found, arm, concurrency, mix, k)
    if isinstance(gain, Reason) or not gain.middle[0] <= 0 <= gain.middle[-1]:
        return None
    a = gain.acceptance_length
    low, middle, high = (
        float(np.interp(0.0, np.maximum.accumulate(edge), a))
        for edge in (gain.middle + gain.half, gain.middle, gain.middle - gain.half)
    )
    return BandPoint(concurrency, middle, min(low, middle), max(high, middle))


def no_break_even(
    found: Crossover, arm: str, concurrency: float, mix: Mix | None, k: float | None = None
) -> Reason | None:
    """Why `break_even` has no answer; None where it has one.

    Codes: `never_pays` (not even if every draft were accepted), `always_pays` (even if none were), `not_measured`
    (outside the sweep's concurrencies), and those of `adjusted`.
    """
    gain = _gain(found, arm, concurrency, mix, k)
    if isinstance(gain, Reason):
        return gain
    if gain.middle[-1] < 0:
        most = gain.acceptance_length[-1]
        text = f"At {concurrency:.3g} {arm} would lose even if every draft were accepted, {most:.3g} tokens per step."
        return Reason("never_pays", text)
    if gain.middle[0] > 0:
        return Reason("always_pays", f"At {concurrency:.3g} {arm} would win even if no draft were accepted.")
    return None


def break_even_curve(found: Crossover, arm: str, mix: Mix | None) -> tuple[BandPoint, ...]:
    """`break_even` at each concurrency of the sweep's band where there is one."""
    points = (break_even(found, arm, point.concurrency, mix) for point in found.arms[arm].speedup)
    return tuple(point for point in points if point is not None)


def _gain(found: Crossover, arm: str, concurrency: float, mix: Mix | None, k: float | None) -> _Gain | Reason:
    as_of = adjusted(found, arm, acceptance_length=None, mix=mix)
    model = found.step_model
    if model is None or arm not in model.arms or not as_of.speedup:
        return as_of.reasons[0]
    here = speedup_at(found.arms[arm], concurrency)
    if here is None:
        return Reason("not_measured", f"{concurrency:.3g} is outside the concurrencies that were swept.")
    drafted = model.arms[arm].k if k is None else k
    a = np.linspace(1.0, drafted + 1.0, GRID)
    shift = speedup_shift(model, arm, found.baseline, np.array(concurrency), a, mix, drafted)
    half = np.hypot(np.log(here.high / here.low) / 2, Z_BAND * shift.sd)
    return _Gain(a, np.log(here.ratio) + shift.value, half)
