"""Request bodies: salted first, same order in every arm, only what the user set."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from probes.load.opening import Opening
from probes.load.prompts import BUILTIN, Prompt, load_prompts, parse_prompts
from probes.load.recipe import Form, prompt_order
from probes.load.records import Ending, RequestRecord
from probes.load.request import RequestSource, Sampling, Series, make_body, salt
from probes.load.shape import LengthShape
from probes.load.vocabulary import chars_per_token

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


SHAPE = LengthShape(tuple(30.0 * n for n in range(1, 33)), tuple(20.0 * n for n in range(1, 33)), 1000.0)


def shaped(form: Form, *, max_tokens: int = 400, count: int = 64, order: int = 0) -> list[tuple[int, int]]:
    """Characters of prompt and cap on the answer of one cell's requests."""
    source = RequestSource(load_prompts(BUILTIN), "m", Sampling(max_tokens), Series("n", 1, 4, 0, order), form)
    bodies = [source.next()[2] for _ in range(count)]
    return [(body.chars, json.loads(body.content)["max_tokens"]) for body in bodies]


def test_prompts_and_answers_take_the_lengths_of_live_traffic() -> None:
    sent = shaped(Form(SHAPE, chars_per_token=4.0))
    prompts = sorted(chars / 4.0 for chars, _ in sent)
    assert sum(prompts) / 64 == pytest.approx(sum(SHAPE.prompt_tokens) / 32, rel=0.05)
    assert prompts[0] < 40
    assert prompts[-1] > 900
    assert sorted(answer for _, answer in sent) == sorted(min(400, round(n)) for n in SHAPE.output_tokens * 2)
    assert sent == shaped(Form(SHAPE, chars_per_token=4.0), order=7), "another arm is sent the same"


def test_a_denser_vocabulary_gets_shorter_texts() -> None:
    long, short = shaped(Form(SHAPE, chars_per_token=5.0)), shaped(Form(SHAPE, chars_per_token=2.5))
    assert sum(chars for chars, _ in long) == pytest.approx(2 * sum(chars for chars, _ in short), rel=0.05)


def test_nothing_outgrows_what_the_server_takes() -> None:
    for shape in (SHAPE, None):
        for target in (0.0, 0.9):
            for chars, answer in shaped(Form(shape, target, 4.0, max_model_len=700), max_tokens=512):
                assert chars / 4.0 + answer <= 700
                assert answer >= 1


def test_own_prompts_are_sent_as_they_are_and_only_their_answers_are_shaped() -> None:
    source = RequestSource(PROMPTS, "m", Sampling(512), Series("n", 1, 4, 0, order=0), Form(SHAPE))
    sent = [json.loads(source.next()[2].content) for _ in range(32)]
    assert {body["prompt"][9:] for body in sent} == {f"p{n}" for n in range(10)}
    assert sorted(body["max_tokens"] for body in sent) == [min(512, round(n)) for n in SHAPE.output_tokens]


def test_what_is_passed_over_is_what_another_process_sends() -> None:
    form = Form(SHAPE, 0.4)
    whole, second = (
        RequestSource(load_prompts(BUILTIN), "m", Sampling(512), Series("n", 1, 4, 0, order=0), form) for _ in range(2)
    )
    sent = [whole.next() for _ in range(40)]
    for index in range(40):
        if index % 3 == 1:
            assert second.next() == sent[index]
        else:
            second.skip()


def counted(index: int, prompt_tokens: int | None) -> RequestRecord:
    """A finished request that the server counted."""
    return RequestRecord(index, 0, 0.0, 0.0, 0.1, 0.2, 0.2, Ending.OK, prompt_tokens=prompt_tokens, output_tokens=5)


def test_a_server_tells_how_many_characters_its_tokens_hold() -> None:
    def source() -> RequestSource:
        return RequestSource(load_prompts(BUILTIN), "m", Sampling(64), Series("n", 1, 4, 0, order=-1), Form(SHAPE, 0.3))

    sent = source()
    tokens = [round(sent.next()[2].chars / 3.2) for _ in range(60)]
    every_third = [counted(index, tokens[index]) for index in range(0, 60, 3)]
    assert chars_per_token(source(), [*every_third, counted(59, None)]) == pytest.approx(3.2, abs=0.02)
    assert chars_per_token(source(), every_third[:1]) is None, "one prompt is too little"
    assert chars_per_token(source(), []) is None
    lies = [counted(index, 50 * tokens[index]) for index in range(0, 60, 3)]
    assert chars_per_token(source(), lies) is None, "no vocabulary has fifty tokens to a word"
