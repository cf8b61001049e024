"""One scrape of one endpoint becomes one Reading, failed ones included; keeps no history and schedules nothing."""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import replace
from typing import Any

from probes.engines.detect import Seen, look, new_parser
from probes.http import AsyncClient, OneConnection, make_client, make_ssl_context, state_of_status
from probes.scrape.failures import describe, describe_tls_files, shown
from probes.scrape.fetch import Clock, Fetched, fetch
from probes.values import Reading, State, Target

ACCEPT = "text/plain;version=0.0.4,text/plain;q=0.9,*/*;q=0.1"
_NOT_METRICS = ("text/html", "application/json", "application/xml", "image/", "application/vnd.google.protobuf")


class Scraper:
    """Reads one target's metrics page over one kept connection; one request in flight, the rest wait their turn.

    `timeout_s` bounds the whole request, `max_bytes` the page (unpacked, where `gzip` asks for compression). The server
    pays for compression on its event loop, so it is off by default.
    """

    def __init__(
        self,
        target: Target,
        *,
        timeout_s: float,
        max_bytes: int,
        gzip: bool = False,
        clock: Clock = time.time,
        mono: Clock = time.monotonic,
        transport: Any = None,
    ) -> None:
        self._target = target
        self._url = target.metrics_url or f"{target.url}/metrics"
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._gzip = gzip
        self._clock = clock
        self._mono = mono
        self._transport = transport
        self._turn = asyncio.Lock()
        self._parser = new_parser()
        self._process_start_s: float | None = None
        self._context: ssl.SSLContext | None = None
        self._connection = OneConnection(self._make)

    async def read(self) -> Reading:
        """Scrape once. Whatever goes wrong is a state with its reason; only cancellation is raised."""
        async with self._turn:
            return await self._read()

    async def aclose(self) -> None:
        """Close the connection; a later read opens a new one."""
        await self._connection.aclose()

    async def _read(self) -> Reading:
        began = self._mono()
        try:
            self._load_tls()
        except (OSError, ssl.SSLError) as error:
            return self._failed(began, *describe_tls_files(error, self._target, self._url))
        try:
            async with self._connection.use() as client, asyncio.timeout(self._timeout_s):
                fetched = await fetch(
                    client,
                    self._url,
                    headers={"Accept": ACCEPT, **self._target.metrics_headers},
                    max_bytes=self._max_bytes,
                    gzip=self._gzip,
                    clock=self._clock,
                    mono=self._mono,
                )
        except Exception as error:
            return self._failed(began, *describe(error, self._target, self._url, self._timeout_s, self._max_bytes))
        return self._reading(fetched, self._mono() - began)

    def _load_tls(self) -> None:
        if self._context is None:
            secure = self._url.lower().startswith("https:")
            # Loading the system's certificates takes tens of milliseconds and is of no use for plain http.
            self._context = make_ssl_context(self._target) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def _make(self) -> AsyncClient:
        return make_client(
            timeout_s=self._timeout_s, ssl_context=self._context, max_connections=1, transport=self._transport
        )

    def _failed(self, began: float, state: State, reason: str) -> Reading:
        now = self._mono()
        return Reading(self._target.name, self._clock(), now, state, reason, scrape_s=now - began)

    def _reading(self, fetched: Fetched, scrape_s: float) -> Reading:
        seen = self._look(fetched)
        facts = seen.facts
        if facts is None or seen.state not in (State.OK, State.SLEEPING):
            return Reading(
                self._target.name,
                fetched.at_s,
                fetched.mono_s,
                seen.state,
                seen.reason,
                engine_kind=facts.kind if facts else None,
                scrape_s=scrape_s,
                page_bytes=len(fetched.body),
            )
        if facts.process_start_s != self._process_start_s:
            self._parser.forget()
            self._process_start_s = facts.process_start_s
        reading = facts.reading(self._target.name, fetched.at_s, fetched.mono_s, seen.state, seen.reason)
        return replace(reading, scrape_s=scrape_s, page_bytes=len(fetched.body))

    def _look(self, fetched: Fetched) -> Seen:
        where = shown(self._url)
        if fetched.status != 200:
            return Seen(*state_of_status(fetched.status, where))
        content_type = fetched.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type.startswith(_NOT_METRICS):
            return Seen(State.NOT_AN_ENGINE, f"{where} answered with {content_type}, not a metrics page")
        seen = look(fetched.body, self._parser)
        return Seen(seen.state, f"{where}: {seen.reason}" if seen.reason else "", seen.facts)
