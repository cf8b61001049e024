"""Looks at every arm before any load is sent and refuses arms that are not what the plan says.

Reads pages only. Whether an arm that should draft really does is seen in its first cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from probes.scrape.identity import identify
from probes.scrape.scrape import Scraper
from probes.sweep.plan import ArmPlan, SweepPlan
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
    """Configured K; None where the page shows no speculation."""
    cache_config: Mapping[str, Mapping[str, str]]


async def preflight(plan: SweepPlan, *, timeout_s: float, max_bytes: int) -> Preflight:
    """Read every arm's page and identity. Raises ArmMismatch."""
    readings: dict[str, Reading] = {}
    identities: dict[str, Identity] = {}
    for arm in plan.arms:
        readings[arm.name] = await _read(arm, timeout_s=timeout_s, max_bytes=max_bytes)
        identities[arm.name] = await identify(arm.target, timeout_s=timeout_s)
    return check(plan, readings, identities)


def check(plan: SweepPlan, readings: Mapping[str, Reading], identities: Mapping[str, Identity]) -> Preflight:
    """The pure half: raises ArmMismatch where an arm cannot be what the plan says."""
    for arm in plan.arms:
        _check_arm(arm, readings[arm.name], identities[arm.name])
    models = {arm.name: _model(arm, identities[arm.name]) for arm in plan.arms}
    _check_alike(plan, identities)
    return Preflight(
        identities=identities,
        models=models,
        arm_k={arm.name: _k(readings[arm.name], identities[arm.name]) for arm in plan.arms},
        cache_config={name: reading.cache_config for name, reading in readings.items()},
    )


async def _read(arm: ArmPlan, *, timeout_s: float, max_bytes: int) -> Reading:
    scraper = Scraper(arm.target, timeout_s=timeout_s, max_bytes=max_bytes)
    try:
        return await scraper.read()
    finally:
        await scraper.aclose()


def _where(arm: ArmPlan) -> str:
    return f"arm {arm.name} at {shown_url(arm.target.url)}"


def _check_arm(arm: ArmPlan, reading: Reading, identity: Identity) -> None:
    if reading.state is not State.OK:
        raise ArmMismatch(f"{_where(arm)} is {reading.state.value}: {reading.reason or 'no reason given'}")
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


def _check_alike(plan: SweepPlan, identities: Mapping[str, Identity]) -> None:
    first, *others = plan.arms
    one = identities[first.name]
    for arm in others:
        two = identities[arm.name]
        for what, a, b in (
            ("model", one.model_root, two.model_root),
            ("server version", one.version, two.version),
            ("max_model_len", one.max_model_len, two.max_model_len),
        ):
            if a is not None and b is not None and a != b:
                raise ArmMismatch(
                    f"{_where(first)} and {_where(arm)} differ in {what} ({a} and {b}):"
                    " they may differ in nothing but speculation"
                )
