"""Says how well the step-time model moves a sweep's answer to other traffic: on measured cells and on other servers.

Run from the repository root: `.venv/bin/python -m benchmarks.eval_steptime [--servers N] [--seed S]`. It prints the
tables of `docs/steptime.md` and changes no file.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from benchmarks.steptime_servers import FORMS, Server, draw, measure, scaled, sweep
from probes.answer_values import ArmVerdict, Crossover
from probes.crossover import speedup_at
from probes.crossover.noise import Z_BAND
from probes.steptime.adjust import adjusted
from probes.steptime.fit import fit_step_model
from probes.steptime.shape import Load, output_tok_s
from probes.steptime.shift import Shift, speedup_shift
from probes.steptime.values import ArmTraffic, StepModel
from probes.values import Cell
from tests.support.formula_sweeps import answer
from tests.support.measured_cells import h200_cells
from tests.support.sweep_cells import CLEAN

Floats = npt.NDArray[np.float64]

LADDER = (1, 4, 16, 32, 64, 128, 256)
TRUTH = (4, 16, 32, 64, 96, 144, 256)
ARMS = ((0, 3), (0, 1, 3, 5), (0, 2, 5))
ACCEPTANCE = (0.6, 0.75, 0.9, 1.1)
PROMPTS, ANSWERS = (0.4, 0.7, 1.5, 2.5), (0.6, 1.0, 1.6)
SECOND_MIX = (4.0, 0.5)
"""Prompt and output tokens of a second sweep over the first one's."""
COVERED = (SECOND_MIX, (2.0, 0.7))
"""What is asked for then: that mix, and one between."""
KINDS = ("acceptance", "mix", "mix, a second one swept")


def log_tok_s(model: StepModel, concurrency: Floats, traffic: ArmTraffic) -> Floats:
    """The model's own level, which the product never uses."""
    load = Load(
        concurrency,
        np.array(traffic.k),
        np.array(traffic.acceptance_length),
        np.array(traffic.mix.prompt_tokens),
        np.array(traffic.mix.output_tokens),
    )
    return np.log(output_tok_s(np.log(np.array(model.values)), load))


def last_fall(log_x: Floats, gain: Floats) -> float | None:
    """Where a curve falls through 0 for the last time, log-linear; None where it does not end below."""
    down = np.flatnonzero((gain[:-1] > 0) & (gain[1:] <= 0))
    if not down.size or gain[-1] > 0:
        return None
    at = int(down[-1])
    share = gain[at] / (gain[at] - gain[at + 1])
    return math.exp(log_x[at] + share * (log_x[at + 1] - log_x[at]))


def means(cells: Sequence[Cell], arm: str) -> tuple[Floats, Floats]:
    """Log concurrency and log tok/s per rung."""
    rungs = sorted({cell.rung for cell in cells if cell.arm == arm})
    own = [[c for c in cells if c.arm == arm and c.rung == rung] for rung in rungs]
    x = np.array([np.mean([math.log(c.concurrency or math.nan) for c in group]) for group in own])
    y = np.array([np.mean([math.log(c.output_tok_s or math.nan) for c in group]) for group in own])
    return x, y


def leave_one_arm_out(cells: Sequence[Cell]) -> list[str]:
    """Each arm's curve and crossing from the other arms, its own K and acceptance given."""
    whole = fit_step_model(cells)
    assert whole is not None
    base_x, base_y = means(cells, "off")
    rungs = sorted({cell.rung for cell in cells})
    lines = ["| arm | " + " | ".join(f"{rung}" for rung in rungs) + " | crossing measured | predicted | error |"]
    lines.append("|---" * (len(rungs) + 4) + "|")
    for arm in [name for name in whole.arms if name != "off"]:
        model = fit_step_model([cell for cell in cells if cell.arm != arm])
        assert model is not None
        x, y = means(cells, arm)
        fine = np.linspace(max(x[0], base_x[0]), min(x[-1], base_x[-1]), 2000)
        base = np.interp(fine, base_x, base_y)
        truth = last_fall(fine, np.interp(fine, x, y) - base)
        found = last_fall(fine, log_tok_s(model, np.exp(fine), whole.arms[arm]) - base)
        misses = 100 * (log_tok_s(model, np.exp(x), whole.arms[arm]) - y)
        cells_of_row = [f"{miss:+.1f}%" for miss in misses]
        lines.append(f"| {arm} | " + " | ".join(cells_of_row) + f" | {_number(truth)} | {_number(found)} | ")
        lines[-1] += f"{_octaves(found, truth)} |"
    return lines


