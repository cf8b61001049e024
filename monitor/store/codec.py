"""Frozen dataclasses to JSON text and back, exactly, by their type hints; it must not know any particular value.

A field that the text does not have takes its default, and one that the class does not have is dropped, so that a value
may gain a field without a migration.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_text(value: object) -> str:
    """One line of JSON; floats keep every digit."""
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def from_text(kind: type[T], text: str) -> T:
    """The value that `to_text` wrote. Raises ValueError where the text is not one of `kind`."""
    try:
        return cast(T, _value(kind, json.loads(text)))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"stored {kind.__name__} cannot be read: {error}") from error


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


@lru_cache(maxsize=64)
def _hints(kind: type) -> dict[str, tuple[Any, bool]]:
    """Field name -> (type, whether the text must have it)."""
    hints = get_type_hints(kind)
    return {f.name: (hints[f.name], f.default is MISSING and f.default_factory is MISSING) for f in fields(kind)}


def _value(hint: Any, plain: Any) -> Any:
    if plain is None:
        return None
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _value(next(part for part in get_args(hint) if part is not type(None)), plain)
    if origin is tuple:
        item = get_args(hint)[0]
        return tuple(_value(item, part) for part in plain)
    if origin is not None and issubclass(origin, Mapping):
        item = get_args(hint)[1]
        return {key: _value(item, part) for key, part in plain.items()}
    if isinstance(hint, type) and is_dataclass(hint):
        return hint(
            **{
                name: _value(part, plain[name])
                for name, (part, required) in _hints(hint).items()
                if required or name in plain
            }
        )
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(plain)
    return plain
