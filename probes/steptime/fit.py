"""Fits the step-time model to sweeps' cells; pure, and silent (None) where the cells cannot tell its terms apart.

Damped Gauss-Newton on the logarithms of the parameters, which keeps them positive, toward the prior of `prior.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from probes.steptime.observations import Observations, observe, why_not_observed
from probes.steptime.prior import prior
from probes.steptime.shape import NAMES, Floats, decode_steps, life_steps, output_tok_s
from probes.steptime.values import StepModel
from probes.values import Cell, Reason

NO_STEP_MODEL = "no_step_model"
"""Code of the reason why there is none."""
NO_NUMBERS = "the cells' numbers are none that a server can have"

CELL_SIGMA = 0.015
"""Relative noise of one cell (measured: 0.5% to 2.5%)."""
RUN_SIGMA = 0.018
"""Relative shift that all cells of one arm's run share: two such put a ratio off by 2.5%, as two starts of a server."""
MISFIT_SIGMA = 0.02
"""How far the formula itself is off a real server's curve, relative (70 cells of an H200: 2%)."""
MISFIT_OCTAVES = 1.5
"""Concurrencies closer than this share that error. Taken for noise of each cell, it would pull terms that hardly show,
as a prompt token's, far from what is plausible, and the errors of all terms would come out too small."""
LIFE_SIGMA = 0.02
"""Relative error of the steps in a request's life as counted: the server's speed cancels, Little's law does not."""
USUAL_ENTRY_STEPS = 2.0
MOST_MISCOUNT = 0.3
"""A count further (natural log) from the steps that an answer must take counts something else: a server with stages
counts a step for each batch in its pipeline, and one may leave out steps that bring nobody a token."""
MAX_RMS = 0.06
"""A fit that misses its own cells by more than this describes another kind of server (70 real cells: 2%)."""
ROUNDS = 60
TRIALS = 8
NUDGE = 1e-4
LONGEST_MOVE = 1.0
"""Of a parameter's logarithm in one round."""
SETTLED = 1e-7
"""Relative gain of a round that ends the search."""


def fit_step_model(cells: Sequence[Cell], earlier: Sequence[Sequence[Cell]] = ()) -> StepModel | None:
    """Fit all arms' valid, not admission-limited cells together.

    `cells` are those of the sweep whose answer will carry the model: its arms and its traffic are the model's `arms`.
    `earlier` are the cells of other sweeps of the same servers and flags, one sequence per sweep; with another mix of
    prompt and output tokens they tell what a prompt token costs, and widen `mixes`.

    None without an arm that drafts and one that does not, each on at least three rungs; where an arm's counters do not
    say what was drafted and accepted that arm is left out. None also where the fit misses its cells by more than 6%.
    """
    found = step_model_or_why(cells, earlier)
    return found if isinstance(found, StepModel) else None


def step_model_or_why(cells: Sequence[Cell], earlier: Sequence[Sequence[Cell]] = ()) -> StepModel | Reason:
    """The same, or why there is none (`no_step_model`), with what would mend it."""
    seen = observe([cells, *earlier])
    if seen is None:
        return _no_model(why_not_observed(cells))
    try:
        # Numbers that no server has overflow somewhere; what comes of them is no number, and is looked at in the end.
        with np.errstate(all="ignore"):
            return _fitted(seen)
    except np.linalg.LinAlgError:
        return _no_model(NO_NUMBERS)


def _no_model(cause: str) -> Reason:
    text = (
        f"The crossover as swept will not follow today's acceptance and requests, and no break-even is known: {cause}."
    )
    return Reason(NO_STEP_MODEL, text)


