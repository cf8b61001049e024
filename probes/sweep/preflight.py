"""Looks at every arm before any load is sent and refuses arms that are not what the plan says.

Reads pages only. Whether an arm that should draft really does is seen in its first cells. Arms that a restart brings
up share one server: before the first start only that server can be looked at, and each arm once it is up (`look_up`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from probes.scrape.identity import identify
from probes.scrape.scrape import Scraper
from probes.sweep.plan import ArmPlan, SweepPlan
from probes.sweep.sameness import Seen, arms_differ
from probes.sweep.shown import shown_url
from probes.values import Identity, Reading, State


class ArmMismatch(Exception):
    """An arm is not what it claims, or cannot be measured; the message says which, where and what to do."""


@dataclass(frozen=True, slots=True)
class Preflight:
    """What the arms showed of themselves."""

    identities: Mapping[str, Identity]
    models: Mapping[str, str]
    """Served name to ask for, by arm."""
    arm_k: Mapping[str, int | None]
    """Configured K; None where the page shows no speculation, or the arm was not up yet."""
    cache_config: Mapping[str, Mapping[str, str]]
    started_at_s: Mapping[str, float | None]
    """Unix time of each arm's process' start."""

    def of(self, arm: str) -> Seen:
        """What one arm showed, for its cells to compare with."""
        return Seen(self.identities[arm], self.cache_config[arm], self.arm_k[arm], self.started_at_s[arm])


async def preflight(plan: SweepPlan, *, timeout_s: float, max_bytes: int) -> Preflight:
    """Read every arm's page and identity. Raises ArmMismatch."""
    readings: dict[str, Reading] = {}
    identities: dict[str, Identity] = {}
    for arm in plan.arms:
        readings[arm.name], identities[arm.name] = await _look(arm, timeout_s=timeout_s, max_bytes=max_bytes)
    return check(plan, readings, identities)


async def look_up(plan: SweepPlan, arm: ArmPlan, seen: Preflight, *, timeout_s: float, max_bytes: int) -> Preflight:
    """Look at an arm that a restart has just brought up; `seen` with what this arm shows. Raises ArmMismatch."""
    reading, identity = await _look(arm, timeout_s=timeout_s, max_bytes=max_bytes)
    return check_up(plan, arm, seen, reading, identity)


def check(plan: SweepPlan, readings: Mapping[str, Reading], identities: Mapping[str, Identity]) -> Preflight:
    """The pure half: raises ArmMismatch where an arm cannot be what the plan says."""
    for arm in plan.arms:
        _check_state(arm, readings[arm.name])
        if not plan.restarts:
            _check_speculation(arm, readings[arm.name], identities[arm.name])
    found = Preflight(
        identities=identities,
        models={arm.name: _model(arm, identities[arm.name]) for arm in plan.arms},
        arm_k={arm.name: None if plan.restarts else _k(readings[arm.name], identities[arm.name]) for arm in plan.arms},
        cache_config={name: reading.cache_config for name, reading in readings.items()},
        started_at_s={name: reading.process_start_s for name, reading in readings.items()},
    )
    for one, two in combinations(plan.arms, 2):
        _check_alike(one, found.of(one.name), two, found.of(two.name))
    return found


def check_up(plan: SweepPlan, arm: ArmPlan, seen: Preflight, reading: Reading, identity: Identity) -> Preflight:
    """The pure half of `look_up`: the arm must be what it claims and, speculation apart, the server seen before."""
    _check_state(arm, reading)
    _check_speculation(arm, reading, identity)
    if arm.speculative and reading.speculation_configured is False and identity.speculative_algorithm is None:
        raise ArmMismatch(
            f"{_where(arm)} came up without speculative decoding: its restart command starts another arm; correct it"
        )
    found = Preflight(
        identities={**seen.identities, arm.name: identity},
        models={**seen.models, arm.name: _model(arm, identity)},
        arm_k={**seen.arm_k, arm.name: _k(reading, identity)},
        cache_config={**seen.cache_config, arm.name: reading.cache_config},
        started_at_s={**seen.started_at_s, arm.name: reading.process_start_s},
    )
    for other in plan.arms:
        if other.name != arm.name:
            _check_alike(other, seen.of(other.name), arm, found.of(arm.name))
    return found


async def _look(arm: ArmPlan, *, timeout_s: float, max_bytes: int) -> tuple[Reading, Identity]:
    scraper = Scraper(arm.target, timeout_s=timeout_s, max_bytes=max_bytes)
    try:
        reading = await scraper.read()
    finally:
        await scraper.aclose()
    return reading, await identify(arm.target, timeout_s=timeout_s)


def _where(arm: ArmPlan) -> str:
    return f"arm {arm.name} at {shown_url(arm.target.url)}"


def _check_state(arm: ArmPlan, reading: Reading) -> None:
    if reading.state is not State.OK:
        raise ArmMismatch(f"{_where(arm)} is {reading.state.words}: {reading.reason or 'no reason given'}")


def _check_speculation(arm: ArmPlan, reading: Reading, identity: Identity) -> None:
    speculates = reading.speculation_configured or identity.speculative_algorithm is not None
    if not arm.speculative and speculates:
        k = _k(reading, identity)
        shown_k = "" if k is None else f" (K={k})"
        raise ArmMismatch(
            f"{_where(arm)} has speculative decoding configured{shown_k}: the arms look swapped;"
            " an arm without speculation must be a server started without it"
        )


def _k(reading: Reading, identity: Identity) -> int | None:
    return identity.k if reading.k is None else reading.k


def _model(arm: ArmPlan, identity: Identity) -> str:
    configured, served = arm.target.model, identity.models
    if configured is not None:
        if served and configured not in served:
            raise ArmMismatch(f"{_where(arm)} does not serve {configured!r}, but {', '.join(served)}; correct `model`")
        return configured
    if not served and identity.model is None:
        raise ArmMismatch(f"{_where(arm)} does not list its models; set `model`")
    if len(served) > 1:
        raise ArmMismatch(f"{_where(arm)} serves several models ({', '.join(served)}); set `model` to one of them")
    return served[0] if served else str(identity.model)


def _check_alike(first: ArmPlan, one: Seen, second: ArmPlan, two: Seen) -> None:
    if difference := arms_differ(one, two):
        what, a, b = difference
        raise ArmMismatch(
            f"{_where(first)} and {_where(second)} differ in {what} ({a} and {b}):"
            " they may differ in nothing but speculation"
        )
    if first.hardware and second.hardware and first.hardware != second.hardware:
        raise ArmMismatch(
            f"arms {first.name} and {second.name} are declared to run on different hardware"
            f" ({first.hardware} and {second.hardware}): what differs between them would be the hardware;"
            " put them on the same kind, or correct `hardware`"
        )
