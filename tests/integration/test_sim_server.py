"""The simulated server over real sockets: what a client, a scraper and a parent process notice of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probes.http import AsyncClient, HTTPError, make_client
from probes.sim.server import SimServer
from probes.sim.spec import SimSpec
from probes.sim.traffic import Traffic
from tests.support.waiting import until

QUICK = SimSpec(k=3, start_noise=0.0, step_noise=0.0)
SLOW = SimSpec(k=3, time_scale=50.0)


@pytest.fixture
async def client() -> AsyncIterator[AsyncClient]:
    async with make_client(timeout_s=20.0) as made:
        yield made


async def page(client: AsyncClient, server: SimServer) -> dict[str, float]:
    """Values by series, without label order."""
    text = (await client.get(f"{server.url}/metrics")).text
    rows = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {series: float(value) for series, _, value in rows}


def value(series: dict[str, float], name: str, label: str = "") -> float:
    """The sum over the engines of one series."""
    found = [number for key, number in series.items() if key.partition("{")[0] == f"vllm:{name}" and label in key]
    assert found, f"{name} is not on the page"
    return sum(found)


async def stream(client: AsyncClient, url: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one streamed answer, without the closing `[DONE]`."""
    answer = await client.post(url, json=body | {"stream": True, "stream_options": {"include_usage": True}})
    assert answer.status_code == 200, answer.text
    events = [event.removeprefix("data: ") for event in answer.text.split("\n\n") if event]
    assert events.pop() == "[DONE]"
    return [json.loads(event) for event in events]


@pytest.mark.parametrize("chat", [False, True])
async def test_speculation_puts_several_tokens_into_one_chunk(client: AsyncClient, chat: bool) -> None:
    async with SimServer(QUICK) as server:
        path = "chat/completions" if chat else "completions"
        body: dict[str, Any] = {"max_tokens": 60, "ignore_eos": True}
        body |= {"messages": [{"role": "user", "content": "Hello"}]} if chat else {"prompt": "Hello there"}
        events = await stream(client, f"{server.url}/v1/{path}", body)
        usage = events.pop()["usage"]
        assert usage["completion_tokens"] == 60
        texts = [e["choices"][0]["delta"]["content"] if chat else e["choices"][0]["text"] for e in events]
        assert sum(len(text) for text in texts) == 4 * 60
        assert len([text for text in texts if text]) < 40
        assert events[-1]["choices"][0]["finish_reason"] == "length"
        series = await page(client, server)
        assert value(series, "generation_tokens_total") == 60
        assert value(series, "request_success_total", 'finished_reason="length"') == 1


async def test_a_whole_answer_tells_the_same_counts(client: AsyncClient) -> None:
    async with SimServer(QUICK) as server:
        answer = await client.post(f"{server.url}/v1/completions", json={"prompt": "x" * 400, "max_tokens": 5})
        assert answer.json()["usage"]["prompt_tokens"] == 100
        assert answer.json()["usage"]["completion_tokens"] == 5


async def test_who_it_is(client: AsyncClient) -> None:
    async with SimServer(SimSpec(k=0, version="0.32.0", model_name="m")) as server:
        assert (await client.get(f"{server.url}/health")).status_code == 200
        assert (await client.get(f"{server.url}/version")).json() == {"version": "0.32.0"}
        card = (await client.get(f"{server.url}/v1/models")).json()["data"][0]
        assert (card["id"], card["root"], card["max_model_len"]) == ("m", "sim/m", 4096)
        assert (await client.get(f"{server.url}/nothing")).status_code == 404


async def test_a_refusal_is_vllms_json(client: AsyncClient) -> None:
    async with SimServer(QUICK) as server:
        answer = await client.post(f"{server.url}/v1/completions", json={"prompt": "a", "min_p": 0.1})
        assert answer.status_code == 400
        assert answer.json()["error"]["type"] == "BadRequestError"
        wrong = await client.post(f"{server.url}/v1/completions", json={"prompt": "a", "model": "b"})
        assert wrong.status_code == 404


