"""Settles, before anything is touched, what a restart sweep will have to restore; only looks at the server."""

from __future__ import annotations

import os
import time
from contextlib import aclosing

from monitor.config.load import Loaded
from monitor.config.model import ArmConfig, EndpointConfig, ProbeConfig
from monitor.config.targets import pool_of
from monitor.service.restart_reach import reach_of
from monitor.who import who_am_i
from probes.restart.journal import Orders
from probes.restart.proof import Expected, Newness, NotProven, look_at
from probes.scrape.identity import identify
from probes.scrape.scrape import Scraper
from probes.sweep.shown import shown_url
from probes.values import Target


def live_arm_of(endpoint: EndpointConfig, probe: ProbeConfig) -> ArmConfig:
    """The arm to come back to. Raises ValueError where restarts are not allowed or could not be undone."""
    if not probe.allow_restart:
        raise ValueError("allow_restart is not set")
    live = next((arm for arm in endpoint.arm if arm.name == probe.live_arm), None)
    if live is None or live.restart is None:
        raise ValueError("live_arm does not name an arm with a `restart` command, so nothing could be put back")
    return live


async def orders_for(
    loaded: Loaded, endpoint: EndpointConfig, probe: ProbeConfig, live: ArmConfig, target: Target, sweep_id: int
) -> Orders:
    """What to restore. Raises ValueError where the server does not run its live arm now; nothing is sent to it."""
    scrape = loaded.config.scrape
    drafts = live.speculation if live.speculation is not None else live.name != probe.baseline
    identity = await identify(target, timeout_s=scrape.timeout_s)
    model = target.model or identity.model
    if model is None:
        raise ValueError(f"{shown_url(target.url)} does not list exactly one model; set `model`")
    assert live.restart is not None
    expected = Expected(live.name, drafts, model)
    scraper = Scraper(target, timeout_s=scrape.timeout_s, max_bytes=scrape.max_page_bytes)
    async with aclosing(scraper):
        try:
            reading, _ = await look_at(target, expected, scraper, Newness(None), identify_s=scrape.timeout_s)
        except NotProven as problem:
            raise ValueError(
                f"the server does not run its live arm {live.name} now ({problem}), so it is not touched"
            ) from problem
    user, host = who_am_i()
    folder = loaded.path.absolute().parent
    return Orders(
        endpoint=endpoint.name,
        pool=pool_of(endpoint),
        sweep_id=sweep_id,
        who=f"{user}@{host}",
        begun_at_s=time.time(),
        sweep_pid=os.getpid(),
        guardian_pid=0,
        config_path=str(loaded.path.absolute()),
        live_arm=live.name,
        drafts=drafts,
        model=model,
        k=reading.k,
        restore=live.restart,
        before=probe.before,
        after=probe.after,
        cwd=str(folder),
        search_path=os.environ.get("PATH", os.defpath),
        hook_timeout_s=probe.hook_timeout_s,
        start_timeout_s=probe.start_timeout_s,
        drain_s=probe.drain_s,
        scrape_timeout_s=scrape.timeout_s,
        max_page_bytes=scrape.max_page_bytes,
        reach=reach_of(endpoint, live),
    )
