"""`specwatch watch --serve`: whose daemon it is that ends with the viewer, and why one did not start."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from monitor.commands import watch as command
from monitor.config.load import Loaded
from monitor.service.feed import StoreFeed
from monitor.service.locks import Lock, daemon_lock_path
from tests.support.configs import sound

CONFIG = '[store]\npath = "specwatch.db"\n[[endpoint]]\nname = "chat"\nurl = "http://127.0.0.1:1"\n'


def goodbye_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, already: bool) -> str | None:
    """What the dashboard was given to say at its end, with a daemon there already or started for it."""
    loaded = sound(tmp_path, CONFIG)
    lock = Lock(daemon_lock_path(loaded.store_path))
    told: list[str | None] = []

    def start(_loaded: Loaded) -> subprocess.Popen[bytes]:
        lock.acquire()
        return subprocess.Popen([sys.executable, "-c", "pass"])

    async def show(_feed: StoreFeed, _readonly: bool, goodbye: str | None = None) -> None:
        told.append(goodbye)

    monkeypatch.setattr(command, "_start_daemon", start)
    monkeypatch.setattr(command, "_show", show)
    monkeypatch.setattr(command, "_log_beside", lambda _store: None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    if already:
        lock.acquire()
    assert command.watch.callback is not None
    try:
        command.watch.callback(config_path=loaded.path, serve=True, readonly=False)
    finally:
        lock.release()
    return told[0]


def test_a_daemon_that_the_viewer_started_is_said_to_end_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = goodbye_of(tmp_path, monkeypatch, already=False)
    assert said is not None
    assert "ends with it: nobody watches now" in said


def test_a_daemon_that_was_there_before_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert goodbye_of(tmp_path, monkeypatch, already=True) is None


def test_why_the_daemon_did_not_start_is_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "specwatch.db.serve.log").write_text("words of an earlier start\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        loaded = sound(tmp_path, f"{CONFIG}[serve]\nmetrics_port = {port}\n")
        with pytest.raises(SystemExit):
            command._start_daemon(loaded)
    said = capsys.readouterr().err
    assert "did not start: it exited with status " in said
    assert f"127.0.0.1:{port} cannot be listened on" in said
    assert "earlier start" not in said


def test_a_daemon_that_says_nothing_is_told_by_how_it_ended() -> None:
    assert command._ended(-9) == "it was killed by SIGKILL"
    assert command._ended(None) == "it did not serve within 20 s"
