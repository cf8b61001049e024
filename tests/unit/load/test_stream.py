"""What is read from one stream: stamps of the reads that brought tokens, usage and finish reason, faults in words."""

from __future__ import annotations

import json
import re
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.load.stream import Flight, StreamFault


def read(flight: Flight, chunk: bytes, at_s: float) -> None:
    flight.seen_s = at_s
    flight.read(chunk)


def event(value: object, eol: str = "\n") -> bytes:
    return f"data: {json.dumps(value)}{eol}{eol}".encode()


def token(text: str, finish: str | None = None, *, chat: bool) -> dict[str, object]:
    body: dict[str, object] = {"delta": {"content": text}} if chat else {"text": text}
    return {"choices": [{**body, "finish_reason": finish}]}


@given(
    chat=st.booleans(),
    eol=st.sampled_from(["\n", "\r\n"]),
    texts=st.lists(st.sampled_from(["a", '"error"', "\r\n\r\n", "data: [DONE]", "é" * 40]), min_size=1, max_size=12),
    comments=st.integers(0, 9),
    done=st.booleans(),
    data=st.data(),
)
def test_stamps_and_counts_are_the_same_however_the_network_cuts_the_bytes(
    chat: bool, eol: str, texts: list[str], comments: int, done: bool, data: st.DataObject
) -> None:
    parts = [event({"choices": [{"delta": {"role": "assistant", "content": ""}}]}, eol)] if chat else []
    first = len(parts)
    parts += [event(token(text, chat=chat), eol) for text in texts]
    parts.append(event(token("z", "length", chat=chat), eol))
    last = len(parts) - 1
    usage = {"prompt_tokens": 7, "completion_tokens": len(texts) + 1}
    parts.append(event({"choices": [], "usage": usage}, eol))
    parts += [f": keep-alive{eol}{eol}".encode()] * comments
    parts += [f"data: [DONE]{eol}{eol}".encode()] * done
    ends = list(accumulate(len(part) for part in parts))
    stream = b"".join(parts)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=40), label="cuts")
    edges = sorted({0, len(stream), *cuts})

    flight = Flight(0, 0, 0.0, chat=chat)
    for start, end in pairwise(edges):
        read(flight, stream[start:end], float(end))

    assert flight.finished() is None
    assert (flight.prompt_tokens, flight.output_tokens, flight.finish) == (7, len(texts) + 1, "length")
    assert flight.first_s == min(edge for edge in edges if edge >= ends[first])
    assert flight.last_s == min(edge for edge in edges if edge >= ends[last])


@pytest.mark.parametrize("odd", [b"[1]", b'{"choices": "x"}', b'{"choices": [7], "usage": 3}', b"nonsense"])
def test_an_odd_stream_is_an_error_in_words(odd: bytes) -> None:
    def fault() -> str | None:
        flight = Flight(0, 0, 0.0, chat=True)
        try:
            read(flight, b"data: " + odd + b"\n\n", 1.0)
        except StreamFault as found:
            return str(found)
        return flight.finished()

    assert re.search(r"not JSON|not a JSON object|ended before the answer", fault() or "")


def test_a_chat_streams_first_token_is_not_its_role_event() -> None:
    flight = Flight(0, 0, 0.0, chat=True)
    read(flight, b'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n', 1.0)
    read(flight, b'data: {"choices": [{"delta": {"reasoning_content": "hm"}}]}\n\n', 2.0)
    read(
        flight,
        b'data: {"choices": [{"delta": {"content": "\\"error\\" is a word"}, "finish_reason": "stop"}]}\n\n',
        3.0,
    )
    read(
        flight, b'data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 9}}\n\ndata: [DONE]\n\n', 4.0
    )
    flight.finished()
    assert (flight.first_s, flight.last_s, flight.seen_s) == (2.0, 3.0, 4.0)
    assert (flight.prompt_tokens, flight.output_tokens, flight.finish) == (5, 9, "stop")


def test_usage_may_ride_on_the_last_token() -> None:
    flight = Flight(0, 0, 0.0, chat=False)
    event = b'{"choices": [{"text": "", "finish_reason": "length"}], "usage": {"completion_tokens": 2}}'
    read(flight, b'data: {"choices": [{"text": "a"}], "usage": null}\n\ndata: ' + event + b"\n\n", 1.0)
    flight.finished()
    assert (flight.output_tokens, flight.last_s) == (2, 1.0)


def test_finish_reason_error_is_an_error() -> None:
    with pytest.raises(StreamFault, match="finish reason error"):
        read(Flight(0, 0, 0.0, chat=False), b'data: {"choices": [{"text": "", "finish_reason": "error"}]}\n\n', 1.0)
