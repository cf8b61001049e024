"""A writer that is killed in the middle leaves whole transactions and a store that opens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from monitor.store.alerts import load_alert_states
from monitor.store.db import open_store
from monitor.store.readings import append_readings, latest_reading, load_readings
from tests.support.records import a_reading

BATCH = 40
WRITER = f"""
import sys
from pathlib import Path
from monitor.store.alerts import save_transition
from monitor.store.db import open_store
from monitor.store.readings import append_readings
from tests.support.records import a_reading, a_state, an_engine, an_event

store = open_store(Path(sys.argv[1]))
n = 0
while True:
    engines = (an_engine("0"), an_engine("1"))
    append_readings(store, [a_reading(at_s=float(n * {BATCH} + i), engines=engines) for i in range({BATCH})], {{}})
    save_transition(store, a_state(alert_id=f"a{{n}}"), an_event(f"a{{n}}"), ["one", "two", "three"], float(n))
    n += 1
    print(n, flush=True)
"""


@pytest.mark.parametrize("batches", [3, 8, 15])
def test_kill_9_in_the_middle_of_writing(tmp_path: Path, batches: int) -> None:
    path = tmp_path / "specwatch.db"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    told = [int(writer.stdout.readline()) for _ in range(batches)][-1]
    writer.kill()
    writer.wait()
    writer.stdout.close()
    with open_store(path) as store:
        assert store.scalar("PRAGMA integrity_check") == "ok"
        readings = load_readings(store, "chat", -1.0)
        assert len(readings) % BATCH == 0
        assert len(readings) >= BATCH * told
        assert store.scalar("SELECT count(*) FROM scrapes") == len(readings)
        assert store.scalar("SELECT count(*) FROM engine_readings") == 2 * len(readings)
        events = store.scalar("SELECT count(*) FROM events")
        assert events >= told
        assert store.scalar("SELECT count(*) FROM outbox") == 3 * events
        assert load_alert_states(store)["chat", "above_crossover"].alert_id == f"a{events - 1}"
        append_readings(store, [a_reading("other")], {})
        assert latest_reading(store, "other") is not None
