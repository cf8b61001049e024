"""A sweep's progress fits its terminal, says each remark once, and promises no time that nobody knows."""

from __future__ import annotations

import io
import logging
import os
import pty
import re
import termios
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


def test_a_remark_is_said_of_its_first_cell_and_wraps_between_words() -> None:
    table = CellTable()
    cell = replace(a_cell(), notes=(CAPPED,))
    first, second = list(table.lines(cell)), list(table.lines(cell))
    assert len(second) == 1
    said = " ".join(" ".join(first).split())
    assert "note (first at k3 x16): 80% of the answers were cut off at 128 tokens; raise max_tokens" in said
    void = list(table.lines(replace(cell, void=(Reason("x", "the server went away in the middle " * 5),))))
    assert all(len(line) <= COLUMNS for line in (*first, *void))
    assert "void: the server went away" in void[0]


@pytest.mark.parametrize("name", ["eagle3-k3", "eagle3-llama-70b-fp8-k3"])
def test_numbers_stand_under_their_heads_whatever_the_arms_are_called(name: str) -> None:
    table = CellTable(["off", name])
    head, row = table.lines(a_cell(arm=name))
    (other,) = table.lines(a_cell(arm="off"))
    (void,) = table.lines(replace(a_cell(arm=name), void=(Reason("x", "went away"),)))
    assert len(head) == len(row) == len(other) <= COLUMNS
    assert head.index("clients") + len("clients") == row.index(" 16 ") + 3 == void.index(" 16 ") + 3
    assert row.split()[0].endswith("k3"), "arms that differ in K can be told apart"


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


@pytest.mark.parametrize("phase", ["cells", "refine"])
def test_a_long_name_leaves_room_for_the_time_left(phase: str) -> None:
    named = SweepProgress(phase, 152, 156, "eagle3-llama-70b-fp8-k3", 128, 1, 540.0)
    (line,) = drawn(named)
    assert "k3 x128 #1  about 9 min left" in line
    assert len(line) <= COLUMNS


def test_the_bar_fits_a_narrow_terminal() -> None:
    """A line that wraps cannot be cleared again."""
    reader, writer = pty.openpty()
    termios.tcsetwinsize(writer, (24, 40))
    with os.fdopen(writer, "w") as screen:
        ProgressPrinter(screen).progress(SweepProgress("cells", 12, 56, "k3", 16, 1, 540.0))
        shown = os.read(reader, 1000).decode().removeprefix(CLEAR)
    os.close(reader)
    assert shown == "[###-------------] 12/56  k3 x16 #1  abo"[:39]


def test_a_sweep_that_gives_way_again_says_so_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    waits = SweepProgress("backoff", 12, 56, "k3", 16, 1, 68.0, "2 requests of others on chat; " * 3)
    cells = SweepProgress("cells", 12, 56, "k3", 16, 1, 68.0)
    lines = drawn(waits, waits, cells, waits)
    assert sum(line.startswith("gives way to others' traffic: ") for line in lines) == 2
    log = ProgressLog("chat-70b")
    for one in (waits, waits, cells, waits):
        log.progress(one)
    assert len(caplog.records) == 2


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
        told.cell(replace(a_cell(), notes=(CAPPED, Reason("limited", "admission is the limit here"))))
        told.cell(replace(a_cell(), void=(Reason("x", "went away"),)))
    assert [record.getMessage() for record in caplog.records] == [
        "event=sweep_phase pool=chat-70b phase=gate cells=0/0 note='watching'",
        "event=cell pool=chat-70b arm=k3 clients=16 run=0 tok_s=1200 concurrency=15.8 "
        f"notes='{CAPPED.text}; admission is the limit here'",
        "event=cell_void pool=chat-70b arm=k3 clients=16 run=0 reason='went away'",
    ]
