"""One daemon per store and one sweep per pool, whatever becomes of the holder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from monitor.service.locks import AlreadyHeld, Gone, Lock, gone, holder_of, sweep_lock_path

HOLD = """
import sys, time
from pathlib import Path
from monitor.service.locks import Lock
Lock(Path(sys.argv[1])).acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_holder_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with Lock(path):
        with pytest.raises(AlreadyHeld) as caught:
            Lock(path).acquire()
        assert caught.value.holder is not None
        assert caught.value.holder.pid == os.getpid()
        assert holder_of(path) is not None
    assert holder_of(path) is None
    with Lock(path):
        pass


def test_a_killed_holder_leaves_the_lock_free(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        held = holder_of(path)
        assert held is not None
        assert held.pid == child.pid
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert holder_of(path) is None
    assert gone(path) == Gone(held), "who died is known, so that somebody can be told"


def test_a_holder_that_gave_its_lock_back_has_not_died(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    assert gone(path) is None, "nobody ever held it"
    with Lock(path):
        assert gone(path) is None
    assert gone(path) == Gone(None)


@pytest.mark.parametrize("before", ["", '{"pid": 12, "host": "vm"}'])
def test_a_holder_that_comes_while_somebody_looks_is_not_called_dead(
    before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.lock"
    path.write_text(before)
    close, came = os.close, list[Lock]()

    def close_and_come(fd: int) -> None:
        close(fd)
        if not came:
            came.append(Lock(path))
            came[0].acquire()

    monkeypatch.setattr(os, "close", close_and_come)
    assert gone(path) == Gone(None)
    (holder,) = came
    holder.release()


def test_a_holder_that_goes_while_somebody_looks_has_not_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.lock"
    holder, opened = Lock(path).acquire(), os.open

    def go_and_open(name: Path, flags: int) -> int:
        holder.release()
        return opened(name, flags)

    monkeypatch.setattr(os, "open", go_and_open)
    assert gone(path) == Gone(None)


def test_pools_do_not_share_a_lock(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    assert sweep_lock_path(store, "a") != sweep_lock_path(store, "b")
    assert sweep_lock_path(store, "a/../b").parent == tmp_path


def test_a_lock_whose_file_cannot_be_written_any_more_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that has gone read-only."""

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    held = Lock(tmp_path / "x.lock").acquire()
    with monkeypatch.context() as broken:
        broken.setattr(os, "ftruncate", refuse)
        held.release()
    assert holder_of(tmp_path / "x.lock") is None
