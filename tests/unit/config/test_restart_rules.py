"""A sweep may restart a server only where the config says everything that is needed to bring it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.configs import edited, only_problem, problems, restartable, sound

HOOKS = 'allow_restart = true\nbefore = "./drain"\nafter = "{}"'


def test_restart_arms_load_once_everything_that_a_restart_needs_is_said(tmp_path: Path) -> None:
    loaded = sound(tmp_path, restartable())
    assert [arm.restart for arm in loaded.config.endpoint[0].arm] == ["./serve off", "./serve k3"]
    assert loaded.notes == ()
    hooked = edited("allow_restart = true", HOOKS.format("./undrain"), restartable())
    assert sound(tmp_path, hooked).notes == ()


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        ("allow_restart = true", "", '.arm[0] "off".restart', "allow_restart is not true"),
        ("allow_restart = true", "allow_restart = false", '.arm[0] "off".restart', "allow_restart is not true"),
        ('live_arm = "k3"', "", ".probe.live_arm", "which one to bring back"),
        ('restart = "./serve off"', 'url = "http://127.0.0.1:8001"', '.arm[0] "off"', "has no restart command"),
        ('restart = "./serve off"', "", '.arm[0] "off"', "has no restart command"),
        (
            'restart = "./serve off"',
            'restart = "./serve off"\n  url = "http://127.0.0.1:8000"',
            '.arm[0] "off".url',
            "reached at the endpoint's url",
        ),
        ('restart = "./serve off"', 'restart = " "', '.arm[0] "off".restart', "empty command"),
        ("allow_restart = true", 'allow_restart = true\nbefore = "./d"', ".probe.before", "never be undone"),
    ],
)
def test_a_restart_that_could_not_be_undone_or_was_not_allowed_is_refused(
    tmp_path: Path, old: str, new: str, key: str, words: str
) -> None:
    problem = only_problem(tmp_path, edited(old, new, restartable()))
    assert problem.key == f'endpoint[0] "chat"{key}'
    assert words in problem.message
    assert problem.suggestion
    assert problem.line is not None


@pytest.mark.parametrize(
    ("command", "refused"),
    [
        ("HF_TOKEN=hf_verysecret ./serve off", True),
        ("./serve --api-key sk-verysecret", True),
        ("./serve --api-key='sk-verysecret'", True),
        ("PASSWORD=verysecret ./serve", True),
        ("./serve --api-key $KEY --hf-token ${HF_TOKEN}", False),
        ("./serve --api-key-file /run/secrets/key", False),
        ("./serve --num-speculative-tokens=3 --tokenizer x --max-num-batched-tokens=8192", False),
    ],
)
def test_a_command_names_its_secrets_and_does_not_hold_them(tmp_path: Path, command: str, refused: bool) -> None:
    as_restart = edited('"./serve off"', f'"{command}"', restartable())
    as_hook = edited("allow_restart = true", HOOKS.format(command), restartable())
    for text in (as_restart, as_hook):
        found = problems(tmp_path, text)
        assert ["holds a secret" in problem.message for problem in found] == [True] * refused
        assert "verysecret" not in "".join(problem.message + problem.suggestion for problem in found)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"./serve off"', '"./serve --spec \'{\\"disable_by_batch_size\\": 8}\'"', "has ignored since 0.10"),
        ('"./serve off"', '"./serve --speculative-disable-by-batch-size 8"', "has ignored since 0.10"),
        ('"./serve off"', '"./serve k3"', "right where it goes by the variable SPECWATCH_ARM"),
    ],
)
def test_a_restart_command_that_does_not_do_what_it_says_is_noted(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    (note,) = sound(tmp_path, edited(old, new, restartable())).notes
    assert words in note.message
    assert note.suggestion


def test_one_command_that_names_the_arm_by_variable_is_no_mistake(tmp_path: Path) -> None:
    by_variable = edited('"./serve off"', '"./serve $SPECWATCH_ARM"', restartable())
    both = edited('"./serve k3"', '"./serve $SPECWATCH_ARM"', by_variable)
    assert sound(tmp_path, both).notes == ()


def test_what_only_restarts_use_is_noted_without_them(tmp_path: Path) -> None:
    unused = edited("ladder = [1, 2, 4]", 'ladder = [1]\nallow_restart = true\nbefore = "./d"\nafter = "./u"')
    assert {note.key.rsplit(".", 1)[-1] for note in sound(tmp_path, unused).notes} == {"allow_restart", "before"}
