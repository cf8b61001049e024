"""A stop reaches work in progress, which has cleaned up when the stop is reported."""

from __future__ import annotations

import asyncio

import pytest

from probes.sweep.guard import Stopped, guarded


async def forever(cleaned: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        cleaned.append("cleaned")


async def test_a_result_passes_through() -> None:
    async def seven() -> int:
        return 7

    assert await guarded(seven(), lambda: None) == 7


async def test_an_error_passes_through() -> None:
    async def fails() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await guarded(fails(), lambda: None)


async def test_a_stop_cancels_and_waits_for_the_clean_up() -> None:
    cleaned: list[str] = []
    answers = iter([None, None, "enough"])
    with pytest.raises(Stopped, match="enough"):
        await guarded(forever(cleaned), lambda: next(answers))
    assert cleaned == ["cleaned"]


async def test_a_stop_before_the_start_starts_nothing() -> None:
    cleaned: list[str] = []
    with pytest.raises(Stopped, match="paused"):
        await guarded(forever(cleaned), lambda: "paused")
    assert cleaned == []


async def test_a_question_that_fails_still_cleans_up() -> None:
    cleaned: list[str] = []
    answers: list[str | None] = [None]
    with pytest.raises(IndexError):
        await guarded(forever(cleaned), answers.pop)
    assert cleaned == ["cleaned"]
