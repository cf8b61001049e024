"""One bounded GET: bytes are counted as they come, compressed ones as they unfold; interprets nothing."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from probes.http import AsyncClient, HTTPError, Response, TimeoutException

Clock = Callable[[], float]


class TooLargeError(Exception):
    """The body passes the limit; it was left unread from there."""


class BadEncodingError(Exception):
    """The body's compression is unknown, broken or cut off."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """One response. The body is read for status 200 only."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    at_s: float
    """Unix time when the response began."""
    mono_s: float


@dataclass(slots=True)
class _Wire:
    """What the transport says about one attempt."""

    sent: bool = False
    connected: bool = False
    answered: bool = False

    async def trace(self, event: str, _info: Mapping[str, Any]) -> None:
        self.sent = self.sent or event == "http11.send_request_headers.started"
        self.connected = self.connected or event.startswith("connection.connect_")
        self.answered = self.answered or event == "http11.receive_response_headers.complete"

    @property
    def was_stale(self) -> bool:
        """A kept connection that failed before any answer."""
        return self.sent and not self.connected and not self.answered


async def fetch(
    client: AsyncClient,
    url: str,
    *,
    headers: Mapping[str, str],
    max_bytes: int,
    gzip: bool,
    clock: Clock,
    mono: Clock,
) -> Fetched:
    """GET `url`; the caller sets the deadline.

    Raises what the client raises, TooLargeError and BadEncodingError.
    """
    wire = _Wire()
    try:
        return await _attempt(client, url, wire, headers, max_bytes, gzip, clock, mono)
    except HTTPError as error:
        # Servers close idle connections after a few seconds (uvicorn: 5), often just as the next scrape is on its way.
        # That says nothing about the server's health, so such a request is sent once more, on a fresh connection. An
        # attempt that opened its own connection, got an answer, or ran out of time is never repeated.
        if isinstance(error, TimeoutException) or not wire.was_stale:
            raise
    return await _attempt(client, url, _Wire(), headers, max_bytes, gzip, clock, mono)


async def _attempt(
    client: AsyncClient,
    url: str,
    wire: _Wire,
    headers: Mapping[str, str],
    max_bytes: int,
    gzip: bool,
    clock: Clock,
    mono: Clock,
) -> Fetched:
    wanted = {**headers, "Accept-Encoding": "gzip" if gzip else "identity"}
    async with client.stream("GET", url, headers=wanted, extensions={"trace": wire.trace}) as response:
        at_s, mono_s = clock(), mono()
        body = await _body(response, max_bytes) if response.status_code == 200 else b""
        return Fetched(response.status_code, response.headers, body, at_s, mono_s)


async def _body(response: Response, max_bytes: int) -> bytes:
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise BadEncodingError(f"content-encoding {encoding[:20]!r} was not asked for")
    inflate = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
    body = bytearray()
    received = 0
    async for chunk in response.aiter_raw():
        received += len(chunk)
        if inflate is None:
            body += chunk
        else:
            try:
                body += inflate.decompress(chunk, max_bytes + 1 - len(body))
            except zlib.error as error:
                raise BadEncodingError(f"broken gzip ({error})") from None
        if max(received, len(body)) > max_bytes:
            raise TooLargeError
    if inflate is not None and not inflate.eof:
        raise BadEncodingError("the gzip stream was cut off")
    return bytes(body)
