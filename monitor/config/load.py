"""Reads config.toml once and returns it whole and checked, or raises every mistake in it at the same time.

The only place that opens the config file. It resolves relative paths against that file; it never reads a secret.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from monitor.config.errors import ConfigError, Finding, Key, Problem, key_words
from monitor.config.lines import key_lines, line_of
from monitor.config.model import ArmConfig, Config, EndpointConfig
from monitor.config.rules import check_rules
from monitor.config.shape import check_shape

_TLS_FILES = ("ca_file", "client_cert", "client_key")
_SECRET_FILES = ("api_key_file", "metrics_key_file")
_AT = re.compile(r"^(?P<what>.*?) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
_Reach = TypeVar("_Reach", EndpointConfig, ArmConfig)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A sound config; every path in it is absolute."""

    config: Config
    path: Path
    store_path: Path
    notes: tuple[Problem, ...] = ()
    """Worth knowing, nothing that stops."""


def load_config(path: Path) -> Loaded:
    """Read and check the file; raises ConfigError with all problems."""
    text = _read(path)
    data = _parse(text, path)
    base = path.resolve().parent
    lines = key_lines(text)
    mended, findings, touched = check_shape(data)
    config = None
    if mended is not None:
        config = _with_absolute_paths(mended, base)
        more = [*check_rules(config, datetime.now(UTC)), *_check_files(config)]
        findings = [*findings, *(finding for finding in more if not _spoilt(finding, touched))]

    def problem(finding: Finding) -> Problem:
        return Problem(
            file=str(path),
            key=key_words(finding.key, data),
            message=finding.message,
            suggestion=finding.suggestion,
            line=line_of(finding.key, lines),
        )

    findings.sort(key=lambda finding: line_of(finding.key, lines) or 0)
    errors = [problem(finding) for finding in findings if not finding.note]
    if errors or config is None:
        raise ConfigError(errors)
    notes = tuple(problem(finding) for finding in findings if finding.note)
    return Loaded(config=config, path=path, store_path=Path(config.store.path), notes=notes)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        what, cure = "there is no such file", "name the file with --config, or start from the annotated config.toml"
    except IsADirectoryError:
        what, cure = "is a directory", f"name the file in it, e.g. {path / 'config.toml'}"
    except UnicodeDecodeError as error:
        what, cure = f"is not UTF-8 text (byte {error.start})", "save it as UTF-8"
    except OSError as error:
        what, cure = f"cannot be read: {error.strerror}", "check its permissions"
    raise ConfigError([Problem(str(path), "", what, cure, None)])


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _AT.match(str(error))
        what = match["what"] if match else str(error)
        if match and match["line"]:
            line, column = int(match["line"]), f", column {match['column']}"
        else:
            line, column = len(text.splitlines()) or 1, " (the end of the file)"
        cure = "nothing else could be checked until the file is TOML again"
        if "Invalid value" in what:
            cure = f"text needs quotes, true and false are lower case; {cure}"
        problem = Problem(str(path), "", f"is not valid TOML at line {line}{column}: {what}", cure, line)
    raise ConfigError([problem])


def _spoilt(finding: Finding, touched: set[Key]) -> bool:
    """Whether the finding rests on a key that was itself broken and mended."""
    return any(key[: len(old)] == old for key in (finding.key, *finding.also) for old in touched)


def _absolute(text: str, base: Path) -> str:
    return os.path.normpath(base / Path(text).expanduser())


def _with_absolute_paths(config: Config, base: Path) -> Config:
    endpoints = []
    for given in config.endpoint:
        endpoint = _reach_paths(given, base)
        arms = [_reach_paths(arm, base) for arm in endpoint.arm]
        probe = endpoint.probe
        if probe is not None and probe.prompts != "builtin":
            probe = probe.model_copy(update={"prompts": _absolute(probe.prompts, base)})
        endpoints.append(endpoint.model_copy(update={"arm": arms, "probe": probe}))
    channels = [
        channel.model_copy(update={"url_file": _absolute(channel.url_file, base)}) if channel.url_file else channel
        for channel in config.channel
    ]
    store = config.store.model_copy(update={"path": _absolute(config.store.path, base)})
    return config.model_copy(update={"store": store, "endpoint": endpoints, "channel": channels})


def _reach_paths(server: _Reach, base: Path) -> _Reach:
    names = [name for name in (*_TLS_FILES, *_SECRET_FILES) if getattr(server, name)]
    update: dict[str, object] = {name: _absolute(getattr(server, name), base) for name in names}
    if server.secret_headers:
        update["secret_headers"] = {
            name: f"file:{_absolute(place.removeprefix('file:'), base)}" if place.startswith("file:") else place
            for name, place in server.secret_headers.items()
        }
    return server.model_copy(update=update)


def _check_files(config: Config) -> Iterator[Finding]:
    """Files that must be there before anything starts; secrets are looked at only when they are needed."""
    store = Path(config.store.path)
    key: Key = ("store", "path")
    if not store.parent.is_dir():
        yield Finding(key, f"its directory {store.parent} does not exist", f"create it: mkdir -p {store.parent}")
    elif store.is_dir():
        yield Finding(key, f"{store} is a directory", f"name a file in it: {store / 'specwatch.db'}")
    for index, endpoint in enumerate(config.endpoint):
        here: Key = ("endpoint", index)
        yield from _check_tls_files(endpoint, here)
        for position, arm in enumerate(endpoint.arm):
            yield from _check_tls_files(arm, (*here, "arm", position))
        prompts = endpoint.probe.prompts if endpoint.probe else "builtin"
        if prompts != "builtin" and not Path(prompts).is_file():
            yield Finding(
                (*here, "probe", "prompts"),
                f"there is no file {prompts}",
                'write "builtin" or the path of a JSONL file',
            )


def _check_tls_files(server: EndpointConfig | ArmConfig, key: Key) -> Iterator[Finding]:
    for name in _TLS_FILES:
        path = getattr(server, name)
        if path and not Path(path).is_file():
            yield Finding((*key, name), f"there is no file {path}", "paths are relative to the config file")
