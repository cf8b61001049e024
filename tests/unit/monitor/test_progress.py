"""A sweep's progress fits a terminal of 80 columns, says each remark once, and promises no time that nobody knows."""

from __future__ import annotations

import io
import logging
import re
from dataclasses import replace

import pytest

from monitor.service.cell_table import COLUMNS, CellTable
from monitor.service.progress import CLEAR, ProgressPrinter, progress_line
from monitor.service.progress_log import ProgressLog
from monitor.values import SweepProgress
from probes.values import Latency, Reason
from tests.support.records import a_cell

CAPPED = Reason("capped", "80% of the answers were cut off at 128 tokens; raise max_tokens")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def drawn(*seen: SweepProgress) -> list[str]:
    """Every line that was on the screen at some time."""
    screen = Terminal()
    with ProgressPrinter(screen) as printer:
        for one in seen:
            printer.progress(one)
    return [line for line in re.split(r"[\r\n]", screen.getvalue().replace("\x1b[2K", "")) if line]


def test_a_cell_is_one_row_of_a_table_that_names_its_columns_once() -> None:
    table = CellTable()
    cell = replace(a_cell(arm="k3"), rung=128, output_tok_s=12345.0, concurrency=127.8)
    cell = replace(cell, ttft=Latency(1234.0, 2000.0), tpot=Latency(3.44, 9.0))
    head, row = table.lines(cell)
    assert "TTFT p50" in head
    assert "TPOT p50" in head
    assert "1234 ms" in row
    assert "3.4 ms" in row
    assert len(head) == len(row) <= COLUMNS
    assert list(table.lines(cell)) == [row]


def test_a_remark_is_said_once_and_wraps_between_words() -> None:
    table = CellTable()
    cell = replace(a_cell(), notes=(CAPPED,))
    first, second = list(table.lines(cell)), list(table.lines(cell))
    assert len(second) == 1
    said = " ".join(" ".join(first).split())
    assert "note (said once): 80% of the answers were cut off at 128 tokens; raise max_tokens" in said
    void = list(table.lines(replace(cell, void=(Reason("x", "the server went away in the middle " * 5),))))
    assert all(len(line) <= COLUMNS for line in (*first, *void))
    assert "void: the server went away" in void[0]


def test_a_cell_without_times_says_why_it_has_none() -> None:
    none = replace(a_cell(), ttft=Latency(None, None), tpot=Latency(None, None), window_s=2.0)
    said = " ".join(" ".join(CellTable().lines(none)).split())
    assert "no request of this cell ended inside its 2.0 s window, so it has no TTFT and no TPOT" in said
    assert "a longer cell_s" in said


def test_the_bar_never_wraps_and_a_long_note_is_told_above_it_once() -> None:
    note = (
        "6 requests of others on chat; all streams are closed, waiting for 10 s of quiet, until 03:37 UTC at the latest"
    )
    waits = SweepProgress("backoff", 12, 56, "k3", 16, 1, 68.0, note)
    lines = drawn(waits, replace(waits, eta_s=67.0))
    assert all(len(line) <= COLUMNS for line in lines)
    told = " ".join(" ".join(line for line in lines if not line.startswith("[")).split())
    assert told == f"gives way to others' traffic: {note}"
    assert CLEAR.startswith("\r")


def test_nobody_knows_how_long_others_stay() -> None:
    """The time that the cells still take is no time until the end while a sweep gives way."""
    assert "left" not in progress_line(SweepProgress("backoff", 12, 56, "k3", 16, 1, 68.0, "others"))
    assert "about 68 s left" in progress_line(SweepProgress("cells", 12, 56, "k3", 16, 1, 68.0))


def test_in_a_daemons_log_every_line_of_a_sweep_is_stamped(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with ProgressLog("chat-70b") as told:
        watching = SweepProgress("gate", 0, 0, None, None, None, None, "watching")
        for one in (watching, watching, SweepProgress("cells", 0, 4, "k3", 8, 0, 60.0)):
            told.progress(one)
        told.cell(a_cell())
        told.cell(replace(a_cell(), void=(Reason("x", "went away"),)))
    assert [record.getMessage() for record in caplog.records] == [
        "event=sweep_phase pool=chat-70b phase=gate cells=0/0 note='watching'",
        "event=cell pool=chat-70b arm=k3 clients=16 run=0 tok_s=1200 concurrency=15.8",
        "event=cell_void pool=chat-70b arm=k3 clients=16 run=0 reason='went away'",
    ]
