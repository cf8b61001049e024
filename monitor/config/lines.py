"""Finds the line of each key in a TOML text that already parsed, because `tomllib` keeps no positions.

A line scanner, not a parser: it never judges the text, and a key it cannot place simply has no line.
"""

from __future__ import annotations

import re

from monitor.config.errors import Key

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_ARRAY_HEADER = re.compile(rf"^\s*\[\[\s*({_DOTTED})\s*\]\]")
_HEADER = re.compile(rf"^\s*\[\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"^\s*({_DOTTED})\s*=(.*)$")
_STRINGS = re.compile(r""""(?:\\.|[^"\\])*"|'[^']*'""")


def key_lines(text: str) -> dict[Key, int]:
    """Line number, from 1, of every table header and key of `text`."""
    found: dict[Key, int] = {}
    counts: dict[Key, int] = {}
    table: Key = ()
    depth = 0
    closing: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if closing is not None:
            if closing in line:
                closing = None
            continue
        if depth > 0:
            depth += _depth(line)
            continue
        if match := _ARRAY_HEADER.match(line):
            name = _resolve((), _parts(match[1]), counts)
            counts[name] = counts.get(name, -1) + 1
            found.setdefault(name, number)
            table = (*name, counts[name])
            found[table] = number
        elif match := _HEADER.match(line):
            table = _resolve((), _parts(match[1]), counts)
            found.setdefault(table, number)
        elif match := _KEY.match(line):
            key = _resolve(table, _parts(match[1]), counts)
            for length in range(len(table) + 1, len(key) + 1):
                found.setdefault(key[:length], number)
            closing = _opened_string(match[2])
            depth = 0 if closing else max(0, _depth(match[2]))
    return found


def line_of(key: Key, lines: dict[Key, int]) -> int | None:
    """Line of `key`, else of the nearest table around it that has one."""
    for length in range(len(key), 0, -1):
        if key[:length] in lines:
            return lines[key[:length]]
    return None


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_PART, dotted)]


def _resolve(start: Key, parts: list[str], counts: dict[Key, int]) -> Key:
    """Add the current list position after every part but the last that names an array of tables."""
    key = start
    for index, part in enumerate(parts):
        key = (*key, part)
        if key in counts and index < len(parts) - 1:
            key = (*key, counts[key])
    return key


def _depth(line: str) -> int:
    bare = _STRINGS.sub("", line).split("#", 1)[0]
    return bare.count("[") + bare.count("{") - bare.count("]") - bare.count("}")


def _opened_string(value: str) -> str | None:
    for quote in ('"""', "'''"):
        if value.lstrip().startswith(quote) and quote not in value.lstrip()[3:]:
            return quote
    return None