async def test_a_client_that_leaves_aborts_its_request(client: AsyncClient) -> None:
    async with SimServer(SLOW) as server:
        body = {"prompt": "a", "max_tokens": 4000, "ignore_eos": True, "stream": True}
        async with client.stream("POST", f"{server.url}/v1/completions", json=body) as answer:
            await answer.aiter_bytes().__anext__()
            assert len(server.engines[0].running) == 1
        await until(lambda: server.engines[0].idle)
        assert value(await page(client, server), "request_success_total", 'finished_reason="abort"') == 1


async def test_malformed_bytes_get_an_answer_and_a_closed_connection() -> None:
    async with SimServer(QUICK) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
        writer.write(b"nonsense\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
        writer.close()
        await writer.wait_closed()


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with SimServer(QUICK) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
        writer.write(b"GET /health HTTP/1.1\r\n\r\nGET /version HTTP/1.1\r\nConnection: close\r\n\r\n")
        answers = await reader.read()
        assert answers.count(b"HTTP/1.1 200 OK") == 2
        assert answers.endswith(b'{"version": "0.26.0"}')
        writer.close()
        await writer.wait_closed()


async def test_requests_spread_over_data_parallel_engines(client: AsyncClient) -> None:
    async with SimServer(SimSpec(k=1, engines=2, time_scale=20.0)) as server:
        server.traffic.set_clients(6)
        await until(lambda: [len(engine.running) + len(engine.waiting) for engine in server.engines] == [3, 3])
        series = await page(client, server)
        assert {key for key in series if key.startswith("vllm:num_requests_running")} == {
            f'vllm:num_requests_running{{engine="{index}",model_name="sim-8b"}}' for index in range(2)
        }


async def test_background_traffic_comes_and_goes(client: AsyncClient) -> None:
    async with SimServer(QUICK) as server:
        answer = await client.post(f"{server.url}/sim/traffic", json={"clients": 5})
        assert answer.json() == {"clients": 5}
        await until(lambda: len(server.engines[0].running) == 5)
        await until(lambda: server.traffic.answered >= 5)
        await client.post(f"{server.url}/sim/traffic", json={"clients": 0})
        await until(lambda: server.engines[0].idle)
        assert (await client.post(f"{server.url}/sim/traffic", json={"clients": -1})).status_code == 400


async def test_traffic_follows_a_profile_to_its_end() -> None:
    async with SimServer(QUICK) as server:
        server.traffic.follow([(0.0, 2.0), (0.4, 8.0), (0.8, 1.0)])
        seen = []
        await until(lambda: seen.append(server.traffic.clients) or (max(seen) > 4 and seen[-1] == 1))  # type: ignore[func-returns-value]


async def test_traffic_survives_a_server_that_fails_for_a_while() -> None:
    async with SimServer(QUICK) as server:
        server.set_faults(api_status=500)
        server.traffic.set_clients(2)
        await until(lambda: server.refused >= 2)
        server.set_faults(api_status=200)
        await until(lambda: server.traffic.answered >= 2)


class TestFaults:
    async def test_pages_that_are_no_readings(self, client: AsyncClient) -> None:
        async with SimServer(QUICK) as server:
            server.set_faults(page_status=503)
            assert (await client.get(f"{server.url}/metrics")).status_code == 503
            server.set_faults(page_status=200, page_empty=True)
            assert (await client.get(f"{server.url}/metrics")).content == b""
            server.set_faults(page_empty=False, drop_vllm=True)
            assert "vllm:" not in (await client.get(f"{server.url}/metrics")).text

    async def test_a_slow_page_does_not_hold_up_the_rest(self, client: AsyncClient) -> None:
        async with SimServer(QUICK) as server:
            server.set_faults(page_delay_s=30.0)
            slow = asyncio.ensure_future(client.get(f"{server.url}/metrics"))
            assert (await client.get(f"{server.url}/health")).status_code == 200
            assert not slow.done()
            slow.cancel()

    async def test_a_sleeping_server_holds_its_requests(self, client: AsyncClient) -> None:
        async with SimServer(QUICK) as server:
            server.set_faults(sleep_level=1)
            answer = asyncio.ensure_future(
                client.post(f"{server.url}/v1/completions", json={"prompt": "a", "max_tokens": 3})
            )
            await until(lambda: len(server.engines[0].waiting) == 1)
            series = await page(client, server)
            assert value(series, "engine_sleep_state", 'sleep_state="awake"') == 0
            assert value(series, "engine_sleep_state", 'sleep_state="weights_offloaded"') == 1
            server.set_faults(sleep_level=0)
            assert (await answer).status_code == 200

    async def test_a_restart_counts_from_zero_and_loses_what_ran(self, client: AsyncClient) -> None:
        async with SimServer(QUICK) as server:
            await client.post(f"{server.url}/v1/completions", json={"prompt": "a", "max_tokens": 8})
            before = await page(client, server)
            await client.post(f"{server.url}/sim/restart")
            after = await page(client, server)
            assert value(before, "generation_tokens_total") == 8
            assert value(after, "generation_tokens_total") == 0
            assert after["process_start_time_seconds"] > before["process_start_time_seconds"]

    async def test_another_arm_than_it_says(self, client: AsyncClient) -> None:
        async with SimServer(SimSpec(k=0)) as server:
            await client.post(f"{server.url}/sim/faults", json={"arm_k": 1})
            await client.post(f"{server.url}/v1/completions", json={"prompt": "a", "max_tokens": 30})
            series = await page(client, server)
            drafts = value(series, "spec_decode_num_drafts_total")
            assert drafts > 0
            assert value(series, "spec_decode_num_draft_tokens_total") == drafts

    async def test_configured_but_not_drafting(self, client: AsyncClient) -> None:
        async with SimServer(QUICK) as server:
            server.set_faults(not_drafting=True)
            await client.post(f"{server.url}/v1/completions", json={"prompt": "a", "max_tokens": 30})
            series = await page(client, server)
            assert value(series, "generation_tokens_total") == 30
            assert value(series, "spec_decode_num_drafts_total") == 0

    async def test_a_filtered_page_still_drafts(self, client: AsyncClient) -> None:
        async with SimServer(QUICK) as server:
            server.set_faults(drop_spec=True)
            await client.post(f"{server.url}/v1/completions", json={"prompt": "a", "max_tokens": 30})
            assert not [key for key in await page(client, server) if "spec_decode" in key]
            assert server.engines[0].counters.drafts > 0

    async def test_foreign_load_shows_on_the_page_and_leaves_again(self, client: AsyncClient) -> None:
        async with SimServer(QUICK) as server:
            server.set_faults(foreign_clients=7)
            await until(lambda: len(server.engines[0].running) == 7)
            server.set_faults(foreign_clients=0)
            assert value(await page(client, server), "num_requests_running") == 0

    async def test_a_full_cache_makes_requests_wait(self, client: AsyncClient) -> None:
        async with SimServer(QUICK) as server:
            server.set_faults(kv_reserved=1.0)
            answer = asyncio.ensure_future(client.post(f"{server.url}/v1/completions", json={"prompt": "a"}))
            await until(lambda: len(server.engines[0].waiting) == 1)
            assert value(await page(client, server), "kv_cache_usage_perc") == 1.0
            server.set_faults(kv_reserved=0.0)
            assert (await answer).status_code == 200

    async def test_a_dead_server_drops_everyone_and_comes_back_as_another_process(self, client: AsyncClient) -> None:
        async with SimServer(SLOW) as server:
            asking = asyncio.ensure_future(
                client.post(f"{server.url}/v1/completions", json={"prompt": "a", "max_tokens": 4000})
            )
            await until(lambda: server.engines[0].running)
            answer = await client.post(f"{server.url}/sim/faults", json={"dead": True})
            assert answer.json()["dead"] is True
            with pytest.raises(HTTPError):
                await asking
            with pytest.raises(HTTPError):
                await client.get(f"{server.url}/health")
            assert server.engines[0].idle
            await client.post(f"{server.url}/sim/faults", json={"dead": False})
            assert value(await page(client, server), "request_success_total") == 0

    async def test_a_hanging_server_looks_well_and_says_nothing(self, client: AsyncClient) -> None:
        async with SimServer(QUICK) as server:
            server.set_faults(hang=True)
            asking = asyncio.ensure_future(
                client.post(f"{server.url}/v1/completions", json={"prompt": "a", "max_tokens": 3})
            )
            await until(lambda: server.engines[0].waiting)
            series = await page(client, server)
            assert value(series, "engine_sleep_state", 'sleep_state="awake"') == 1
            assert not asking.done()
            server.set_faults(hang=False)
            assert (await asking).status_code == 200

    async def test_a_deaf_server_goes_on_for_nobody(self, client: AsyncClient) -> None:
        async with SimServer(SLOW) as server:
            server.set_faults(deaf=True)
            body = {"prompt": "a", "max_tokens": 200, "ignore_eos": True, "stream": True}
            async with client.stream("POST", f"{server.url}/v1/completions", json=body) as answer:
                await answer.aiter_bytes().__anext__()
            done = server.engines[0].running[0].generated
            await until(lambda: server.engines[0].running[0].generated > done + 3)

    async def test_every_nth_answer_is_refused_or_cut(self, client: AsyncClient) -> None:
        async with SimServer(QUICK) as server:
            server.set_faults(refuse_every=3, truncate_every=2)
            url = f"{server.url}/v1/completions"
            body = {"prompt": "a", "max_tokens": 40, "ignore_eos": True, "stream": True}
            answers = [await client.post(url, json=body) for _ in range(3)]
            assert [answer.status_code for answer in answers] == [200, 200, 429]
            assert "[DONE]" in answers[0].text
            assert "[DONE]" not in answers[1].text
            assert '"length"' not in answers[1].text
            await until(lambda: server.engines[0].idle)

    async def test_an_upgrade_that_nobody_told_of(self, client: AsyncClient) -> None:
        async with SimServer(QUICK) as server:
            await client.post(f"{server.url}/sim/faults", json={"version": "0.27.0"})
            assert (await client.get(f"{server.url}/version")).json() == {"version": "0.27.0"}
            await client.post(f"{server.url}/sim/faults", json={"version": None})
            assert (await client.get(f"{server.url}/version")).json() == {"version": "0.26.0"}

    @pytest.mark.parametrize(
        ("name", "wrong"), [("version", 3), ("arm_k", "k1"), ("arm_k", 1.5), ("dead", 1), ("slow", None)]
    )
    async def test_a_fault_of_another_kind_is_refused(self, name: str, wrong: object) -> None:
        async with SimServer(QUICK) as server:
            with pytest.raises(ValueError, match=f"fault {name} does not take"):
                server.set_faults(**{name: wrong})

    async def test_unknown_faults_are_named(self, client: AsyncClient) -> None:
        async with SimServer(QUICK) as server:
            answer = await client.post(f"{server.url}/sim/faults", json={"sleepy": True})
            assert answer.status_code == 400
            assert "no fault is called 'sleepy'" in answer.json()["error"]["message"]
            assert (await client.post(f"{server.url}/sim/faults", json={"self": 1})).status_code == 400
            with pytest.raises(ValueError, match="page_delay_s does not take 'long'"):
                server.set_faults(page_delay_s="long")


async def test_leaving_the_block_closes_every_socket(client: AsyncClient) -> None:
    loop = asyncio.get_running_loop()
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    async with SimServer(SLOW) as server:
        server.traffic.set_clients(3)
        outside = Traffic(server.url, seed=9)
        outside.set_clients(2)
        await until(lambda: len(server.engines[0].running) == 5)
    await outside.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert complaints == []
