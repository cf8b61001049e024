"""Checks that span several keys: names that must be unambiguous, numbers that must be in order.

What concerns one probe is in `probe_rules.py`, its arms in `arm_rules.py`, addresses in `reach.py`.

Pure: takes the shape-checked config and the clock. It never touches a file, the environment or the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from monitor.config.arm_rules import check_arms
from monitor.config.errors import Finding, Key
from monitor.config.model import Config, EndpointConfig
from monitor.config.probe_rules import check_probe
from monitor.config.reach import check_channel, check_reach
from monitor.config.times import parse_duration


def check_rules(config: Config, now: datetime) -> Iterator[Finding]:
    """Every cross-key finding; `now` only decides whether a schedule ever comes."""
    yield from _check_numbers(config)
    if not config.endpoint:
        yield Finding(
            ("endpoint",),
            "no endpoint is named, so there is nothing to watch",
            "add an [[endpoint]] with name and url",
            note=True,
        )
    yield from _check_names([endpoint.name for endpoint in config.endpoint], ("endpoint",), "endpoint")
    yield from _check_names([channel.name for channel in config.channel], ("channel",), "channel")
    yield from _check_pools(config)
    for index, endpoint in enumerate(config.endpoint):
        yield from _check_endpoint(endpoint, ("endpoint", index), now)
    for index, channel in enumerate(config.channel):
        yield from check_channel(channel, ("channel", index))


def _check_numbers(config: Config) -> Iterator[Finding]:
    scrape, alerts = config.scrape, config.alerts
    interval: Key = ("scrape", "interval_s")
    if scrape.timeout_s >= scrape.interval_s:
        yield Finding(
            ("scrape", "timeout_s"),
            f"is {scrape.timeout_s:g} s, not shorter than interval_s ({scrape.interval_s:g} s): scrapes would pile up",
            f"write timeout_s = {scrape.interval_s * 0.8:g} or a longer interval_s",
            also=(interval,),
        )
    if scrape.stale_after_s <= scrape.interval_s:
        yield Finding(
            ("scrape", "stale_after_s"),
            f"is {scrape.stale_after_s:g} s, not longer than interval_s: every reading would be stale before the next",
            f"write stale_after_s = {scrape.interval_s * 4:g}",
            also=(interval,),
        )
    if scrape.live_window_s < 2 * scrape.interval_s:
        yield Finding(
            ("scrape", "live_window_s"),
            f"is {scrape.live_window_s:g} s, shorter than two scrapes: one sample is not a mean",
            f"write live_window_s = {scrape.interval_s * 12:g}",
            also=(interval,),
        )
    if alerts.clear_loss_pct >= alerts.tolerated_loss_pct:
        yield Finding(
            ("alerts", "clear_loss_pct"),
            f"is {alerts.clear_loss_pct:g}, not below tolerated_loss_pct ({alerts.tolerated_loss_pct:g}): "
            "an alert would flap",
            f"write clear_loss_pct = {alerts.tolerated_loss_pct / 3:.2g}",
            also=(("alerts", "tolerated_loss_pct"),),
        )
    for key, text in (
        (("store", "keep_readings"), config.store.keep_readings),
        (("alerts", "max_age"), alerts.max_age),
    ):
        try:
            parse_duration(text)
        except ValueError as error:
            yield Finding(key, f'"{text}" is not a duration', str(error))


def _check_names(names: Sequence[str], key: Key, what: str) -> Iterator[Finding]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Finding(
                (*key, index, "name"), f'there already is {_a(what)} called "{name}"', f"give every {what} its own name"
            )


def _check_pools(config: Config) -> Iterator[Finding]:
    prober: dict[str, str] = {}
    own_names = {endpoint.name: endpoint for endpoint in config.endpoint}
    for index, endpoint in enumerate(config.endpoint):
        pool = endpoint.pool or endpoint.name
        namesake = own_names.get(pool)
        if endpoint.pool and namesake is not None and (namesake.pool or namesake.name) != pool:
            yield Finding(
                ("endpoint", index, "pool"),
                f'"{pool}" is also the name of an endpoint of another pool, so a command could mean either',
                "rename the pool",
            )
        if endpoint.probe is None:
            continue
        if pool in prober and prober[pool] != endpoint.name:
            yield Finding(
                ("endpoint", index, "probe"),
                f'pool "{pool}" is already probed through endpoint "{prober[pool]}"; one sweep speaks for the pool',
                "keep [endpoint.probe] under one endpoint of the pool",
            )
        prober.setdefault(pool, endpoint.name)


def _check_endpoint(endpoint: EndpointConfig, key: Key, now: datetime) -> Iterator[Finding]:
    yield from check_reach(endpoint, key, endpoint.api_path)
    arms: Key = (*key, "arm")
    yield from _check_names([arm.name for arm in endpoint.arm], arms, "arm")
    for index, arm in enumerate(endpoint.arm):
        yield from check_reach(arm, (*arms, index), endpoint.api_path)
    yield from check_arms(endpoint, key)
    if endpoint.probe is not None:
        yield from check_probe(endpoint.probe, (*key, "probe"), now)
    elif endpoint.arm:
        yield Finding(arms, "arms without [endpoint.probe] are never measured", "add [endpoint.probe]", note=True)


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
