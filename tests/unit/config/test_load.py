"""Every mistake in a config file is found in one run and said with its file, line, key and cure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from monitor.config.errors import ConfigError, explain
from monitor.config.load import load_config
from tests.support.configs import SOUND, edited, only_problem, problems, sound, write


def test_a_sound_config_loads_with_absolute_paths(tmp_path: Path) -> None:
    loaded = sound(tmp_path)
    assert loaded.store_path == tmp_path / "specwatch.db"
    assert loaded.notes == ()
    assert [arm.name for arm in loaded.config.endpoint[0].arm] == ["off", "k3"]


def test_a_file_beside_the_config_is_found_from_any_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ca.pem").write_text("not read here")
    path = write(tmp_path, edited('url = "http://127.0.0.1:8000"', 'url = "https://a"\nca_file = "ca.pem"'))
    monkeypatch.chdir("/")
    assert load_config(path).config.endpoint[0].ca_file == str(tmp_path / "ca.pem")


def test_ten_kinds_of_mistake_are_explained_in_one_run(tmp_path: Path) -> None:
    text = """\
[scrape]
interval_s = "5"
timeout_s = 9
[store]
path = "nowhere/specwatch.db"
[[endpoint]]
name = "chat"
url = "http://user:hunter2@127.0.0.1:8000"
cell_s = 30
pol = "chat-70b"
[endpoint.probe]
live_arm = "k33"
repeats = 0
schedule = "0 3 * * someday"
timezone = "Europe/Berln"
[[endpoint.arm]]
name = "off"
url = "http://127.0.0.1:8001/v1"
[[endpoint.arm]]
name = "k3"
[alerts]
max_age = "fortnight"
clear_loss_pct = 9
[[channel]]
name = "oncall"
kind = "pigeon"
"""
    found = problems(tmp_path, text)
    by_key = {problem.key: problem for problem in found}
    expected = {
        "scrape.interval_s": (2, "interval_s = 5 without the quotes"),
        "store.path": (5, "mkdir -p"),
        'endpoint[0] "chat".url': (8, "remove the user and password"),
        'endpoint[0] "chat".cell_s': (9, "belongs under [endpoint.probe]"),
        'endpoint[0] "chat".pol': (10, "did you mean pool?"),
        'endpoint[0] "chat".probe.live_arm': (12, 'write live_arm = "k3"'),
        'endpoint[0] "chat".probe.repeats': (13, "the default is repeats = 4"),
        'endpoint[0] "chat".probe.schedule': (14, "0 3 * * sun"),
        'endpoint[0] "chat".probe.timezone': (15, 'did you mean "Europe/Berlin"?'),
        'endpoint[0] "chat".arm[0] "off".url': (18, 'url = "http://127.0.0.1:8001"'),
        'endpoint[0] "chat".arm[1] "k3"': (19, "add url"),
        "alerts.max_age": (22, "14d"),
        "alerts.clear_loss_pct": (23, "write clear_loss_pct = 1"),
        'channel[0] "oncall".kind': (26, ""),
    }
    assert set(by_key) == set(expected)
    for key, (line, cure) in expected.items():
        assert by_key[key].line == line, key
        assert cure in by_key[key].suggestion, key
        assert by_key[key].file == str(tmp_path / "config.toml")
    assert "at least 1 and at most 50" in by_key['endpoint[0] "chat".probe.repeats'].message
    assert "'slack', 'webhook' or 'stdout'" in by_key['channel[0] "oncall".kind'].message
    assert all(problem.suggestion for problem in found)
    assert [problem.line for problem in found] == sorted(problem.line or 0 for problem in found)

    said = explain(ConfigError(found))
    assert said.startswith("14 problems in the config:")
    assert f'{tmp_path}/config.toml:13  endpoint[0] "chat".probe.repeats' in said
    assert "hunter2" not in said


def test_a_mistake_does_not_drag_others_behind_it(tmp_path: Path) -> None:
    """The default that stands in for a broken key must not be judged as if it had been written."""
    assert only_problem(tmp_path, edited('baseline = "off"', "baseline = 5")).key.endswith("probe.baseline")
    slow = edited("interval_s = 5.0\ntimeout_s = 4.0", 'interval_s = "60"\ntimeout_s = 50')
    assert only_problem(tmp_path, slow).key == "scrape.interval_s"
    misspelt = edited('name = "chat"', 'nam = "chat"')
    assert "did you mean name?" in only_problem(tmp_path, misspelt).suggestion


@pytest.mark.parametrize(
    ("old", "new", "message", "cure"),
    [
        ("interval_s = 5.0", "interval_s = true", "must be a number, but is true or false", ""),
        ("interval_s = 5.0", 'interval_s = "5s"', "must be a number", "counts seconds"),
        ("interval_s = 5.0", "interval_s = 0.5", "is 0.5, but must be at least 1 (seconds)", ""),
        ("interval_s = 5.0", "interval_s = nan", "finite", ""),
        ("interval_s = 5.0", "interval = 5.0", "is not a key of [scrape]", "did you mean interval_s?"),
        ("interval_s = 5.0", "zzz = 5.0", "is not a key of [scrape]", "known there: interval_s, timeout_s"),
        ("timeout_s = 4.0", 'gzip = "true"', "must be true or false", "gzip = true without the quotes"),
        ("ladder = [1, 2, 4]", "ladder = [1, 0]", 'must be "auto" or a list of whole numbers', "[1, 2, 4"),
        ("ladder = [1, 2, 4]", 'ladder = "automatic"', 'must be "auto" or a list of whole numbers', ""),
        ("ladder = [1, 2, 4]", "repeats = 2.5", "whole number, but is a number with a decimal point", ""),
        ("ladder = [1, 2, 4]", "temperature = 9", "at least 0 and at most 5", ""),
        ("ladder = [1, 2, 4]", "workers = 0", 'must be "auto" or a whole number from 1 to 64', "auto"),
        ("ladder = [1, 2, 4]", "prefix_hit_ratio = 40", 'must be "live" or a number from 0 to 1', "0.4 is 40%"),
        ("ladder = [1, 2, 4]", 'prefix_hit_ratio = "seen"', 'must be "live" or a number from 0 to 1', "0.4"),
        (
            "ladder = [1, 2, 4]",
            'shape = "lives"',
            "must be one of 'auto', 'live' or 'none'",
            'default is shape = "auto"',
        ),
        ("ladder = [1, 2, 4]", 'resume_hours = "a day"', "must be a number", "counts hours"),
        ("ladder = [1, 2, 4]", "allow_restart = 1", "must be true or false", "allow_restart = false"),
        ('name = "chat"', 'name = "chat"\nheaders = { a = 5 }', "must be text in quotes", "quotes"),
        ("[[endpoint]]", "[endpoint]", "double brackets", "[[endpoint]]"),
        ("[endpoint.probe]", "[[endpoint.probe]]", "single brackets", "[endpoint.probe]"),
        ('name = "chat"', 'name = "chat room"', "letters, digits", ""),
        ('kind = "webhook"', 'kind = "pagerduty"', "must be one of", "not supported yet"),
        ('kind = "webhook"', "", "is missing", 'kind = "slack"'),
        ("[alerts]", "interval_s = 3\n[alerts]", "is not a key of [[endpoint.arm]]", "belongs under [scrape]"),
    ],
)
def test_a_wrong_shape_is_said_with_its_cure(tmp_path: Path, old: str, new: str, message: str, cure: str) -> None:
    text = edited(old, new)
    if new == "[endpoint]":
        text = '[endpoint]\nname = "chat"\nurl = "http://127.0.0.1:8000"\n'
    problem = only_problem(tmp_path, text)
    assert message in problem.message
    assert problem.suggestion
    assert cure in problem.suggestion
    assert problem.line is not None


def test_a_misspelt_secret_key_never_shows_its_value(tmp_path: Path) -> None:
    text = edited('name = "chat"\n', 'name = "chat"\napi_key = "sk-verysecret"\nheaders = { X-Api-Key = "sk-other" }\n')
    found = problems(tmp_path, text)
    assert len(found) == 2
    said = explain(ConfigError(found)) + str(ConfigError(found)) + repr(found)
    assert "sk-" not in said
    assert "api_key_env" in said


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[store]\npath = specwatch.db\n", 2, "line 2, column 8"),
        ("[store]\npath = 'a'\npath = 'b'\n", 3, "line 3"),
        ("[store", 1, "line 1"),
    ],
)
def test_a_syntax_error_has_its_line_and_column(tmp_path: Path, text: str, line: int, words: str) -> None:
    problem = only_problem(tmp_path, text)
    assert "is not valid TOML" in problem.message
    assert words in problem.message
    assert problem.line == line


def test_a_file_that_cannot_be_read_is_said_in_words(tmp_path: Path) -> None:
    def said(path: Path) -> str:
        with pytest.raises(ConfigError) as caught:
            load_config(path)
        return explain(caught.value)

    assert "there is no such file" in said(tmp_path / "missing.toml")
    assert "is a directory" in said(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    assert "UTF-8" in said(tmp_path / "latin.toml")
    if os.geteuid() != 0:
        locked = write(tmp_path, SOUND)
        locked.chmod(0)
        assert "permission" in said(locked).lower()


def test_line_numbers_survive_comments_and_multi_line_values(tmp_path: Path) -> None:
    ladder = edited(
        "ladder = [1, 2, 4]", "ladder = [\n  1, # [not a table]\n  [2],\n]\nprompts = '''\n[x]\n'''\nrepeats = 0"
    )
    found = {problem.key.rsplit(".", 1)[-1]: problem.line for problem in problems(tmp_path, ladder)}
    assert found["repeats"] == 19
    dotted = 'scrape.interval_s = 0\n[[endpoint]]\nname = "a"\nurl = "http://a"\nprobe.baseline = "x"\n'
    assert [problem.line for problem in problems(tmp_path, dotted)] == [1, 5]
