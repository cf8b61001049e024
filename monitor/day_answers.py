"""Which answer judges which minute of a stored day: the sweep's, or the one as of the traffic around it; pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.account_values import JudgedStretch, Stretch
from monitor.moved_curves import moved_result
from monitor.now_values import LiveMix
from monitor.now_words import crossover_words
from monitor.values import StoredCrossover
from probes.crossover.arrival import Curve, curves_of
from probes.steptime.values import Mix

EDGE_S = 60.0
"""Minutes whose middle lies outside a stretch by up to so much belong to it in part."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer with its curves."""

    stored: StoredCrossover
    moved: bool
    """It is as of traffic that had left what was swept."""
    curves: Mapping[str, Curve]


@dataclass(frozen=True, slots=True)
class DayAnswers:
    """All answers of a day."""

    swept: Answer
    first_s: tuple[float, ...]
    """Where the stretches begin, ascending."""
    last_s: tuple[float, ...]
    own: tuple[Answer, ...]
    stretches: tuple[JudgedStretch, ...]
    notes: tuple[str, ...]

    def at(self, at_s: float) -> Answer:
        """The one for an instant; the sweep's outside all stretches."""
        index = bisect_right(self.first_s, at_s) - 1
        if index >= 0 and at_s <= self.last_s[index] + EDGE_S:
            return self.own[index]
        after = index + 1
        near = after < len(self.own) and self.first_s[after] - at_s <= EDGE_S
        return self.own[after] if near else self.swept


def day_answers(stored: StoredCrossover, stretches: Sequence[Stretch]) -> DayAnswers:
    """`stretches` are oldest first; those that follow from one `AsOfNow` share its curves."""
    swept = Answer(stored, False, curves_of(stored.result.curves))
    made: dict[int, Answer] = {}
    notes: dict[str, str] = {}
    for now in (stretch.as_of for stretch in stretches):
        if now is None or id(now) in made:
            continue
        if not now.decides or not now.band:
            # How far an answer moved stands with its stretch; that none could be given is said once of each kind.
            for reason in now.reasons:
                notes.setdefault(reason.code, reason.text)
        made[id(now)] = swept
        if now.decides:
            result = moved_result(stored.result, now.arms)
            made[id(now)] = Answer(replace(stored, result=result), True, curves_of(result.curves))
            gone = (arm for arm in stored.result.arms if arm not in now.arms)
            notes.update(
                {arm: f"{arm}: left out where acceptance had moved, nothing tells its own then" for arm in gone}
            )
    return DayAnswers(
        swept=swept,
        first_s=tuple(stretch.first_s for stretch in stretches),
        last_s=tuple(stretch.last_s for stretch in stretches),
        own=tuple(made.get(id(stretch.as_of), swept) for stretch in stretches),
        stretches=_judged(stretches),
        notes=tuple(notes.values()),
    )


def _judged(stretches: Sequence[Stretch]) -> tuple[JudgedStretch, ...]:
    """Neighbours that one answer judges are one."""
    runs: list[list[Stretch]] = []
    for stretch in stretches:
        if not runs or stretch.as_of is not runs[-1][-1].as_of:
            runs.append([])
        runs[-1].append(stretch)
    return tuple(_of_run(run) for run in runs)


def _of_run(run: Sequence[Stretch]) -> JudgedStretch:
    now = run[0].as_of
    return JudgedStretch(
        first_s=run[0].first_s,
        last_s=run[-1].last_s,
        moved=now is not None and now.decides,
        arm=now.for_arm if now is not None else None,
        verdict=now.verdict if now is not None else None,
        crossover=now.value if now is not None else None,
        low=now.low if now is not None else None,
        high=now.high if now is not None else None,
        acceptance_length=now.acceptance_length if now is not None else None,
        acceptance_measured=now.acceptance_measured if now is not None else None,
        mix=_mean_mix([stretch.mix for stretch in run if stretch.mix is not None]),
        mix_measured=now.mix_measured if now is not None else None,
        said=crossover_words(now) if now is not None else "",
    )


def _mean_mix(mixes: Sequence[LiveMix]) -> Mix | None:
    """Over all finished requests."""
    requests = sum(mix.requests for mix in mixes)
    if not requests:
        return None
    return Mix(
        sum(one.mix.prompt_tokens * one.requests for one in mixes) / requests,
        sum(one.mix.output_tokens * one.requests for one in mixes) / requests,
    )
