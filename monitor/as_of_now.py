"""Pure: what a sweep's answer becomes at the acceptance and the mix of requests that traffic has now; no clock, no I/O.

The sweep gives the levels and the step-time model only what changed. Where nothing changed by more than its own noise,
the sweep's answer stands as it is.
"""

from __future__ import annotations

import math

from monitor.acceptance import acceptance_moved, acceptance_noise, acceptance_with
from monitor.live_mix import mix_distance, mix_moved, mix_noise
from monitor.live_window import LiveWindow
from monitor.now_values import AsOfNow, LiveMix
from monitor.observed import observed_speedup
from monitor.values import StoredCrossover
from probes.answer_values import ArmVerdict, Crossover
from probes.steptime.adjust import adjusted
from probes.steptime.break_even import break_even, no_break_even
from probes.steptime.fit import NO_STEP_MODEL
from probes.steptime.shift import speedup_change
from probes.steptime.values import Mix, StepModel
from probes.values import Reason

EITHER_WAY = ("never_pays", "always_pays")
"""What it means that there is no break-even, where that is known."""


def as_of_now(
    stored: StoredCrossover, arm: str, live_arm: str | None, window: LiveWindow, mix: LiveMix | None
) -> AsOfNow | None:
    """The answer on `arm` for the traffic of now; None where neither a model, a live number nor a reason speaks for it.

    Where the sweep says why it has no model, that reason stands in the place of what a model would tell.

    `live_arm` is what the server runs: the live acceptance is another arm's only where that follows from it by
    position. Bands and intervals are 90%.
    """
    found = stored.result
    model = _model(found, arm)
    own = live_arm == arm
    measured_at = model.arms[arm].acceptance_length if model is not None else found.acceptance.get(arm)
    lately = window.acceptance_length if own else None
    moved_a = own and acceptance_moved(window, measured_at)
    moved_m = model is not None and mix is not None and mix_moved(mix, model.arms[arm].mix)
    to_mix = mix.mix if mix is not None and moved_m else None
    # Where the lengths of now or of the sweep are not known, the baseline of those curves is of other traffic maybe.
    observed = None
    if own and model is not None and mix is not None:
        observed = observed_speedup(found, window, to_mix, mix.mix.output_tokens)
    why_none = next((note for note in found.notes if note.code == NO_STEP_MODEL), None) if model is None else None
    if model is None and observed is None and not moved_a and why_none is None:
        return None
    decides = model is not None and (moved_a or moved_m)
    verdict, arms = found.arms[arm], dict[str, ArmVerdict]()
    if decides:
        arms = _moved_arms(found, live_arm, window, mix if moved_m else None, moved_acceptance=moved_a)
        verdict = arms[arm]
    even, no_even = None, None
    if model is not None and window.concurrency and verdict.speedup:
        k = window.effective_k if own and decides else None
        even = break_even(found, arm, window.concurrency, to_mix, k)
        if even is None:
            no_even = no_break_even(found, arm, window.concurrency, to_mix, k)
    return AsOfNow(
        for_arm=arm,
        verdict=verdict.verdict,
        value=verdict.crossover,
        low=verdict.low,
        high=verdict.high,
        band=verdict.speedup,
        acceptance_length=lately,
        acceptance_measured=measured_at,
        break_even=even,
        mix=mix,
        mix_measured=_nearest(model, mix, arm),
        observed=observed,
        reasons=verdict.reasons if decides else _unmodelled(arm, lately, measured_at, why_none, moved=moved_a),
        decides=decides,
        arms=arms,
        no_break_even=no_even if no_even is not None and no_even.code in EITHER_WAY else None,
        acceptance_moved=moved_a,
        mix_moved=moved_m,
    )


def _model(found: Crossover, arm: str) -> StepModel | None:
    """The model, where it can move this arm's answer."""
    model = found.step_model
    return model if model is not None and arm in model.arms and found.baseline in model.arms else None


def _moved_arms(
    found: Crossover, live_arm: str | None, window: LiveWindow, mix: LiveMix | None, *, moved_acceptance: bool
) -> dict[str, ArmVerdict]:
    """Every arm that can be moved; `mix` is None where it stays the sweep's."""
    arms: dict[str, ArmVerdict] = {}
    for arm in found.arms:
        model = _model(found, arm)
        if model is None:
            continue
        length, half = None, 0.0
        k, k_most = (window.effective_k, window.k) if arm == live_arm else (None, None)
        if moved_acceptance:
            length = window.acceptance_length if arm == live_arm else acceptance_with(window, model.arms[arm].k)
            # A speedup moves by at most as much as the acceptance length.
            half = acceptance_noise(window) or 0.0
            if length is None:
                continue
        if mix is not None:
            half = math.hypot(half, _mix_half(found, model, arm, window.concurrency, mix))
        to_mix = mix.mix if mix is not None else None
        arms[arm] = adjusted(found, arm, acceptance_length=length, mix=to_mix, k=k, k_most=k_most, traffic_half=half)
    return arms


def _mix_half(found: Crossover, model: StepModel, arm: str, concurrency: float | None, mix: LiveMix) -> float:
    """What the noise of live lengths does to the log speedup at the live concurrency, or the nearest swept one; 90%."""
    band = found.arms[arm].speedup
    if not band:
        return 0.0
    here = min(max(concurrency or 0.0, band[0].concurrency), band[-1].concurrency)
    noise, now = mix_noise(mix), mix.mix

    def moved_by(prompts: float, outputs: float) -> float:
        other = Mix(now.prompt_tokens * math.exp(prompts), now.output_tokens * math.exp(outputs))
        return speedup_change(model, arm, found.baseline, here, other)

    sides = [moved_by(noise, 0.0) - moved_by(-noise, 0.0), moved_by(0.0, noise) - moved_by(0.0, -noise)]
    return math.hypot(*sides) / 2


def _nearest(model: StepModel | None, mix: LiveMix | None, arm: str) -> Mix | None:
    """The swept mix that is nearest to the live one."""
    if model is None:
        return None
    if mix is None:
        return model.arms[arm].mix
    return min(model.mixes, key=lambda one: mix_distance(mix.mix, one), default=None)


def _unmodelled(
    arm: str, now: float | None, measured: float | None, why: Reason | None, *, moved: bool
) -> tuple[Reason, ...]:
    """A change that is seen and cannot be reckoned with, or that would not be seen: the measured band stands."""
    told = (why,) if why is not None else ()
    if not moved or now is None or measured is None:
        return told
    cause = "" if why is not None else ", whose cells do not tell what a step costs"
    text = (
        f"The acceptance length of {arm} is {now:.2f} now and was {measured:.2f} in the sweep{cause}: "
        f"the crossover as swept is shown, and is likely too {'high' if now < measured else 'low'}."
    )
    return (Reason(NO_STEP_MODEL, text), *told)
