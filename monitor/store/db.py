"""Opens the one SQLite file and runs its short transactions; it must not know what any table means.

One connection may be used from several threads of a process: a lock keeps their transactions apart. Every read is
fetched whole, so that no open cursor pins the write-ahead log.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from sqlite_utils import Database

from monitor.store.errors import BUSY_S, StoreError, explain
from monitor.store.migrations import APPLICATION_ID, STEPS, migrations

__all__ = ["Store", "StoreError", "open_store"]

WAL_KEEP_BYTES = 64_000_000
"""A log that one long reader let grow is cut back to this at the next checkpoint."""


class Store:
    """An open store. Use `write()` for every change and `rows()` for every read."""

    def __init__(self, db: Database, path: Path, *, readonly: bool) -> None:
        self.db = db
        self.path = path
        self.readonly = readonly
        self._lock = threading.RLock()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the file; closing twice is harmless."""
        with self._lock:
            self.db.close()

    @contextmanager
    def write(self) -> Iterator[Database]:
        """One transaction: all of it or nothing. Nested calls join the outer one. Raises StoreError.

        It takes the write lock at once, because a transaction that begins by reading and then writes cannot wait for
        another writer: SQLite refuses it on the spot.
        """
        if self.readonly:
            raise StoreError(self.path, "it was opened for reading only")
        with self._lock:
            conn = self.db.conn
            if conn.in_transaction:
                yield self.db
                return
            try:
                conn.execute("BEGIN IMMEDIATE")
                try:
                    yield self.db
                    conn.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        conn.rollback()
                    raise
            except sqlite3.Error as error:
                raise explain(self.path, error) from error

    def rows(self, sql: str, values: Sequence[object] | dict[str, object] = ()) -> list[sqlite3.Row]:
        """All rows of one query, by column name. Raises StoreError."""
        with self._lock:
            try:
                cursor = self.db.conn.cursor()
                cursor.row_factory = sqlite3.Row
                found: list[sqlite3.Row] = cursor.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                raise explain(self.path, error, readonly=self.readonly) from error
            return found

    def row(self, sql: str, values: Sequence[object] | dict[str, object] = ()) -> sqlite3.Row | None:
        """The first row of one query, None where there is none. Raises StoreError."""
        found = self.rows(sql, values)
        return found[0] if found else None

    def scalar(self, sql: str, values: Sequence[object] | dict[str, object] = ()) -> Any:
        """The first column of the first row, None where there is none. Raises StoreError."""
        found = self.row(sql, values)
        return found[0] if found is not None else None


def open_store(path: Path, *, readonly: bool = False) -> Store:
    """Open the store at `path`, made and migrated as needed; `readonly` neither makes nor migrates.

    Raises StoreError: folder missing, not writable, not a database, another program's database, a newer version's
    schema, locked for too long, a file system without shared memory.
    """
    path = path.absolute()
    if not path.parent.is_dir():
        raise StoreError(path, f"the folder {path.parent} does not exist; make it or change [store] path")
    if path.is_dir():
        raise StoreError(path, "this is a folder; [store] path must name a file")
    if readonly and not path.exists():
        raise StoreError(path, "there is no store here yet; `specwatch serve` makes it")
    mode = "ro" if readonly else "rwc"
    try:
        conn = sqlite3.connect(
            f"file:{quote(str(path))}?mode={mode}", uri=True, timeout=BUSY_S, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise explain(path, error, readonly=readonly) from error
    try:
        db = Database(conn, recursive_triggers=False, execute_plugins=False)
        _refuse_foreign(db, path)
        if readonly:
            conn.execute("PRAGMA query_only = ON")
            if migrations.pending(db):
                raise StoreError(
                    path, "an older specwatch wrote it; start `specwatch serve` once to bring it up to date"
                )
            return Store(db, path, readonly=True)
        _enter_wal(db, path)
        conn.execute("PRAGMA synchronous = NORMAL")
        conn.execute(f"PRAGMA journal_size_limit = {WAL_KEEP_BYTES}")
        store = Store(db, path, readonly=False)
        if migrations.pending(db):
            with store.write():
                _refuse_foreign(db, path)
                conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                migrations.apply(db)
        return store
    except sqlite3.Error as error:
        conn.close()
        raise explain(path, error, readonly=readonly) from error
    except BaseException:
        conn.close()
        raise


def _refuse_foreign(db: Database, path: Path) -> None:
    """Raise StoreError for a database that is not ours, or that a newer version has changed."""
    mine: int = db.conn.execute("PRAGMA application_id").fetchone()[0]
    tables: int = db.conn.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and mine != APPLICATION_ID:
        raise StoreError(path, "this database belongs to another program; point [store] path somewhere else")
    newer = [applied.name for applied in migrations.applied(db) if applied.name not in STEPS]
    if newer:
        raise StoreError(
            path,
            f"a newer specwatch wrote it (its schema has {newer[-1]}, which this version does not know); "
            "upgrade this one, or use another file",
        )


def _enter_wal(db: Database, path: Path) -> None:
    """Switch to write-ahead logging; a no-op on every open but the first.

    SQLite does not wait for other openers here, whatever the busy timeout, so two first starts need this loop.
    """
    until = time.monotonic() + BUSY_S
    while True:
        try:
            with db.ensure_autocommit_on():
                mode: str = db.conn.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if "locked" not in str(error).lower() or time.monotonic() > until:
                raise
            time.sleep(0.02)
            continue
        if mode != "wal":
            raise StoreError(path, "this file system has no shared memory for SQLite; put the store on a local disk")
        return
