"""What single screens must say: columns in their stated order, cells of many arms, refusals, remaining time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from monitor.tui.draw import endpoint as endpoint_screen
from monitor.tui.draw import fleet, frame, sweep
from monitor.tui.draw.cells import cell_table
from monitor.tui.draw.columns import COLUMNS, chosen
from monitor.tui.draw.helptext import help_lines, sweep_question
from monitor.tui.lines import as_text
from monitor.tui.view import View, older, settled
from monitor.tui.words import alert_note
from monitor.values import AlertTerms, Snapshot
from probes.values import Cell
from tests.support.scene_drift import unmodelled
from tests.support.scene_parts import SceneFeed, endpoint, history, snapshot
from tests.support.scene_sweeps import NOW, measured_sweep, result, running_sweep, sweep_cells
from tests.support.scenes import daemon_gone, firing, healthy, multi_engine, pending, refused, sweeping, sweeps_paused
from tests.support.screens import screen_text, until, watching

DROP_ORDER = ("pool", "band", "acceptance", "crossover_age", "arm", "speedup")


def shown_columns(width: int) -> tuple[str, ...]:
    return tuple(column.id for column, _ in chosen(width, View(firing())))


def test_columns_drop_in_the_stated_order_and_come_back_in_reverse() -> None:
    dropped: list[str] = []
    before = set(shown_columns(200))
    assert before == {column.id for column in COLUMNS}
    for width in range(199, 59, -1):
        now = set(shown_columns(width))
        dropped += [name for name in DROP_ORDER if name in before - now]
        before = now
    assert tuple(dropped) == DROP_ORDER
    assert before == {"endpoint", "state", "concurrency", "crossover", "headroom", "age"}


@pytest.mark.parametrize("width", range(60, 201, 7))
def test_the_table_always_fits_and_always_shows_the_data_age(width: int) -> None:
    rows = [row.text for row in fleet.draw(settled(View(multi_engine())), width, 30) if row.item]
    assert all(cell_len(row) <= width for row in rows)
    assert all(row.rstrip().endswith("3s") for row in rows)


@pytest.mark.parametrize(("width", "name"), [(80, "chat-llama70b-eu"), (60, "demo-chat-1a")])
def test_a_name_is_not_cut_while_the_state_column_has_blanks(width: int, name: str) -> None:
    text = as_text(fleet.draw(settled(View(snapshot(endpoint(name, 9.0)))), width, 21))
    assert f"›{name} " in text.split("\n")[3]


def test_columns_stand_still_while_the_age_of_an_alert_and_the_count_of_cells_grow() -> None:
    def widths(scene: Snapshot) -> list[int]:
        return [wide for _, wide in chosen(80, View(scene))]

    named = replace(firing(), endpoints=(replace(firing().endpoints[0], name="chat-llama70b-europe"),))

    def fires(ago_s: float) -> Snapshot:
        alert = replace(named.alerts[0], endpoint="chat-llama70b-europe", pending_since_s=NOW - ago_s)
        return replace(named, alerts=(alert,))

    assert len({tuple(widths(fires(ago_s))) for ago_s in (9.0, 45.0, 599.0, 720.0, 7200.0, 900_000.0)}) == 1

    def swept(done: int) -> Snapshot:
        running = running_sweep()
        assert running.progress is not None
        far = replace(running, progress=replace(running.progress, done_cells=done))
        one = replace(sweeping().endpoints[0], name="chat-llama70b-europe")
        return replace(sweeping(), endpoints=(one,), sweeps=(far,))

    assert widths(swept(9)) == widths(swept(10))


def test_a_large_crossover_widens_its_column_instead_of_losing_digits() -> None:
    huge = endpoint("big", 900.0)
    assert huge.crossover is not None
    huge = replace(huge, crossover=replace(huge.crossover, value=1024.0, low=980.0, high=1100.0))
    assert "1024 [980–1100]" in as_text(fleet.draw(settled(View(snapshot(huge))), 80, 21))


def three_arms() -> Snapshot:
    extra = tuple(replace(cell, arm="k1", order=cell.order + 100) for cell in sweep_cells() if cell.arm == "k3")
    arms = {**result().arms, "k1": replace(result().arms["k3"], arm="k1")}
    record = replace(measured_sweep(), result=replace(result(), arms=arms))
    return replace(firing(), sweeps=(record,), cells={41: (*sweep_cells(), *extra)})


@pytest.mark.parametrize("width", [80, 120, 200])
def test_three_arms_keep_their_speedups_at_every_width(width: int) -> None:
    rows = as_text(sweep.draw(settled(View(three_arms(), tab="sweep")), width, 60)).split("\n")
    rung = next(row for row in rows if row.strip().startswith("32 "))
    assert len(rung) <= width
    assert rung.count("0.93×") == 2
    assert rung.count("slower") == 2


def test_void_cells_are_counted_marked_and_explained() -> None:
    text = as_text(sweep.draw(settled(View(firing(), tab="sweep")), 120, 60))
    assert "3/4!" in text
    assert "void: k3 @ 16 clients, repeat 2: 3 requests that were not ours finished on the server" in text


def rung_row(cells: tuple[Cell, ...], rung: int) -> str:
    """The row of one rung in the table of cells."""
    table = as_text(cell_table(cells, ("off", "k3"), measured_sweep(), 120)).split("\n")
    return next(row for row in table if row.split()[:1] == [str(rung)])


def test_repeats_that_refinement_added_elsewhere_are_none_that_failed() -> None:
    """Ladder of four repeats; one rung got two more, another is one of refinement's own."""
    more = tuple(replace(cell, repeat=cell.repeat + 4) for cell in sweep_cells() if cell.rung == 2 and cell.repeat < 2)
    own = tuple(replace(cell, rung=24) for cell in sweep_cells() if cell.rung == 2 and cell.repeat < 2)
    cells = (*sweep_cells(), *more, *own)
    assert rung_row(cells, 1).count("4/4") == 2
    assert rung_row(cells, 2).count("6/6") == 2
    assert rung_row(cells, 24).count("2/2") == 2


