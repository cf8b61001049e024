"""Turns an endpoint's [endpoint.probe] and arms into the plan that a sweep runs; the only bridge between the two words.

Reads the arms' secrets (through `targets.py`); starts nothing.
"""

from __future__ import annotations

from monitor.config.model import ArmConfig, EndpointConfig, ProbeConfig
from monitor.config.targets import arm_target, pool_of
from probes.sweep.plan import ArmPlan, LoadSpec, SweepPlan


def must_draft(arm: ArmConfig, probe: ProbeConfig) -> bool:
    """Whether an arm has to draft: as written, else every arm but the baseline."""
    return arm.speculation if arm.speculation is not None else arm.name != probe.baseline


def sweep_plan(endpoint: EndpointConfig, probe: ProbeConfig, ladder: tuple[int, ...]) -> SweepPlan:
    """The sweep of all arms over `ladder` (from `resolve_ladder`); raises ConfigError where a secret cannot be read."""
    return SweepPlan(
        pool=pool_of(endpoint),
        endpoint=endpoint.name,
        baseline=probe.baseline,
        live_arm=probe.live_arm,
        arms=tuple(
            ArmPlan(
                name=arm.name,
                target=arm_target(endpoint, arm),
                speculative=must_draft(arm, probe),
                hardware=arm.hardware or endpoint.hardware,
            )
            for arm in endpoint.arm
        ),
        ladder=ladder,
        repeats=probe.repeats,
        cell_s=probe.cell_s,
        warmup_s=probe.warmup_s,
        load=LoadSpec(
            prompts=probe.prompts,
            max_tokens=probe.max_tokens,
            temperature=probe.temperature,
            top_p=probe.top_p,
            seed=probe.seed,
        ),
        max_foreign=probe.max_live_concurrency,
        max_minutes=probe.max_minutes,
    )
