"""The words of `sweep --plan`: what a sweep would do, take, cost and disturb, before anything is sent; pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from monitor.commands.check_text import Remark, count, duration
from monitor.commands.cut_answers import cut_answers
from monitor.commands.plan_cost import SweepCost
from monitor.config.model import ArmConfig, EndpointConfig, ProbeConfig
from monitor.config.times import minutes_left, parse_window, zone
from probes.http import PROBE_USER_AGENT
from probes.load.prompts import BUILTIN, load_prompts
from probes.sweep.plan import MORE_THAN_LAST, STREAM_TOK_S_UPPER, SweepPlan

SCHEMA = 1
_LABEL = 10
_WIDTH = 110


def plan_lines(
    plan: SweepPlan, endpoint: EndpointConfig, probe: ProbeConfig, cost: SweepCost, now: datetime, *, skip_gate: bool
) -> Iterator[str]:
    """Everything that somebody should know before a sweep, one fact a paragraph."""
    yield f"Sweep of pool {plan.pool} (endpoint {plan.endpoint}), baseline {plan.baseline}:"
    for arm in plan.arms:
        live = ", live now" if arm.name == plan.live_arm else ""
        must = "must draft" if arm.speculative else "must not draft"
        yield from _paragraph(f"arm {arm.name}", [f"{arm.target.url}  {must}{live}"])
        if arm.restart is not None:
            yield from _paragraph("", [f"brought up by: {arm.restart}"])
    for label, sentences in (
        ("clients", _clients(plan)),
        ("sends", _sends(plan)),
        ("starts", _starts(plan, probe, now, skip_gate)),
        ("takes", _takes(plan, probe, cost, skip_gate)),
        ("generates", _generates(plan, cost)),
        ("reads", _reads(cost)),
        ("costs", _costs(probe, cost)),
        ("load", _load(plan, cost)),
        ("disturbs", _side_effects(plan, endpoint)),
        ("restarts", _restarts(plan, probe, cost)),
        ("ends early", _stops(plan, probe)),
    ):
        yield from _paragraph(label, sentences)


def _paragraph(label: str, sentences: Sequence[str]) -> Iterator[str]:
    """Each sentence on lines of its own, under its label."""
    for index, sentence in enumerate(sentences):
        head = f"  {label if index == 0 else '':<{_LABEL}} "
        yield from textwrap.wrap(
            sentence,
            _WIDTH,
            initial_indent=head,
            subsequent_indent=" " * (len(head) + 2),
            break_long_words=False,
            break_on_hyphens=False,
        )


def remark_lines(remarks: Sequence[Remark]) -> Iterator[str]:
    """What stands against the plan, marked as `check` marks it."""
    for remark in remarks:
        yield from _paragraph("PROBLEM" if remark.is_problem else "note", [remark.text])


def plan_json(plan: SweepPlan, cost: SweepCost, remarks: Sequence[Remark]) -> dict[str, Any]:
    """The same for scripts: what it costs and what stands against it."""
    return {
        "schema": SCHEMA,
        "pool": plan.pool,
        "endpoint": plan.endpoint,
        "baseline": plan.baseline,
        "live_arm": plan.live_arm,
        "arms": [{"name": a.name, "url": a.target.url, "speculative": a.speculative} for a in plan.arms],
        "ladder": list(plan.ladder),
        "repeats": plan.repeats,
        "cost": asdict(cost),
        "problems": [remark.text for remark in remarks if remark.is_problem],
        "notes": [remark.text for remark in remarks if not remark.is_problem],
    }


def tokens(number: int) -> str:
    """`900`, `48 thousand`, `1.2 million`."""
    if number < 10_000:
        return str(number)
    return f"{number / 1e6:.1f} million" if number >= 1e6 else f"{number / 1e3:.0f} thousand"


def price_text(probe: ProbeConfig, cost: SweepCost) -> str | None:
    """What the sweep costs, None where no price is known."""
    if probe.cost_per_hour is None:
        return None
    likely, most = cost.price(probe.cost_per_hour)
    budget = f"; max_cost allows {probe.max_cost:g}" if probe.max_cost is not None else ""
    return f"about {likely:.2f}, at most {most:.2f} (at {probe.cost_per_hour:g} an hour){budget}"


def _foreign(plan: SweepPlan) -> str:
    return f"{plan.max_foreign:g} request{'' if plan.max_foreign == 1 else 's'}"


def _clients(plan: SweepPlan) -> list[str]:
    rungs = ", ".join(str(rung) for rung in plan.ladder)
    return [f"{rungs} at once; {count(plan.repeats, 'repeat')}; windows of {plan.cell_s:g} s"]


def _sends(plan: SweepPlan) -> list[str]:
    load = plan.load
    texts = f"the prompts of {load.prompts}"
    if load.prompts == BUILTIN:
        kinds = ", ".join(f"{number} {kind}" for kind, number in load_prompts(BUILTIN).kinds.items())
        texts = f"the built-in texts ({kinds})"
    lengths = "as long as they are"
    if load.shape is not None:
        lengths = f"lengths as in {load.shape.requests:.0f} requests of live traffic"
        if cut_answers(load) is not None:
            lengths += f" but answers cut at {load.max_tokens} tokens"
    shared = "nothing of it from the prefix cache"
    if load.prefix_hit_target > 0:
        shared = f"{load.prefix_hit_target:.0%} of the prompt tokens from the prefix cache"
    return [f"{texts}, {lengths}, {shared}; the same to every arm, each salted at its first token"]


def _starts(plan: SweepPlan, probe: ProbeConfig, now: datetime, skip_gate: bool) -> list[str]:
    if skip_gate:
        return ["at once: --now skips window, live load and KV use; a pause, a .noprobe file and budgets hold"]
    limits = f"{_foreign(plan)} of others at most and KV use up to {probe.max_kv_usage:.0%} on every arm"
    lines = [f"once the gate has seen {duration(probe.quiet_s)} of quiet ({limits}), no alert and no pause"]
    if probe.window is not None:
        local = now.astimezone(zone(probe.timezone))
        inside = minutes_left(parse_window(probe.window), local.hour * 60 + local.minute) is not None
        here = "" if inside else f"; it is {local:%H:%M} there, so started now it would be refused (--now overrides)"
        lines.append(f"within {probe.window} {probe.timezone}{here}")
    return lines


def _takes(plan: SweepPlan, probe: ProbeConfig, cost: SweepCost, skip_gate: bool) -> list[str]:
    watch = f", and {duration(probe.quiet_s)} of watching first" if probe.quiet_s and not skip_gate else ""
    lines = [
        f"about {duration(cost.seconds)} for {count(cost.cells, 'cell')}{watch}",
        f"between {duration(cost.seconds_low)} (answers that end at once) and {duration(cost.seconds_high)}"
        + (f" (up to {cost.refine_cells} more cells around the crossing)" if cost.refine_cells else ""),
        f"less where an arm meets its limit early, for it climbs no further; {plan.max_minutes:g} min in any case",
    ]
    if plan.backoff_s > 0:
        lines.append(f"waiting for others' traffic to go comes on top, up to {duration(plan.backoff_s)} each time")
    return lines


def _generates(plan: SweepPlan, cost: SweepCost) -> list[str]:
    going_by = "" if cost.output_tokens is None else f"about {tokens(cost.output_tokens)} going by the last sweep; "
    lines = [
        f"{going_by}at most {tokens(cost.output_tokens_upper)} output tokens ({_bound(cost)}), "
        f"{plan.load.max_tokens} per answer at most"
    ]
    if plan.max_total_tokens is not None:
        lines.append(f"max_total_tokens allows {tokens(plan.max_total_tokens)}, refinement included")
    return lines


def _bound(cost: SweepCost) -> str:
    """What the upper bound of tokens rests on."""
    if cost.output_tokens is not None:
        return f"{MORE_THAN_LAST - 1:.0%} more than the last sweep's cells made"
    return f"{STREAM_TOK_S_UPPER:g} a second and stream, until a sweep of this load has shown how fast every arm is"


def _reads(cost: SweepCost) -> list[str]:
    going_by = "" if cost.prompt_tokens is None else f"about {tokens(cost.prompt_tokens)}, "
    why = "as in live traffic" if cost.answer_known else "half of max_tokens"
    if cost.answer_cut_from is not None:
        why = f"live answers, {cost.answer_cut_from:.0f} on average, cut at max_tokens"
    return [
        f"{going_by}at most {tokens(cost.prompt_tokens_upper)} prompt tokens, if the mean answer has "
        f"{cost.answer_tokens:.0f} ({why}); shorter answers mean more prompts"
    ]


def _costs(probe: ProbeConfig, cost: SweepCost) -> list[str]:
    text = price_text(probe, cost)
    return [text] if text is not None else []


def _load(plan: SweepPlan, cost: SweepCost) -> list[str]:
    each_s = (cost.seconds - cost.down_s) / len(plan.arms)
    lines = [f"one arm at a time, up to {plan.ladder[-1]} requests at once, {duration(each_s)} of it on each arm:"]
    if plan.restarts:
        return [*lines, f"all of them at {plan.arms[0].target.url}"]
    for arm in plan.arms:
        felt = "; production runs there, and its users would feel it" if arm.name == plan.live_arm else ""
        lines.append(f"{arm.name} at {arm.target.url}{felt}")
    return lines


def _side_effects(plan: SweepPlan, endpoint: EndpointConfig) -> list[str]:
    servers: list[EndpointConfig | ArmConfig] = [endpoint, *endpoint.arm]
    keyed = any(server.api_key_env or server.api_key_file for server in servers)
    cache = (
        "the prefix cache: every restart empties it, and users' first requests afterwards are slower"
        if plan.restarts
        else "the prefix cache: no prompt begins like a user's, so they take blocks; what users had cached is evicted, "
        "and their next requests are slower until it is back"
    )
    quota = "with the configured key, so they count against its quota and rate limit" if keyed else "without a key"
    return [
        cache,
        "dashboards and SLOs: a server counts these requests like any other, so its latency histograms, token rates "
        "and the alerts built on them show the sweep; only specwatch knows that the time was its own",
        f"the API: requests go {quota}; they carry {PROBE_USER_AGENT} and an X-Request-Id of their own",
        "router and autoscaler: a router that balances by load sends users elsewhere, an autoscaler may take the "
        "sweep for demand; freeze it, and name workers as arms, never the router",
    ]


def _restarts(plan: SweepPlan, probe: ProbeConfig, cost: SweepCost) -> list[str]:
    if not plan.restarts:
        return ["none: the arms are running servers, and nothing is restarted or reconfigured"]
    each = duration(cost.down_s / cost.restarts)
    why = "as the last time" if plan.start_s is not None else "a sixth of start_timeout_s and the draining: a guess"
    more = f", and up to {cost.refine_restarts} more where the crossing is refined" if cost.refine_restarts else ""
    return [
        f"{cost.restarts}, one per arm and repeat and one to bring {plan.live_arm} back: about {each} each ({why}), "
        f"{duration(cost.down_s)} in all{more}; before each one {probe.drain_s:g} s without any request are waited for",
        f"downtime: from the first to the last minute the server is not there for users: {_downtime(cost)}",
        f"before: {probe.before or 'none; nothing is drained or frozen for it'}",
        f"after: {probe.after or 'none'}",
        f"on any failure (an error, Ctrl-C, kill -9, a reboot) {plan.live_arm} is started again and proved by health, "
        "model, counters and one completion, and after is run; if that fails too: exit code 7, an alert to every "
        "channel each hour, and `specwatch serve` goes on trying",
    ]


def _downtime(cost: SweepCost) -> str:
    usual, most = duration(cost.seconds), duration(cost.seconds_high)
    return f"about {usual}" if usual == most else f"about {usual}, up to {most} where the crossing is refined"


def _stops(plan: SweepPlan, probe: ProbeConfig) -> list[str]:
    then = f"waits up to {duration(plan.backoff_s)} for quiet" if plan.backoff_s > 0 else "ends"
    lines = [
        f"above {_foreign(plan)} of others in the system it closes its streams within 2 s and {then}",
        f"Ctrl-C, `specwatch stop {plan.endpoint}` and a .noprobe file end it within seconds"
        + (", once the server is restored" if plan.restarts else ""),
    ]
    if probe.resume_hours:
        lines.append(
            f"within {probe.resume_hours:g} h the next sweep goes on where it stopped (--fresh: from the start)"
        )
    return lines
