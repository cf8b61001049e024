"""Proves that a server is up, is the new process and runs the arm that it should; believes no command's exit code.

Proof is: health, the served model, its page (speculation configured or not, K), and one real completion that the page
then counts, with drafts where the arm must not draft as disproof.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from probes.restart.ask import NoAnswer, ask_completion, ask_health
from probes.scrape.identity import identify
from probes.scrape.rates import restarted
from probes.sweep.totals import moved
from probes.sweep.watch import Reads
from probes.values import EngineKind, Identity, Reading, State, Target

POLL_S = 0.3
POLL_MAX_S = 3.0
WRONG_ARM_S = 10.0
"""A new process that shows another arm for so long will not become the right one."""
COUNT_S = 5.0
"""Within this a page counts an answer that has ended."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be there."""

    arm: str
    drafts: bool
    model: str
    k: int | None = None
    """Draft tokens per step, where they are known."""


@dataclass(frozen=True, slots=True)
class Proven:
    """What was there."""

    reading: Reading
    identity: Identity
    drafted: bool | None
    """Whether the one completion was drafted for; None where the page does not tell."""

    @property
    def shown_drafts(self) -> bool | None:
        """Whether speculative decoding is configured, as far as the server shows it."""
        return True if self.identity.speculative_algorithm is not None else self.reading.speculation_configured

    @property
    def shown_k(self) -> int | None:
        """Draft tokens per step where they are fixed; SGLang's may change by themselves."""
        return self.reading.k if self.reading.engine_kind is EngineKind.VLLM else None


class NotProven(Exception):
    """What is not as it should be."""

    def __init__(self, reason: str, *, away: bool = False, wrong: bool = False) -> None:
        super().__init__(reason)
        self.away = away
        """Nobody answered."""
        self.wrong = wrong
        """A process that is not the old one answers, and is another arm."""
        self.replaced = False
        """The old process is gone, as far as was seen until this was raised for good."""


class Newness:
    """Whether the process that answers is another one than before; once seen it stays so."""

    def __init__(self, before: Reading | None) -> None:
        """`before` is a page of the process that must be gone; None where nobody answered, or any process will do."""
        self._before = before if before is not None and before.state is State.OK else None

    @property
    def seen(self) -> bool:
        """Whether the old process is known to be gone."""
        return self._before is None

    def nobody_there(self) -> None:
        """Nobody answered: the old process is gone, unless it would show its start and may only have been too busy."""
        if self._before is not None and self._before.process_start_s is None:
            self._before = None

    def any_will_do(self) -> None:
        """The old process may be the right one."""
        self._before = None

    def check(self, page: Reading) -> None:
        """Raises NotProven while it may still be the old process.

        SGLang shows no start time, but an EMPTY page until its first batch: then it cannot be the one that was OK.
        """
        if self._before is None or page.state is State.EMPTY or restarted(self._before, page):
            self._before = None
        else:
            raise NotProven("it still is the process from before the command")


async def prove_in_time(
    target: Target,
    expected: Expected,
    scraper: Reads,
    before: Reading | None,
    *,
    timeout_s: float,
    identify_s: float,
    old_for_s: float | None = None,
) -> Proven:
    """Wait for a new process that proves to be the arm. Raises NotProven with the last thing that was wrong.

    Gives up before `timeout_s` where a new process shows another arm for a while. After `old_for_s` the old process
    will do too, if it proves to be the arm.
    """
    began_s = time.monotonic()
    end_s = began_s + timeout_s
    newness = Newness(before)
    wrong_since_s: float | None = None
    wait_s = POLL_S
    while True:
        try:
            return await prove_now(target, expected, scraper, newness, identify_s=identify_s)
        except NotProven as problem:
            now_s = time.monotonic()
            if problem.away:
                newness.nobody_there()
            problem.replaced = newness.seen
            if old_for_s is not None and now_s - began_s > old_for_s:
                newness.any_will_do()
            wrong_since_s = (wrong_since_s or now_s) if problem.wrong else None
            if wrong_since_s is not None and now_s - wrong_since_s > WRONG_ARM_S:
                raise
            if now_s > end_s:
                late = NotProven(f"not proven within {timeout_s:g} s: {problem}")
                late.replaced = problem.replaced
                raise late from problem
        await asyncio.sleep(wait_s)
        wait_s = min(POLL_MAX_S, wait_s * 1.2)


