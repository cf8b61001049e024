"""Makes the bytes of a request before its time comes, so that the stamp of sending holds no work of ours.

Sends nothing. Our own headers win over the user's, except Host, which a user may need behind a name-based router.
"""

from __future__ import annotations

from collections.abc import Mapping

from probes.http import PROBE_USER_AGENT
from probes.load.wire.address import Address

_OURS = {
    "User-Agent": PROBE_USER_AGENT,
    "Content-Type": "application/json",
    "Accept": "text/event-stream",
    "Accept-Encoding": "identity",
    "Connection": "keep-alive",
}
_PER_REQUEST = {"content-length", "transfer-encoding", "x-request-id"}


class RequestHead:
    """Everything of a head that is alike in all requests of one load, encoded once.

    Raises ValueError, without the value, where a header holds a line break.
    """

    def __init__(self, address: Address, api_path: str, headers: Mapping[str, str]) -> None:
        self._base = f"{address.prefix}{api_path}".encode("ascii")
        given = {name.lower() for name in headers}
        lines = {} if "host" in given else {"Host": address.authority}
        lines |= _OURS
        if address.authorization is not None and "authorization" not in given:
            lines["Authorization"] = address.authorization
        taken = {name.lower() for name in lines} | _PER_REQUEST
        lines |= {name: value for name, value in headers.items() if name.lower() not in taken}
        self._fixed = b"".join(_line(name, value) for name, value in lines.items())

    def request(self, path: str, request_id: str, content: bytes) -> bytes:
        """The whole request for `path` below the API path."""
        return b"POST %b%b HTTP/1.1\r\n%bX-Request-Id: %b\r\nContent-Length: %d\r\n\r\n%b" % (
            self._base,
            path.encode("ascii"),
            self._fixed,
            request_id.encode("ascii"),
            len(content),
            content,
        )


def _line(name: str, value: str) -> bytes:
    line = f"{name}: {value}"
    if any(char in line for char in "\r\n\0"):
        raise ValueError(f"the header {name!r} holds a line break")
    return line.encode() + b"\r\n"
