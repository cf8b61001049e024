"""Posts one JSON body and says what the answer means; it must never let the address into an error or a log.

Webhook addresses are secrets: whoever has one can post in our name.
"""

from __future__ import annotations

import json
import logging
import socket
import ssl
from abc import ABC, abstractmethod
from datetime import UTC
from email.utils import parsedate_to_datetime

from monitor.alerts.message import Failed, Message, Sent
from probes.http import HTTPError, InvalidURL, OneConnection, Response, TimeoutException, make_client
from probes.scrape.failures import causes

PERMANENT = frozenset({400, 401, 403, 404, 410})
"""Statuses that the same request will always get."""
NAMES_HOST = frozenset({62, 64})
"""OpenSSL's codes of a certificate for another name or another IP address; their words repeat ours."""
_NEVER_CONNECTED = ("ConnectError", "ConnectTimeout", "PoolTimeout")


class PostingChannel(ABC):
    """A channel whose messages are POSTs to one address; subclasses say what the body is."""

    def __init__(self, name: str, url: str, timeout_s: float) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self._poster = Poster(name, url, timeout_s)

    @abstractmethod
    def body(self, message: Message) -> dict[str, object]:
        """The whole body as JSON-ready values."""

    async def send(self, message: Message, now_s: float) -> Sent | Failed:
        """One attempt."""
        return await self._poster.post(self.body(message), message.key, now_s)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._poster.aclose()


class Poster:
    """One channel's address and its connection."""

    def __init__(self, name: str, url: str, timeout_s: float) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self._url = url
        self._connection = OneConnection(lambda: make_client(timeout_s=timeout_s, max_connections=1))
        for noisy in ("httpx", "httpcore"):
            # Their info and debug lines hold whole addresses and headers.
            logging.getLogger(noisy).setLevel(logging.WARNING)

    def __repr__(self) -> str:
        return f"Poster({self.name!r})"

    async def post(self, body: object, key: str, now_s: float) -> Sent | Failed:
        """One attempt; the answer's body is not read. Raises nothing but CancelledError."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        content = json.dumps(body, ensure_ascii=False).encode()
        try:
            async with (
                self._connection.use() as client,
                client.stream("POST", self._url, content=content, headers=headers) as response,
            ):
                return _meaning(self.name, response, now_s)
        except TimeoutException as error:
            in_doubt = type(error).__name__ not in _NEVER_CONNECTED
            return Failed(f"channel {self.name} did not answer within {self.timeout_s:g} s", in_doubt=in_doubt)
        except InvalidURL:
            return Failed(f"channel {self.name}: its address is not a URL; correct it in the config", permanent=True)
        except (HTTPError, OSError, ValueError) as error:
            text = f"channel {self.name} could not be reached ({_why(error)})"
            return Failed(text, in_doubt=type(error).__name__ not in _NEVER_CONNECTED)

    async def aclose(self) -> None:
        """Close the connection, if there is one."""
        await self._connection.aclose()


def _why(error: BaseException) -> str:
    """What hindered it, in words that hold no address; the kind of error where nothing better is known."""
    for cause in causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            if cause.verify_code in NAMES_HOST:
                return "its TLS certificate is not for this host"
            return f"its TLS certificate is not trusted: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"TLS failed: {cause.reason or 'no reason given'}"
        if isinstance(cause, ConnectionRefusedError):
            return "connection refused; nothing listens there"
        if isinstance(cause, socket.gaierror):
            return "the host name is not known"
    return type(error).__name__


def _meaning(name: str, response: Response, now_s: float) -> Sent | Failed:
    status = response.status_code
    if 200 <= status < 300:
        return Sent()
    if 300 <= status < 400:
        return Failed(f"channel {name} answered {status}: a redirect, which is not followed; name the final address")
    return Failed(
        f"channel {name} answered {status}",
        permanent=status in PERMANENT,
        retry_after_s=retry_after_s(response.headers.get("retry-after"), now_s),
    )


def retry_after_s(header: str | None, now_s: float) -> float | None:
    """Seconds that a Retry-After header asks for, given as seconds or as a date; None where it cannot be read."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now_s)
