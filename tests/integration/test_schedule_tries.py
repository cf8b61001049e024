"""Scheduled sweeps in a real daemon: caught up inside their window, tried again after a refusal, gone on with."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from monitor.store.sweeps import begin_sweep, end_sweep, load_cells, recent_sweeps
from monitor.values import SweepRecord
from tests.integration.conftest import Site
from tests.support.processes import running, specwatch_async, until

pytestmark = pytest.mark.slow


def short(site: Site, probe: str = "") -> None:
    """The site's config with a ladder of two rungs."""
    path = site.write_config(probe)
    text = path.read_text()
    assert "ladder = [1, 4, 8, 16, 32]" in text
    path.write_text(text.replace("ladder = [1, 4, 8, 16, 32]", "ladder = [2, 16]"))


def just_missed() -> str:
    """A schedule that fired a minute or two ago, inside a window that is still open."""
    now = datetime.now(UTC)
    fired, opened, closes = now - timedelta(minutes=1), now - timedelta(minutes=2), now + timedelta(hours=2)
    return (
        f'schedule = "{fired.minute} {fired.hour} * * *"\n'
        f'  window = "{opened:%H:%M}-{closes:%H:%M}"\n'
        "  backoff_minutes = 0.02\n"
    )


def sweeps(site: Site) -> list[SweepRecord]:
    if not (site.folder / "specwatch.db").exists():
        return []
    with site.store() as store:
        return recent_sweeps(store, 20)


async def test_a_missed_start_is_caught_up_and_tried_until_the_users_are_gone(site: Site) -> None:
    short(site, just_missed())
    site.on.traffic.set_clients(6)
    with running("serve", cwd=site.folder, log=site.folder / "serve.log"):
        await until(lambda: len([s for s in sweeps(site) if s.outcome == "refused"]) >= 2, "two refusals")
        site.on.traffic.set_clients(0)
        done = await until(lambda: next((s for s in sweeps(site) if s.outcome == "measured"), None), "an answer", 90)
    refused = [s for s in sweeps(site) if s.outcome == "refused"]
    assert {s.ended_by for s in refused} == {"live_load"}
    assert done.trigger == "schedule"
    assert done.result is not None


async def test_a_stop_between_two_tries_is_no_stop_of_nothing(site: Site) -> None:
    short(site, just_missed().replace("0.02", "0.06"))
    site.on.traffic.set_clients(6)
    log = site.folder / "serve.log"
    with running("serve", cwd=site.folder, log=log):
        await until(lambda: "event=sweep_retry " in log.read_text(), "a refusal and the time of the next try")
        code, out, err = await specwatch_async("stop", cwd=site.folder)
        assert code == 0, out + err
        assert "not to try a refused one again" in err
        await until(lambda: "event=sweep_retry_dropped" in log.read_text(), "the next try's time", 30)
    assert [s.outcome for s in sweeps(site)] == ["refused"]


async def test_a_night_that_has_its_answer_is_not_swept_twice(site: Site) -> None:
    short(site, just_missed())
    with site.store() as store:
        sweep_id = begin_sweep(
            store,
            pool="chat-8b",
            endpoint="chat",
            started_at_s=time.time() - 1,
            trigger="command",
            who="me",
            pid=1,
            host="here",
            baseline="off",
            live_arm="k3",
            plan={},
        )
        end_sweep(
            store,
            sweep_id,
            ended_at_s=time.time(),
            outcome="measured",
            reason="",
            exit_code=0,
            fingerprint="",
            result=None,
            arm_k={},
        )
    with running("serve", cwd=site.folder, log=site.folder / "serve.log"):
        # The schedule begins after the scrapes do, so a second reading comes after what would have been caught up.
        await until(lambda: len(readings(site)) >= 2, "a daemon at work")
    assert [s.id for s in sweeps(site)] == [sweep_id]


def readings(site: Site) -> list[object]:
    with site.store() as store:
        return list(store.rows("SELECT 1 FROM scrapes"))


async def test_a_killed_sweep_is_gone_on_with_where_it_stopped(site: Site) -> None:
    short(site)
    with running("sweep", "chat-8b", "--now", cwd=site.folder, log=site.folder / "sweep.log") as sweep:

        def measured() -> bool:
            found = sweeps(site)
            if not found:
                return False
            with site.store() as store:
                return len(load_cells(store, found[0].id)) >= 4

        await until(measured, "four cells")
        sweep.kill()
        sweep.wait()
    code, out, err = await specwatch_async("sweep", "chat-8b", "--now", cwd=site.folder)
    assert code == 0, out + err
    newest, broken = sweeps(site)
    assert broken.outcome == "died"
    assert newest.resumes == broken.id
    assert f"went on with sweep {broken.id}" in out
    with site.store() as store:
        before, after = load_cells(store, broken.id), load_cells(store, newest.id)
    carried = [cell for cell in after if cell.started_at_s < newest.started_at_s]
    assert carried
    assert set(carried) <= set(before)
    tokens = newest.tally["tokens"]
    assert isinstance(tokens, int)
    assert tokens > sum(cell.server_tokens or 0.0 for cell in carried)
    assert len({(cell.arm, cell.rung, cell.repeat) for cell in after if cell.valid}) == 8


async def test_a_sweep_gives_way_to_users_and_goes_on_when_they_are_gone(site: Site) -> None:
    short(site)
    with running("sweep", "chat-8b", "--now", cwd=site.folder, log=site.folder / "sweep.log") as sweep:

        def in_phase(phase: str) -> bool:
            found = sweeps(site)
            progress = found[0].progress if found else None
            return progress is not None and progress.phase == phase

        await until(lambda: in_phase("cells"), "the first cell")
        site.off.traffic.set_clients(4)
        await until(lambda: in_phase("backoff"), "a sweep that gives way")
        # Only the users' own requests are on the servers now.
        await until(lambda: site.in_system() <= 4, "closed streams", 10)
        site.off.traffic.set_clients(0)
        assert await until(lambda: sweep.poll() is not None, "the sweep's end", 90)
    (swept,) = sweeps(site)
    assert (swept.outcome, swept.exit_code) == ("measured", 0)
    backoffs = swept.tally["backoffs"]
    assert isinstance(backoffs, int)
    assert backoffs >= 1