def test_the_lowest_and_highest_rung_have_their_speedup_where_the_two_arms_differ_by_a_hair() -> None:
    for rung, share in ((1, 0.97), (64, 1.03)):
        moved = tuple(
            replace(cell, concurrency=share * (cell.concurrency or 0)) if cell.arm == "k3" else cell
            for cell in sweep_cells()
        )
        assert "×" in rung_row(moved, rung)
        far = tuple(replace(cell, concurrency=share**5 * (cell.concurrency or 0)) for cell in moved)
        assert "×" not in rung_row(far, rung)


def test_a_void_cell_is_never_averaged() -> None:
    def wild(cell: Cell) -> Cell:
        return cell if cell.valid else replace(cell, concurrency=1.0, output_tok_s=99_999.0)

    spoilt = replace(firing(), cells={41: tuple(wild(cell) for cell in sweep_cells())})
    drawn = [as_text(sweep.draw(settled(View(scene, tab="sweep")), 120, 60)) for scene in (firing(), spoilt)]
    assert drawn[0] == drawn[1]


def test_a_running_sweep_says_how_far_it_is_and_what_counts_meanwhile() -> None:
    text = as_text(sweep.draw(settled(View(sweeping(), tab="sweep")), 100, 30))
    assert "29/56 cells · 28m left · k3 @ 8 clients, repeat 3" in text
    assert "in force, from sweep 41 (key [): k3 pays below 24 [21–28]" in text


def test_an_unknown_remaining_time_is_said_to_be_unknown() -> None:
    running = running_sweep()
    assert running.progress is not None
    early = replace(running, progress=replace(running.progress, eta_s=None, done_cells=0, total_cells=0))
    text = as_text(sweep.draw(settled(View(replace(sweeping(), sweeps=(early,)), tab="sweep")), 100, 30))
    assert "0/0 cells · time left unknown" in text


