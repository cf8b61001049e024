"""Opens connections of the load to one server within ten seconds, name resolution and TLS handshake included.

Sends nothing. Reads no proxy variable.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Callable, Sequence

from probes.http import make_ssl_context
from probes.load.wire.address import Address
from probes.load.wire.connection import Wire
from probes.load.wire.words import failed
from probes.values import Target

CONNECT_TIMEOUT_S = 10.0
READ_BYTES = 64 * 1024


class ConnectFault(Exception):
    """No connection; the message is for people."""


def tls_context(target: Target) -> ssl.SSLContext:
    """One context for all connections of a load: building one costs tens of milliseconds.

    Raises OSError or ssl.SSLError where a certificate file cannot be read.
    """
    context = make_ssl_context(target)
    context.set_alpn_protocols(["http/1.1"])
    return context


class Connector:
    """Makes wires to one address for one event loop; the name is resolved once, and again after a failure."""

    def __init__(self, address: Address, context: ssl.SSLContext | None, mono: Callable[[], float]) -> None:
        self._address, self._context, self._mono = address, context, mono
        self._hosts: Sequence[str] = ()
        self._buffer = memoryview(bytearray(READ_BYTES))

    async def open(self) -> Wire:
        """Raises ConnectFault."""
        shown = self._address.shown
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S) as limit:
                return await self._open()
        except OSError as error:
            self._hosts = ()
            if limit.expired():
                raise ConnectFault(f"no answer in time: no connection to {shown} in {CONNECT_TIMEOUT_S:g} s") from None
            raise ConnectFault(failed(error, shown)) from None

    async def _open(self) -> Wire:
        if not self._hosts:
            self._hosts = await _resolve(self._address.host, self._address.port)
        *others, last = self._hosts
        for host in others:
            try:
                return await self._connect(host)
            except ssl.SSLError:
                raise
            except OSError:
                continue
        return await self._connect(last)

    async def _connect(self, host: str) -> Wire:
        address = self._address
        _, wire = await asyncio.get_running_loop().create_connection(
            lambda: Wire(address.shown, self._buffer, self._mono, tls=self._context is not None),
            host,
            address.port,
            ssl=self._context,
            server_hostname=address.host if self._context is not None else None,
        )
        return wire


async def _resolve(host: str, port: int) -> list[str]:
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except UnicodeError:  # a label that is empty or too long: no name server is even asked
            raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None
        return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
