"""Says in words what is wrong with the store file; it must not open or change anything."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

BUSY_S = 5.0
"""How long a statement waits for another process's write before it gives up."""


class StoreError(Exception):
    """The store cannot be used; the text names the file, the cause and the cure."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"store {path}: {problem}")
        self.path = path
        self.problem = problem


def explain(path: Path, error: sqlite3.Error, *, readonly: bool = False) -> StoreError:
    """Turn SQLite's error into one for people."""
    text = str(error)
    lower = text.lower()
    if "locked" in lower or "busy" in lower:
        return StoreError(path, f"another process kept it locked for more than {BUSY_S:g} s; look for a stuck writer")
    if "not a database" in lower or "file is encrypted" in lower:
        return StoreError(path, "this file is not a SQLite database; point [store] path somewhere else")
    if "malformed" in lower or "corrupt" in lower:
        return StoreError(path, "the file is damaged; move it away (a new one is made at the next start)")
    if "full" in lower:
        return StoreError(path, "the disk is full; free some space, nothing is written until then")
    if "readonly" in lower or "read-only" in lower:
        return StoreError(
            path, "the file or its folder cannot be written by this user; change its owner or [store] path"
        )
    if "unable to open" in lower:
        return StoreError(path, _unopenable(path, readonly=readonly))
    return StoreError(path, f"SQLite says: {text}")


def _unopenable(path: Path, *, readonly: bool) -> str:
    if readonly and path.exists() and os.access(path, os.R_OK):
        return (
            "SQLite needs to write its -wal and -shm files in the same folder, even for a reader; "
            "give this user write access to the folder, or view a copy of the file"
        )
    if path.exists() and not os.access(path, os.R_OK):
        return "this user may not read the file; change its owner or [store] path"
    return f"the file cannot be made in {path.parent}; make that folder writable for this user or change [store] path"