async def test_the_sweep_in_force_is_seen_behind_one_that_gave_no_answer() -> None:
    aborted = replace(running_sweep(), outcome="aborted", ended_at_s=NOW - 60, reason="others' traffic came")
    few = tuple(cell for cell in sweep_cells() if cell.order < 5)
    scene = replace(firing(), sweeps=(aborted, measured_sweep()), cells={42: few, 41: sweep_cells()})
    async with watching(SceneFeed(scene)) as pilot:
        await pilot.press("3")
        await until(pilot, lambda: "in force, from sweep 41 (key [)" in screen_text(pilot))
        assert "schedule, NOT MEASURED" not in screen_text(pilot)
        await pilot.press("[")
        await until(pilot, lambda: "sweep 41 older (2 of 2), in force" in screen_text(pilot))
        assert "schedule, NOT MEASURED: [[1,20,3],[21,64,0]]" in screen_text(pilot)
        await pilot.press("[", "]")
        await until(pilot, lambda: "sweep 42 " in screen_text(pilot))


async def test_coming_back_to_the_sweep_screen_shows_the_sweep_that_has_begun_meanwhile() -> None:
    old = replace(measured_sweep(), id=30, started_at_s=NOW - 900_000)
    feed = SceneFeed(replace(firing(), sweeps=(measured_sweep(), old)))
    async with watching(feed) as pilot:
        await pilot.press("3", "[")
        await until(pilot, lambda: "sweep 30 older (2 of 2)" in screen_text(pilot))
        feed.current = replace(sweeping(), sweeps=(running_sweep(), measured_sweep(), old))
        await pilot.press("1", "r")
        await until(pilot, lambda: "sweep 42: 29 of 56 cells, 28m left: 3 shows it" in screen_text(pilot))
        await pilot.press("3")
        await until(pilot, lambda: "29/56 cells" in screen_text(pilot))
        assert "sweep 30" not in screen_text(pilot)


def test_the_key_to_the_sweep_in_force_points_the_right_way() -> None:
    broken = replace(measured_sweep(), id=40, outcome="aborted", result=None)
    scene = replace(firing(), sweeps=(measured_sweep(), broken))
    assert "(key ]): k3 pays" in as_text(sweep.draw(older(settled(View(scene, tab="sweep")), 1), 120, 40))


def test_an_older_sweep_whose_cells_are_not_there_yet_is_not_called_empty() -> None:
    scene = replace(sweeping(), cells={42: ()})
    said = as_text(sweep.draw(older(settled(View(scene, tab="sweep")), 1), 80, 21))
    assert "Its cells are being read" in said
    assert "No cell has been measured" in as_text(sweep.draw(settled(View(scene, tab="sweep")), 80, 21))


def test_why_a_sweep_has_no_cells_is_said_as_it_is() -> None:
    taken = replace(measured_sweep(), trigger="import")
    said = as_text(sweep.draw(settled(View(replace(firing(), sweeps=(taken,), cells={}), tab="sweep")), 80, 21))
    assert "An import keeps a sweep's answer, and not its cells." in said
    assert "No cell has been measured" not in said
    paused = replace(older(settled(View(replace(sweeping(), cells={42: ()}), tab="sweep")), 1), held_s=0.0)
    said = as_text(sweep.draw(paused, 80, 21))
    assert "The view is paused without its cells: p goes on." in said
    assert "being read" not in said


def test_the_footer_names_only_keys_that_do_something_and_keeps_help_and_quit() -> None:
    def named(scene: Snapshot, tab: str = "fleet", width: int = 80) -> str:
        return frame.footer(settled(View(scene, tab=tab)), width).text

    assert "R run sweep" in named(firing())
    for mode in ("local", "daemon_gone"):
        assert "R run sweep" not in named(replace(firing(), mode=mode))
        none = replace(firing(), mode=mode, sweeps=(), cells={})
        assert "R runs one" not in as_text(sweep.draw(settled(View(none, tab="sweep")), 80, 21))
    assert "a acknowledge" in named(firing(), "alerts")
    assert "a acknowledge" not in named(pending(), "alerts")
    assert "a acknowledge" not in named(healthy(), "alerts")
    for tab in ("fleet", "endpoint", "sweep", "alerts"):
        assert named(firing(), tab, 40).rstrip().endswith("? help   q quit")


def test_the_newest_sweep_is_shown_again_once_the_older_one_is_of_another_pool() -> None:
    view = older(settled(View(sweeping(), tab="sweep")), 1)
    assert view.older == 41
    assert settled(replace(view, snapshot=replace(sweeping(), sweeps=(running_sweep(),)))).older is None


