"""Checks that span several keys: names that must match, orders that must hold, schedules that must fit their window.

Pure: takes the shape-checked config and the clock. It never touches a file, the environment or the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from monitor.config.crontab import next_run, parse_crontab
from monitor.config.errors import Finding, Key, nearest
from monitor.config.model import ArmConfig, Config, EndpointConfig, ProbeConfig
from monitor.config.reach import check_channel, check_reach
from monitor.config.times import minutes_left, parse_duration, parse_window, zone


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
        yield from _check_arm(arm, endpoint, (*arms, index))
    if endpoint.probe is not None:
        yield from _check_arms_for_probe(endpoint, endpoint.probe, key)
        yield from _check_probe(endpoint.probe, (*key, "probe"), now)
    elif endpoint.arm:
        yield Finding(arms, "arms without [endpoint.probe] are never measured", "add [endpoint.probe]", note=True)


def _check_arm(arm: ArmConfig, endpoint: EndpointConfig, key: Key) -> Iterator[Finding]:
    yield from check_reach(arm, key, endpoint.api_path)
    if arm.restart is not None:
        yield Finding(
            (*key, "restart"),
            f'restarting a server into arm "{arm.name}" of endpoint "{endpoint.name}" is not supported yet',
            "start one server per arm yourself and give each arm its url",
        )
    elif arm.url is None:
        yield Finding(
            key, "the arm has no url, so it cannot be measured", 'add url = "http://host:port"', also=((*key, "url"),)
        )


def _check_arms_for_probe(endpoint: EndpointConfig, probe: ProbeConfig, key: Key) -> Iterator[Finding]:
    names = [arm.name for arm in endpoint.arm]
    arms: Key = (*key, "arm")
    if len(names) < 2:
        yield Finding(
            (*key, "probe"),
            f"a sweep compares at least two arms and there is {'only one' if names else 'none'}",
            f'add an [[endpoint.arm]] called "{probe.baseline}" without speculation and one with it',
            also=(arms,),
        )
        if not names:
            return
    for field in ("baseline", "live_arm"):
        wanted: str | None = getattr(probe, field)
        if wanted is not None and wanted not in names:
            close = nearest(wanted, names)
            yield Finding(
                (*key, "probe", field),
                f'"{wanted}" is not one of the arms: {", ".join(names)}',
                f'write {field} = "{close}"' if close else "name one of them, or add the arm",
                also=(arms, *((*arms, index, "name") for index in range(len(names)))),
            )
    yield from _check_roles(endpoint.arm, probe, arms)


def _check_roles(arms: Sequence[ArmConfig], probe: ProbeConfig, key: Key) -> Iterator[Finding]:
    baseline = next((arm for arm in arms if arm.name == probe.baseline), None)
    for index, arm in enumerate(arms):
        at: Key = (*key, index)
        if arm is baseline:
            if arm.speculation:
                yield Finding(
                    (*at, "speculation"), "the baseline must not speculate", "remove it or name another baseline"
                )
        elif baseline is not None and arm.url == baseline.url and arm.url is not None and arm.speculation is not False:
            yield Finding(
                (*at, "url"),
                f'is the address of the baseline "{baseline.name}", so one server would have to be both on and off',
                "give each arm its own server, or set speculation = false to compare a server with itself",
                also=((*key, arms.index(baseline), "url"),),
                # The sweep itself proves it from counters and ends with exit 5; a file can only suspect it.
                note=True,
            )


def _check_probe(probe: ProbeConfig, key: Key, now: datetime) -> Iterator[Finding]:
    if probe.ladder != "auto":
        yield from _check_ladder(probe.ladder, (*key, "ladder"))
    if probe.repeats % 2:
        yield Finding(
            (*key, "repeats"),
            f"{probe.repeats} is odd: arms take turns in A B B A order, which only balances drift over pairs",
            f"write repeats = {probe.repeats + 1}",
            note=True,
        )
    yield from _check_schedule(probe, key, now)


def _check_ladder(ladder: Sequence[int], key: Key) -> Iterator[Finding]:
    if not ladder:
        yield Finding(key, "the ladder is empty", 'write ladder = "auto" or e.g. [1, 2, 4, 8, 16, 32, 64]')
    elif any(lower >= upper for lower, upper in pairwise(ladder)):
        yield Finding(key, "the rungs must rise", f"write ladder = {sorted(set(ladder))}")
    elif ladder[0] > 1:
        yield Finding(
            key, f"starts at {ladder[0]}: nothing will be known below it", f"write ladder = {[1, *ladder]}", note=True
        )


def _check_schedule(probe: ProbeConfig, key: Key, now: datetime) -> Iterator[Finding]:
    window = crontab = place = None
    try:
        place = zone(probe.timezone)
    except ValueError as error:
        message, _, cure = str(error).rpartition("; ")
        yield Finding((*key, "timezone"), message, cure)
    if probe.window is not None:
        try:
            window = parse_window(probe.window)
        except ValueError as error:
            yield Finding((*key, "window"), f'"{probe.window}" is not a window', str(error))
    if probe.schedule is None:
        return
    at: Key = (*key, "schedule")
    try:
        crontab = parse_crontab(probe.schedule)
    except ValueError as error:
        yield Finding(at, str(error), 'for example "0 3 * * sun": Sundays at 03:00')
        return
    if place is not None and next_run(crontab, place, now) is None:
        yield Finding(at, f'"{probe.schedule}" names a day that never comes', "check the day of the month")
    starts = crontab.minutes_of_day()
    outside = [minute for minute in starts if window is not None and minutes_left(window, minute) is None]
    if outside:
        clock = f"{outside[0] // 60:02d}:{outside[0] % 60:02d}"
        none_fit = len(outside) == len(starts)
        yield Finding(
            at,
            f"starts at {clock}, outside window {probe.window}: the gate would refuse "
            + ("every run" if none_fit else "those runs"),
            "move the schedule into the window, or widen the window",
            also=((*key, "window"),),
            note=not none_fit,
        )


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
