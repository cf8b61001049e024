"""How far a speedup curve moves when acceptance or the mix of requests changes, and how sure that is; pure.

Only changes leave this file: levels come from what was measured, so that an error of the model's level cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from probes.steptime.cover import distance
from probes.steptime.shape import Floats, Load, output_tok_s
from probes.steptime.values import ArmTraffic, Mix, StepModel

ACCEPTANCE_ERROR = 0.07
"""1 sd of the formula's own error, as a share of the change of the logarithm of the acceptance length. This and the
next four are set by `benchmarks/eval_steptime.py`, on servers whose step times follow other formulas."""
MIX_ERROR = 0.2
"""The same for a mix, as a share of how far the speedup moves, in logs, ..."""
MIX_LEVEL_ERROR = 0.06
"""... and of how far the baseline's own output does: most of that error is common to both arms and cancels."""
COVERED_SHARE = 0.6
"""Share of these two that stays for a mix that was swept, or lies between two; all of it at UNCOVERED."""
UNCOVERED = 0.5
"""Natural log of tokens between a mix and those that were swept."""
UNSWEPT_ERROR = 0.03
"""1 sd for every factor of e that a mix is away from those that were swept."""
NUDGE = 1e-4


@dataclass(frozen=True, slots=True)
class Shift:
    """Change of the log speedup at each concurrency, 1 sd of it, and that part of the sd that the mix brought."""

    value: Floats
    sd: Floats
    mix_sd: Floats


def speedup_shift(
    model: StepModel, arm: str, baseline: str, concurrency: Floats, acceptance_length: Floats, mix: Mix | None
) -> Shift:
    """Move the speedup of `arm` over `baseline` from the traffic of its sweep to another acceptance and mix.

    `acceptance_length` may be one number or one for each concurrency. `mix` None leaves the sweep's. KeyError where the
    model knows one of the arms not.
    """
    swept, base = model.arms[arm], model.arms[baseline]
    covariance = np.array(model.covariance)

    def ratio(log_values: Floats) -> Floats:
        return _log_tok_s(log_values, concurrency, swept, acceptance_length, mix) - _log_tok_s(
            log_values, concurrency, base, np.array(base.acceptance_length), mix
        )

    def measured(log_values: Floats, now: Mix | None) -> Floats:
        return _log_tok_s(log_values, concurrency, swept, np.array(swept.acceptance_length), now) - _log_tok_s(
            log_values, concurrency, base, np.array(base.acceptance_length), now
        )

    at = np.log(np.array(model.values))
    value = ratio(at) - measured(at, None)
    sd = _propagated(lambda v: ratio(v) - measured(v, None), at, covariance)
    form = ACCEPTANCE_ERROR * np.abs(np.log(acceptance_length / swept.acceptance_length))
    if mix is None:
        return Shift(value, np.hypot(sd, form), np.zeros_like(value))

    def by_mix(log_values: Floats) -> Floats:
        return measured(log_values, mix) - measured(log_values, None)

    base_acceptance = np.array(base.acceptance_length)
    level = _log_tok_s(at, concurrency, base, base_acceptance, mix)
    level = level - _log_tok_s(at, concurrency, base, base_acceptance, None)
    mix_form = _mix_form(model, mix, MIX_ERROR * by_mix(at), MIX_LEVEL_ERROR * level)
    mix_sd = np.hypot(_propagated(by_mix, at, covariance), mix_form)
    return Shift(value, np.sqrt(sd**2 + form**2 + mix_form**2), mix_sd)


def speedup_change(model: StepModel, arm: str, baseline: str, concurrency: float, mix: Mix) -> float:
    """Change of the log speedup at one concurrency that another mix alone brings. KeyError as above."""
    at, here = np.log(np.array(model.values)), np.array(concurrency)

    def changed(name: str) -> float:
        traffic = model.arms[name]
        now, then = (_log_tok_s(at, here, traffic, np.array(traffic.acceptance_length), m) for m in (mix, None))
        return float(now - then)

    return changed(arm) - changed(baseline)


def output_shift(
    model: StepModel, arm: str, concurrency: Floats, acceptance_length: float | None, mix: Mix | None
) -> tuple[Floats, Floats]:
    """Change of one arm's own log output tok/s at each concurrency, and 1 sd of it; None leaves the sweep's value.

    KeyError where the model does not know the arm.
    """
    swept = model.arms[arm]
    then = np.array(swept.acceptance_length)
    now = then if acceptance_length is None else np.array(acceptance_length)

    def change(log_values: Floats) -> Floats:
        moved = _log_tok_s(log_values, concurrency, swept, now, mix)
        return np.asarray(moved - _log_tok_s(log_values, concurrency, swept, then, None))

    at = np.log(np.array(model.values))
    value = change(at)
    form = ACCEPTANCE_ERROR * np.abs(np.log(now / then))
    if mix is not None:
        by_mix = _log_tok_s(at, concurrency, swept, then, mix) - _log_tok_s(at, concurrency, swept, then, None)
        form = np.hypot(form, _mix_form(model, mix, MIX_ERROR * by_mix, np.zeros_like(by_mix)))
    return value, np.hypot(_propagated(change, at, np.array(model.covariance)), form)


def _mix_form(model: StepModel, mix: Mix, of_change: Floats, of_level: Floats) -> Floats:
    """1 sd of what the formula itself may get wrong about `mix`."""
    away = distance(model.mixes, mix)
    share = COVERED_SHARE + (1 - COVERED_SHARE) * min(1.0, away / UNCOVERED)
    return np.hypot(share * np.hypot(of_change, of_level), UNSWEPT_ERROR * away)


def _log_tok_s(
    log_values: Floats, concurrency: Floats, arm: ArmTraffic, acceptance_length: Floats, mix: Mix | None
) -> Floats:
    mix = mix or arm.mix
    load = Load(
        concurrency,
        np.array(arm.k),
        acceptance_length,
        np.array(max(0.0, mix.prompt_tokens)),
        np.array(max(1.0, mix.output_tokens)),
    )
    return np.asarray(np.log(output_tok_s(log_values, load)), dtype=np.float64)


def _propagated(of: Callable[[Floats], Floats], at: Floats, covariance: Floats) -> Floats:
    """1 sd of `of` from the parameters' covariance, all of them nudged in one evaluation."""
    steps = NUDGE * np.eye(at.size, at.size + 1, k=1)
    found = of((at[:, None] + steps)[:, :, None])
    slopes = (found[1:] - found[0]) / NUDGE
    variance = np.einsum("ip,ij,jp->p", slopes, covariance, slopes)
    return np.asarray(np.sqrt(np.maximum(0.0, variance)), dtype=np.float64).reshape(of(at).shape)
