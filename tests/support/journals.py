"""Journals of restarted servers for tests, with plain values."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from probes.restart.journal import Journal, Orders, Step


def orders(**changes: Any) -> Orders:
    """Orders to bring arm k3 back."""
    values: dict[str, Any] = {
        "endpoint": "chat",
        "pool": "chat-8b",
        "sweep_id": 7,
        "who": "ann@host",
        "begun_at_s": 1_000.0,
        "sweep_pid": 11,
        "guardian_pid": 12,
        "config_path": "/etc/specwatch/config.toml",
        "live_arm": "k3",
        "drafts": True,
        "model": "tiny",
        "k": 3,
        "restore": "./switch.sh k3",
        "before": "./drain.sh",
        "after": "./undrain.sh",
        "cwd": "/etc/specwatch",
        "search_path": "/usr/bin:/bin",
        "hook_timeout_s": 600.0,
        "start_timeout_s": 1800.0,
        "drain_s": 30.0,
        "scrape_timeout_s": 4.0,
        "max_page_bytes": 1_000_000,
        "reach": {"endpoint": {"name": "chat", "url": "http://127.0.0.1:8000"}, "arm": {"name": "k3"}},
    }
    return Orders(**(values | changes))


def journal(step: Step, **changes: Any) -> Journal:
    """A journal at `step`; changes are those of `Journal` and of its orders."""
    own = {field.name for field in fields(Journal)}
    mine = {name: value for name, value in changes.items() if name in own}
    return Journal(orders(**{name: value for name, value in changes.items() if name not in own}), step, **mine)
