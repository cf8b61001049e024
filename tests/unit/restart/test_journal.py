"""The journal survives a round trip and a bad disk, and commands are never taken from a file that is not ours."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from probes.restart.journal import Journal, JournalError, Proc, Step, failed_try
from probes.restart.journal_file import JournalFile
from probes.restart.paths import journals_beside, paths_of_journal, restart_paths
from tests.support.journals import journal


@pytest.fixture
def file(tmp_path: Path) -> JournalFile:
    return JournalFile(tmp_path / "s.db.restart-chat.json")


def test_what_was_written_is_read_again(file: JournalFile) -> None:
    full = journal(
        Step.UP,
        arm="off",
        shown_drafts=False,
        alike=True,
        hook=Proc(5, 77, "boot"),
        attempts=2,
        tried_at_s=5.5,
        error="no",
    )
    file.write(full)
    assert file.read() == full
    bare = journal(Step.BEGUN, before=None, after=None, k=None)
    file.write(bare)
    assert file.read() == bare
    assert [path.name for path in file.path.parent.iterdir()] == [file.path.name]
    assert file.path.stat().st_mode & 0o777 == 0o600
    file.remove()
    assert not file.exists()
    file.remove()


def test_a_write_that_fails_leaves_what_was_there(file: JournalFile) -> None:
    file.write(journal(Step.BEGUN))
    file.path.with_name(file.path.name + ".new").mkdir()
    with pytest.raises(JournalError, match="cannot be written"):
        file.write(journal(Step.BEFORE_STARTED))
    assert file.read().step is Step.BEGUN


def test_a_write_into_a_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be written: No such file"):
        JournalFile(tmp_path / "gone" / "j.json").write(journal(Step.BEGUN))


def test_what_a_kill_cut_short_is_overwritten_and_cleared(file: JournalFile) -> None:
    part = file.path.with_name(file.path.name + ".new")
    part.write_text('{"sche')
    file.write(journal(Step.BEGUN))
    assert not part.exists()
    part.write_text('{"sche')
    file.remove()
    assert list(file.path.parent.iterdir()) == []


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_refused(file: JournalFile, mode: int) -> None:
    file.write(journal(Step.UP, arm="off"))
    file.path.chmod(mode)
    with pytest.raises(JournalError, match="is not trusted"):
        file.read()


def test_a_link_is_refused(file: JournalFile, tmp_path: Path) -> None:
    file.write(journal(Step.UP, arm="off"))
    link = tmp_path / "link.json"
    link.symlink_to(file.path)
    with pytest.raises(JournalError, match="cannot be read"):
        JournalFile(link).read()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_refused(file: JournalFile) -> None:
    file.write(journal(Step.UP, arm="off"))
    os.chown(file.path, 12345, 12345)
    with pytest.raises(JournalError, match="is not trusted"):
        file.read()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.pop("step"),
        lambda d: d.update(step="flying"),
        lambda d: d.update(schema=99),
        lambda d: d.update(more=1),
        lambda d: d["orders"].update(restore=None),
        lambda d: d["orders"].update(after=["rm"]),
        lambda d: d["orders"].update(hook_timeout_s="600"),
        lambda d: d["orders"].pop("model"),
        lambda d: d.update(hook={"pid": 1}),
        lambda d: d.update(attempts="two"),
    ],
)
def test_anything_else_is_no_journal(spoil: object) -> None:
    data = json.loads(journal(Step.UP, arm="off").to_json())
    spoil(data)  # type: ignore[operator]
    with pytest.raises(JournalError):
        Journal.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "{"])
def test_text_that_is_none_is_no_journal(text: str) -> None:
    with pytest.raises(JournalError, match="is no journal"):
        Journal.from_json(text)


def test_a_step_on_forgets_what_belonged_to_the_last() -> None:
    up = journal(
        Step.UP, arm="off", shown_drafts=False, shown_k=1, hook=Proc(5, 77, "boot"), commanded=True, attempts=1
    )
    on = up.at(Step.RESTORING)
    assert (on.arm, on.shown_drafts, on.shown_k, on.hook) == (None, None, None, None)
    assert (on.commanded, on.attempts) == (True, 1)
    failed = failed_try(on, "why", 9.0)
    assert (failed.attempts, failed.tried_at_s, failed.error) == (2, 9.0, "why")


def test_files_lie_beside_the_store_and_are_found_there(tmp_path: Path) -> None:
    store = tmp_path / "my.restart-store.db"
    for endpoint in ("chat", "b.restart-2"):
        paths = restart_paths(store, endpoint)
        paths.journal.touch()
        paths.lock.touch()
        paths.journal.with_name(paths.journal.name + ".new").touch()
    restart_paths(tmp_path / "other.db", "x").journal.touch()
    found = journals_beside(store)
    assert [paths.endpoint for paths in found] == ["b.restart-2", "chat"]
    assert [paths.journal for paths in found] == [restart_paths(store, e).journal for e in ("b.restart-2", "chat")]
    assert paths_of_journal(restart_paths(store, "chat").journal).lock == restart_paths(store, "chat").lock
    assert journals_beside(tmp_path / "gone" / "s.db") == []
