"""The demo waits for its daemon, and says why where it ended instead."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from monitor.demo.processes import serving


async def test_a_daemon_that_ends_as_it_starts_is_told_with_its_last_words(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    log.write_text("event=scrape\nthe port is taken\n")
    daemon = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await daemon.wait()
    with pytest.raises(RuntimeError, match="ended as it started: event=scrape"):
        await serving(daemon, log)


async def test_a_daemon_that_serves_is_waited_for_no_longer(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    log.write_text("level=info event=serving store=x\n")
    daemon = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await serving(daemon, log)
    await daemon.wait()
