"""The user's commands: what they get, how they end, and that nothing of them runs on where it must not."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from probes.restart.hooks import Hook, HookEnd, HookFailed, hook_env, raise_unless_ok, writable_log
from probes.restart.journal import Proc
from probes.restart.procs import end_group, identify_process, still_runs
from tests.support.waiting import until

ENV = hook_env(
    {"HOME": "/nowhere", "SECRET": "s3cret"},
    search_path=os.environ["PATH"],
    endpoint="chat",
    arm="k3",
    url="http://127.0.0.1:8000",
)
Start = Callable[[str], Hook]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    return lambda command: Hook(command, cwd=tmp_path, env=ENV, log=tmp_path / "log")


async def run(hook: Hook, timeout_s: float = 20.0) -> HookEnd:
    hook.let_go()
    return await hook.finish(timeout_s)


def pid_in(path: Path) -> int:
    return int(path.read_text())


async def test_a_command_gets_our_environment_and_what_it_is_about(start: Start) -> None:
    end = await run(start('echo "$SPECWATCH_ENDPOINT $SPECWATCH_ARM $SPECWATCH_URL $SECRET"; pwd; cat'))
    assert end.ok
    assert end.tail.startswith("chat k3 http://127.0.0.1:8000 s3cret / /")


async def test_a_command_waits_at_its_gate_and_can_be_called_off(start: Start, tmp_path: Path) -> None:
    waiting = start("touch ran")
    assert still_runs(waiting.proc)
    waiting.call_off()
    assert not still_runs(waiting.proc)
    assert not (tmp_path / "ran").exists()
    assert (await run(start("touch ran"))).ok
    assert (tmp_path / "ran").exists()


def test_a_command_never_runs_where_its_sweep_dies_before_letting_it_go(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from probes.restart.hooks import Hook\n"
        "h = Hook('touch ran', cwd=Path(sys.argv[1]), env=dict(os.environ), log=None)\n"
        "print(h.proc.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    died = subprocess.run([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, check=False)
    left = identify_process(int(died.stdout))
    asyncio.run(until(lambda: not still_runs(left)))
    assert not (tmp_path / "ran").exists()


async def test_how_it_failed_and_what_it_said_last_is_told_without_older_words(start: Start) -> None:
    assert (await run(start("echo old words"))).ok
    end = await run(start("echo no such unit >&2; exit 7"))
    with pytest.raises(HookFailed) as failed:
        raise_unless_ok("./up.sh", end, 9.0)
    assert str(failed.value) == "`./up.sh` failed with exit 7: no such unit"
    end = await run(start("for i in 1 2 3 4 5; do echo line $i; done; exit 1"))
    assert end.tail == "line 3 / line 4 / line 5"


async def test_a_command_past_its_deadline_is_killed_with_all_it_started(start: Start, tmp_path: Path) -> None:
    hook = start("(trap '' TERM; echo $BASHPID; sh -c 'echo $$ > child; exec sleep 600') & wait")
    hook.let_go()
    await until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
    child = identify_process(pid_in(tmp_path / "child"))
    end = await hook.finish(0.1)
    assert end.code is None
    with pytest.raises(HookFailed, match=r"did not end within 0\.1 s and was killed"):
        raise_unless_ok("./up.sh", end, 0.1)
    await until(lambda: not still_runs(child))


async def test_a_server_left_in_the_background_lives_and_does_not_hold_the_command_up(
    start: Start, tmp_path: Path
) -> None:
    end = await run(
        start("sh -c 'echo $$ > server; echo listening; exec sleep 600' & while [ ! -s server ]; do :; done")
    )
    server = identify_process(pid_in(tmp_path / "server"))
    try:
        assert end.ok
        assert still_runs(server)
    finally:
        os.kill(server.pid, 9)


async def test_a_cancelled_command_is_ended(start: Start, tmp_path: Path) -> None:
    hook = start("touch began; sleep 600")
    waiting = asyncio.create_task(run(hook))
    await until((tmp_path / "began").exists)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not still_runs(hook.proc)


async def test_a_command_without_a_log_or_folder_runs_all_the_same(tmp_path: Path) -> None:
    assert writable_log(tmp_path / "gone" / "log") is None
    ran = tmp_path / "ran"
    hook = Hook(f"echo lost; touch {ran}", cwd=tmp_path / "gone", env=ENV, log=None)
    assert (await run(hook)) == HookEnd(0, "")
    assert ran.exists()


def test_a_log_that_cannot_be_opened_is_an_error_before_anything(tmp_path: Path) -> None:
    with pytest.raises(HookFailed, match="cannot be started"):
        Hook("true", cwd=tmp_path, env=ENV, log=tmp_path / "gone" / "log")


async def test_another_process_with_the_same_pid_is_not_taken_for_the_old_one() -> None:
    me = identify_process(os.getpid())
    assert still_runs(me)
    assert me.start_ticks is not None
    assert not still_runs(Proc(me.pid, me.start_ticks + 1, me.boot_id))
    assert not still_runs(Proc(me.pid, me.start_ticks, "another boot"))
    assert not still_runs(Proc(me.pid, None, me.boot_id))


async def test_a_group_that_is_gone_already_is_no_error(start: Start) -> None:
    hook = start("true")
    assert (await run(hook)).ok
    assert await end_group(hook.proc.pid, lambda: not still_runs(hook.proc))