async def prove_now(
    target: Target, expected: Expected, scraper: Reads, newness: Newness, *, identify_s: float
) -> Proven:
    """One look at everything, with one completion. Raises NotProven."""
    first, identity = await look_at(target, expected, scraper, newness, identify_s=identify_s)
    try:
        await ask_completion(target, expected.model)
    except NoAnswer as error:
        raise NotProven(str(error)) from None
    counted = await _counted(scraper, first)
    if first.state is State.OK and restarted(first, counted):
        raise NotProven("it was restarted, or another server answered, while it was looked at")
    if problem := mismatch(expected, counted, identity):
        raise NotProven(problem, wrong=True)
    drafts = moved(first, counted, lambda e: e.drafts) if first.state is State.OK else None
    if drafts and not expected.drafts:
        raise NotProven(f"it drafts, and arm {expected.arm} must not", wrong=True)
    return Proven(counted, identity, None if drafts is None else drafts > 0)


async def look_at(
    target: Target, expected: Expected, scraper: Reads, newness: Newness, *, identify_s: float
) -> tuple[Reading, Identity]:
    """Health, models and page, without sending any work; the page is OK or EMPTY. Raises NotProven."""
    try:
        await ask_health(target)
    except NoAnswer as error:
        raise NotProven(str(error), away=True) from None
    identity = await identify(target, timeout_s=identify_s)
    if not identity.models:
        raise NotProven("it does not list its models")
    reading = await scraper.read()
    if reading.state not in (State.OK, State.EMPTY):
        raise NotProven(f"it is {reading.state.words}: {reading.reason}")
    newness.check(reading)
    if problem := mismatch(expected, reading, identity):
        raise NotProven(problem, wrong=True)
    return reading, identity


def mismatch(expected: Expected, reading: Reading, identity: Identity) -> str | None:
    """Why this cannot be the arm, or None. What the server does not show proves nothing either way."""
    if expected.model not in identity.models:
        return f"it serves {', '.join(identity.models) or 'no model'}, not {expected.model}"
    if reading.state is not State.OK and identity.speculative_algorithm is None:
        return None
    speculates = reading.speculation_configured or identity.speculative_algorithm is not None
    if speculates and not expected.drafts:
        return f"it has speculative decoding configured, and arm {expected.arm} must not"
    if expected.drafts and reading.speculation_configured is False and not speculates:
        return f"it has no speculative decoding, and arm {expected.arm} must have it"
    # SGLang's K is the one in use at the moment and may change by itself.
    fixed = reading.engine_kind is EngineKind.VLLM
    if fixed and expected.k is not None and reading.k is not None and reading.k != expected.k:
        return f"it drafts {reading.k} tokens a step, arm {expected.arm} drafted {expected.k}"
    return None


async def _counted(scraper: Reads, first: Reading) -> Reading:
    """A page that has counted the answer."""
    end_s = time.monotonic() + COUNT_S
    while True:
        reading = await scraper.read()
        if reading.state is State.OK:
            more = None if first.state is not State.OK else moved(first, reading, lambda e: e.generation_tokens)
            if more is None or more > 0:
                return reading
        if time.monotonic() > end_s:
            if reading.state is State.OK:
                raise NotProven("its page did not count the answer that it gave: is it another server's page?")
            raise NotProven(f"it is {reading.state.words}: {reading.reason}")
        await asyncio.sleep(POLL_S)
