"""`specwatch check`: every mistake in the config, then a look at all that it names; sends no prompt and no alert."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from monitor import exit_codes
from monitor.commands.check_arms import compare_arms
from monitor.commands.check_servers import Look, look_at_all
from monitor.commands.check_sweep import sweep_section
from monitor.commands.check_text import Remark, Section, count, host_of, look_section, render
from monitor.commands.common import config_option
from monitor.commands.held import held_remarks
from monitor.commands.plan_cost import SweepCost, sweep_cost
from monitor.config.errors import ConfigError, Problem, describe, explain
from monitor.config.load import Loaded, load_config
from monitor.config.model import ArmConfig, ChannelConfig, EndpointConfig, ProbeConfig
from monitor.config.targets import arm_target, channel_url, endpoint_target, pool_of
from monitor.service.locks import daemon_lock_path, holder_of
from monitor.service.not_restored import not_restored_words, unrestored
from monitor.service.sweep_plan import plan_for
from monitor.store.db import open_store
from monitor.store.errors import StoreError
from probes.load.prompts import PromptFileError, load_prompts
from probes.sweep.plan import SweepPlan
from probes.values import Target

_Given = TypeVar("_Given")
_PROXIES = {"http_proxy", "https_proxy", "all_proxy"}


@click.command()
@config_option
def check(config_path: Path) -> None:
    """Explain every error in the config; where it is sound, look at every server, schedule, store and channel it names.

    Sends no prompt and no alert. Exit 0 where all is well, 2 where something must be mended.
    """
    try:
        loaded = load_config(config_path)
    except ConfigError as error:
        click.echo(explain(error))
        sys.exit(exit_codes.CONFIG)
    sections = asyncio.run(inspect(loaded, datetime.now(UTC)))
    click.echo(render(sections))
    sys.exit(exit_codes.CONFIG if any(remark.is_problem for s in sections for remark in s.remarks) else 0)


async def inspect(loaded: Loaded, now: datetime) -> list[Section]:
    """Everything `check` says of a sound config, as sections in the order of the file."""
    config = loaded.config
    targets: dict[str, Target] = {}
    secrets: dict[str, list[Remark]] = {}
    for endpoint in config.endpoint:
        _keep(targets, secrets, endpoint.name, partial(endpoint_target, endpoint))
        for arm in _servers(endpoint):
            _keep(targets, secrets, f"{endpoint.name}/{arm.name}", partial(arm_target, endpoint, arm))
    found = await look_at_all(list(targets.values()), config.scrape)
    looks = dict(zip(targets, found, strict=True))

    sections = [_config_section(loaded), _store_section(loaded)]
    for endpoint in config.endpoint:
        sections += _server_sections(endpoint, looks, secrets)
        if endpoint.probe is not None:
            said = [remark for remarks in secrets.values() for remark in remarks]
            sections.append(_sweep_section(loaded, endpoint, looks, said, now))
    return [*sections, *(_channel_section(channel) for channel in config.channel)]


def _servers(endpoint: EndpointConfig) -> Sequence[ArmConfig]:
    """The arms that are servers of their own; the others are the endpoint's, restarted, and not there now."""
    return [arm for arm in endpoint.arm if arm.restart is None] if endpoint.probe is not None else ()


def _keep(
    targets: dict[str, Target], secrets: dict[str, list[Remark]], name: str, resolve: Callable[[], Target]
) -> None:
    target, secrets[name] = _resolved(resolve)
    if target is not None:
        targets[name] = target


def _resolved(resolve: Callable[[], _Given]) -> tuple[_Given | None, list[Remark]]:
    try:
        return resolve(), []
    except ConfigError as error:
        return None, [Remark.problem(f"{p.key} {p.message}: {p.suggestion}") for p in error.problems]


def _config_section(loaded: Loaded) -> Section:
    config = loaded.config
    arms = sum(len(endpoint.arm) for endpoint in config.endpoint)
    remarks = [Remark.note(" ".join(describe(problem).split())) for problem in loaded.notes]
    if not config.endpoint:
        remarks.append(Remark.problem("there is nothing to watch: add an [[endpoint]] with name and url"))
    text = f"{count(len(config.endpoint), 'endpoint')}, {count(arms, 'arm')}, {count(len(config.channel), 'channel')}"
    ignored = sorted({name for name in os.environ if name.lower() in _PROXIES})
    if ignored:
        remarks.append(
            Remark.note(
                f"{', '.join(ignored)} in the environment: ignored, servers and arms are always reached directly "
                "(load through a proxy would measure the proxy)"
            )
        )
    remarks += [
        Remark.note(f"the secret in {path} can be read by everybody on this machine: chmod o-r {path}")
        for path in _secret_files(loaded)
        if path.exists() and path.stat().st_mode & stat.S_IROTH
    ]
    return Section(f"config {loaded.path}", [("reads as", text)], remarks)


