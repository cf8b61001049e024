"""What a server says it is, over a real loopback server, and the fingerprint made of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from probes.scrape.fingerprint import fingerprint
from probes.scrape.identity import identify
from probes.values import Identity, Target
from tests.support.http_server import CLOSE, HANG, LoopbackServer, Reply, routes


def answer(body: object) -> Reply:
    return Reply(body=json.dumps(body).encode(), headers={"content-type": "application/json"})


VERSION = answer({"version": "0.26.0"})
MODELS = answer(
    {
        "object": "list",
        "data": [
            {"id": "chat", "root": "/models/llama", "max_model_len": 2048, "parent": None},
            {"id": "adapter", "root": "/models/adapter", "parent": "chat"},
        ],
    }
)
SGLANG = {
    "version": "0.5.15",
    "api_key": "s3cret",
    "admin_api_key": "s3cret",
    "speculative_algorithm": "EAGLE3",
    "speculative_num_draft_tokens": 4,
    "internal_states": [{"speculative_num_draft_tokens": 2, "last_gen_throughput": 1.5}],
}


async def test_vllm() -> None:
    async with LoopbackServer(routes({"/version": VERSION, "/v1/models": MODELS})) as server:
        identity = await identify(Target("chat", server.url), timeout_s=5.0)
        asked = {request.target for request in server.requests}
    assert identity == Identity("0.26.0", "chat", "/models/llama", 2048, ("chat", "adapter"))
    assert asked == {"/version", "/v1/models"}, "a server that states its version is asked nothing more"


async def test_prefix_api_path_and_key_are_kept() -> None:
    table = {"/team/a/version": VERSION, "/team/a/openai/v1/models": MODELS}
    async with LoopbackServer(routes(table)) as server:
        target = Target(
            "chat",
            f"{server.url}/team/a",
            api_path="/openai/v1",
            headers={"Authorization": "Bearer k"},
            metrics_headers={"Authorization": "Bearer page"},
        )
        identity = await identify(target, timeout_s=5.0)
        keys = {request.headers.get("authorization") for request in server.requests}
    assert identity.version == "0.26.0"
    assert identity.model == "chat"
    assert keys == {"Bearer k"}


@pytest.mark.parametrize("path", ["/server_info", "/get_server_info"])
async def test_sglang_by_its_new_and_its_old_path(path: str) -> None:
    async with LoopbackServer(routes({path: answer(SGLANG), "/v1/models": MODELS})) as server:
        identity = await identify(Target("chat", server.url), timeout_s=5.0)
        asked = [request.target for request in server.requests]
    assert identity.version == "0.5.15"
    assert identity.speculative_algorithm == "EAGLE3"
    assert identity.k == 1, "the state in force, not the start argument, and without the root that is verified too"
    assert "s3cret" not in repr(identity)
    assert ("/get_server_info" in asked) is (path == "/get_server_info")


async def test_sglang_counts_the_verified_root_among_its_draft_tokens() -> None:
    started = {**SGLANG, "speculative_num_steps": 3, "speculative_eagle_topk": 1, "internal_states": []}
    async with LoopbackServer(routes({"/server_info": answer(started)})) as server:
        identity = await identify(Target("chat", server.url), timeout_s=5.0)
    assert identity.k == 3, "--speculative-num-steps 3 --speculative-num-draft-tokens 4"


async def test_sglang_without_speculation_has_no_k() -> None:
    info = {**SGLANG, "speculative_algorithm": None}
    async with LoopbackServer(routes({"/server_info": answer(info)})) as server:
        identity = await identify(Target("chat", server.url), timeout_s=5.0)
    assert identity.speculative_algorithm is None
    assert identity.k is None


async def test_the_configured_model_is_chosen_and_several_are_not_guessed_at() -> None:
    two = answer({"data": [{"id": "a", "root": "/a", "max_model_len": 1}, {"id": "b", "root": "/b"}]})
    async with LoopbackServer(routes({"/v1/models": two})) as server:
        guessed = await identify(Target("chat", server.url), timeout_s=5.0)
        chosen = await identify(Target("chat", server.url, model="b"), timeout_s=5.0)
        absent = await identify(Target("chat", server.url, model="c"), timeout_s=5.0)
    assert guessed.model is None
    assert guessed.models == ("a", "b")
    assert (chosen.model, chosen.model_root, chosen.max_model_len) == ("b", "/b", None)
    assert absent.model is None


@pytest.mark.parametrize(
    "reply",
    [
        CLOSE,
        Reply(401),
        Reply(500),
        Reply(body=b"not json"),
        Reply(body=b"[1, 2]"),
        Reply(body=b'{"version": 7, "data": 3, "internal_states": "x"}'),
        Reply(body=b'{"data": [1, null, {"id": 5}], "version": ""}'),
        Reply(body=b"[" * 100_000),
        Reply(body=b'{"version": "' + b"x" * 5_000_000 + b'"}'),
    ],
)
async def test_nonsense_is_nothing_known(reply: Reply) -> None:
    async with LoopbackServer(lambda _: reply) as server:
        assert await identify(Target("chat", server.url), timeout_s=5.0) == Identity()


async def test_one_deadline_for_all_requests() -> None:
    async with LoopbackServer(routes({"/version": VERSION, "/v1/models": HANG})) as server:
        identity = await identify(Target("chat", server.url), timeout_s=1.0)
    assert identity == Identity(version="0.26.0")


@pytest.mark.parametrize("target", [Target("x", "http://[bad"), Target("x", "https://127.0.0.1:1", ca_file="/nowhere")])
async def test_what_cannot_be_asked_is_nothing_known(target: Target) -> None:
    assert await identify(target, timeout_s=1.0) == Identity()


KNOWN = Identity("0.26.0", "chat", "/models/llama", 2048, ("chat",), k=3)
CACHE = {"block_size": "16", "cache_dtype": "auto", "enable_prefix_caching": "False", "num_gpu_blocks": "6454"}


def test_fingerprint_is_stable_and_short() -> None:
    assert fingerprint(KNOWN, CACHE, "1xH200", None) == "853111cff017"


@pytest.mark.parametrize(
    "same",
    [
        (replace(KNOWN, k=None, model="other", models=()), CACHE, "1xH200", None),
        (KNOWN, {**CACHE, "num_gpu_blocks": "9"}, "1xH200", None),
        (KNOWN, dict(reversed(CACHE.items())), "1xH200", None),
    ],
)
def test_what_differs_between_arms_does_not_change_it(same: tuple[Identity, dict[str, str], str, None]) -> None:
    assert fingerprint(*same) == fingerprint(KNOWN, CACHE, "1xH200", None)


def test_what_decides_speed_changes_it() -> None:
    prints = {
        fingerprint(KNOWN, CACHE, "1xH200", None),
        fingerprint(KNOWN, CACHE, None, "1xH200"),
        fingerprint(KNOWN, CACHE, "2xH200", None),
        fingerprint(KNOWN, CACHE, "1xH200", "r2"),
        fingerprint(replace(KNOWN, version="0.27.0"), CACHE, "1xH200", None),
        fingerprint(replace(KNOWN, model_root="/m"), CACHE, "1xH200", None),
        fingerprint(replace(KNOWN, max_model_len=4096), CACHE, "1xH200", None),
        *(fingerprint(KNOWN, {**CACHE, key: "x"}, "1xH200", None) for key in list(CACHE)[:3]),
    }
    assert len(prints) == 10
