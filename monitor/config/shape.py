"""Says in words what pydantic found wrong with the shape of the file, and mends a copy so that the rules can still run.

Pure. Values are never repeated, because a mistyped key may hold a secret; the only exception is a number in quotes.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from monitor.config.errors import Finding, Key, nearest
from monitor.config.model import (
    AlertsConfig,
    ArmConfig,
    ChannelConfig,
    Config,
    EndpointConfig,
    ProbeConfig,
    ScrapeConfig,
    Section,
    ServeConfig,
    StoreConfig,
)

TABLES: dict[Key, tuple[str, type[Section]]] = {
    (): ("the top of the file", Config),
    ("store",): ("[store]", StoreConfig),
    ("scrape",): ("[scrape]", ScrapeConfig),
    ("serve",): ("[serve]", ServeConfig),
    ("endpoint",): ("[[endpoint]]", EndpointConfig),
    ("endpoint", "probe"): ("[endpoint.probe]", ProbeConfig),
    ("endpoint", "arm"): ("[[endpoint.arm]]", ArmConfig),
    ("alerts",): ("[alerts]", AlertsConfig),
    ("channel",): ("[[channel]]", ChannelConfig),
}
"""Every table of the file: its header as it is written and the model behind it."""

_LISTS = {("endpoint",), ("endpoint", "arm"), ("channel",)}
_PLACEHOLDERS = {"url": "http://127.0.0.1:1", "kind": "webhook"}
_ROUNDS = 6
_EITHER = {
    "ladder": ('must be "auto" or a list of whole numbers from 1 to 4096', "e.g. [1, 2, 4, 8, 16, 32, 64]"),
    "prefix_hit_ratio": ('must be "live" or a number from 0 to 1', "0.4 is 40% of the prompt tokens; 0 is no reuse"),
    "workers": ('must be "auto" or a whole number from 1 to 64', "leave it out: auto counts the cores"),
}
"""Keys of two kinds, for which pydantic would explain both."""
_PROXY = {"proxy", "proxies", "proxy_url", "http_proxy", "https_proxy", "all_proxy", "no_proxy"}
_NAME_RULE = "letters, digits, dot, dash and underscore, starting with a letter or digit, at most 64"


def check_shape(data: dict[str, Any]) -> tuple[Config | None, list[Finding], set[Key]]:
    """Config of a mended copy (None: beyond mending), findings on the original, keys the rules must not judge."""
    mended = copy.deepcopy(data)
    findings: list[Finding] = []
    touched: set[Key] = set()
    for _ in range(_ROUNDS):
        try:
            return Config.model_validate(mended), findings, touched
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=True)
        fresh: dict[Key, Finding] = {}
        for detail in details:
            finding = _finding(detail)
            fresh.setdefault(finding.key, finding)
        misspelt = {key for finding in fresh.values() for key in finding.also}
        known = touched | misspelt
        findings += [found for key, found in fresh.items() if not any(key[: len(old)] == old for old in known)]
        touched |= misspelt | set(fresh)
        for key in fresh:
            _mend(mended, key)
    return None, findings, touched


def _finding(detail: ErrorDetails) -> Finding:
    key = _real_key(detail["loc"])
    kind, context = detail["type"], detail.get("ctx", {})
    field = str(key[-1])
    table = tuple(part for part in key if isinstance(part, str))
    if kind == "extra_forbidden":
        return _unknown_key(key)
    if kind == "missing":
        return Finding(key, "is missing", _example(field, table[:-1]))
    if table in TABLES:
        return _wrong_table_form(key, table, detail["input"])
    if field in _EITHER:
        return Finding(key, *_EITHER[field])
    if kind == "string_pattern_mismatch":
        return Finding(key, f"must be made of {_NAME_RULE}", 'e.g. "chat-70b"')
    if kind == "literal_error":
        cure = _kind_cure(detail["input"]) if field == "kind" else _default_words(table)
        return Finding(key, f"must be one of {context['expected']}", cure)
    if kind.startswith(("greater_than", "less_than")):
        return Finding(key, f"is {detail['input']}, but must be {_bounds(table)}", _default_words(table))
    if kind == "finite_number":
        return Finding(key, "must be a finite number", _default_words(table))
    return _wrong_type(key, table, kind, detail["input"])


def _real_key(loc: tuple[int | str, ...]) -> Key:
    """Cut what pydantic adds for the branches of a union, and the position in a list of numbers."""
    return next((loc[: loc.index(field) + 1] for field in _EITHER if field in loc), loc)


def _unknown_key(key: Key) -> Finding:
    field = str(key[-1])
    table = tuple(part for part in key[:-1] if isinstance(part, str))
    header, model = TABLES[table]
    if field.lower() in _PROXY:
        return Finding(
            key,
            "is no key: a proxy between specwatch and a server would be measured with it, so none is ever used",
            "name the worker's own address in url; variables like HTTPS_PROXY are ignored as well",
        )
    homes = {path: words for path, (words, other) in TABLES.items() if field in other.model_fields}
    if homes:
        places = " or ".join(words for words in homes.values())
        also = tuple(key[:-1] + path[len(table) :] + (field,) for path in homes if path[: len(table)] == table)
        return Finding(key, f"is not a key of {header}", f"{field} belongs under {places}", also=also)
    close = nearest(field, model.model_fields)
    if close:
        return Finding(key, f"is not a key of {header}", f"did you mean {close}?", also=((*key[:-1], close),))
    elsewhere = {name: words for words, other in TABLES.values() for name in other.model_fields}
    distant = nearest(field, elsewhere)
    if distant:
        return Finding(key, f"is not a key of {header}", f"did you mean {distant} under {elsewhere[distant]}?")
    return Finding(key, f"is not a key of {header}", f"known there: {', '.join(model.model_fields)}")


def _wrong_table_form(key: Key, table: tuple[str, ...], value: object) -> Finding:
    header = TABLES[table][0]
    if isinstance(key[-1], int) or not isinstance(value, dict | list):
        return Finding(key, "must be a table", f"write it as {header} with its keys below")
    if table in _LISTS:
        return Finding(key, "may occur several times, so it takes double brackets", f"write {header}")
    return Finding(key, "occurs once, so it takes single brackets", f"write {header}")


def _wrong_type(key: Key, table: tuple[str, ...], kind: str, value: object) -> Finding:
    field = str(key[-1])
    wanted = {
        "float_type": "a number",
        "int_type": "a whole number",
        "int_from_float": "a whole number",
        "bool_type": "true or false",
        "string_type": "text in quotes",
        "list_type": "a list",
        "dict_type": "a table of names and values",
    }.get(kind, "of another type")
    given = {
        bool: "true or false",
        int: "a number",
        float: "a number with a decimal point",
        str: "text in quotes",
        list: "a list",
        dict: "a table",
    }
    message = f"must be {wanted}, but is {given.get(type(value), 'something else')}"
    cure = _default_words(table)
    if isinstance(value, str) and kind in ("float_type", "int_type") and _is_number(value):
        cure = f"write {field} = {value.strip()} without the quotes"
    elif isinstance(value, str) and kind == "bool_type" and value.lower() in ("true", "false"):
        cure = f"write {field} = {value.lower()} without the quotes"
    elif kind == "string_type" and isinstance(value, int | float):
        cure = f"put the value of {field} in quotes"
    elif kind == "float_type" and isinstance(value, str):
        cure = f"{field} counts {_unit(field)}; write a plain number"
    return Finding(key, message, cure)


def _bounds(table: tuple[str, ...]) -> str:
    """The allowed range of a numeric key, from the model's own bounds."""
    info = TABLES[table[:-1]][1].model_fields[table[-1]]
    words = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
    found = [
        f"{word} {getattr(bound, name):g}"
        for bound in _metadata(info.metadata, info.annotation)
        for name, word in words.items()
        if getattr(bound, name, None) is not None
    ]
    unit = _unit(table[-1])
    return " and ".join(found) + (f" ({unit})" if unit else "")


