"""Prompts of a wanted length: background before the task, or less material, but never another task."""

from __future__ import annotations

import pytest

from probes.load.compose import Library, fit
from probes.load.prompts import BUILTIN, load_prompts

BUILT_IN = load_prompts(BUILTIN)
LIBRARY = Library(BUILT_IN.passages)
TASKS = [prompt.text for prompt in BUILT_IN.prompts if prompt.text]


@pytest.mark.parametrize("chars", [60, 200, 900, 2500, 9000, 60_000])
def test_every_task_comes_in_every_length(chars: int) -> None:
    for number, task in enumerate(TASKS):
        made = fit(task, chars, LIBRARY, number)
        assert chars - 120 <= len(made) <= chars + 100


def test_a_longer_prompt_ends_with_the_whole_task() -> None:
    for number, task in enumerate(TASKS):
        assert fit(task, 5000, LIBRARY, number).endswith(f"\n\n{task}")


def test_background_begins_with_another_passage_each_time() -> None:
    made = {fit(TASKS[0], 3000, LIBRARY, first)[:80] for first in range(len(LIBRARY))}
    assert len(made) == len(LIBRARY)


def test_a_shorter_prompt_keeps_its_instruction_and_its_cue() -> None:
    task = "Summarise this text.\n\n" + "It rained and rained. " * 50 + "\n\nSummary:"
    made = fit(task, 200, LIBRARY, 0)
    assert made.startswith("Summarise this text.\n\nIt rained")
    assert made.endswith("\n\nSummary:")


def test_words_are_not_cut_in_two() -> None:
    words = set(" ".join(TASKS).split())
    for chars in range(30, 200, 7):
        for task in TASKS[::5]:
            assert set(fit(task, chars, LIBRARY, 0).split()) <= words


def test_even_no_room_leaves_a_word() -> None:
    assert all(fit(task, 1, LIBRARY, 0).strip() for task in TASKS)


def test_beyond_the_last_passage_the_first_follows() -> None:
    library = Library(("one", "two"))
    assert library.text(1, 12) == "two\n\none\n\ntw"
    assert library.text(3, 3) == "two"
