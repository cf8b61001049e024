"""An arm's verdict as of another acceptance and mix: the measured band, moved by what the step-time model says changed.

The levels are the sweep's, only the change is the model's, and the band grows by how unsure that change is. Nothing is
extrapolated over concurrency.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from probes.answer_values import ArmVerdict, Crossover, Verdict
from probes.crossover.estimate import ADMISSION_LIMITED
from probes.crossover.noise import Z_BAND, Z_STRONG
from probes.crossover.ratio import GRID, Ratio
from probes.crossover.verdict import judge
from probes.steptime.cover import distance, nearest_mix
from probes.steptime.fit import NO_STEP_MODEL
from probes.steptime.observations import SAME_K
from probes.steptime.shape import Floats
from probes.steptime.shift import Shift, speedup_shift
from probes.steptime.values import Mix, StepModel
from probes.values import Reason

UNMOVED = 1e-9
"""Changes of a logarithm below this are none."""
STRONG = Z_STRONG / Z_BAND
"""Half width beyond which a sign counts for a verdict, over the 90% band's: as clear as in the sweep's own."""
FARTHEST_MIX = math.log(4.0)
"""A mix that is more than four times (in prompt or output tokens) away from all that were swept is not judged."""
WIDEST_MIX = 0.12
"""Half width (90%, log speedup) that the change of mix alone may add before the answer is withdrawn."""
ACCEPTANCE_SLACK = 0.02
"""An acceptance length may pass its limits, 1 and K + 1, by this much: counters are read while they move."""
WHOLE_K = 0.05
"""Where no page tells K, a mean of drafts per step this close to a whole number is taken for it."""
MORE_DRAFTS = 1.0
"""An arm that drafts more than this beyond what was swept is extrapolated too far in K."""


def adjusted(
    found: Crossover,
    arm: str,
    *,
    acceptance_length: float | None,
    mix: Mix | None,
    k: float | None = None,
    k_most: float | None = None,
    traffic_half: float = 0.0,
) -> ArmVerdict:
    """The verdict on `arm` at `acceptance_length` tokens per step and `mix`; None leaves what the sweep had.

    `k` is how many tokens a step drafts now: an n-gram drafter proposes more for some traffic than for other, and its
    steps cost more then; None leaves what was swept, or as many as are accepted. `k_most` is what the server is
    configured for; None where no page tells.

    `traffic_half` is the half width (90%, log speedup) that the caller's doubt about these adds to the band. The
    baseline moves with the mix. Unchanged traffic gives the sweep's verdict itself. `insufficient`, with a reason,
    where the sweep has no model for the arm (`no_step_model`), where the acceptance is none that its K allows
    (`acceptance_impossible`) or its steps draft far more (`drafts_not_covered`), or where the mix is too far from all
    that were swept (`mix_not_covered`). KeyError where the sweep had no such arm.
    """
    measured = found.arms[arm]
    model = found.step_model
    if model is None or arm not in model.arms or found.baseline not in model.arms or len(measured.speedup) < 2:
        text = f"There is no step-time model for {arm}: its cells do not tell how its speed follows the traffic."
        return _withdrawn(measured, NO_STEP_MODEL, text)
    swept = model.arms[arm]
    now = swept.acceptance_length if acceptance_length is None else acceptance_length
    drafted = max(swept.k if k is None else k, now - 1.0)
    if now < 1.0 - ACCEPTANCE_SLACK or drafted > _ceiling(swept.k, k_most) + ACCEPTANCE_SLACK:
        text = f"{now:.2f} tokens per step cannot be {arm}'s, which drafted {swept.k:.3g}: another K is running now."
        return _withdrawn(measured, "acceptance_impossible", text)
    if drafted > swept.k + MORE_DRAFTS:
        text = f"{arm} drafts {drafted:.3g} tokens a step now, {swept.k:.3g} when swept: sweep with today's requests."
        return _withdrawn(measured, "drafts_not_covered", text)
    if _unmoved(model, arm, found.baseline, now, mix):
        return measured
    ratio = _measured_ratio(found, arm)
    shift = speedup_shift(model, arm, found.baseline, np.exp(ratio.log_x), np.array(now), mix, drafted)
    if mix is not None:
        gone = _uncovered(model, arm, mix, shift)
        if gone is not None:
            return _withdrawn(measured, "mix_not_covered", gone)
    half = np.hypot(np.hypot(ratio.half, Z_BAND * shift.sd), traffic_half)
    moved = replace(ratio, value=ratio.value + shift.value, half=half, half_strong=STRONG * half)
    verdict = judge(arm, found.baseline, moved)
    held = [reason for reason in measured.reasons if reason.code == ADMISSION_LIMITED]
    reasons = (_words(model, arm, now, drafted, mix), *verdict.reasons, *held)
    return replace(verdict, capacity=measured.capacity, reasons=reasons)


def _ceiling(k: float, k_most: float | None) -> float:
    """Drafted tokens that no step of an arm swept at a mean of `k` exceeds, as far as is known."""
    if k_most is not None:
        return max(k, k_most)
    return k if abs(k - round(k)) < WHOLE_K else k + SAME_K


def _unmoved(model: StepModel, arm: str, baseline: str, acceptance_length: float, mix: Mix | None) -> bool:
    same = abs(math.log(acceptance_length / model.arms[arm].acceptance_length)) < UNMOVED
    return same and (mix is None or all(mix == model.arms[name].mix for name in (arm, baseline)))


def _measured_ratio(found: Crossover, arm: str) -> Ratio:
    """The sweep's band on a fine grid; its stations are the points nearest to what either arm measured."""
    band = found.arms[arm].speedup
    points = np.log([point.concurrency for point in band])
    value = np.log([point.ratio for point in band])
    half = np.log([point.high / point.low for point in band]) / 2
    grid = np.unique(np.concatenate([np.linspace(points[0], points[-1], GRID), points]))
    wide = np.interp(grid, points, half)
    return Ratio(grid, np.interp(grid, points, value), wide, STRONG * wide, points[_stations(found, arm, points)])


