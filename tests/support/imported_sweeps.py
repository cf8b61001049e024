"""Results from elsewhere as `specwatch import` stores them, for tests of whoever meets them later."""

from __future__ import annotations

from typing import Any

from monitor.store.imports import ImportedSweep
from tests.support.records import a_cell, a_crossover


def imported(**fields: Any) -> ImportedSweep:
    plain: dict[str, Any] = {
        "pool": "chat-70b",
        "endpoint": "chat",
        "started_at_s": 100.0,
        "ended_at_s": 900.0,
        "reason": "imported from off.json, k3.json (vllm bench serve)",
        "who": "ana@laptop",
        "pid": 42,
        "host": "laptop",
        "fingerprint": "f1",
        "baseline": "off",
        "live_arm": "k3",
        "files": {"aa": "off.json", "bb": "k3.json"},
        "plan": {},
        "result": a_crossover(),
        "arm_k": {"off": None, "k3": 3},
        "identities": {},
        "cells": [a_cell(), a_cell(order=1)],
        "is_whole_sweep": False,
    }
    return ImportedSweep(**{**plain, **fields})
