"""What results from elsewhere are stored as: whose server they are taken for, how old they are, what is assumed.

The pool's server is asked by GET alone; nothing is written here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from monitor.config.load import Loaded
from monitor.config.model import EndpointConfig, ScrapeConfig
from monitor.config.targets import endpoint_target
from monitor.service.statuses import fingerprint_of
from monitor.store.db import Store
from monitor.store.identities import load_identity
from monitor.units import age_text
from probes.answer_values import Axis
from probes.imports import Imported
from probes.scrape.identity import identify
from probes.scrape.scrape import Scraper
from probes.values import EngineKind, Identity, Reading, State, Target

EARLIEST_S = 1_577_836_800.0
"""2020: no server speculated before."""
APART_S = 86_400.0
"""Arms measured further apart than a day were hardly measured under one condition."""


class NotImportable(Exception):
    """Nothing says that results belong to a pool's server, or something says that they do not; in words for people."""


@dataclass(frozen=True, slots=True)
class Present:
    """The server that a pool's live traffic runs on."""

    fingerprint: str
    identity: Identity
    engines: int | None
    how: str
    """How that is known, in words."""
    kind: EngineKind | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """When the runs were made, Unix time."""

    first_s: float
    last_s: float
    told_by: str
    """In words: the files, or their modification times."""


def present_server(loaded: Loaded, store: Store, endpoint: EndpointConfig) -> Present | None:
    """As it answers now, else as the store last saw it; None where neither tells. Raises ConfigError, StoreError."""
    reading, identity = asyncio.run(_look(endpoint_target(endpoint), loaded.config.scrape))
    now = fingerprint_of(endpoint, identity, reading) if reading.state is State.OK else None
    if now is not None:
        how = f"as {endpoint.name} answers now"
        return Present(now, identity, len(reading.engines) or None, how, reading.engine_kind)
    known = load_identity(store, endpoint.name)
    if known is None or not known[1]:
        return None
    identity, fingerprint, seen_s = known
    age = age_text(max(0.0, time.time() - seen_s))
    return Present(fingerprint, identity, None, f"as {endpoint.name} was last seen, {age} ago")


async def _look(target: Target, scrape: ScrapeConfig) -> tuple[Reading, Identity]:
    async with aclosing(
        Scraper(target, timeout_s=scrape.timeout_s, max_bytes=scrape.max_page_bytes, gzip=scrape.gzip)
    ) as scraper:
        reading = await scraper.read()
    if reading.state is not State.OK:
        return reading, Identity()
    return reading, await identify(target, timeout_s=scrape.timeout_s)


def measured_at(imported: Imported, now_s: float) -> Measured:
    """From the files' own dates where each has one that can be true, else from when they were last changed.

    Never later than now; tools write dates without their zone, so that one of today may seem to come.
    """
    dates = imported.measured_s
    if dates is not None and dates[0] >= EARLIEST_S and dates[1] <= now_s + APART_S:
        (first_s, last_s), told_by = dates, "their own dates"
    else:
        times = [path.stat().st_mtime for path in imported.files]
        first_s, last_s, told_by = min(times), max(times), "when the files were last changed"
        if dates is not None:
            told_by += " (the dates in them cannot be true)"
    return Measured(min(first_s, now_s), min(last_s, now_s), told_by)


def contradictions(imported: Imported, present: Present) -> list[str]:
    """What in the files speaks against their being measured on a server like the present one."""
    found: list[str] = []
    served = [present.identity.model, present.identity.model_root, *present.identity.models]
    ours = {_last(name) for name in served if name}
    others = [name for name in imported.models if _last(name) not in ours]
    if ours and others:
        found.append(f"they measured {', '.join(others)}, and it serves {', '.join(sorted(ours))}")
    version = present.identity.version
    if present.kind is EngineKind.VLLM and imported.sglang_versions:
        theirs = ", ".join(imported.sglang_versions)
        return [f"they measured SGLang {theirs}, and it runs vLLM{f' {version}' if version else ''}", *found]
    releases = [release for release in imported.versions if release != version]
    if version is not None and releases:
        found.append(f"they measured release {', '.join(releases)}, and it runs {version}")
    own = imported.origin.fingerprint if imported.origin is not None else ""
    if own and own != present.fingerprint:
        found.append(
            f"the sweep's server was {own} and it is {present.fingerprint}: version, model, cache settings, hardware "
            "or revision differ"
        )
    return found


