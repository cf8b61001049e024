"""A load in several processes is one load: one sequence of requests, one account, and no process left behind."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from probes.load.ready import Share
from probes.load.records import Ending
from probes.load.workers import child
from probes.load.workers.loop import WorkerLoop
from probes.load.workers.messages import Job, Start, frame
from probes.values import Target
from tests.support.fake_engine import FakeEngine, fake_engine
from tests.support.load_parent import STREAMS
from tests.support.loads import Numbers, on_both_loops, run_on
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
KEY = "s3cret-of-the-endpoint"


@asynccontextmanager
async def running(engine: FakeEngine, clients: int = 5, processes: int = 2) -> AsyncIterator[WorkerLoop]:
    """A load with all its streams up."""
    target = Target("t", engine.url, headers={"Authorization": f"Bearer {KEY}"})
    load = WorkerLoop(target, Numbers, clients, processes)
    try:
        await load.warm()
        load.start(0.02)
        await until(lambda: load.max_in_flight == clients)
        yield load
    finally:
        await load.aclose()


def is_running(pid: int) -> bool:
    """Zombies do not count: who reaps orphans is the machine's business."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def shown(pid: int) -> str:
    """What anybody on the machine can see of a process."""
    return "".join(Path(f"/proc/{pid}/{place}").read_bytes().decode("latin-1") for place in ("cmdline", "environ"))


@on_both_loops
def test_requests_are_one_sequence_and_the_account_is_whole(new_loop: Any) -> None:
    async def scene() -> None:
        async with fake_engine() as engine, running(engine) as load:
            load.begin_window()
            await until(lambda: len(load.records) >= 25)
            health = load.end_window()
            assert await load.drain(10.0) == 0
            assert load.in_flight == 0
            assert load.processes == len(load.pids) == 2
            records = load.records
        assert {record.ending for record in records} == {Ending.OK}
        assert sum(record.output_tokens or 0 for record in records) == engine.counters[0].generation
        assert sorted(str(request["prompt"]) for request in engine.requests) == sorted(str(r.index) for r in records)
        assert {record.client for record in records} == {0, 1, 2, 3, 4}
        assert all(record.index % 2 == record.client % 2 for record in records)
        assert len({record.index for record in records}) == len(records)
        assert {h["authorization"] for h in engine.headers} == {f"Bearer {KEY}"}
        assert health.lag_p99_ms is not None
        assert health.cpu_share is not None
        assert health.dispatch_p99_ms is not None

    run_on(new_loop, scene())


async def test_a_drain_that_takes_too_long_cuts_off_in_all_processes() -> None:
    async with fake_engine(FakeEngine(output_tokens=1_000_000)) as engine, running(engine) as load:
        assert load.take_peak() == 5
        assert await load.drain(0.05) == 5
        assert [record.ending for record in load.records] == [Ending.CANCELLED] * 5
        await until(lambda: engine.open_streams == 0)


@on_both_loops
def test_closing_ends_every_stream_and_process(new_loop: Any) -> None:
    async def scene() -> None:
        async with fake_engine(FakeEngine(output_tokens=1_000_000)) as engine, running(engine) as load:
            pids = load.pids
            assert len(pids) == 2
            async with asyncio.timeout(2.0):
                await load.aclose()
            assert not any(is_running(pid) for pid in pids)
            await until(lambda: engine.open_streams == 0)

    run_on(new_loop, scene())


async def test_a_stopped_worker_is_killed_and_its_streams_go_with_it() -> None:
    async with fake_engine(FakeEngine(output_tokens=1_000_000)) as engine, running(engine) as load:
        for pid in load.pids:
            os.kill(pid, signal.SIGSTOP)
        async with asyncio.timeout(2.0):
            await load.aclose()
        await until(lambda: engine.open_streams == 0)