def _secret_files(loaded: Loaded) -> list[Path]:
    config = loaded.config
    servers: list[EndpointConfig | ArmConfig] = [*config.endpoint, *(a for e in config.endpoint for a in e.arm)]
    named = [name for server in servers for name in (server.api_key_file, server.metrics_key_file)]
    named += [channel.url_file for channel in config.channel]
    return [Path(name) for name in dict.fromkeys(named) if name is not None]


def _store_section(loaded: Loaded) -> Section:
    path = loaded.store_path
    remarks: list[Remark] = []
    if path.exists():
        try:
            with open_store(path, readonly=True):
                state = f"there, {path.stat().st_size / 1e6:.1f} MB"
        except StoreError as error:
            state = "there, but cannot be used"
            remarks.append(Remark.problem(error.problem))
    else:
        state = "not there yet; `specwatch serve` makes it"
    # WAL needs to make files beside the store, so the folder counts as well.
    blocked = [str(p) for p in (path.parent, path) if p.exists() and not os.access(p, os.W_OK)]
    if blocked:
        remarks.append(Remark.problem(f"not writable for this user: {', '.join(blocked)}"))
    watched = holder_of(daemon_lock_path(path)) is not None
    remarks += [
        Remark.problem(f"the server of {left.endpoint} {not_restored_words(left)}")
        for left in unrestored(loaded.config, path, watched=watched)
    ]
    return Section(f"store {path}", [("state", state)], remarks)


def _server_sections(
    endpoint: EndpointConfig, looks: dict[str, Look], secrets: dict[str, list[Remark]]
) -> Iterator[Section]:
    named = [
        (endpoint.name, f"endpoint {endpoint.name}  {endpoint.url}"),
        *((f"{endpoint.name}/{a.name}", f"arm {a.name} of {endpoint.name}  {a.url}") for a in _servers(endpoint)),
    ]
    said: list[Remark] = []
    for name, title in named:
        if name in looks:
            yield look_section(title, looks[name])
        else:
            fresh = [remark for remark in secrets[name] if remark not in said]
            said += fresh
            yield Section(title, [("state", "not looked at" + ("" if fresh else ", for the reason above"))], fresh)


def _sweep_section(
    loaded: Loaded, endpoint: EndpointConfig, looks: dict[str, Look], said: list[Remark], now: datetime
) -> Section:
    probe = endpoint.probe
    assert probe is not None
    by_arm = {arm.name: look for arm in endpoint.arm if (look := looks.get(f"{endpoint.name}/{arm.name}"))}
    remarks = list(compare_arms(endpoint.arm, probe, by_arm, looks.get(endpoint.name)))
    planned, trouble = _resolved(partial(_plan, loaded, endpoint.name, probe))
    remarks += [remark for remark in trouble if remark not in said]
    if planned is not None:
        remarks += _held(loaded, planned[0], probe)
    return sweep_section(f"sweep of {pool_of(endpoint)}", probe, planned, remarks, now, None)


def _plan(loaded: Loaded, name: str, probe: ProbeConfig) -> tuple[SweepPlan, SweepCost]:
    """The plan as `specwatch sweep` would make it, with the store's history where there is a store that can be read."""
    try:
        with open_store(loaded.store_path, readonly=True) if loaded.store_path.exists() else nullcontext() as store:
            plan = plan_for(loaded, name, (), store)
    except StoreError:
        plan = plan_for(loaded, name, (), None)
    try:
        return plan, sweep_cost(plan, probe, load_prompts(plan.load.prompts).prompts)
    except PromptFileError as error:
        problem = Problem(str(loaded.path), f'endpoint "{name}".probe.prompts', str(error), "mend the file", None)
        raise ConfigError([problem]) from None


def _held(loaded: Loaded, plan: SweepPlan, probe: ProbeConfig) -> list[Remark]:
    """What the store and its folder hold against a sweep now; a store that cannot be read is told of elsewhere."""
    if not loaded.store_path.exists():
        return []
    try:
        with open_store(loaded.store_path, readonly=True) as store:
            return held_remarks(loaded, store, plan, probe, now=False)
    except StoreError:
        return []


def _channel_section(channel: ChannelConfig) -> Section:
    title = f"channel {channel.name}  {channel.kind}"
    if channel.kind == "stdout":
        return Section(title, [("state", "ready: the standard output of `specwatch serve`")])
    url, remarks = _resolved(lambda: channel_url(channel))
    if url is None:
        return Section(title, [("state", "no address")], remarks)
    source = f"variable {channel.url_env}" if channel.url_env else channel.url_file or "the config"
    return Section(title, [("state", f"ready: {host_of(url)}, address from {source}; nothing was sent")])
