"""Request bodies: salted first, same order in every arm, only what the user set."""

from __future__ import annotations

import json
from itertools import islice

from probes.load.opening import Opening
from probes.load.prompts import Prompt, parse_prompts
from probes.load.recipe import prompt_order
from probes.load.request import RequestSource, Sampling, Series, make_body, salt

PROMPTS = parse_prompts("t", b"\n".join(b'{"prompt": "p%d"}' % i for i in range(10)))


def texts(series: Series, count: int = 25) -> list[str]:
    source = RequestSource(PROMPTS, "m", Sampling(8), series)
    return [json.loads(source.next()[2].content)["prompt"] for _ in range(count)]


def test_arms_get_the_same_prompts_in_the_same_order_with_different_salts() -> None:
    one, two = texts(Series("n", 1, 4, 0, order=6)), texts(Series("n", 1, 4, 0, order=7))
    assert [text.split()[1] for text in one] == [text.split()[1] for text in two]
    assert not {text.split()[0] for text in one} & {text.split()[0] for text in two}


def test_every_salt_is_new_and_alike_in_form() -> None:
    salts = {salt("n", order, index) for order in range(20) for index in range(200)}
    assert len(salts) == 4000
    assert {len(mark) for mark in salts} == {8}
    assert salt("n", 0, 0) != salt("other", 0, 0)


def test_each_pass_uses_every_prompt_once_and_seeds_change_the_order() -> None:
    order = list(islice(prompt_order(10, 1, 4, 0), 20))
    assert sorted(order[:10]) == sorted(order[10:]) == list(range(10))
    assert order == list(islice(prompt_order(10, 1, 4, 0), 20))
    assert order != list(islice(prompt_order(10, 2, 4, 0), 20))


def test_a_text_prompt_goes_to_completions_with_the_salt_first() -> None:
    body = make_body(Prompt(text="hello"), "m", Sampling(64), Opening("abcd"))
    assert body.path == "/completions"
    assert json.loads(body.content) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 64,
        "prompt": "abcd hello",
    }


def test_sampling_is_sent_where_set() -> None:
    body = json.loads(make_body(Prompt(text="x"), "m", Sampling(8, 0.0, 0.9), Opening("s")).content)
    assert (body["temperature"], body["top_p"]) == (0.0, 0.9)


def test_messages_go_to_chat_salted_in_the_first_message() -> None:
    messages = ({"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"})
    body = make_body(Prompt(messages=messages), "m", Sampling(8), Opening("abcd"))
    assert body.path == "/chat/completions"
    sent = json.loads(body.content)["messages"]
    assert [message["content"] for message in sent] == ["abcd be kind", "hi"]
    assert messages[0]["content"] == "be kind"


def test_a_message_of_parts_gets_the_salt_as_its_first_part() -> None:
    parts = [{"type": "text", "text": "hi"}]
    body = make_body(Prompt(messages=({"role": "user", "content": parts},)), "m", Sampling(8), Opening("abcd"))
    assert json.loads(body.content)["messages"][0]["content"] == [{"type": "text", "text": "abcd"}, *parts]


def test_request_ids_name_us_the_sweep_and_the_cell() -> None:
    source = RequestSource(PROMPTS, "m", Sampling(8), Series("n0nce", 1, 4, 0, order=6))
    assert [source.next()[:2] for _ in range(2)] == [(0, "specwatch-n0nce-6-0"), (1, "specwatch-n0nce-6-1")]
