"""A sweep's answer with the arms that an answer as of now moves, and the curves that follow from their bands; pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from probes.answer_values import ArmVerdict, Crossover, CurveSample
from probes.crossover.estimate import at_end, curve_at


def moved_result(found: Crossover, arms: Mapping[str, ArmVerdict]) -> Crossover:
    """`found` with these verdicts alone; what rests on the others as they were swept is gone.

    The baseline keeps its level: what another mix does to both arms alike cancels wherever two of them are compared.
    """
    base = found.curves.get(found.baseline, ())
    curves = {found.baseline: base, **{arm: _moved(base, verdict) for arm, verdict in arms.items()}}
    return replace(found, arms=dict(arms), curves=curves, best=(), latency={}, schedule=None)


def _moved(base: Sequence[CurveSample], verdict: ArmVerdict) -> tuple[CurveSample, ...]:
    """An arm's curve from its band over the baseline's, the baseline's own noise taken out again."""
    samples: list[CurveSample] = []
    measured = [sample.concurrency for sample in base]
    for point in verdict.speedup:
        # Stored bands and curves are rounded differently, and an end must not be lost for that.
        under = curve_at(base, at_end(point.concurrency, measured))
        if under is None:
            continue
        both, one = math.log(point.high / point.low) / 2, math.log(under.high / under.low) / 2
        half, tok_s = math.sqrt(max(0.0, both**2 - one**2)), under.tok_s * point.ratio
        samples.append(CurveSample(point.concurrency, tok_s, tok_s * math.exp(-half), tok_s * math.exp(half)))
    return tuple(samples)