def test_a_newer_refusal_is_told_beside_the_older_answer() -> None:
    both = replace(firing(), sweeps=(*refused().sweeps, measured_sweep()))
    text = as_text(sweep.draw(settled(View(both, tab="sweep")), 120, 40))
    assert "newest try 1h00m ago refused: the gate refused" in text
    assert "k3: pays below 24 [21–28]" in text


def test_live_load_beyond_the_sweep_is_said_and_not_drawn_at_the_edge() -> None:
    beyond = replace(firing(), endpoints=(endpoint("chat-a", 300.0),))
    text = as_text(sweep.draw(settled(View(beyond, tab="sweep")), 140, 40))
    assert "live 300.0: not in the measured range" in text
    assert "┃" not in text


def test_a_far_crossover_does_not_flatten_the_live_chart() -> None:
    idle = replace(healthy(), endpoints=(endpoint("chat-a", 1.0),), history={"chat-a": history(1.0)})
    text = as_text(endpoint_screen.draw(settled(View(idle, tab="endpoint")), 120, 30))
    assert "crossover 24: far above" in text


def test_a_history_of_nothing_and_of_one_sample_draw() -> None:
    none = replace(healthy(), history={})
    assert "No history yet" in as_text(endpoint_screen.draw(settled(View(none, tab="endpoint")), 80, 21))
    one = replace(healthy(), history={"chat-b": history(13.8)[-1:]})
    assert "now" in as_text(endpoint_screen.draw(settled(View(one, tab="endpoint")), 80, 21))


def test_unknown_acceptance_is_a_word_and_not_an_axis_of_zeros() -> None:
    samples = tuple(replace(sample, acceptance_length=None) for sample in history(13.8))
    off = replace(healthy(), history={"chat-b": samples})
    assert "not known in this span" in as_text(endpoint_screen.draw(settled(View(off, tab="endpoint")), 80, 21))


def test_the_busiest_engine_is_named_first() -> None:
    text = as_text(endpoint_screen.draw(settled(View(multi_engine(), tab="endpoint")), 100, 40))
    table = text[text.index("engine     conc") :].split("\n")
    assert table[1].startswith(" 1 ")
    assert "busiest, compared" in table[1]


def test_a_pause_of_sweeps_is_in_the_header_and_explained_beneath() -> None:
    view = View(sweeps_paused())
    assert "sweeps paused to 06:12Z" in frame.header(view, 80).text
    assert "Sweeps paused until 06:12Z (3h00m left): driver update on gpu-7" in as_text(frame.banners(view, 80))


def test_the_header_never_loses_the_alert_and_the_clock() -> None:
    for width in (40, 60, 80):
        text = frame.header(View(firing(), lag_s=42.0), width).text
        assert "▲ 1 firing" in text
        assert "03:12:45Z 42s old" in text
        assert cell_len(text) <= width
    assert firing().at_s == NOW


def test_without_its_daemon_the_header_claims_no_quiet_and_dates_the_data() -> None:
    text = frame.header(View(replace(daemon_gone(), alerts=())), 80).text
    assert "no alerts" not in text
    assert "alerts off" in text
    assert "03:12:45Z data 2m50s old" in text
    assert "▲ 1 fired, alerts off" in frame.header(View(replace(firing(), mode="local")), 80).text
    assert "pending" not in frame.header(View(replace(pending(), mode="local")), 80).text
    fired = frame.header(View(daemon_gone()), 80).text
    assert "▲ 1 fired, alerts off" in fired
    assert "03:12:45Z data 2m50s old" in fired


def test_engines_that_are_not_known_are_left_out_and_not_counted_as_none() -> None:
    def said(**changes: object) -> str:
        return as_text(fleet.draw(settled(View(snapshot(endpoint("chat-a", 9.0, **changes)))), 120, 21))

    assert "vllm 0.26.0 · 1 engine" in said()
    assert "0 engines" not in said(engines=())
    assert "· vllm 0.26.0" in said(engines=())
    assert "engine unknown" in said(engines=(), engine_kind=None, version=None)


def test_help_and_manual_agree_on_what_a_small_headroom_and_below_mean() -> None:
    manual = " ".join((Path(__file__).parents[2] / "docs" / "tui.md").read_text(encoding="utf-8").split())
    shown = " ".join(as_text(help_lines(View(healthy()), 200)).split())
    for text in (manual, shown):
        assert "under 1.00× is over" not in text
        assert "not above the crossover: speculation pays at this load, or is no worse as far as measured" in text


