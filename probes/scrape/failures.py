"""Words for a request that failed: what, where, why and which key helps; never a header, a key or a query string."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from probes.http import InvalidURL, TimeoutException
from probes.scrape.fetch import BadEncodingError, TooLargeError
from probes.values import State, Target

_REFUSED_BY_PEER = ("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "HANDSHAKE_FAILURE")


def shown(url: str) -> str:
    """An address fit for a message: no user, no password, no query."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or "?"
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the address"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}"


def describe(error: BaseException, target: Target, url: str, timeout_s: float, max_bytes: int) -> tuple[State, str]:
    """The state and the reason of a failed read."""
    where = shown(url)
    if isinstance(error, TimeoutError | TimeoutException):
        return State.DOWN, f"{where} did not answer within {timeout_s:g} s"
    if isinstance(error, TooLargeError):
        return State.NOT_AN_ENGINE, (
            f"{where} sent more than {max_bytes / 1_000_000:g} MB; raise max_page_mb if this is the right page"
        )
    if isinstance(error, BadEncodingError):
        return State.DOWN, f"{where} sent a body that cannot be read: {error}"
    if isinstance(error, InvalidURL) or type(error).__name__ == "UnsupportedProtocol":
        return State.DOWN, f"{where} is not an address that can be fetched; it must begin with http:// or https://"
    behind = tuple(causes(error))
    for cause in behind:
        if isinstance(cause, ssl.SSLError):
            return State.DOWN, f"{where}: {_tls(cause, target)}"
    for cause in behind:
        if isinstance(cause, ConnectionRefusedError):
            return State.DOWN, f"{where}: connection refused; nothing listens there"
        if isinstance(cause, socket.gaierror):
            return State.DOWN, f"{where}: the host name is not known"
    return State.DOWN, f"{where} {_KNOWN.get(type(error).__name__, f'could not be read ({type(error).__name__})')}"


def describe_tls_files(error: Exception, target: Target, url: str) -> tuple[State, str]:
    """Why a target's certificate files cannot be loaded."""
    files = {
        "ca_file": target.ca_file,
        "client_cert": target.client_cert,
        "client_key": target.client_key,
    }
    named = ", ".join(f"{key} = {path}" for key, path in files.items() if path)
    reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return State.DOWN, f"{shown(url)}: the certificate files cannot be loaded ({named}): {reason}"


_KNOWN = {
    "ConnectError": "could not be reached",
    "RemoteProtocolError": "closed the connection before its answer was whole",
    "ReadError": "broke the connection",
    "WriteError": "broke the connection",
    "LocalProtocolError": "was not asked: a configured header is not valid in HTTP",
}


def _tls(error: ssl.SSLError, target: Target) -> str:
    text = str(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        cure = f"is the CA in ca_file = {target.ca_file} the right one?" if target.ca_file else "set ca_file to its CA"
        return f"its TLS certificate is not trusted ({error.verify_message}); {cure}"
    if "WRONG_VERSION_NUMBER" in text or "RECORD_LAYER" in text:
        return "it does not speak TLS on this port; does the address begin with http://?"
    if any(word in text for word in _REFUSED_BY_PEER):
        return "it refused the TLS handshake; does it want client_cert and client_key?"
    return f"TLS failed ({error.reason or type(error).__name__})"


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what lies behind it, groups opened; each once."""
    queue: list[BaseException] = [error]
    met: set[int] = set()
    while queue:
        current = queue.pop(0)
        if id(current) in met:
            continue
        met.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            queue.extend(current.exceptions)
        queue.extend(cause for cause in (current.__cause__, current.__context__) if cause is not None)
