"""An empty store on disk for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.store.db import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Opened for writing; `store.path` is its file."""
    with open_store(tmp_path / "specwatch.db") as opened:
        yield opened
