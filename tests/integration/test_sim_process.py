"""`python -m probes.sim` as a process: what it prints, and that nothing outlives whoever started it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from typing import Any

import pytest

from probes.http import make_client
from tests.support.waiting import until


class TestProcess:
    async def start(self, *arguments: str) -> tuple[asyncio.subprocess.Process, dict[str, Any]]:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-X", "dev", "-m", "probes.sim", *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), 60.0)
        return process, json.loads(line)

    async def ended(self, process: asyncio.subprocess.Process) -> tuple[int | None, str]:
        _, errors = await asyncio.wait_for(process.communicate(), 60.0)
        return process.returncode, errors.decode()

    async def test_it_tells_every_arms_url_and_ends_on_sigterm(self) -> None:
        process, told = await self.start("--arm", "off", "--arm", "k3", "--seed", "3")
        assert list(told["urls"]) == ["off", "k3"]
        assert told["pid"] == process.pid
        async with make_client(timeout_s=30.0) as client:
            off = (await client.get(f"{told['urls']['off']}/metrics")).text
            on = (await client.get(f"{told['urls']['k3']}/metrics")).text
        assert "spec_decode" not in off
        assert len(re.findall(r'position="\d"', on)) == 6
        process.send_signal(signal.SIGTERM)
        assert await self.ended(process) == (0, "")

    async def test_it_ends_when_its_stdin_closes(self) -> None:
        process, told = await self.start("--k", "1", "--profile", "0:2")
        assert list(told["urls"]) == ["k1"]
        assert process.stdin is not None
        process.stdin.close()
        assert await self.ended(process) == (0, "")

    async def test_it_ends_when_its_parent_dies(self) -> None:
        script = (
            "import subprocess, sys; p = subprocess.Popen([sys.executable, '-m', 'probes.sim'],"
            "stdin=subprocess.DEVNULL, stdout=subprocess.PIPE); sys.stdout.write(p.stdout.readline().decode())"
        )
        parent = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", script), stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
        )
        output, _ = await asyncio.wait_for(parent.communicate(), 60.0)
        orphan = json.loads(output)["pid"]
        await until(lambda: not alive(orphan))

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--k", "9"], "acceptance rates"),
            (["--arm", "off", "--arm", "off"], "given once"),
            (["--arm", "spec"], "is no arm"),
            (["--crossover", "soon"], "neither a number"),
        ],
    )
    async def test_bad_arguments_end_in_words(self, arguments: list[str], says: str) -> None:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "probes.sim", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        code, errors = await self.ended(process)
        assert code == 2
        assert says in errors
        assert "Traceback" not in errors


def alive(pid: int) -> bool:
    """Whether a process of that id still runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
