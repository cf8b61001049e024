"""One part of the daemon that fails takes no other part down and leaves nobody waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from monitor.config.load import Loaded
from monitor.service.daemon import Daemon
from monitor.store.alerts import recent_events
from monitor.store.db import Store, open_store
from monitor.store.intents import add_intent, get_intent
from tests.support.configs import sound

CONFIG = """\
[[endpoint]]
name = "chat"
url = "http://127.0.0.1:9"
[serve]
metrics_port = 0
"""


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    return sound(tmp_path, CONFIG)


@asynccontextmanager
async def serving(loaded: Loaded, store: Store) -> AsyncIterator[None]:
    stop = asyncio.Event()
    daemon = asyncio.ensure_future(Daemon(loaded, store).run(stop))
    try:
        yield
    finally:
        stop.set()
        await daemon


async def seen(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - the store tells nobody
            await asyncio.sleep(0.05)


async def test_whoever_asked_for_a_sweep_that_cannot_be_started_is_told(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "gone"))
    with open_store(loaded.store_path) as store:
        intent = add_intent(
            store, kind="sweep", subject="chat", who="me", host="h", created_at_s=time.time(), reason="", args={}
        )

        def result() -> str:
            found = get_intent(store, intent)
            return found.result if found is not None else ""

        async with serving(loaded, store):
            await seen(lambda: bool(result()))
        assert result().startswith("exit 1: it could not be started")


async def test_a_server_that_is_not_restored_is_told_of_though_the_other_alerts_fail(loaded: Loaded) -> None:
    with open_store(loaded.store_path) as store:
        with store.write() as db:
            db.execute("INSERT INTO crossovers VALUES (1, 'chat', 'f', 1.0, NULL, '{}', 'not an answer')")
        loaded.store_path.with_name("specwatch.db.restart-chat.json").write_text("{}")
        async with serving(loaded, store):
            await seen(lambda: bool(recent_events(store, 1)))
        event = recent_events(store, 1)[0]
    assert (event.rule, event.kind, event.endpoint) == ("not_restored", "firing", "chat")


async def test_the_metrics_page_follows_the_first_look_at_a_server_at_once(tmp_path: Path) -> None:
    """Until the next evaluation, here an hour away, it would say that nothing was read yet."""
    loaded = sound(tmp_path, f"{CONFIG}[alerts]\nevaluate_every_s = 3600.0\n")
    stop, labels = asyncio.Event(), {"endpoint": "chat", "pool": "chat", "state": "down"}
    with open_store(loaded.store_path) as store:
        daemon = Daemon(loaded, store)
        running = asyncio.ensure_future(daemon.run(stop))
        await seen(lambda: daemon._exporter.registry.get_sample_value("specwatch_endpoint_state", labels) == 1.0)
        stop.set()
        await running


async def test_other_work_gets_its_turn_between_two_endpoints(tmp_path: Path) -> None:
    """Scrapes are timed on the same loop: an evaluation of fifty endpoints in one piece would date them late."""
    names = [f"chat-{number}" for number in range(8)]
    text = "".join(f'[[endpoint]]\nname = "{name}"\nurl = "http://127.0.0.1:9"\n' for name in names)
    loaded, turns = sound(tmp_path, text), 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    with open_store(loaded.store_path) as store:
        task = asyncio.ensure_future(others())
        await Daemon(loaded, store)._evaluate()
        task.cancel()
    assert turns >= len(names)