def whose(
    imported: Imported, present: Present | None, endpoint: str, *, assume_same: bool
) -> tuple[str, tuple[str, ...]]:
    """The fingerprint that the results are stored under, and what of it is assumed. Raises NotImportable."""
    own = imported.origin.fingerprint if imported.origin is not None else ""
    if present is None:
        if own and not assume_same:
            return own, (
                f"what {endpoint} serves is not known; live traffic is compared once it turns out to be the "
                f"server that the sweep measured ({own}).",
            )
        raise NotImportable(
            f"{endpoint} does not answer and was never seen, so nothing says which server these results are for. "
            "Start it (or `specwatch serve`), then import again."
        )
    if imported.engines_assumed and (present.engines or 1) > 1:
        raise NotImportable(
            f"{endpoint} has {present.engines} engines, and the files do not say how many shared the load: say "
            f"--engines {present.engines}, or --engines 1 if they were measured on one."
        )
    against = contradictions(imported, present)
    if not against:
        same = "its own identity says so" if own else _unsaid(imported)
        return present.fingerprint, (
            f"taken for the server of {endpoint} ({present.fingerprint}, {present.how}): {same}.",
        )
    if assume_same:
        return present.fingerprint, (
            f"assumed to be for the server of {endpoint} ({present.fingerprint}), as asked by --assume-same, "
            f"although {'; '.join(against)}.",
        )
    if own:
        return own, (
            f"stored for the server that the sweep measured, and not compared with live traffic now: {against[-1]}. "
            "--assume-same compares it all the same.",
        )
    raise NotImportable(
        f"These results are not for the server of {endpoint}: {'; '.join(against)}. "
        "If it is the same server under another name, say --assume-same."
    )


def _unsaid(imported: Imported) -> str:
    told = [*imported.models, *imported.versions]
    return f"the files name {', '.join(told)} and nothing else of it" if told else "the files do not name theirs"


def must_have(live_arm: str | None, imported: Imported, pool: str) -> None:
    """Raises NotImportable where the live arm that the config names was not measured.

    The newest answer is the one that live traffic is compared with, so such results would put out a good one.
    """
    arms = list(dict.fromkeys([imported.baseline, *(point.arm for point in imported.points)]))
    if live_arm is None or live_arm in arms:
        return
    hidden = f"Live traffic of {pool} would be compared with nothing, and an earlier sweep would no longer count."
    refused = imported.refused.get(live_arm)
    if refused is not None:
        raise NotImportable(f"{refused.text} It is the pool's live arm in the config. {hidden} Nothing was stored.")
    if imported.origin is not None:
        cure = f"Only where one of them is what runs live: name it in the config (live_arm), instead of {live_arm}."
    elif imported.tools:
        cure = f"Say which files are that arm's: --arm {live_arm}=FILE."
    else:
        cure = (
            f"Say which rows are that arm's: write {live_arm} in the table's arm column, or give a table of its own, "
            f"--arm {live_arm}=FILE."
        )
    raise NotImportable(
        f"The live arm of {pool} in the config is {live_arm}, and these arms are {', '.join(arms)}. {hidden} "
        f"Nothing was stored. {cure}"
    )


def remarks(imported: Imported, present: Present | None, measured: Measured) -> list[str]:
    """What somebody who stores these should know."""
    found: list[str] = []
    if measured.last_s - measured.first_s > APART_S:
        found.append(
            f"its runs lie {age_text(measured.last_s - measured.first_s)} apart; what changed meanwhile is in it."
        )
    if present is not None and imported.axis is Axis.CLIENTS and (present.engines or 1) > 1:
        found.append(
            f"it is by clients, not per engine, and the endpoint has {present.engines} engines: live traffic is not "
            "compared."
        )
    return found


def names(files: Sequence[Path]) -> str:
    """A few file names for a sentence."""
    shown = [path.name for path in files[:4]]
    return ", ".join(shown) + (f" and {len(files) - 4} more" if len(files) > 4 else "")


def _last(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1].lower()
