"""Puts the demo together: processes, sink, story, and the dashboard on top where there is a terminal."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import click

from monitor import exit_codes
from monitor.config.load import load_config
from monitor.demo.narrated import NarratedFeed
from monitor.demo.processes import end, serving, start_daemon, start_sim, time_scale_for
from monitor.demo.settings import demo_settings, demo_toml
from monitor.demo.sink import Sink
from monitor.demo.story import Story
from monitor.store.db import open_store

ON_ARM = "k3"
GOODBYE = "Demo ended: its daemon and its simulated servers are stopped, nothing of it is kept."
STARTING = "Starting two simulated servers and the daemon that watches them ..."
STOPPING = "Stopping the demo: its sweep, its daemon and its simulated servers end first."


async def run_demo(folder: Path, *, headless: bool, seconds: float, seed: int, crossover: float | None) -> int:
    """Returns the exit code: 0 where the whole story was told. Cancelled by a signal where no dashboard is open."""
    started = time.monotonic()
    _stop_on_signals(_cancelled())
    if not headless:
        click.echo(STARTING)

    def say(text: str) -> None:
        if headless:
            click.echo(f"[{time.monotonic() - started:5.1f} s] {text}")

    def received(body: dict[str, Any]) -> None:
        say("the webhook sink received:\n" + json.dumps(body, indent=1))

    settings = demo_settings(crossover)
    async with AsyncExitStack() as stack:
        sim = await start_sim(["off", ON_ARM], crossover=crossover, seed=seed, time_scale=time_scale_for(crossover))
        stack.push_async_callback(end, sim.process)
        sink = await stack.enter_async_context(Sink(received))
        config = folder / "config.toml"
        text = demo_toml(
            settings,
            off_url=sim.urls["off"],
            on_url=sim.urls[ON_ARM],
            sink_url=sink.url,
            on_arm=ON_ARM,
            metrics_port=_free_port(),
        )
        config.write_text(text)
        say(f"two simulated servers, one with speculation (K=3), one without; the config:\n{text}")
        loaded = load_config(config)
        store = stack.enter_context(open_store(loaded.store_path))
        daemon = await start_daemon(config, folder / "serve.log")
        stack.push_async_callback(end, daemon)
        await serving(daemon, folder / "serve.log")
        story = Story(loaded, store, sim.urls[ON_ARM], say)
        playing = asyncio.create_task(story.run())
        stack.push_async_callback(_finish, playing)
        if not headless:
            from monitor.service.feed import StoreFeed
            from monitor.tui.app import SpecwatchApp

            await story.first_reading()
            feed = NarratedFeed(StoreFeed(loaded, store), lambda: story.now)
            app = SpecwatchApp(feed, goodbye=GOODBYE)
            _stop_on_signals(app.action_quit_view)
            await app.run_async()
            return 0
        try:
            async with asyncio.timeout(seconds - (time.monotonic() - started)):
                await playing
        except TimeoutError:
            say(f"time is out after {seconds:.0f} s, before the story's end")
        # The resolution is in the outbox before it is at the sink.
        await asyncio.sleep(1.5 if story.told.fired else 0)
        if not story.told.complete:
            say("the daemon's last words:\n" + (folder / "serve.log").read_text()[-2000:])
        return 0 if story.told.complete else exit_codes.FAILED


def _cancelled() -> Callable[[], None]:
    """Say at once that it was heard: the others take a second or two to end. A second signal must not hurry them."""
    task = asyncio.current_task()
    heard = False

    def stop() -> None:
        nonlocal heard
        if task is None or heard:
            return
        heard = True
        task.cancel()
        with suppress(OSError):  # a terminal that was closed
            click.echo(f"\n{STOPPING}", err=True)

    return stop


def _stop_on_signals(stop: Callable[[], None]) -> None:
    """Ctrl-C, SIGTERM and a closed terminal end what was started and leave no folder behind."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop)


async def _finish(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
