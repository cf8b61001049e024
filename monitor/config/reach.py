"""Checks how a server or channel is to be reached (addresses, headers, key pairs) before anything connects.

Pure. An address or header that could hold a secret is never repeated in a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from monitor.config.errors import Finding, Key
from monitor.config.model import ArmConfig, ChannelConfig, EndpointConfig

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
SECRET_PLACE = re.compile(r"(env):([A-Za-z_][A-Za-z0-9_]*)|(file):(.+)")
"""`env:VARIABLE` or `file:PATH`."""
_SECRET_HEADER = re.compile(r"auth|cookie|api-?key|token|secret|passw|credential|session", re.IGNORECASE)


def check_reach(server: EndpointConfig | ArmConfig, key: Key, default_api_path: str) -> Iterator[Finding]:
    """Findings on one endpoint's or arm's addresses, headers, keys and certificates."""
    api_path = server.api_path if server.api_path is not None else default_api_path
    if server.api_path is not None and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)*", api_path):
        yield Finding((*key, "api_path"), "must start with / and end without one", 'write api_path = "/v1"')
    if server.url is not None:
        yield from _check_base_url(server.url, api_path, (*key, "url"))
    if server.metrics_url is not None:
        yield from check_url(server.metrics_url, (*key, "metrics_url"))
    yield from _check_headers(server.headers or {}, (*key, "headers"))
    yield from _check_secret_headers(server.secret_headers or {}, (*key, "secret_headers"))
    for pair in ("api_key", "metrics_key"):
        env, file = f"{pair}_env", f"{pair}_file"
        if getattr(server, env) is not None and getattr(server, file) is not None:
            yield Finding((*key, file), f"{env} and {file} are both set", "keep one of them")
    if server.client_key is not None and server.client_cert is None:
        yield Finding((*key, "client_key"), "a client key without its certificate", "set client_cert as well")


def check_channel(channel: ChannelConfig, key: Key) -> Iterator[Finding]:
    """Findings on where a channel's messages go."""
    given = [name for name in ("url", "url_env", "url_file") if getattr(channel, name) is not None]
    if channel.kind == "stdout":
        for name in given:
            yield Finding((*key, name), "a stdout channel has no address", f"remove {name}")
        return
    if not given:
        yield Finding(
            key,
            f"a {channel.kind} channel needs an address",
            'set url_env = "NAME_OF_A_VARIABLE" or url_file = "/path/to/file" (url only where it is no secret)',
            also=tuple((*key, name) for name in ("kind", "url", "url_env", "url_file")),
        )
    if len(given) > 1:
        yield Finding((*key, given[-1]), f"{' and '.join(given)} are set at once", "keep one of them")
    if channel.url is not None:
        yield from _check_channel_url(channel, (*key, "url"))


def check_url(url: str, key: Key, *, secret: bool = False) -> Iterator[Finding]:
    """Findings on one address; with `secret`, hints never quote any part of it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        yield Finding(key, "is not an address: the host or port cannot be read", "write it as http://host:port")
        return
    if any(char.isspace() or not char.isprintable() for char in url):
        yield Finding(key, "has a space or a control character in it", "remove it")
    elif parts.scheme not in ("http", "https"):
        cure = "start it with http:// or https://"
        if not secret and re.fullmatch(r"[A-Za-z0-9.-]+:\d+(/\S*)?", url) and "@" not in url:
            cure = f'write {key[-1]} = "http://{url}"'
        yield Finding(key, "is not an http or https address", cure)
    elif not host:
        yield Finding(key, "names no host", "write it as http://host:port")
    elif port == 0:
        yield Finding(key, "names port 0", "write the server's port")
    if parts.username is not None or parts.password is not None:
        cure = "remove the user and password; keys go in a variable or a file (api_key_env, metrics_key_env)"
        yield Finding(key, "has a user or password in it, and this file is no place for secrets", cure)
    if not secret and (parts.query or parts.fragment):
        yield Finding(
            key,
            "has a ?query or #fragment, which may hold a secret and is not sent",
            "remove it; keys go in a variable or a file (api_key_env, metrics_key_env)",
        )


def _check_base_url(url: str, api_path: str, key: Key) -> Iterator[Finding]:
    found = list(check_url(url, key))
    yield from found
    if found:
        return
    path = urlsplit(url).path.rstrip("/")
    for ending in (api_path, "/v1", "/metrics"):
        if ending and path.endswith(ending):
            base = url.rstrip("/").removesuffix(ending)
            what = "the metrics page" if ending == "/metrics" else "the API path"
            aside = " (metrics_url is for pages elsewhere)" if ending == "/metrics" else " (api_path adds it)"
            yield Finding(
                key, f"ends with {what}; it must be the base address", f'drop {ending}: url = "{base}"{aside}'
            )
            return


def _check_channel_url(channel: ChannelConfig, key: Key) -> Iterator[Finding]:
    url = channel.url or ""
    if channel.kind == "slack" or "hooks.slack.com" in url.lower():
        yield Finding(
            key,
            "a Slack webhook address is a secret and does not belong in this file",
            'put it in a variable (url_env = "SLACK_WEBHOOK") or a file (url_file), and make a new one if this '
            "file was ever shared",
        )
        return
    for finding in check_url(url, key):
        yield (
            Finding(key, finding.message, "put an address with a key in it in url_env or url_file")
            if ("secret" in finding.message)
            else finding
        )


def _check_secret_headers(headers: dict[str, str], key: Key) -> Iterator[Finding]:
    """The value is never repeated: it may be the secret itself, written into the wrong place."""
    for name, place in headers.items():
        if not _TOKEN.fullmatch(name):
            yield Finding((*key, name), "is not a header name", "use letters, digits and dashes")
        elif not SECRET_PLACE.fullmatch(place):
            yield Finding(
                (*key, name),
                "must say where the secret is, not hold it",
                'write "env:VARIABLE" or "file:/path/to/file"',
            )


def _check_headers(headers: dict[str, str], key: Key) -> Iterator[Finding]:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            yield Finding((*key, name), "is not a header name", "use letters, digits and dashes")
        elif _SECRET_HEADER.search(name) or value.lower().startswith(("bearer ", "basic ")):
            yield Finding(
                (*key, name),
                "looks like a secret, and this file is no place for secrets",
                "remove it; set api_key_env or api_key_file (and metrics_key_env for the metrics page), sent as "
                'Authorization: Bearer, or name where it is: secret_headers = { Name = "env:VARIABLE" }',
            )
        elif not value.isascii() or not value.isprintable():
            yield Finding((*key, name), "has a character that a header cannot carry", "use plain ASCII on one line")
