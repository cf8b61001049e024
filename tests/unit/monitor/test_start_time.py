"""What a restart took the last time stands in for the guess: in plans, and so in what the gate allows."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from monitor.cli import main
from monitor.service.start_time import last_start_s, starts_between_s
from monitor.store.db import Store, open_store
from monitor.store.sweeps import add_cell, end_sweep
from probes.values import Cell
from tests.support.configs import edited, restartable, write
from tests.support.records import a_cell
from tests.support.stored_sweeps import begun


def cells(*starts: tuple[int | None, float]) -> list[Cell]:
    """Cells of 10 s windows, each with its start of the server and the second at which it began."""
    return [a_cell(order=i, start=start, started_at_s=at_s, window_s=10.0) for i, (start, at_s) in enumerate(starts)]


def store_sweep(store: Store, pool: str, measured: list[Cell]) -> None:
    sweep = begun(store, measured[0].started_at_s, pool=pool, endpoint=pool, plan={"warmup_s": 20.0})
    for cell in measured:
        add_cell(store, sweep, cell)
    end_sweep(
        store,
        sweep,
        ended_at_s=measured[-1].started_at_s,
        outcome="measured",
        reason="",
        exit_code=0,
        fingerprint="",
        result=None,
        arm_k={},
    )


@pytest.mark.parametrize(
    ("starts", "expected"),
    [
        ([(0, 0.0), (0, 15.0), (1, 145.0), (1, 160.0), (2, 290.0)], 120.0),
        ([(0, 0.0), (1, 100.0), (2, 200.0), (3, 90_000.0)], 90.0),
        ([(0, 0.0), (0, 15.0)], None),
        ([(None, 0.0), (None, 500.0)], None),
        ([], None),
    ],
)
def test_the_time_between_starts_is_a_median_and_never_made_up(
    starts: list[tuple[int | None, float]], expected: float | None
) -> None:
    assert starts_between_s(cells(*starts)) == expected


def test_the_newest_sweep_of_the_pool_that_restarted_says_how_long_a_start_takes(tmp_path: Path) -> None:
    with open_store(tmp_path / "specwatch.db") as store:
        assert last_start_s(store, "chat") is None
        store_sweep(store, "chat", cells((0, 0.0), (1, 500.0)))
        store_sweep(store, "chat", cells((0, 1000.0), (1, 1130.0)))
        store_sweep(store, "other", cells((0, 2000.0), (1, 9000.0)))
        store_sweep(store, "chat", cells((None, 3000.0), (None, 3020.0)))
        assert last_start_s(store, "chat") == 100.0, "120 s between, 20 s of them warm-up"
    assert last_start_s(None, "chat") is None


def test_a_sweep_whose_starts_turned_out_short_fits_a_window_that_the_guess_did_not(tmp_path: Path) -> None:
    path = write(tmp_path, edited("ladder = [1, 2, 4]", 'ladder = [1]\nwindow = "01:00-01:50"', restartable()))
    guessed = CliRunner().invoke(main, ["sweep", "chat", "--plan", "--config", str(path)])
    assert guessed.exit_code == 2
    assert "a guess" in guessed.output
    with open_store(tmp_path / "specwatch.db") as store:
        store_sweep(store, "chat", cells((0, 0.0), (1, 90.0)))
    known = CliRunner().invoke(main, ["sweep", "chat", "--plan", "--config", str(path)])
    assert known.exit_code == 0, known.output
    assert "about 60 s each (as the last time)" in " ".join(known.output.split())
