"""Text never leaves its cells, and nothing that a server says can steer the terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from monitor.tui.lines import GLUE, Line, Span, as_text, beside, clean, clip, fit, line, middle, pad, spread, wrap


@given(st.text(max_size=60), st.integers(0, 40))
def test_padded_text_has_exactly_its_width(text: str, width: int) -> None:
    assert cell_len(pad(text, width)) == width
    assert cell_len(pad(text, width, right=True)) == width


@given(st.text(max_size=200), st.integers(1, 60), st.integers(1, 5))
def test_wrapped_text_stays_within_rows_and_cells(text: str, width: int, limit: int) -> None:
    rows = wrap(text, width, limit=limit)
    assert len(rows) <= limit
    assert all(cell_len(row) <= width for row in rows)


def test_a_number_stays_with_its_name() -> None:
    assert wrap(f"speedup 1.29 · headroom{GLUE}2.35×", 25) == ["speedup 1.29 ·", "headroom 2.35×"]
    assert wrap(f"a{GLUE}", 9) == ["a "]


@pytest.mark.parametrize("hostile", ["a\x1b[2Jb", "a\nb", "a\x9bb", "a\u202eb", "a\x07b"])
def test_control_and_direction_characters_become_blanks(hostile: str) -> None:
    assert all(character.isprintable() for character in clean(hostile))
    assert clean(hostile).startswith("a")


def test_names_give_way_in_the_middle() -> None:
    assert middle("chat-eu-west-1a-replica-7", 12) == "chat-…lica-7"
    assert middle("short", 12) == "short"
    assert clip("chat-eu-west", 6) == "chat-…"


def test_a_row_is_cut_at_the_edge_but_keeps_what_stands_on_the_right() -> None:
    row = spread([Span("a very long left part")], [Span("right")], 16)
    assert row.text == "a very l… right" or row.text == "a very lo… right"
    assert cell_len(row.text) <= 16
    assert fit(line("abcdef"), 3).text == "ab…"


def test_blocks_side_by_side_keep_their_columns() -> None:
    rows = beside([line("a"), line("bb")], [line("x"), line("y"), line("z")], 4)
    assert as_text(rows) == "a    x\nbb   y\n     z"
    assert Line().text == ""
