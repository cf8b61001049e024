"""What proves, and what disproves, that a server is up in an arm."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from probes.restart.ask import NoAnswer, ask_completion
from probes.restart.proof import Expected, Newness, NotProven, Proven, mismatch, prove_in_time, prove_now
from probes.scrape.scrape import Scraper
from probes.sim.server import SimServer
from probes.sim.spec import SimSpec
from probes.values import EngineKind, Identity, Reading, State, Target
from tests.support.canned_server import canned_server
from tests.support.readings import engine, reading

K3 = Expected("k3", drafts=True, model="tiny", k=3)
OFF = Expected("off", drafts=False, model="tiny")
TINY = Identity(model="tiny", models=("tiny",))
EAGLE = replace(TINY, speculative_algorithm="EAGLE3")
SPEC = SimSpec(k=3, time_scale=0.1, model_name="tiny")
ON_PAGE = reading(0.0, [engine()], k=3)
OFF_PAGE = replace(reading(0.0, [engine()]), speculation_configured=False)


@pytest.mark.parametrize(
    ("expected", "page", "identity", "words"),
    [
        (K3, ON_PAGE, TINY, None),
        (OFF, OFF_PAGE, TINY, None),
        (K3, OFF_PAGE, TINY, "has no speculative decoding"),
        (OFF, ON_PAGE, TINY, "has speculative decoding configured"),
        (K3, ON_PAGE, Identity(models=("other", "third")), "it serves other, third, not tiny"),
        (K3, ON_PAGE, Identity(models=("lora", "tiny")), None),
        (K3, replace(ON_PAGE, k=1), TINY, "it drafts 1 tokens a step, arm k3 drafted 3"),
        (K3, replace(ON_PAGE, k=None), TINY, None),
        # SGLang may change its K by itself.
        (K3, replace(ON_PAGE, k=1, engine_kind=EngineKind.SGLANG), TINY, None),
        # A page that does not tell proves nothing; what the server says of itself does.
        (K3, replace(OFF_PAGE, speculation_configured=None), TINY, None),
        (OFF, replace(OFF_PAGE, speculation_configured=None), TINY, None),
        (
            OFF,
            replace(OFF_PAGE, speculation_configured=None),
            EAGLE,
            "has spec",
        ),
        (K3, OFF_PAGE, EAGLE, None),
        (K3, reading(0.0, state=State.EMPTY), TINY, None),
        (OFF, reading(0.0, state=State.EMPTY), EAGLE, "has spec"),
    ],
)
def test_what_cannot_be_the_arm(expected: Expected, page: Reading, identity: Identity, words: str | None) -> None:
    found = mismatch(expected, page, identity)
    assert found is None if words is None else words in (found or "")


def is_new(before: Reading | None, now: Reading, *, gone: bool = False) -> bool:
    newness = Newness(before)
    if gone:
        newness.nobody_there()
    try:
        newness.check(now)
    except NotProven:
        return False
    newness.check(replace(before, mono_s=9.0) if before is not None else now)  # once seen it stays so
    return True


def test_another_process_is_told_by_its_start_its_counters_or_its_absence() -> None:
    old = reading(0.0, [engine(tokens=500.0)], process_start_s=10.0)
    assert not is_new(old, reading(5.0, [engine(tokens=600.0)], process_start_s=10.0))
    assert is_new(old, reading(5.0, [engine(tokens=600.0)], process_start_s=12.0))
    unknown = replace(old, process_start_s=None)
    assert not is_new(unknown, reading(5.0, [engine(tokens=600.0)], process_start_s=None))
    assert is_new(unknown, reading(5.0, [engine(tokens=3.0)], process_start_s=None))
    assert is_new(unknown, reading(5.0, [engine(tokens=600.0)], process_start_s=None), gone=True)
    assert not is_new(old, reading(5.0, [engine(tokens=600.0)], process_start_s=10.0), gone=True), "it was only busy"
    assert is_new(unknown, reading(5.0, state=State.EMPTY))
    assert is_new(None, old)
    assert is_new(reading(0.0, state=State.DOWN), old)


@pytest.fixture
async def server() -> AsyncIterator[SimServer]:
    async with SimServer(SPEC) as made:
        yield made


async def prove(server: SimServer, expected: Expected, metrics_url: str | None = None) -> Proven:
    target = Target("chat", server.url, metrics_url=metrics_url)
    async with aclosing(Scraper(target, timeout_s=5.0, max_bytes=1_000_000)) as scraper:
        return await prove_now(target, expected, scraper, Newness(None), identify_s=5.0)


def answered(server: SimServer) -> float:
    return sum(e.counters.prompt_tokens for e in server.engines)


async def test_one_real_answer_is_part_of_the_proof(server: SimServer) -> None:
    proven = await prove(server, K3)
    assert answered(server) > 0
    assert (proven.drafted, proven.shown_drafts, proven.shown_k) == (True, True, 3)


async def test_a_server_that_is_healthy_but_answers_no_request_is_not_proven(server: SimServer) -> None:
    server.set_faults(drop_spec=False, api_status=500)
    with pytest.raises(NotProven, match="it does not list its models"):
        await prove(server, K3)


async def test_no_work_is_sent_to_a_server_that_is_another_arm(server: SimServer) -> None:
    with pytest.raises(NotProven, match="has speculative decoding configured") as found:
        await prove(server, OFF)
    assert found.value.wrong
    assert answered(server) == 0


async def test_a_server_that_drafts_behind_a_page_that_does_not_show_it_is_not_disproved(server: SimServer) -> None:
    server.set_faults(not_drafting=True)
    assert (await prove(server, K3)).drafted is False


async def test_an_unhealthy_server_counts_as_away(server: SimServer) -> None:
    server.set_faults(health_status=503)
    with pytest.raises(NotProven, match="/health answered 503") as found:
        await prove(server, K3)
    assert found.value.away


async def test_a_server_that_is_away_is_waited_for_and_then_given_up() -> None:
    target = Target("chat", "http://127.0.0.1:9")
    async with aclosing(Scraper(target, timeout_s=1.0, max_bytes=1_000_000)) as scraper:
        with pytest.raises(NotProven, match=r"not proven within 0\.1 s: .*/health could not be asked"):
            await prove_in_time(target, K3, scraper, None, timeout_s=0.1, identify_s=1.0)


async def test_a_page_of_another_server_is_found_out(server: SimServer) -> None:
    """It does not count the answer that was given."""
    async with SimServer(SPEC) as other:
        with pytest.raises(NotProven, match="did not count the answer"):
            await prove(server, K3, f"{other.url}/metrics")


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        ({}, "answered 404 to a short request"),
        ({"/v1/completions": b"<html>"}, "but not with a completion"),
        ({"/v1/completions": b'{"choices": [], "usage": {"completion_tokens": 1}}'}, "but not with a completion"),
        ({"/v1/completions": b'{"choices": [{}], "usage": {"completion_tokens": 0}}'}, "but not with a completion"),
    ],
)
async def test_only_a_completion_is_an_answer(routes: dict[str, bytes], words: str) -> None:
    with canned_server(routes) as server, pytest.raises(NoAnswer, match=words):
        await ask_completion(Target("chat", server.url), "tiny")


async def test_a_server_that_only_chats_is_asked_to_chat() -> None:
    chat = b'{"choices": [{}], "usage": {"completion_tokens": 4}}'
    with canned_server({"/v1/chat/completions": chat}) as server:
        assert await ask_completion(Target("chat", server.url), "tiny") == 4
