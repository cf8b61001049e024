"""The event cutter must give the same events however the network cuts the bytes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.load.sse import EventTooLarge, SseReader, events_of


def read_all(chunks: list[bytes]) -> list[bytes]:
    reader = SseReader()
    events = [event for chunk in chunks for event in events_of(reader.whole_events(chunk))]
    return events + events_of(reader.rest())


@given(
    payloads=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=30), max_size=8
    ),
    eol=st.sampled_from(["\n", "\r\n"]),
    noise=st.sampled_from(["", ": ping", "event: x", "id: 4"]),
    cuts=st.lists(st.integers(0, 400), max_size=30),
    ends=st.booleans(),
)
def test_any_cut_of_the_bytes_gives_the_same_events(
    payloads: list[str], eol: str, noise: str, cuts: list[int], ends: bool
) -> None:
    events = [f"{noise + eol if noise else ''}data: {payload}{eol}" for payload in payloads]
    stream = eol.join(events).encode() + (eol.encode() if ends and events else b"")
    edges = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    chunks = [stream[a:b] for a, b in pairwise(edges)]

    assert read_all(chunks) == [payload.encode() for payload in payloads]


def test_several_events_in_one_read_come_out_in_order() -> None:
    assert events_of(SseReader().whole_events(b"data: 1\n\ndata: 2\n\ndata: [DONE]\n\n")) == [b"1", b"2", b"[DONE]"]


def test_a_half_event_waits_for_its_end() -> None:
    reader = SseReader()
    assert reader.whole_events(b'data: {"a":') == b""
    assert reader.whole_events(b" 1}\r") == b""
    assert events_of(reader.whole_events(b"\n\r\n")) == [b'{"a": 1}']


def test_data_lines_of_one_event_are_joined_and_the_space_is_optional() -> None:
    assert events_of(SseReader().whole_events(b"data:a\ndata: b\n\n")) == [b"a\nb"]


def test_comments_alone_are_no_event() -> None:
    assert events_of(SseReader().whole_events(b": keep-alive\n\n\n\n")) == []


def test_an_event_without_end_is_refused() -> None:
    reader = SseReader()
    for _ in range(4):
        assert reader.whole_events(b"x" * 1024 * 1024) == b""
    with pytest.raises(EventTooLarge):
        reader.whole_events(b"x")
