"""The command line lists what it can do, and bad input gets one message and its exit code, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from monitor.cli import COMMANDS, main

SOUND = '[[endpoint]]\nname = "chat"\nurl = "http://127.0.0.1:1"\n'


def test_every_command_is_listed_and_has_help() -> None:
    runner = CliRunner()
    listed = runner.invoke(main, ["--help"]).output
    for name in COMMANDS:
        assert f"  {name} " in listed
        shown = runner.invoke(main, [name, "--help"])
        assert shown.exit_code == 0
        assert "Usage:" in shown.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["serve", "--config", "nowhere.toml"], "nowhere.toml"),
        (["once", "--config", "nowhere.toml"], "nowhere.toml"),
        (["sweep", "chat", "--config", "nowhere.toml"], "nowhere.toml"),
        (["sweep", "chat"], "[endpoint.probe]"),
        (["pause"], "--until"),
        (["pause", "--until", "2h"], "--reason"),
        (["watch"], "needs a terminal"),
        (["crossover", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_bad_input_is_one_message_and_exit_2(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(SOUND)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2, done.output
    assert said in done.output
    assert "Traceback" not in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)


def test_a_file_that_is_no_store_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(SOUND)
    (tmp_path / "specwatch.db").write_text("not a database at all, but long enough to be looked at")
    done = CliRunner().invoke(main, ["stop"])
    assert done.exit_code == 2
    assert "specwatch.db" in done.output


def test_the_reference_example_gives_its_verdict(tmp_path: Path) -> None:
    rows = ["arm,concurrency,output_tok_s,in_system,repeat"]
    for repeat in (1, 2):
        for clients, off, on in ((1, 100, 190), (4, 380, 600), (16, 1200, 1400), (64, 2800, 2300), (128, 3600, 2600)):
            rows += [
                f"off,{clients},{off + repeat},{clients},{repeat}",
                f"k3,{clients},{on - repeat},{clients},{repeat}",
            ]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(rows))
    done = CliRunner().invoke(main, ["crossover", str(path)])
    assert done.exit_code == 0, done.output
    assert "k3 against off: crosses at" in done.output


TWO = SOUND + '[[endpoint]]\nname = "code"\nurl = "http://127.0.0.1:2"\npool = "code-8b"\n'


@pytest.mark.parametrize("name", ["code", "code-8b"])
def test_once_looks_at_the_endpoint_or_pool_that_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(TWO)
    done = CliRunner().invoke(main, ["once", name])
    assert done.exit_code == 2, done.output
    (line,) = done.stdout.splitlines()
    assert line.startswith("UNKNOWN code")
    assert done.stderr == "", "no daemon was ever here"
    (found,) = json.loads(CliRunner().invoke(main, ["once", name, "--json"]).stdout)["endpoints"]
    assert found["name"] == "code"
    unknown = CliRunner().invoke(main, ["once", "coed"])
    assert unknown.exit_code == 2
    assert "no endpoint or pool is called coed; there are chat, code, code-8b" in unknown.stderr


def test_once_says_on_stderr_that_nobody_alerts_and_that_sweeps_are_paused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text(SOUND)
    assert CliRunner().invoke(main, ["pause", "--until", "2h", "--reason", "launch"]).exit_code == 0
    (tmp_path / "specwatch.db.serve.lock").write_text('{"pid": 12, "host": "vm"}')
    done = CliRunner().invoke(main, ["once"])
    assert "The daemon (pid 12 on vm) died. Nobody is alerted" in done.stderr
    assert "No sweep starts before" in done.stderr
    assert "launch" in done.stderr
    assert len(done.stdout.splitlines()) == 1


def test_the_help_of_pause_says_what_is_needed() -> None:
    shown = " ".join(CliRunner().invoke(main, ["pause", "--help"]).output.split())
    assert "Needed with --until" in shown
