"""Whether the arms that were looked at can be compared: same model and version, baseline off, the others on.

Pure. "Not shown" is never taken for a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from monitor.commands.check_servers import Look
from monitor.commands.check_text import Remark
from monitor.config.model import ArmConfig, ProbeConfig
from probes.sweep.totals import in_system
from probes.values import EngineKind


def must_draft(arm: ArmConfig, probe: ProbeConfig) -> bool:
    """Whether an arm has to draft: as written, else every arm but the baseline."""
    return arm.speculation if arm.speculation is not None else arm.name != probe.baseline


def compare_arms(
    arms: Sequence[ArmConfig], probe: ProbeConfig, looks: Mapping[str, Look], endpoint: Look | None
) -> Iterator[Remark]:
    """Remarks on the arms of one probe; `looks` by arm name, arms without a look are left out."""
    if any(arm.restart is not None for arm in arms):
        yield from _restarted(arms, probe, endpoint)
        return
    seen = {arm.name: looks[arm.name] for arm in arms if arm.name in looks and looks[arm.name].ok}
    yield from _same(seen)
    wanted = {arm.name: must_draft(arm, probe) for arm in arms}
    shown = {name: look.reading.speculation_configured for name, look in seen.items() if look.reading is not None}
    on_arms = [name for name, wants in wanted.items() if wants and name in shown]
    if shown.get(probe.baseline) is True and on_arms and all(shown[name] is False for name in on_arms):
        yield Remark.problem(
            f"the baseline {probe.baseline} speculates and {', '.join(on_arms)} does not: their urls look swapped"
        )
    else:
        yield from _roles(wanted, shown, probe)
    yield from _front_ends(seen)
    yield from _busy(seen, probe)
    if probe.live_arm in seen and endpoint is not None and endpoint.ok:
        yield from _live_arm(probe.live_arm, seen[probe.live_arm], endpoint)


def _restarted(arms: Sequence[ArmConfig], probe: ProbeConfig, endpoint: Look | None) -> Iterator[Remark]:
    """Of arms that share the endpoint's server only the live one can be looked at: it is what a sweep brings back."""
    live = next((arm for arm in arms if arm.name == probe.live_arm), None)
    if live is None or endpoint is None or endpoint.reading is None or not endpoint.ok:
        return
    wanted, shown = must_draft(live, probe), endpoint.reading.speculation_configured
    if shown is not None and shown != wanted:
        yield Remark.problem(
            f"live_arm is {live.name}, so speculation must be {_said(wanted)}, but the endpoint's is {_said(shown)}: "
            "a sweep would bring back another server than the one that runs now"
        )
    yield from _busy({live.name: endpoint}, probe)


def _same(seen: Mapping[str, Look]) -> Iterator[Remark]:
    facts: dict[str, dict[str, object]] = {
        "engines": {name: look.reading.engine_kind if look.reading else None for name, look in seen.items()},
        "versions": {name: look.identity.version for name, look in seen.items()},
        "models": {name: look.identity.model_root or _model(look) for name, look in seen.items()},
        "max model lengths": {name: look.identity.max_model_len for name, look in seen.items()},
    }
    for what, by_arm in facts.items():
        known = {name: value for name, value in by_arm.items() if value is not None}
        if len(set(known.values())) > 1:
            each = ", ".join(f"{name} {value}" for name, value in known.items())
            yield Remark.problem(f"the arms have different {what}, so they cannot be compared: {each}")


def _roles(wanted: Mapping[str, bool], shown: Mapping[str, bool | None], probe: ProbeConfig) -> Iterator[Remark]:
    for name, is_on in shown.items():
        if is_on is None:
            yield Remark.note(
                f"arm {name}: its page does not show whether it speculates; the sweep will check by counters"
            )
        elif is_on and not wanted[name]:
            what = "the baseline" if name == probe.baseline else "an arm with speculation = false"
            yield Remark.problem(f"arm {name} is {what}, but it speculates: start it without speculation")
        elif wanted[name] and not is_on:
            yield Remark.problem(f"arm {name} must speculate, but its page shows no speculation")


def _front_ends(seen: Mapping[str, Look]) -> Iterator[Remark]:
    """Of vLLM's pages only that of a single API server shows when its process started (docs/metrics.md)."""
    pages = {
        n: look.reading for n, look in seen.items() if look.reading and look.reading.engine_kind is EngineKind.VLLM
    }
    one = [name for name, page in pages.items() if page.process_start_s is not None]
    several = [name for name in pages if name not in one]
    if one and several:
        yield Remark.note(
            f"the pages show several API server processes at {', '.join(several)} and a single one at {', '.join(one)} "
            "(or a proxy filters them): a sweep would compare front ends too; give all arms the same number"
        )


def _busy(seen: Mapping[str, Look], probe: ProbeConfig) -> Iterator[Remark]:
    for name, look in seen.items():
        load = in_system(look.reading) if look.reading is not None else None
        if load is not None and load > probe.max_live_concurrency:
            yield Remark.note(
                f"arm {name} has {load:g} requests in the system now; above max_live_concurrency "
                f"({probe.max_live_concurrency:g}) the gate lets no sweep start"
            )


def _live_arm(name: str, arm: Look, endpoint: Look) -> Iterator[Remark]:
    if arm.reading is None or endpoint.reading is None:
        return
    for what, at_arm, at_endpoint in (
        ("speculation", arm.reading.speculation_configured, endpoint.reading.speculation_configured),
        ("K", arm.reading.k, endpoint.reading.k),
    ):
        if at_arm is not None and at_endpoint is not None and at_arm != at_endpoint:
            yield Remark.problem(
                f"live_arm is {name}, but its {what} is {_said(at_arm)} and the endpoint's is {_said(at_endpoint)}"
            )


def _model(look: Look) -> str | None:
    return look.target.model or look.identity.model


def _said(value: bool | int) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
