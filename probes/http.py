"""The only door to HTTP: clients with our timeouts, TLS and user agent, and errors said in words.

httpx enters here alone, so that its successor would be a change of one file. Nothing here retries.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version

import httpx
from httpx import AsyncBaseTransport, AsyncClient, HTTPError, InvalidURL, Limits, Response, TimeoutException

from probes.values import State, Target

__all__ = [
    "AsyncClient",
    "HTTPError",
    "InvalidURL",
    "OneConnection",
    "Response",
    "TimeoutException",
    "make_client",
    "make_ssl_context",
    "state_of_error",
    "state_of_status",
]

USER_AGENT = f"specwatch/{version('specwatch')}"
PROBE_USER_AGENT = f"specwatch-probe/{version('specwatch')}"


def make_ssl_context(target: Target) -> ssl.SSLContext:
    """TLS settings of one target; building one costs milliseconds, so share it between that target's clients.

    Raises OSError or ssl.SSLError where a certificate file cannot be read.
    """
    context = ssl.create_default_context(cafile=target.ca_file)
    if not target.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if target.client_cert:
        context.load_cert_chain(target.client_cert, target.client_key)
    return context


def make_client(
    *,
    timeout_s: float,
    ssl_context: ssl.SSLContext | None = None,
    user_agent: str = USER_AGENT,
    max_connections: int = 4,
    transport: AsyncBaseTransport | None = None,
) -> AsyncClient:
    """A client that ignores proxy variables (a probe must reach the worker it names) and never follows redirects.

    One pooled client slows down quadratically above about 8 streams (httpcore 1.0.9); load has its own transport
    (`probes.load.wire`).
    """
    return AsyncClient(
        timeout=httpx.Timeout(timeout_s),
        verify=ssl_context if ssl_context is not None else True,
        trust_env=False,
        follow_redirects=False,
        headers={"User-Agent": user_agent},
        limits=Limits(max_connections=max_connections, max_keepalive_connections=max_connections),
        transport=transport,
    )


class OneConnection:
    """A client with one connection, made when it is needed and kept while requests come to their end."""

    def __init__(self, make: Callable[[], AsyncClient]) -> None:
        """`make` gives a client with one connection."""
        self._make = make
        self._client: AsyncClient | None = None

    @asynccontextmanager
    async def use(self) -> AsyncIterator[AsyncClient]:
        """The client for one request; whatever is raised before its end costs the connection.

        A request that is cancelled at the wrong moment takes its connection out of httpcore's pool for good
        (encode/httpcore#1093), and a deadline is a cancellation: every later request would wait for it in vain.
        """
        if self._client is None:
            self._client = self._make()
        try:
            yield self._client
        except BaseException:
            with suppress(Exception):
                await self.aclose()
            raise

    async def aclose(self) -> None:
        """Close the connection, if there is one; a later use opens a new one."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()


def state_of_status(status: int, url: str) -> tuple[State, str]:
    """What an HTTP status other than 200 on a metrics page means, with the likely cure."""
    if status in (401, 403):
        return (
            State.UNAUTHORIZED,
            (f"{url} answered {status}: the page wants a key; set metrics_key_env or metrics_key_file"),
        )
    if status == 404:
        return State.NOT_AN_ENGINE, (
            f"{url} answered 404: no metrics page here (SGLang needs --enable-metrics; check metrics_url)"
        )
    if 300 <= status < 400:
        return (
            State.NOT_AN_ENGINE,
            (f"{url} answered {status}: a redirect, which is not followed; name the final address"),
        )
    return State.DOWN, f"{url} answered {status}"


def state_of_error(error: Exception, url: str) -> tuple[State, str]:
    """Name a failed request in words; never includes headers."""
    if isinstance(error, TimeoutException):
        return State.DOWN, f"{url} did not answer in time ({type(error).__name__})"
    return State.DOWN, f"{url} could not be reached: {error or type(error).__name__}"