def test_the_selected_row_says_how_far_its_pool_s_sweep_is_and_where_to_look() -> None:
    text = as_text(fleet.draw(settled(View(sweeping())), 80, 21))
    assert "» sweep 29/56" in text
    assert " sweep 42: 29 of 56 cells, 28m left: 3 shows it" in text
    assert "3 shows it" not in as_text(fleet.draw(settled(View(healthy())), 80, 21))


def test_what_the_demo_does_meanwhile_is_beneath_the_header() -> None:
    said = "Demo: 16 users talk to demo-chat"
    assert said in as_text(frame.banners(View(replace(healthy(), note=said)), 80))


def test_what_a_sweep_will_do_is_told_by_one_that_ran_here_and_not_by_imported_results() -> None:
    ran = replace(measured_sweep(), plan={**measured_sweep().plan, "restarts": 4})
    taken = replace(measured_sweep(), id=43, trigger="import", plan={"files": {}, "measured_with": {}})
    scene = firing()
    view = settled(View(replace(scene, sweeps=(taken, ran)), tab="sweep"))
    text = " ".join(sweep_question(view))
    assert f"Sweep {ran.id} took" in text
    assert "It restarts the server into each arm and back" in text
    assert "is not known here" in " ".join(sweep_question(settled(View(replace(scene, sweeps=(taken,)), tab="sweep"))))


def rows_of(seen: Snapshot, width: int = 80, height: int = 21) -> list[str]:
    return as_text(endpoint_screen.draw(settled(View(seen)), width, height)).splitlines()


def test_where_no_step_time_is_known_the_verdict_still_comes_first() -> None:
    rows = rows_of(unmodelled())
    assert rows[1].startswith(" 37.2 in the system per engine against 24 [21–28] of k3: 10% less output")
    said = " ".join(row.strip() for row in rows)
    assert "no step-time model: crossover as swept, likely too high" in said
    assert "scatter" not in said, "`once --json` and the report have that"


def test_a_load_inside_the_interval_is_told_with_what_the_band_says_of_it() -> None:
    told = "inside the crossover's interval, and k3 is slower at this load beyond the noise"
    inside = endpoint("chat-a", 26.0, verdict_reason=told)
    said = " ".join(row.strip() for row in rows_of(snapshot(inside)))
    assert f"26.0 in the system per engine, {told}." in said


def test_an_alert_that_still_fires_says_at_which_values_it_ends() -> None:
    easing = firing()
    slow = endpoint("chat-a", 27.0)
    seen = replace(easing, endpoints=(replace(slow, alerting=False), *easing.endpoints[1:]))
    note = "The alert still fires: it ends once the loss has stayed under 1% for 5 min."
    assert alert_note(settled(View(seen)), seen.endpoints[0]) == note
    gone = replace(easing, mode="daemon_gone")
    assert "nobody judges it now" in alert_note(settled(View(gone)), gone.endpoints[0])
    alone = replace(easing, mode="local", alerts=())
    assert alert_note(settled(View(alone)), alone.endpoints[0]).startswith("Nobody is alerted, for no daemon runs; the")
    quick = replace(seen, terms=AlertTerms(5.0, 2.5, 30.0))
    assert "under 2.5% for 30 s." in alert_note(settled(View(quick)), seen.endpoints[0])
    loud = alert_note(settled(View(replace(easing, terms=AlertTerms(5.0, 2.5, 30.0)))), easing.endpoints[0])
    assert loud == "The alert fires: the whole band is beyond the tolerated loss of 5%."


def test_the_crossover_over_the_chart_is_whole_on_a_small_screen() -> None:
    busy = endpoint("chat-a", 153.5)
    assert busy.crossover is not None
    busy = replace(busy, crossover=replace(busy.crossover, value=137.0, low=128.0, high=160.0))
    seen = snapshot(busy)
    assert any("conc/engine 153.5 ░ 137 [128–160]" in row for row in rows_of(seen))
    assert any("concurrency/engine 153.5 ░ 137 [128–160]" in row for row in rows_of(seen, 120, 33))
