"""The load benchmark in miniature: its server compiles, and what it says of our client is true of this very run."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.load.__main__ import measure
from benchmarks.load.clients import OURS, OURS_UVLOOP
from benchmarks.load.scenes import BURST, FAST, TLS, TWO
from benchmarks.load.server import mock_server
from benchmarks.load.table import render

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="no C compiler"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="server and client need a core each"),
]


def test_every_kind_of_scene_gives_numbers() -> None:
    small: dict[str, Any] = {"streams": 4, "chunks": 10, "itl_s": 0.01, "window_s": 0.4}
    scenes = [
        replace(BURST, **small, clients=(OURS,)),
        replace(FAST, **small, clients=(OURS, OURS_UVLOOP)),
        replace(TLS, **small, clients=(OURS,)),
        replace(TWO, **small, clients=(OURS,)),
    ]
    cores = sorted(os.sched_getaffinity(0))
    with mock_server(cores[0]) as mock:
        if mock.tls_url is None:
            scenes = [scene for scene in scenes if not scene.tls]
        results = measure(mock, scenes, 1, cores)
    assert len(results) == sum(len(scene.clients) for scene in scenes)
    for row in results.values():
        assert row.errors == 0
        assert row.chunks_per_s > 0
        assert row.cpu_us_per_chunk > 0
        assert row.ttft_error_p50_ms is not None
        assert row.ttft_error_p50_ms > 0  # the client cannot know of a token before it was sent
    fast = results[FAST.name, OURS]
    assert fast.lag_p50_ms is not None
    assert fast.lag_p50_ms > 0
    assert "| cold burst of 256 | specwatch |" in render(scenes, results, [])