def _metadata(direct: list[Any], annotation: Any) -> Iterator[Any]:
    """Bounds on the field itself and inside `Annotated[...] | None`; an `Interval`-like FieldInfo is opened."""
    nested = [item for option in getattr(annotation, "__args__", ()) for item in getattr(option, "__metadata__", ())]
    for item in [*direct, *nested]:
        yield from getattr(item, "metadata", [item])


def _unit(field: str) -> str:
    endings = {"_s": "seconds", "_pct": "percent", "_mb": "megabytes", "_minutes": "minutes", "_hours": "hours"}
    return next((unit for ending, unit in endings.items() if field.endswith(ending)), "")


def _default_words(table: tuple[str, ...]) -> str:
    """What leaving the key out would mean; `headers.x` speaks of its parent."""
    where, field = (table[:-1], table[-1]) if table[:-1] in TABLES else (table[:-2], table[-2])
    info = TABLES[where][1].model_fields[field]
    if info.is_required() or info.default_factory is not None:
        return f"mend it; {field} is explained in the annotated config.toml"
    if info.default is None:
        return f"or leave {field} out"
    default = str(info.default).lower() if isinstance(info.default, bool) else info.default
    return f"the default is {field} = {default!r}".replace("'", '"' if isinstance(info.default, str) else "")


def _kind_cure(value: object) -> str:
    if value in ("alertmanager", "pagerduty", "command"):
        return f'"{value}" is not supported yet; kind = "webhook" posts JSON to an address of yours'
    close = nearest(value, ("slack", "webhook", "stdout")) if isinstance(value, str) else None
    return f'write kind = "{close or "webhook"}"'


def _example(field: str, table: tuple[str, ...]) -> str:
    examples = {
        "name": f'give the {table[-1] if table else "entry"} a name, e.g. name = "chat"',
        "url": 'add the server\'s base address, e.g. url = "http://127.0.0.1:8000"',
        "kind": 'add kind = "slack", "webhook" or "stdout"',
    }
    return examples.get(field, f"add {field}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _mend(data: dict[str, Any], key: Key) -> None:
    """Take the broken value out of `data`, or put a stand-in where the key is required."""
    here: Any = data
    for part in key[:-1]:
        if isinstance(here, dict):
            here = here.get(part)
        else:
            here = here[part] if isinstance(here, list) and isinstance(part, int) and part < len(here) else None
    last = key[-1]
    if isinstance(here, list) and isinstance(last, int):
        here[last] = {"name": f"unnamed-{last}", **_PLACEHOLDERS} if last < len(here) else None
    elif isinstance(here, dict) and last in here:
        del here[last]
    elif isinstance(here, dict):
        here[last] = _PLACEHOLDERS.get(str(last), f"unnamed-{id(here)}")
