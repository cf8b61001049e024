"""Prompts: our own set is fit for use, the user's faults are named by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from probes.load.prompts import PromptFileError, load_prompts, parse_prompts

BUILTIN_SHA256 = "c51ade4189d01f58163655ba7f946d432bdd6c7d2a2207a7af6e112196ef9b89"
"""Changes with the texts; results with different texts are not comparable, so let no change pass by accident."""


def test_the_builtin_set_is_the_known_one() -> None:
    assert load_prompts("builtin").sha256 == BUILTIN_SHA256


def test_the_builtin_set_is_varied_enough() -> None:
    loaded = load_prompts("builtin")
    lengths = [len(prompt.text.split()) for prompt in loaded.prompts if prompt.text]
    assert len(loaded.prompts) == len(lengths) >= 60
    assert len({prompt.text for prompt in loaded.prompts}) == len(loaded.prompts)
    assert min(lengths) >= 30
    assert max(lengths) >= 300
    assert set(loaded.kinds) == {"code", "chat", "summarise", "extract"}
    assert min(loaded.kinds.values()) >= 10
    assert sum(loaded.kinds.values()) == len(loaded.prompts)


def test_the_builtin_passages_are_long_enough_to_lengthen_prompts_with() -> None:
    passages = load_prompts("builtin").passages
    assert len(set(passages)) == len(passages)
    assert sum(len(passage.split()) for passage in passages) >= 5000


def test_kinds_of_own_prompts_are_counted_where_they_are_given() -> None:
    own = parse_prompts(
        "mine.jsonl", b'{"prompt": "a"}\n{"prompt": "b", "kind": "mail"}\n{"prompt": "c", "kind": "mail"}'
    )
    assert own.kinds == {"mail": 2, "other": 1}
    assert own.passages == ()


def test_a_file_may_mix_both_forms_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"prompt": "one"}\n\n{"messages": [{"role": "user", "content": "two"}], "kind": "x"}\n')
    loaded = load_prompts(str(path))
    assert loaded.prompts[0].text == "one"
    assert loaded.prompts[1].messages == ({"role": "user", "content": "two"},)
    assert loaded.source == str(path)


def test_the_hash_tells_two_files_apart() -> None:
    assert parse_prompts("a", b'{"prompt": "x"}').sha256 != parse_prompts("a", b'{"prompt": "y"}').sha256


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "not JSON"),
        (b"\xff{}", "UTF-8"),
        (b'"text"', "must be an object"),
        (b"{}", "exactly one of"),
        (b'{"prompt": "a", "messages": []}', "exactly one of"),
        (b'{"prompt": 7}', "must be text"),
        (b'{"prompt": "  "}', "must be text and not empty"),
        (b'{"messages": []}', "at least one message"),
        (b'{"messages": [{"role": "user"}]}', "every message needs"),
        (b'{"prompt": "a", "kind": 7}', '"kind" must be text'),
        (b'{"messages": ["hello"]}', "every message needs"),
    ],
)
def test_a_bad_line_is_named(line: bytes, says: str) -> None:
    with pytest.raises(PromptFileError, match=says) as caught:
        parse_prompts("mine.jsonl", b'{"prompt": "good"}\n' + line)
    assert str(caught.value).startswith("mine.jsonl, line 2: ")


def test_an_empty_or_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PromptFileError, match="holds no prompt"):
        parse_prompts("mine.jsonl", b"\n\n")
    with pytest.raises(PromptFileError, match="cannot be read: No such file"):
        load_prompts(str(tmp_path / "absent.jsonl"))
