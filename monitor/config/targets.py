"""Turns endpoints, arms and channels into something to connect to, reading secrets from variables and files.

The only place that holds a secret's value between the environment and the request; it never says one in an error.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from monitor.config.errors import ArgumentError, ConfigError, Problem, nearest
from monitor.config.model import ArmConfig, ChannelConfig, Config, EndpointConfig, ProbeConfig
from monitor.config.times import parse_duration
from probes.values import Target

__all__ = ["arm_target", "channel_url", "endpoint_target", "parse_duration", "pool_of", "probe_of"]

_SECRET_LIMIT = 16 * 1024


def pool_of(endpoint: EndpointConfig) -> str:
    """The pool of an endpoint; one without a pool is its own."""
    return endpoint.pool or endpoint.name


def probe_of(config: Config, pool_or_endpoint: str) -> tuple[EndpointConfig, ProbeConfig]:
    """The endpoint that sweeps a pool, found by the pool's name or by any of its endpoints; ArgumentError if none."""
    pools = {endpoint.name: pool_of(endpoint) for endpoint in config.endpoint}
    known = sorted({*pools, *pools.values()})
    if pool_or_endpoint not in known:
        close = nearest(pool_or_endpoint, known)
        cure = f"did you mean {close}?" if close else f"known: {', '.join(known)}"
        raise _asked(pool_or_endpoint, "is neither an endpoint nor a pool of this config", cure)
    pool = pools.get(pool_or_endpoint, pool_or_endpoint)
    for endpoint in config.endpoint:
        if pool_of(endpoint) == pool and endpoint.probe is not None:
            return endpoint, endpoint.probe
    raise _asked(
        f'endpoint "{pool_or_endpoint}"' if pool_or_endpoint in pools else f'pool "{pool_or_endpoint}"',
        "has no [endpoint.probe], so it is never swept",
        "add [endpoint.probe] and two [[endpoint.arm]] to the endpoint",
    )


def endpoint_target(endpoint: EndpointConfig) -> Target:
    """Where production answers; raises ConfigError where a secret cannot be read."""
    where = f'endpoint "{endpoint.name}"'
    return _target(endpoint, endpoint.name, where, where)


def arm_target(endpoint: EndpointConfig, arm: ArmConfig) -> Target:
    """Where one arm answers: what the arm does not say is the endpoint's; raises ConfigError like `endpoint_target`.

    A key or certificate given for the arm replaces the endpoint's whole pair. The endpoint's metrics_url is taken
    only where the arm is at the endpoint's own url: elsewhere it would be another server's page.
    """
    inherited = f'endpoint "{endpoint.name}"'
    own = f'{inherited}.arm "{arm.name}"'
    return _target(
        _merged(endpoint, arm),
        f"{endpoint.name}/{arm.name}",
        own if arm.api_key_env or arm.api_key_file else inherited,
        own if arm.metrics_key_env or arm.metrics_key_file else inherited,
    )


def channel_url(channel: ChannelConfig) -> str:
    """Address of a channel, empty for stdout; raises ConfigError where it cannot be read or is no http address."""
    where = f'channel "{channel.name}"'
    if channel.kind == "stdout":
        return ""
    url = channel.url or _secret(channel.url_env, channel.url_file, where, "url")
    try:
        parts = urlsplit(url or "")
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not url or not usable:
        name = "url_env" if channel.url_env else "url_file" if channel.url_file else "url"
        raise _error(f"{where}.{name}", "does not hold an http or https address", "put the whole webhook address there")
    return url


def _merged(endpoint: EndpointConfig, arm: ArmConfig) -> EndpointConfig:
    given = {
        name: value
        for name in (
            "url",
            "metrics_url",
            "api_path",
            "model",
            "headers",
            "secret_headers",
            "ca_file",
            "insecure_skip_verify",
        )
        if (value := getattr(arm, name)) is not None
    }
    for pair in (
        ("api_key_env", "api_key_file"),
        ("metrics_key_env", "metrics_key_file"),
        ("client_cert", "client_key"),
    ):
        values = {name: getattr(arm, name) for name in pair}
        if any(value is not None for value in values.values()):
            given |= values
    elsewhere = arm.url is not None and arm.url.rstrip("/") != endpoint.url.rstrip("/")
    if elsewhere and arm.metrics_url is None:
        given["metrics_url"] = None
    return endpoint.model_copy(update=given)


def _target(server: EndpointConfig, name: str, key_from: str, metrics_key_from: str) -> Target:
    """`key_from` and `metrics_key_from` say which table of the file names the secret, for errors; all are named."""
    problems: list[Problem] = []

    def held(env: str | None, file: str | None, where: str, stem: str) -> str | None:
        try:
            return _secret(env, file, where, stem)
        except ConfigError as error:
            problems.extend(error.problems)
            return None

    headers = dict(server.headers)
    for name, place in server.secret_headers.items():
        kind, _, rest = place.partition(":")
        env, file = (rest, None) if kind == "env" else (None, rest)
        headers[name] = held(env, file, key_from, f"secret_headers.{name}") or ""
    metrics_headers = dict(headers)
    key = held(server.api_key_env, server.api_key_file, key_from, "api_key")
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    metrics_key = held(server.metrics_key_env, server.metrics_key_file, metrics_key_from, "metrics_key")
    if metrics_key is not None:
        metrics_headers["Authorization"] = f"Bearer {metrics_key}"
    if problems:
        raise ConfigError(problems)
    return Target(
        name=name,
        url=server.url.rstrip("/"),
        metrics_url=server.metrics_url,
        api_path=server.api_path,
        model=server.model,
        headers=headers,
        metrics_headers=metrics_headers,
        ca_file=server.ca_file,
        client_cert=server.client_cert,
        client_key=server.client_key,
        verify_tls=not server.insecure_skip_verify,
    )


def _secret(env: str | None, file: str | None, where: str, stem: str) -> str | None:
    """The secret named by a variable or a file, None where neither is configured."""
    if env is not None:
        key = f"{where}.{stem}" if "." in stem else f"{where}.{stem}_env"
        value = os.environ.get(env, "").strip()
        if not value:
            raise _error(key, f"variable {env} is not set or empty", f"export {env} where specwatch runs")
    elif file is not None:
        key = f"{where}.{stem}" if "." in stem else f"{where}.{stem}_file"
        value = _read_secret(Path(file), key)
    else:
        return None
    if not value.isascii() or not value.isprintable() or " " in value:
        raise _error(key, "holds more than one line or a character that a header cannot carry", "store the bare secret")
    return value


def _read_secret(path: Path, key: str) -> str:
    try:
        with path.open("rb") as file:
            value = file.read(_SECRET_LIMIT).decode("ascii").strip()
    except FileNotFoundError:
        raise _error(key, f"there is no file {path}", "create it, readable by the user that runs specwatch") from None
    except UnicodeDecodeError:
        raise _error(key, f"{path} does not hold plain text", "store the bare secret") from None
    except OSError as error:
        raise _error(
            key, f"{path} cannot be read: {error.strerror}", "let the user that runs specwatch read it"
        ) from None
    if not value:
        raise _error(key, f"{path} is empty", "store the bare secret in it")
    return value


def _error(key: str, message: str, suggestion: str) -> ConfigError:
    return ConfigError([Problem(file="", key=key, message=message, suggestion=suggestion, line=None)])


def _asked(what: str, message: str, suggestion: str) -> ArgumentError:
    return ArgumentError([Problem(file="", key=what, message=message, suggestion=suggestion, line=None)])
