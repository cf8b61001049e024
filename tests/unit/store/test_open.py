"""Opening a store: what works, and what a person reads where it cannot."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from monitor.store.db import Store, StoreError, open_store
from monitor.store.identities import load_identity, save_identity
from monitor.store.readings import append_readings, latest_reading, load_readings
from probes.values import Identity
from tests.support.records import a_reading


def test_a_new_file_is_made_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with open_store(path) as store:
        save_identity(store, "chat", 5.0, Identity(version="0.26.0"), "abc")
    with open_store(path) as store:
        assert load_identity(store, "chat") == (Identity(version="0.26.0"), "abc", 5.0)


def test_the_file_is_in_write_ahead_mode_with_synchronous_normal(store: Store) -> None:
    assert store.scalar("PRAGMA journal_mode") == "wal"
    assert store.scalar("PRAGMA synchronous") == 1
    assert store.scalar("PRAGMA busy_timeout") == 5000


@pytest.mark.parametrize("readonly", [False, True])
def test_a_missing_folder_is_named(tmp_path: Path, readonly: bool) -> None:
    with pytest.raises(StoreError, match=r"folder .*/nowhere does not exist"):
        open_store(tmp_path / "nowhere" / "x.db", readonly=readonly)


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="this is a folder"):
        open_store(tmp_path)


def test_a_viewer_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store here yet; `specwatch serve` makes it"):
        open_store(tmp_path / "x.db", readonly=True)
    assert not (tmp_path / "x.db").exists()


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that nobody can write to")
def test_a_folder_that_takes_no_files_is_named() -> None:
    with pytest.raises(StoreError, match="cannot be made in /proc; make that folder writable"):
        open_store(Path("/proc/specwatch.db"))


@pytest.mark.parametrize("readonly", [False, True])
def test_a_text_file_is_refused_and_left_alone(tmp_path: Path, readonly: bool) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, just some notes\n" * 50)
    with pytest.raises(StoreError, match="not a SQLite database"):
        open_store(path, readonly=readonly)
    assert path.read_text().startswith("not a database")


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE invoices (id)")
        other.commit()
    with pytest.raises(StoreError, match="belongs to another program"):
        open_store(path)
    with closing(sqlite3.connect(path)) as other:
        assert [row[0] for row in other.execute("SELECT name FROM sqlite_master")] == ["invoices"]


@pytest.mark.parametrize("readonly", [False, True])
def test_a_newer_schema_is_refused_by_name(tmp_path: Path, readonly: bool) -> None:
    path = tmp_path / "specwatch.db"
    with open_store(path) as store, store.write() as db:
        db.table("_sqlite_migrations").insert(
            {"migration_set": "specwatch", "name": "m099_future", "applied_at": "2031-01-01"}
        )
    with pytest.raises(StoreError, match=r"newer specwatch wrote it .*m099_future.*upgrade"):
        open_store(path, readonly=readonly)


def test_an_older_schema_is_not_changed_by_a_viewer(tmp_path: Path) -> None:
    path = tmp_path / "specwatch.db"
    with open_store(path) as store, store.write() as db:
        db.execute("DELETE FROM _sqlite_migrations")
    with pytest.raises(StoreError, match="older specwatch wrote it; start `specwatch serve` once"):
        open_store(path, readonly=True)


def test_a_stuck_writer_is_told_from_other_faults(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitor.store.db.BUSY_S", 0.05)
    with open_store(store.path) as other, store.write():
        with pytest.raises(StoreError, match="another process kept it locked"):
            append_readings(other, [a_reading()], {})
        assert load_readings(other, "chat", 0) == []


def test_two_writers_take_turns(store: Store) -> None:
    with open_store(store.path) as other:
        for at_s in range(0, 20, 2):
            append_readings(store, [a_reading(at_s=float(at_s))], {})
            append_readings(other, [a_reading(at_s=at_s + 1.0)], {})
    assert len(load_readings(store, "chat", 0)) == 20


def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = tmp_path / "specwatch.db"
    with open_store(path) as store:
        append_readings(store, [a_reading(at_s=float(n)) for n in range(500)], {})
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"), open_store(path) as store:
        load_readings(store, "chat", 0)


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    with pytest.raises(KeyError), store.write():  # noqa: PT012
        append_readings(store, [a_reading()], {})
        raise KeyError
    assert latest_reading(store, "chat") is None
    append_readings(store, [a_reading()], {})
    assert latest_reading(store, "chat") is not None


def test_a_viewer_reads_beside_a_writer_and_does_not_pin_the_log(store: Store) -> None:
    with open_store(store.path, readonly=True) as viewer:
        append_readings(store, [a_reading(at_s=1.0)], {})
        assert [r.reading.at_s for r in load_readings(viewer, "chat", 0)] == [1.0]
        with store.write():
            append_readings(store, [a_reading(at_s=2.0)], {})
            assert [r.reading.at_s for r in load_readings(viewer, "chat", 0)] == [1.0]
        assert [r.reading.at_s for r in load_readings(viewer, "chat", 0)] == [1.0, 2.0]
        assert store.row("PRAGMA wal_checkpoint(TRUNCATE)")["busy"] == 0  # type: ignore[index]
        assert Path(f"{store.path}-wal").stat().st_size == 0


def test_a_viewer_works_after_the_writer_has_gone_and_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "specwatch.db"
    with open_store(path) as store:
        append_readings(store, [a_reading()], {})
    with open_store(path, readonly=True) as viewer:
        assert latest_reading(viewer, "chat") is not None
        with pytest.raises(StoreError, match="reading only"):
            append_readings(viewer, [a_reading(at_s=2000.0)], {})


def test_processes_that_start_at_once_all_get_a_whole_store(tmp_path: Path) -> None:
    path = tmp_path / "specwatch.db"
    code = (
        "import sys; from pathlib import Path; from monitor.store.db import open_store; sys.stdin.read();"
        "s = open_store(Path(sys.argv[1])); print(s.scalar('SELECT count(*) FROM scrapes'))"
    )
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.close()
        starter.stdin = None
    assert [starter.communicate()[0] for starter in starters] == ["0\n"] * 4


def test_threads_of_one_process_share_a_store_without_mixing_transactions(store: Store) -> None:
    def append(thread: int) -> None:
        for n in range(20):
            append_readings(store, [a_reading(f"e{thread}", float(n)), a_reading(f"f{thread}", float(n))], {})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(4)))
    for thread in range(4):
        assert [len(load_readings(store, f"{kind}{thread}", 0)) for kind in "ef"] == [20, 20]
