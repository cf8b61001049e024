"""How `check` lays out what it found: aligned rows in sections, remarks marked and counted; pure, prints nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from monitor.commands.check_servers import Look

_LABEL = 13


@dataclass(frozen=True, slots=True)
class Remark:
    """One sentence for people: a problem makes `check` exit 2, a note does not."""

    text: str
    is_problem: bool

    @classmethod
    def problem(cls, text: str) -> Remark:
        """Something that must be mended."""
        return cls(text, True)

    @classmethod
    def note(cls, text: str) -> Remark:
        """Something worth knowing."""
        return cls(text, False)


@dataclass(frozen=True, slots=True)
class Section:
    """One block of the report."""

    title: str
    rows: Sequence[tuple[str, str]]
    remarks: Sequence[Remark] = ()


def render(sections: Iterable[Section]) -> str:
    """The whole report with its closing count, without a trailing newline."""
    blocks, problems, notes = [], 0, 0
    for section in sections:
        lines = [section.title]
        lines += [f"  {label:<{_LABEL}}{text}" for label, text in section.rows]
        lines += [f"  {'PROBLEM' if r.is_problem else 'note':<{_LABEL}}{r.text}" for r in section.remarks]
        blocks.append("\n".join(lines))
        problems += sum(remark.is_problem for remark in section.remarks)
        notes += sum(not remark.is_problem for remark in section.remarks)
    blocks.append(f"{count(problems, 'problem')}, {count(notes, 'note')}.")
    return "\n\n".join(blocks)


def look_section(title: str, look: Look) -> Section:
    """What one server said, one fact a row; unknown is a word."""
    reading, identity = look.reading, look.identity
    if not look.ok or reading is None:
        return Section(title, [("state", look.state.words)], [Remark.problem(look.reason or "no reason was given")])
    remarks = []
    if look.target.model is not None and identity.models and look.target.model not in identity.models:
        remarks.append(
            Remark.problem(f'model "{look.target.model}" is not served here; served: {", ".join(identity.models)}')
        )
    elif look.target.model is None and len(identity.models) > 1:
        remarks.append(Remark.problem(f"several models are served, set model to one of: {', '.join(identity.models)}"))
    if identity.version is None and not identity.models:
        remarks.append(
            Remark.note("the API did not say its version and models: a key may be missing, or api_path may be wrong")
        )
    took = f"page read in {reading.scrape_s * 1000:.0f} ms" if reading.scrape_s is not None else "page read"
    size = f", {reading.page_bytes / 1000:.0f} kB" if reading.page_bytes is not None else ""
    kind = reading.engine_kind.value if reading.engine_kind else "engine of unknown kind"
    rows = [
        ("state", f"ok, {took}{size}"),
        ("engine", f"{kind} {identity.version or '(version not shown)'}, {count(len(reading.engines), 'engine')}"),
        ("model", _model(look)),
        ("speculation", _speculation(look)),
        ("now", _now(look)),
    ]
    return Section(title, rows, remarks)


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `1 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def host_of(url: str) -> str:
    """Scheme, host and port of an address; the rest may be a secret."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}"


def count(number: int, noun: str) -> str:
    """`1 arm`, `2 arms`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _model(look: Look) -> str:
    identity = look.identity
    name = look.target.model or identity.model or "not shown"
    root = f" (root {identity.model_root})" if identity.model_root and identity.model_root != name else ""
    length = f", at most {identity.max_model_len} tokens" if identity.max_model_len else ""
    return f"{name}{root}{length}"


def _speculation(look: Look) -> str:
    reading = look.reading
    configured = reading.speculation_configured if reading else None
    if configured is None:
        return "not shown"
    if not configured:
        return "off"
    k = (reading.k if reading else None) or look.identity.k
    algorithm = f", {look.identity.speculative_algorithm}" if look.identity.speculative_algorithm else ""
    return (f"on, K {k}" if k else "on, K not shown") + algorithm


def _now(look: Look) -> str:
    engines = look.reading.engines if look.reading else ()
    running = [engine.running for engine in engines if engine.running is not None]
    waiting = [engine.waiting for engine in engines if engine.waiting is not None]
    usage = [engine.kv_usage for engine in engines if engine.kv_usage is not None]
    return ", ".join(
        (
            f"{sum(running):g} running" if running else "running not shown",
            f"{sum(waiting):g} waiting" if waiting else "waiting not shown",
            f"KV cache {max(usage):.0%}" if usage else "KV cache not shown",
        )
    )
