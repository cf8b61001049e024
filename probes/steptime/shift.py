"""How far a speedup curve moves when acceptance or the mix of requests changes, and how sure that is; pure.

Only changes leave this file: levels come from what was measured, so that an error of the model's level cancels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    model: StepModel,
    arm: str,
    baseline: str,
    concurrency: Floats,
    acceptance_length: Floats,
    mix: Mix | None,
    k: float | None = None,
) -> Shift:
    """Move the speedup of `arm` over `baseline` from the traffic of its sweep to another acceptance and mix.

    `acceptance_length` may be one number or one for each concurrency. `mix` None leaves the sweep's, and so does `k`,
    the tokens drafted per step, which a longer draft makes a step pay for. KeyError where the model knows one of the
    arms not.
    """
    swept, base = model.arms[arm], model.arms[baseline]
    nudged, covariance = _nudged(model), np.array(model.covariance)
    shape = np.broadcast_shapes(concurrency.shape, acceptance_length.shape)
    then, base_acceptance = np.array(swept.acceptance_length), np.array(base.acceptance_length)

    def made(traffic: ArmTraffic, length: Floats, now: Mix | None) -> Floats:
        return _log_tok_s(nudged, concurrency, traffic, length, now)

    arm_then, base_then = made(swept, then, None), made(base, base_acceptance, None)
    base_now = base_then if mix is None else made(base, base_acceptance, mix)
    drafting = swept if k is None else replace(swept, k=k)
    change = (made(drafting, acceptance_length, mix) - base_now) - (arm_then - base_then)
    value, sd = _at(change, shape), _sd(change, covariance, shape)
    form = ACCEPTANCE_ERROR * np.abs(np.log(acceptance_length / swept.acceptance_length))
    if mix is None:
        return Shift(value, np.hypot(sd, form), np.zeros_like(value))
    by_mix = (made(swept, then, mix) - base_now) - (arm_then - base_then)
    level = _at(base_now - base_then, shape)
    mix_form = _mix_form(model, mix, MIX_ERROR * _at(by_mix, shape), MIX_LEVEL_ERROR * level)
    mix_sd = np.hypot(_sd(by_mix, covariance, shape), mix_form)
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

    nudged, shape = _nudged(model), concurrency.shape
    measured = _log_tok_s(nudged, concurrency, swept, then, None)
    change = _log_tok_s(nudged, concurrency, swept, now, mix) - measured
    form = ACCEPTANCE_ERROR * np.abs(np.log(now / then))
    if mix is not None:
        by_mix = _at(_log_tok_s(nudged, concurrency, swept, then, mix) - measured, shape)
        form = np.hypot(form, _mix_form(model, mix, MIX_ERROR * by_mix, np.zeros_like(by_mix)))
    return _at(change, shape), np.hypot(_sd(change, np.array(model.covariance), shape), form)


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


def _nudged(model: StepModel) -> Floats:
    """The parameters' logs as they are and with each of them nudged, so that one evaluation gives value and slopes."""
    at = np.log(np.array(model.values))
    return np.asarray((at[:, None] + NUDGE * np.eye(at.size, at.size + 1, k=1))[:, :, None])


def _at(nudged: Floats, shape: tuple[int, ...]) -> Floats:
    """The value itself."""
    return _shaped(nudged[0], shape)


def _sd(nudged: Floats, covariance: Floats, shape: tuple[int, ...]) -> Floats:
    """1 sd of it from the parameters' covariance."""
    slopes = (nudged[1:] - nudged[0]) / NUDGE
    variance = np.einsum("ip,ij,jp->p", slopes, covariance, slopes)
    return _shaped(np.asarray(np.sqrt(np.maximum(0.0, variance)), dtype=np.float64), shape)


def _shaped(row: Floats, shape: tuple[int, ...]) -> Floats:
    """One number stands for all; where all is one number there is no axis."""
    return np.broadcast_to(row, shape) if shape else np.asarray(row[0])
