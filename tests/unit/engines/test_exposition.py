"""The page reader against prometheus_client's, and against what it must survive."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from probes.engines.exposition import ExpositionParser, NotTextError, Page, parse_key, parse_line
from tests.unit.engines.pages import REAL, line, real

Sample = tuple[str, tuple[tuple[str, str], ...], str]


def everything(max_series: int = 50_000) -> ExpositionParser:
    return ExpositionParser(lambda name: name, max_series=max_series)


def flat(page: Page) -> list[Sample]:
    return sorted(
        (name, tuple(sorted(labels.items())), repr(value))
        for name, series in page.samples.items()
        for labels, value in series
    )


def reference(body: bytes) -> list[Sample]:
    return sorted(
        (sample.name, tuple(sorted(sample.labels.items())), repr(sample.value))
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    )


@pytest.mark.parametrize("name", REAL)
def test_real_pages_read_as_prometheus_client_reads_them(name: str) -> None:
    parser = everything()
    expected = reference(real(name))
    assert flat(parser.parse(real(name))) == expected
    assert flat(parser.parse(real(name))) == expected, "the second read, from remembered keys, differs"
    assert parser.remembered == len(expected)


@given(st.dictionaries(st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]*", fullmatch=True), st.text(max_size=30), max_size=5))
def test_any_label_value_survives_escaping(labels: dict[str, str]) -> None:
    labels = {key: value.replace("\x00", "") for key, value in labels.items()}
    labels = {key: value.encode("utf-8", "ignore").decode() for key, value in labels.items()}
    body = f"{line('a:b_total', labels, 4.5)}\nafter 1\n".encode()
    parser = everything()
    for _ in range(2):
        page = parser.parse(body)
        assert page.samples == {"a:b_total": [(labels, 4.5)], "after": [({}, 1.0)]}
        assert page.malformed_lines == 0


@given(st.text(max_size=60))
def test_no_line_makes_the_reader_fail_or_invent_a_series(text: str) -> None:
    body = f"known 1\n{text}\nlast 2\n".encode("utf-8", "ignore").replace(b"\x00", b"")
    page = everything().parse(body)
    assert ({}, 1.0) in page.samples["known"]
    assert ({}, 2.0) in page.samples["last"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('m{a="x"} 3 1712345678901', 3.0),
        ('m{a="x"} 3 # {trace_id="abc"} 0.5 1712345678.9', 3.0),
        ('m{ a = "x" , } 3', 3.0),
        ('m{a="x"}\t3', 3.0),
        ('m{a="x"}   3\r', 3.0),
        ('  m{a="x"} 3', 3.0),
        ('m{a="x"} +Inf', math.inf),
        ('m{a="x"} 1.8e+03', 1800.0),
    ],
)
def test_lines_off_the_fast_path_are_read_every_time(text: str, value: float) -> None:
    parser = everything()
    for _ in range(2):
        assert parser.parse(f"{text}\n".encode()).samples == {"m": [({"a": "x"}, value)]}


def test_a_timestamped_line_leaves_no_key_behind() -> None:
    parser = everything()
    for value in range(50):
        assert parser.parse(f'm{{a="x"}} {value} 1712\nn {value} 1712\n'.encode()).samples["n"] == [({}, float(value))]
    assert parser.remembered == 0


def test_a_label_value_that_looks_like_the_end_of_a_series() -> None:
    body = b'm{a="x} 3",b="# {"} 5\n'
    assert everything().parse(body).samples == {"m": [({"a": "x} 3", "b": "# {"}, 5.0)]}


@pytest.mark.parametrize(
    "text",
    ["m", "m{", 'm{a="x"', 'm{a="x} 3', "m{a=x} 3", 'm{a="x" b="y"} 3', "m three", "m 1_000", "9m 3", "m-3", "{} 3"],
)
def test_malformed_lines_are_counted_and_never_values(text: str) -> None:
    page = everything().parse(f"{text}\nok 1\n".encode())
    assert page.samples == {"ok": [({}, 1.0)]}
    assert page.malformed_lines == 1
    assert not page.cut_mid_line


def test_a_remembered_series_with_a_broken_value_is_malformed() -> None:
    parser = everything()
    parser.parse(b'm{a="x"} 3\n')
    page = parser.parse(b'm{a="x"} 3.4.5\n')
    assert page.samples == {}
    assert page.malformed_lines == 1


@pytest.mark.parametrize(
    ("body", "cut"),
    [
        (b"a 1\nb 2\n", False),
        (b"a 1\nb 2", False),
        (b'a 1\nb{x="y', True),
        (b'a 1\nb{x="y"}', True),
        (b"a 1\n# HELP b tru", False),
    ],
)
def test_a_page_that_ends_inside_a_line_is_known(body: bytes, cut: bool) -> None:
    assert everything().parse(body).cut_mid_line is cut


def test_unwanted_names_are_remembered_as_such_and_not_returned() -> None:
    parser = ExpositionParser(lambda name: "kept" if name == "wanted" else None)
    for _ in range(2):
        page = parser.parse(b'wanted{a="1"} 1\nother{a="1"} 2\n')
        assert page.samples == {"kept": [({"a": "1"}, 1.0)]}
        assert page.sample_lines == 2
    assert parser.remembered == 2


def test_memory_is_bounded_while_label_sets_churn() -> None:
    parser = everything()
    for scrape in range(100):
        body = "".join(f'm{{adapter="{scrape}-{index}"}} 1\n' for index in range(100)).encode()
        assert len(parser.parse(body).samples["m"]) == 100
        assert parser.remembered <= 2 * 100 + 1024


def test_a_page_larger_than_the_memory_is_read_whole() -> None:
    parser = everything(max_series=10)
    body = "".join(f'm{{i="{index}"}} {index}\n' for index in range(100)).encode()
    for _ in range(2):
        assert [value for _, value in parser.parse(body).samples["m"]] == [float(index) for index in range(100)]
    assert parser.remembered == 10
    parser.forget()
    assert parser.remembered == 0


@pytest.mark.parametrize("body", [b"\xff\xfe\x00", b"m 1\x00\n", b"\x1f\x8b\x08\x00abc"])
def test_bytes_that_are_no_text_are_refused(body: bytes) -> None:
    with pytest.raises(NotTextError):
        everything().parse(body)


def test_escapes_are_undone_once() -> None:
    assert parse_line(r'm{a="c:\\new\n\"q\"\t"} 1') == ("m", {"a": 'c:\\new\n"q"\\t'}, 1.0)
    assert parse_key('m{a="1"} 3') is None
