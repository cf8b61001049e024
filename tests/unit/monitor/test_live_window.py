"""What is known of an endpoint while a sweep loads it."""

from __future__ import annotations

from monitor.live_window import live_window
from probes.values import EngineKind
from tests.support.readings import minute


def test_the_engine_keeps_its_name_in_a_sweep() -> None:
    window = live_window(minute(12.0, sweep_id=7), 0.0)
    assert window.engine_kind is EngineKind.VLLM
    assert window.concurrency is None
