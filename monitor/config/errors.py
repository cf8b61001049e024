"""How a mistake in the config is said to a person: file, line, key in TOML words, what is wrong, what to write instead.

Holds the values and the layout only; it never reads a file and never repeats a value that could be a secret.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Key = tuple[str | int, ...]
"""Where a value sits in the parsed file: table names, list positions, the key."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong (or, as a note, worth knowing) at a key; not yet tied to a file and a line."""

    key: Key
    message: str
    suggestion: str = ""
    also: tuple[Key, ...] = ()
    """Other keys the finding depends on: it is dropped where one of them is itself broken."""
    note: bool = False
    """True: the config still loads."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding, ready to print."""

    file: str
    key: str
    """In TOML words, e.g. `endpoint[0] "chat".probe.cell_s`; empty where the whole file is meant."""
    message: str
    suggestion: str
    line: int | None


class ConfigError(Exception):
    """Everything that is wrong with a config, at once. Never carries a secret's value."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{problem.key or problem.file}: {problem.message}" for problem in self.problems))


class ArgumentError(ConfigError):
    """The config is sound, but what somebody asked for is not in it; its keys are what they typed."""


def explain(error: ConfigError) -> str:
    """All problems as text for a terminal, without a trailing newline."""
    if isinstance(error, ArgumentError):
        return "\n".join(f"{p.key} {p.message}: {p.suggestion}" for p in error.problems)
    count = len(error.problems)
    head = f"{count} problem{'' if count == 1 else 's'} in the config:"
    return "\n".join([head, *(describe(problem) for problem in error.problems)])


def describe(problem: Problem) -> str:
    """One problem as an indented paragraph: place and key, what is wrong, the cure."""
    place = problem.file if problem.line is None else f"{problem.file}:{problem.line}"
    first = "  ".join(part for part in (place, problem.key) if part)
    lines = [f"\n  {first}", f"      {problem.message}"]
    if problem.suggestion:
        lines.append(f"      -> {problem.suggestion}")
    return "\n".join(lines)


def key_words(key: Key, data: Mapping[str, Any]) -> str:
    """`("endpoint", 0, "probe", "cell_s")` as `endpoint[0] "chat".probe.cell_s`, with the entry's name."""
    words = ""
    here: Any = data
    for part in key:
        if isinstance(part, int):
            here = here[part] if isinstance(here, list) and part < len(here) else None
            name = here.get("name") if isinstance(here, dict) else None
            words += f"[{part}]" + (f' "{name}"' if isinstance(name, str) else "")
        else:
            here = here.get(part) if isinstance(here, dict) else None
            words += f".{part}" if words else part
    return words


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that a typing slip most likely meant, None where nothing is close."""
    close = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return close[0] if close else None
