"""One connection of the load: writes a request, stamps it when its last byte left, hands answer bytes to its flight.

Stamps are taken in the callbacks of the socket, before any parsing. Never reconnects and never sends twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from probes.load.stream import Flight, StreamFault
from probes.load.wire.words import failed, refused

REFUSAL_BYTES = 800
"""As much of a refusal's body as a message could show."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request gave no usable answer."""

    text: str
    untouched: bool
    """Closed by the server without a byte of an answer: on a kept connection the request may have come too late."""


class Wire(asyncio.BufferedProtocol):
    """A connection with at most one request on it. `await send()` gives None for a whole answer, else a Fault.

    Reads go into `buffer`, which all connections of one event loop may share: it is used up before the next read.
    A buffer of its own for each read, as plain protocols get, doubles what a chunk costs under asyncio's own loop.
    """

    def __init__(self, where: str, buffer: memoryview, mono: Callable[[], float], *, tls: bool) -> None:
        self._where, self._buffer, self._mono, self._tls = where, buffer, mono, tls
        self._transport: asyncio.Transport | None = None
        self._parser: HttpResponseParser | None = None
        self._flight: Flight | None = None
        self._answered: asyncio.Future[Fault | None] | None = None
        self._paused = False
        self._streaming = False
        self._status = 0
        self._framed = False
        self._encoding = b""
        self._refusal = b""
        self._broken = False
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the socket is closed."""

    @property
    def usable(self) -> bool:
        """Open as far as we know, with nothing on it."""
        transport = self._transport
        return transport is not None and not self._broken and self._flight is None and not transport.is_closing()

    async def send(self, request: bytes, flight: Flight) -> Fault | None:
        """Write one request and wait for the end of its answer."""
        if self._transport is None:
            return Fault(self._closed("before the request was sent"), untouched=True)
        self._flight = flight
        self._status, self._streaming, self._framed, self._encoding, self._refusal = 0, False, False, b"", b""
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        if not self._paused:
            flight.sent_s = self._mono()
        return await self._answered

    def silent_since(self) -> float | None:
        """The last sign of life of the answer awaited here; None where none is."""
        flight = self._flight
        return None if flight is None else flight.seen_s or flight.sent_s or flight.launched_s

    def give_up(self, text: str) -> None:
        """End the request with this fault and drop the connection."""
        self._finish(text)

    def abort(self) -> None:
        """Close the socket now, so that the server sees it at once; a request on it is forgotten."""
        self._flight = None
        self._broken = True
        if self._transport is not None:
            self._transport.abort()

    # Callbacks of the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._parser = HttpResponseParser(self)
        # We want to hear when the last byte has left. TLS transports pause at the limit, plain ones above it.
        self._transport.set_write_buffer_limits(high=1 if self._tls else 0, low=0)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._flight is not None and self._flight.sent_s is None:
            self._flight.sent_s = self._mono()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        flight = self._flight
        if flight is None:
            self.abort()
            return
        flight.seen_s = self._mono()
        assert self._parser is not None
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (HttpParserError, HttpParserUpgrade):
            if self._flight is None:
                self.abort()
            else:
                self._finish(f"connection failed: {self._where} does not answer in HTTP/1.1")

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = self._parser = None
        self._broken = True
        if not self.lost.done():
            self.lost.set_result(None)
        flight = self._flight
        if flight is None:
            return
        if exc is not None:
            self._finish(failed(exc, self._where), untouched=flight.seen_s is None)
        elif self._status and not self._framed:
            self._finish(None)
        else:
            when = "before its answer" if flight.seen_s is None else "in the middle of its answer"
            self._finish(self._closed(when), untouched=flight.seen_s is None)

    # Callbacks of the HTTP parser.

    def on_header(self, name: bytes, value: bytes) -> None:
        lower = name.lower()
        if lower in (b"content-length", b"transfer-encoding"):
            self._framed = True
        elif lower == b"content-encoding" and value.strip().lower() != b"identity":
            self._encoding = value

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        self._status = self._parser.get_status_code()
        self._streaming = self._status == 200 and not self._encoding

    def on_body(self, body: bytes) -> None:
        flight = self._flight
        if flight is None:
            return
        if self._streaming:
            try:
                flight.read(body)
            except StreamFault as fault:
                self._finish(str(fault))
        elif self._encoding:
            kind = self._encoding.decode("latin-1")[:20]
            self._finish(f"the answer came compressed ({kind}) though plain text was asked for; switch that off")
        else:
            self._refusal += body
            if len(self._refusal) > REFUSAL_BYTES:
                self._finish(None)

    def on_message_complete(self) -> None:
        assert self._parser is not None
        if 100 <= self._status < 200:
            self._status, self._framed = 0, False
            return
        self._finish(None, reusable=self._parser.should_keep_alive() and not self._paused)

    def on_message_begin(self) -> None:
        # A second answer to one request: whatever it is, it must not be taken for the next one's.
        if self._flight is None:
            self._broken = True

    def _closed(self, when: str) -> str:
        # Most servers say so by an alert; some just hang up, after a handshake that looked well.
        hint = "; it may want a client certificate (client_cert, client_key)" if self._tls and "before" in when else ""
        return f"connection failed: {self._where} closed the connection {when}{hint}"

    def _finish(self, text: str | None, *, reusable: bool = False, untouched: bool = False) -> None:
        flight, answered = self._flight, self._answered
        self._flight = None
        if not reusable:
            self.abort()
        if flight is None or answered is None or answered.done():
            return
        if text is None:
            text = refused(self._status, self._refusal) if self._status != 200 else flight.finished()
        answered.set_result(None if text is None else Fault(text, untouched))
