"""Takes a server's URL apart into what a connection and a request head need, so that no user name is ever shown.

Opens nothing.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """Where one server listens."""

    host: str
    """Name or literal address as a socket wants it: no brackets."""
    port: int
    tls: bool
    authority: str
    """Value of the Host header: brackets around IPv6, the port only where it is not the scheme's own."""
    prefix: str
    """Path before the API path, without a trailing slash."""
    authorization: str | None = field(default=None, repr=False)
    """Basic credentials of a user name in the URL."""

    @property
    def shown(self) -> str:
        """For messages: never holds credentials."""
        return f"{'https' if self.tls else 'http'}://{self.authority}{self.prefix}"


def parse_address(url: str) -> Address:
    """Raises ValueError, which does not repeat the URL, where it is no http or https address."""
    try:
        parts = urlsplit(url)
        host, port, scheme = parts.hostname, parts.port, parts.scheme.lower()
    except ValueError:
        raise ValueError("the server's URL has a host or port that cannot be read") from None
    if scheme not in DEFAULT_PORTS or not host:
        raise ValueError("the server's URL must start with http:// or https:// and name a host")
    name = host.replace("%25", "%") if host.isascii() else host.encode("idna").decode("ascii")
    shown = f"[{name.partition('%')[0]}]" if ":" in name else name
    at = port or DEFAULT_PORTS[scheme]
    return Address(
        host=name,
        port=at,
        tls=scheme == "https",
        authority=shown if at == DEFAULT_PORTS[scheme] else f"{shown}:{at}",
        prefix=parts.path.rstrip("/"),
        authorization=_basic(parts.username, parts.password),
    )


def _basic(user: str | None, password: str | None) -> str | None:
    if user is None:
        return None
    pair = f"{unquote(user)}:{unquote(password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"