def _fitted(seen: Observations) -> StepModel | Reason:
    fastest_step_s = _fastest_step_s(seen)
    if not 0 < fastest_step_s < np.inf:
        return _no_model(NO_NUMBERS)
    rows, right = prior(fastest_step_s)
    whiten = _whitener(seen)
    log_y = np.log(seen.tok_s)
    life = _counted_life(seen)
    told = np.isfinite(life)

    def errors(log_values: Floats) -> Floats:
        own = whiten @ (log_y - np.log(output_tok_s(log_values, seen.load)))
        entry = (np.log(life_steps(log_values, seen.load) / life) / LIFE_SIGMA)[told]
        return np.concatenate([own, entry, right - rows @ log_values])

    log_values, information = _search(errors, np.asarray(np.linalg.solve(rows, right), dtype=np.float64))
    misses = log_y - np.log(output_tok_s(log_values, seen.load))
    rms = float(np.sqrt(np.mean(misses**2)))
    covariance = np.linalg.inv(information) * _scatter(errors(log_values)[: log_y.size])
    if np.isfinite(rms) and rms > MAX_RMS:
        return _no_model(
            f"no step time fits the cells, which scatter by {rms:.1%} around the best (up to {MAX_RMS:.0%} will do). "
            "Sweep again with longer cells (`cell_s`) while the server is quiet"
        )
    if not (rms <= MAX_RMS and np.all(np.isfinite(covariance)) and np.all(np.isfinite(np.exp(log_values)))):
        return _no_model(NO_NUMBERS)
    return StepModel(
        names=NAMES,
        values=tuple(float(v) for v in np.exp(log_values)),
        covariance=tuple(tuple(float(v) for v in row) for row in covariance),
        rms=rms,
        arms=seen.arms,
        mixes=seen.mixes,
    )


def _counted_life(seen: Observations) -> Floats:
    """Steps in each request's life by the server's count and Little's law; NaN where unknown, or not to be believed."""
    load = seen.load
    counted = load.concurrency * load.output_tokens / (seen.tok_s * seen.step_s)
    expected = decode_steps(load.acceptance_length, load.output_tokens) + USUAL_ENTRY_STEPS
    return np.where(np.abs(np.log(counted / expected)) < MOST_MISCOUNT, counted, np.nan)


def _scatter(whitened: Floats) -> float:
    """Mean square of the whitened errors, where they are larger than allowed for; else 1."""
    return max(1.0, float(np.mean(whitened**2)))


def _fastest_step_s(seen: Observations) -> float:
    load = seen.load
    steps = decode_steps(load.acceptance_length, load.output_tokens)
    return float(np.min(load.concurrency * load.output_tokens / (seen.tok_s * steps)))


def _whitener(seen: Observations) -> Floats:
    """What makes the errors of the cells independent with variance 1.

    They are a cell's own noise, a shift that a whole run shares, and the formula's misfit, a smooth curve for each K.
    """
    octaves = np.log2(seen.load.concurrency)
    k = np.round(seen.load.k)
    same_run = seen.group[:, None] == seen.group[None, :]
    near = np.exp(-(((octaves[:, None] - octaves[None, :]) / MISFIT_OCTAVES) ** 2) / 2)
    misfit = np.where(k[:, None] == k[None, :], near, 0.0)
    covariance = CELL_SIGMA**2 * np.eye(k.size) + RUN_SIGMA**2 * same_run + MISFIT_SIGMA**2 * misfit
    return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)), dtype=np.float64)


def _search(errors: Callable[[Floats], Floats], start: Floats) -> tuple[Floats, Floats]:
    """The least squares and their information matrix, which are no numbers where the cells are none."""
    at, damping = start, 1e-2
    here = errors(at)
    information = np.eye(at.size)
    for _ in range(ROUNDS):
        jacobian = np.stack([(errors(at + NUDGE * axis) - here) / NUDGE for axis in np.eye(at.size)], axis=1)
        information = jacobian.T @ jacobian
        gained = 0.0
        for _ in range(TRIALS):
            damped = information + damping * np.diag(np.diag(information))
            move = np.clip(-np.linalg.solve(damped, jacobian.T @ here), -LONGEST_MOVE, LONGEST_MOVE)
            trial = errors(at + move)
            gained = float(here @ here - trial @ trial)
            if gained > 0:
                at, here, damping = at + move, trial, damping / 5
                break
            damping *= 5
        if not gained > SETTLED * float(here @ here):
            break
    return at, information