@dataclass
class Score:
    """What one kind of server and change came to."""

    cases: int = 0
    withdrawn: int = 0
    changes: list[float] = field(default_factory=list)
    """True changes of the log speedup."""
    errors: list[float] = field(default_factory=list)
    covered: list[bool] = field(default_factory=list)
    """Whether the change lay in its own 90% interval."""
    naive: list[float] = field(default_factory=list)
    band: list[bool] = field(default_factory=list)
    """Whether the truth lay in the answer's band, the sweep's own error included."""
    half: list[float] = field(default_factory=list)
    inside: list[bool] = field(default_factory=list)
    octaves: list[float] = field(default_factory=list)
    naive_octaves: list[float] = field(default_factory=list)

    def add(self, case: Case, now: ArmVerdict) -> None:
        """Compare the moved answer with the truth."""
        self.cases += 1
        if not now.speedup:
            self.withdrawn += 1
            return
        change = case.truth - case.swept_truth
        self.changes += list(change)
        self.errors += list(case.shift.value - change)
        self.covered += list(np.abs(case.shift.value - change) <= Z_BAND * case.shift.sd)
        self.naive += list(case.naive - change)
        for at, truth in zip(case.x, case.truth, strict=True):
            here = speedup_at(now, float(at))
            if here is not None:
                self.band.append(here.low <= math.exp(truth) <= here.high)
                self.half.append(math.log(here.high / here.low) / 2)
        crossing = last_fall(np.log(case.x), case.truth)
        if crossing is None:
            return
        self.inside.append((now.low or 0) <= crossing <= (now.high or math.inf))
        unmoved = last_fall(np.log(case.x), case.measured + case.naive)
        for found, octaves in ((now.crossover, self.octaves), (unmoved, self.naive_octaves)):
            if found is not None:
                octaves.append(abs(math.log2(found / crossing)))

    def row(self, name: str) -> str:
        """One line of the table."""
        if not self.errors:
            return f"| {name} | {self.cases} | {self.withdrawn} |" + " |" * 9
        numbers = [
            *(f"{100 * _rms(values):.1f}%" for values in (self.changes, self.naive, self.errors)),
            f"{100 * np.mean(self.covered):.0f}%",
            f"{100 * np.mean(self.band):.0f}%",
            f"±{100 * np.mean(self.half):.1f}%",
            f"{sum(self.inside)} of {len(self.inside)}",
            *(f"{np.median(values):.2f}" if values else "" for values in (self.octaves, self.naive_octaves)),
        ]
        return f"| {name} | {self.cases} | {self.withdrawn} | " + " | ".join(numbers) + " |"


HEADER = (
    "| servers | cases | withdrawn | change (rms) | error without the model | error with it | in its 90% "
    "| truth in the whole band | band | crossing in its interval | off by (octaves, median) | without the model |"
)


@dataclass(frozen=True)
class Case:
    """One change of traffic: log speedups at each `x`."""

    x: Floats
    swept_truth: Floats
    truth: Floats
    measured: Floats
    shift: Shift
    naive: Floats
    """The change that one would take without a model."""


def simulated(servers: int, rng: np.random.Generator) -> dict[str, dict[str, Score]]:
    """By kind of change, then by kind of server."""
    kinds: dict[str, dict[str, Score]] = {kind: {form: Score() for form in FORMS} for kind in KINDS}
    x = np.array(TRUTH, dtype=np.float64)
    for form in FORMS:
        for number in range(servers):
            server, ks = draw(form, rng), ARMS[number % len(ARMS)]
            cells = sweep(server, ks, LADDER, 2, CLEAN, rng)
            other = server.with_mix(*SECOND_MIX)
            found, both = answer(cells), answer(cells, [sweep(other, ks, LADDER, 2, CLEAN, rng)])
            k, arm = ks[-1], f"k{ks[-1]}"
            swept = 1 + sum(server.acceptance[:k])
            swept_truth = _true_gain(server, k, x)
            measured = np.array([_log_ratio(found, arm, at) for at in x])
            for factor in ACCEPTANCE:
                poor = replace(server, acceptance=scaled(server.acceptance, factor))
                now = 1 + sum(poor.acceptance[:k])
                naive = np.full(x.size, math.log(now / swept))
                shift = speedup_shift(_model(found), arm, "off", x, np.array(now), None)
                case = Case(x, swept_truth, _true_gain(poor, k, x), measured, shift, naive)
                kinds["acceptance"][form].add(case, adjusted(found, arm, acceptance_length=now, mix=None))
            near = [(float(rng.choice(PROMPTS)), float(rng.choice(ANSWERS))) for _ in range(2)]
            for kind, answered, factors in (("mix", found, near), ("mix, a second one swept", both, COVERED)):
                for longer in factors:
                    there = server.with_mix(*longer)
                    shift = speedup_shift(_model(answered), arm, "off", x, np.array(swept), there.mix)
                    case = Case(x, swept_truth, _true_gain(there, k, x), measured, shift, np.zeros(x.size))
                    kinds[kind][form].add(case, adjusted(answered, arm, acceptance_length=None, mix=there.mix))
            sys.stderr.write(f"{form}: server {number + 1} of {servers}\n")
    return kinds


def _true_gain(server: Server, k: int, x: Floats) -> Floats:
    # Without drafts the acceptance is nobody's business, and a run of the same server need not be repeated.
    base = replace(server, acceptance=())
    return np.array([math.log(measure(server, k, int(at), 1)[0] / measure(base, 0, int(at), 1)[0]) for at in x])


def _model(found: Crossover) -> StepModel:
    assert found.step_model is not None
    return found.step_model


def _rms(values: Sequence[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _log_ratio(found: Crossover, arm: str, at: float) -> float:
    here = speedup_at(found.arms[arm], float(at))
    return math.nan if here is None else math.log(here.ratio)


def _number(value: float | None) -> str:
    return "none in range" if value is None else f"{value:.0f}"


def _octaves(found: float | None, truth: float | None) -> str:
    if found is None or truth is None:
        return ""
    return f"{100 * (found / truth - 1):+.0f}% ({math.log2(found / truth):+.2f} octaves)"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=6, help="drawn per form")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    cells = h200_cells()
    sys.stdout.write("\n".join(["H200, leave one arm out", *leave_one_arm_out(cells)]) + "\n")
    kinds = simulated(arguments.servers, np.random.default_rng(arguments.seed))
    for kind, scores in kinds.items():
        lines = [f"\nSimulated, other {kind}", HEADER, "|---" * 12 + "|"]
        lines += [score.row(form) for form, score in scores.items()]
        sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
