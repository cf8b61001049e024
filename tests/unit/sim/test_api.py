"""What the simulated server refuses is what vLLM refuses, with a message for people."""

from __future__ import annotations

import json

import pytest

from probes.sim.api import ApiError, parse
from probes.sim.spec import SimSpec

SPEC = SimSpec(k=3)


def test_a_full_completion_request_is_understood() -> None:
    body = {"model": "sim-8b", "prompt": "x" * 401, "max_tokens": 9, "min_tokens": 2, "ignore_eos": True}
    body |= {"stream": True, "stream_options": {"include_usage": True}, "temperature": 0.7}
    ask = parse(json.dumps(body).encode(), chat=False, spec=SPEC)
    assert (ask.prompt_tokens, ask.max_tokens, ask.min_tokens, ask.ignore_eos) == (101, 9, 2, True)
    assert ask.stream
    assert ask.include_usage


def test_defaults_are_vllms() -> None:
    assert parse(b'{"prompt": "hi"}', chat=False, spec=SPEC).max_tokens == 16
    chat = parse(b'{"messages": [{"role": "user", "content": "hi"}]}', chat=True, spec=SPEC)
    assert chat.max_tokens == SPEC.context_limit - chat.prompt_tokens


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"{", 400, "not JSON"),
        (b"[]", 400, "JSON object"),
        (b"{}", 400, "prompt must be"),
        (b'{"prompt": ["a", "b"]}', 400, "only one"),
        (b'{"prompt": "a", "model": "other"}', 404, "`other` does not exist"),
        (b'{"prompt": "a", "max_tokens": 0}', 400, "max_tokens must be"),
        (b'{"prompt": "a", "max_tokens": 99999}', 400, "maximum context length"),
        (b'{"prompt": "a", "max_tokens": 4, "min_tokens": 5}', 400, "min_tokens must be less"),
        (b'{"prompt": "a", "temperature": "hot"}', 400, "temperature must be"),
        (b'{"prompt": "a", "n": 2}', 400, "n=1"),
    ],
)
def test_bad_requests_are_refused_in_words(body: bytes, status: int, says: str) -> None:
    with pytest.raises(ApiError, match=says) as caught:
        parse(body, chat=False, spec=SPEC)
    assert json.loads(caught.value.body())["error"]["code"] == status


@pytest.mark.parametrize("parameter", ['"min_p": 0.1', '"logit_bias": {"5": 1.0}'])
def test_sampling_that_only_drafting_servers_refuse(parameter: str) -> None:
    body = ('{"prompt": "a", ' + parameter + "}").encode()
    assert parse(body, chat=False, spec=SimSpec(k=0)).prompt_tokens == 1
    with pytest.raises(ApiError, match="not yet supported with speculative decoding"):
        parse(body, chat=False, spec=SPEC)
