"""What every format of results is read into, and the error that tells a person what is wrong with a file.

No format is known here, and no verdict is made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from probes.values import Axis, CurvePoint


class ResultFileError(Exception):
    """A result file that cannot be used: which one, where in it, what is wrong and what to do."""

    def __init__(self, path: Path | str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = str(path)
        self.message = message


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement as a file states it."""

    path: Path
    where: str
    """`line 3`, `record 2`: for messages."""
    arm: str
    clients: float
    output_tok_s: float
    in_system: float | None = None
    """Requests in the system per engine, time mean, where the file has it."""
    repeat: int | None = None
    """As the file numbers it; None where it does not."""


@dataclass(frozen=True, slots=True)
class Imported:
    """Results measured elsewhere, ready for the estimator."""

    points: tuple[CurvePoint, ...]
    axis: Axis
    notes: tuple[str, ...]
    """For people: what was assumed or left out."""
    baseline: str


def positive(value: object, path: Path, where: str, name: str) -> float:
    """A finite number above zero, from JSON or CSV text; ResultFileError with place and name otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ResultFileError(path, f"{where}: {name} is {value!r}; it must be a number above 0.")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ResultFileError(path, f"{where}: {name} is {value!r}; it must be a finite number, like 1234.5.")
    if number <= 0:
        raise ResultFileError(path, f"{where}: {name} is {value}; it must be above 0. Leave failed runs out.")
    return number
