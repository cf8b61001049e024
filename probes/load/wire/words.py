"""Says in words what went wrong on a connection or was refused, for a cell's reasons that people read.

Opens nothing.
"""

from __future__ import annotations

import errno
import socket
import ssl

_SHOWN_CHARS = 200
_CLIENT_CERT_ALERTS = ("CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE", "BAD_CERTIFICATE", "UNKNOWN_CA")


def failed(error: BaseException, where: str) -> str:
    """Why no connection to `where` came about, or why it broke."""
    return f"connection failed: {_cause(error, where)}"


def refused(status: int, body: bytes) -> str:
    """What an answer other than 200 says; `body` as far as it came."""
    if status in (401, 403):
        return f"HTTP {status}: the API wants a key; set api_key_env or api_key_file"
    if 300 <= status < 400:
        return f"HTTP {status}: a redirect, which is not followed; name the final address"
    shown = " ".join(body.decode("utf-8", "replace").split())[:_SHOWN_CHARS]
    return f"HTTP {status}: {shown}" if shown else f"HTTP {status}"


def _cause(error: BaseException, where: str) -> str:
    if isinstance(error, ssl.SSLError):
        return _tls_cause(error, where)
    if isinstance(error, socket.gaierror):
        return f"the host of {where} cannot be resolved ({error.strerror}); check the name in url"
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return "this machine lets the load open no more sockets; raise its limit of open files (ulimit -n)"
    if isinstance(error, ConnectionRefusedError):
        return f"nothing listens at {where}; check that the server runs and the port in url"
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return f"{where} reset the connection"
    return f"{where}: {getattr(error, 'strerror', None) or error or type(error).__name__}"


def _tls_cause(error: ssl.SSLError, where: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"the certificate of {where} is not trusted ({error.verify_message or error.reason});"
            " set ca_file to the authority that signed it, or use the name it was made for"
        )
    reason = error.reason or str(error)
    if any(alert in reason for alert in _CLIENT_CERT_ALERTS):
        return (
            f"{where} refused our side of TLS ({reason}); if it wants a client certificate,"
            " set client_cert and client_key to one that its authority signed"
        )
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return f"{where} does not speak TLS; is it an http:// address?"
    return f"TLS with {where} failed ({reason})"