async def test_a_worker_that_dies_leaves_errors_in_words() -> None:
    async with fake_engine(FakeEngine(output_tokens=1_000_000)) as engine, running(engine) as load:
        await until(lambda: load.in_flight == 5)
        os.kill(load.pids[0], signal.SIGKILL)
        await until(lambda: load.records)
        assert {record.ending for record in load.records} == {Ending.ERROR}
        assert load.records[0].error == (
            "a load process of ours ended by itself (killed by signal 9) and took its 3 streams along"
        )
        assert load.in_flight == 2
        assert await load.drain(0.05) == 2


async def test_workers_end_with_a_parent_that_is_killed() -> None:
    async with fake_engine(FakeEngine(output_tokens=1_000_000)) as engine:
        parent = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.support.load_parent", engine.url, cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        assert parent.stdout is not None
        pids = [int(pid) for pid in (await asyncio.wait_for(parent.stdout.readline(), 20)).split()]
        assert len(pids) == 2
        assert engine.open_streams == STREAMS
        parent.kill()
        await parent.wait()
        await until(lambda: engine.open_streams == 0)
        await until(lambda: not any(is_running(pid) for pid in pids))


async def test_a_worker_whose_parent_takes_no_reports_closes_its_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parent that is stopped (SIGSTOP) does not see any more whom the load disturbs."""
    monkeypatch.setattr(child, "DEAF_S", 0.2)
    orders, ours = os.pipe()
    unread, reports = os.pipe()
    fcntl.fcntl(reports, fcntl.F_SETPIPE_SZ, 4096)
    try:
        async with fake_engine(FakeEngine(output_tokens=1_000_000)) as engine:
            worker = asyncio.create_task(child.serve(orders, reports))
            os.write(ours, frame(Job(Target("t", engine.url), Numbers, 2, Share())) + frame(Start(0.0, 0.0)))
            await until(lambda: engine.open_streams == 2)
            async with asyncio.timeout(20.0):
                await worker
            await until(lambda: engine.open_streams == 0)
    finally:
        os.close(ours)
        os.close(unread)


async def test_keys_are_not_in_arguments_or_environment() -> None:
    async with fake_engine(FakeEngine(output_tokens=1_000_000)) as engine, running(engine) as load:
        for pid in load.pids:
            assert KEY not in shown(pid)


async def test_what_the_caller_got_wrong_is_raised_here_and_not_in_a_child() -> None:
    with pytest.raises(ValueError, match="http:// or https://"):
        WorkerLoop(Target("t", "ftp://host"), Numbers, 4, 2)
    load = WorkerLoop(Target("t", "http://127.0.0.1:1"), lambda: Numbers(), 4, 2)
    with pytest.raises(Exception, match="pickle"):
        await load.warm()
    await load.aclose()


async def test_where_one_process_cannot_be_started_the_others_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at a limit of processes that is reached half-way."""
    made: list[asyncio.subprocess.Process] = []
    really = asyncio.create_subprocess_exec

    async def one_only(*command: str, **pipes: int) -> asyncio.subprocess.Process:
        if asked.pop():
            raise BlockingIOError(11, "Resource temporarily unavailable")
        made.append(await really(*command, **pipes))  # type: ignore[arg-type]
        return made[-1]

    asked = [True, False]
    monkeypatch.setattr(asyncio, "create_subprocess_exec", one_only)
    load = WorkerLoop(Target("t", "http://127.0.0.1:9"), Numbers, 2, 2)
    with pytest.raises(BlockingIOError):
        await load.warm()
    await load.aclose()
    assert [process.returncode is not None for process in made] == [True]


async def test_a_server_that_is_not_there_ends_the_warm_up_and_shows_in_the_requests() -> None:
    load = WorkerLoop(Target("t", "http://127.0.0.1:9"), Numbers, 4, 2)
    try:
        await load.warm()
        load.start(0.0)
        await until(lambda: load.records)
    finally:
        await load.aclose()
    assert load.records[0].error.startswith("connection failed: nothing listens at http://127.0.0.1:9")


async def test_a_module_of_the_same_name_in_the_folder_of_the_user_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "probes.py").write_text("open('run', 'w')\n")
    async with fake_engine() as engine, running(engine) as load:
        assert len(load.pids) == 2
    assert not (tmp_path / "run").exists()
