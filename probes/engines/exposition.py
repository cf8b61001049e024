"""Turn the bytes of a metrics page into samples without parsing the same labels on every scrape; knows no engine.

Label parsing is most of the cost of reading a page, and a target's series keys repeat from scrape to scrape, so each
is parsed once and remembered (or remembered as not wanted). The memory is bounded, and dropped when labels churn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Labels = Mapping[str, str]
Samples = Mapping[str, list[tuple[Labels, float]]]
"""Metric name -> its series on the page, in page order."""

MAX_SERIES = 50_000
"""Keys remembered per target; a page with more is still read whole, the rest of it the slow way."""

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"([^"\\]*(?:\\.[^"\\]*)*)"\s*(?:,|(?=\}))')
_OPENING = re.compile(r"\s*\{")
_CLOSING = re.compile(r"\s*\}")
_REST = re.compile(r"\s*([^\s#]+)(?:\s+-?[0-9.]+(?:[eE][-+]?\d+)?)?\s*(?:#.*)?")
_ESCAPE = re.compile(r'\\([\\"n])')
_UNESCAPED = {"\\": "\\", '"': '"', "n": "\n"}


class NotTextError(ValueError):
    """The page is no UTF-8 text, so it cannot be in the text format."""


@dataclass(frozen=True, slots=True)
class Page:
    """What one page holds of the wanted names."""

    samples: Samples
    sample_lines: int
    """Well-formed sample lines, wanted or not."""
    malformed_lines: int
    cut_mid_line: bool
    """The last line is no whole line: the page was cut off there."""
    text: str = field(default="", repr=False)

    def declares(self, name: str) -> bool:
        """Whether the page gives the metric's type, which a page may do without showing a sample of it."""
        return f"# TYPE {name} " in self.text


_Entry = tuple[str, Labels]
_UNSEEN: _Entry = ("", {})


class ExpositionParser:
    """Reads one target's pages, remembering its series keys.

    `select` gives the name to file a series under, or None for a name that nobody wants; it runs once per series key.
    """

    def __init__(self, select: Callable[[str], str | None], *, max_series: int = MAX_SERIES) -> None:
        self._select = select
        self._max_series = max_series
        self._known: dict[str, _Entry | None] = {}

    @property
    def remembered(self) -> int:
        """How many series keys are remembered now."""
        return len(self._known)

    def forget(self) -> None:
        """Drop what is remembered, as after a restart of the server."""
        self._known.clear()

    def parse(self, page: bytes) -> Page:
        """The wanted samples of one page; raises NotTextError for bytes that are no text."""
        text = _decode(page)
        known = self._known
        samples: dict[str, list[tuple[Labels, float]]] = {}
        good = bad = 0
        for line in text.split("\n"):
            if not line or line[0] == "#":
                continue
            key, _, number = line.rpartition(" ")
            entry = known.get(key, _UNSEEN)
            if entry is None:
                good += 1
                continue
            if entry is _UNSEEN:
                sample = self._learn(line, key)
                if sample is None:
                    bad += not _is_blank(line)
                    continue
                name, labels, value = sample
            else:
                name, labels = entry
                try:
                    value = float(number)
                except ValueError:
                    bad += 1
                    continue
            good += 1
            if name:
                samples.setdefault(name, []).append((labels, value))
        self._drop_churn(good)
        return Page(samples, good, bad, _ends_mid_line(text), text)

    def _learn(self, line: str, key: str) -> tuple[str, Labels, float] | None:
        """Parse a line whose key is new, and remember the key; the name is empty where nobody wants it."""
        sample = parse_line(line)
        if sample is None:
            return None
        name = self._select(sample[0])
        # A line with a timestamp or an exemplar leaves a "key" that holds a value: it must take this path every time.
        if len(self._known) < self._max_series and parse_key(key) is not None:
            self._known[key] = None if name is None else (name, sample[1])
        return name or "", sample[1], sample[2]

    def _drop_churn(self, on_page: int) -> None:
        # Label sets that come and go (LoRA adapters, pids of restarted workers) would otherwise pile up for ever.
        if len(self._known) > 2 * on_page + 1024:
            self._known.clear()


def parse_line(line: str) -> tuple[str, Labels, float] | None:
    """One sample line of the text format, with or without timestamp and exemplar; None where it is malformed."""
    line = line.strip()
    parsed = _scan_key(line)
    if parsed is None:
        return None
    name, labels, end = parsed
    rest = _REST.fullmatch(line, end)
    if rest is None or "_" in rest[1] or (line[end - 1] != "}" and not line[end].isspace()):
        return None
    try:
        return name, labels, float(rest[1])
    except ValueError:
        return None


def parse_key(key: str) -> tuple[str, Labels] | None:
    """A series key (`name` or `name{labels}`) with nothing before or after it; None for anything else."""
    parsed = _scan_key(key)
    if parsed is None or parsed[2] != len(key):
        return None
    return parsed[0], parsed[1]


def _scan_key(text: str) -> tuple[str, Labels, int] | None:
    """Name, labels and where they end."""
    match = _NAME.match(text)
    if match is None:
        return None
    end = match.end()
    opening = _OPENING.match(text, end)
    if opening is None:
        return match[0], {}, end
    labels: dict[str, str] = {}
    end = opening.end()
    while (label := _LABEL.match(text, end)) is not None:
        raw = label[2]
        labels[label[1]] = _ESCAPE.sub(lambda found: _UNESCAPED[found[1]], raw) if "\\" in raw else raw
        end = label.end()
    closing = _CLOSING.match(text, end)
    return None if closing is None else (match[0], labels, closing.end())


def _is_blank(line: str) -> bool:
    stripped = line.strip()
    return not stripped or stripped.startswith("#")


def _ends_mid_line(text: str) -> bool:
    # The format ends every line with a line feed. A last line without one is forgiven where it is whole.
    last = text.rpartition("\n")[2]
    return not _is_blank(last) and parse_line(last) is None


def _decode(page: bytes) -> str:
    try:
        text = page.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotTextError(f"byte {error.start} is no UTF-8") from None
    if "\x00" in text:
        raise NotTextError("it holds NUL bytes")
    return text