def _stations(found: Crossover, arm: str, points: Floats) -> Floats:
    knots = [math.log(s.concurrency) for name in (arm, found.baseline) for s in found.curves.get(name, ())]
    inside = [knot for knot in knots if points[0] <= knot <= points[-1]]
    nearest = {int(np.argmin(np.abs(points - knot))) for knot in inside} | {0, points.size - 1}
    return np.array(sorted(nearest))


def _uncovered(model: StepModel, arm: str, mix: Mix, shift: Shift) -> str | None:
    added = Z_BAND * float(np.median(shift.mix_sd))
    if distance(model.mixes, mix) > FARTHEST_MIX:
        near = nearest_mix(model.mixes, mix)
        swept = "nothing" if near is None else _mix(near)
        why = f"and the nearest that was swept is {swept}: too far to say where the crossover is"
    elif added > WIDEST_MIX:
        swept = _mix(model.arms[arm].mix)
        why = f"and were {swept} in the sweep: moving its curves there makes the speedup unsure by ±{added:.0%}"
    else:
        return None
    return f"Requests are {_mix(mix)} now, {why}. Sweep with requests like today's."


def _words(model: StepModel, arm: str, acceptance_length: float, drafted: float, mix: Mix | None) -> Reason:
    swept = model.arms[arm]
    parts = [f"at {acceptance_length:.2f} tokens per step ({swept.acceptance_length:.2f} when swept)"]
    if abs(drafted - swept.k) > WHOLE_K:
        parts.append(f"{drafted:.3g} drafted ({swept.k:.3g} when swept)")
    if mix is not None:
        parts.append(f"requests of {_mix(mix)} ({_mix(swept.mix)} when swept)")
    return Reason("as_of_now", f"Moved to today's traffic {' and '.join(parts)} by the fitted step times.")


def _mix(mix: Mix) -> str:
    return f"{mix.prompt_tokens:.0f} prompt and {mix.output_tokens:.0f} output tokens"


def _withdrawn(measured: ArmVerdict, code: str, text: str) -> ArmVerdict:
    return ArmVerdict(
        measured.arm, Verdict.INSUFFICIENT, None, None, None, (), measured.capacity, (Reason(code, text),)
    )
