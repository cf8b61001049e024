"""What can be made to go wrong with a simulated server, so that tests can see how it is told apart; values only."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Faults:
    """All off by default. `POST /sim/faults` takes the same names as a JSON object and keeps the others."""

    page_status: int = 200
    """Status of /metrics."""
    api_status: int = 200
    """Status of the completion endpoints and of /v1/models."""
    health_status: int = 200
    page_empty: bool = False
    """200 with an empty body."""
    page_delay_s: float = 0.0
    drop_vllm: bool = False
    """Only the families that any Python process shows, as with `--disable-log-stats`."""
    drop_spec: bool = False
    """No spec series, as from a filtering proxy; the engine still drafts."""
    not_drafting: bool = False
    """Spec series are there, nothing is drafted."""
    sleep_level: int = 0
    """1 or 2: the engine sleeps, requests wait."""
    kv_reserved: float = 0.0
    """Share of the KV blocks held by nobody, 0..1."""
    foreign_clients: int = 0
    """Closed-loop requests per engine from inside the server, as from users who bypass every gate."""
    foreign_per_request: int = 0
    """One-token requests of others that come and go with each finished one: too short for a polled gauge."""
    arm_k: int | None = None
    """Another K than the arm's name says; a change restarts the server, as it would a real one."""
    version: str | None = None
    """Another version than the server was started with, as after an upgrade that nobody told of."""
    dead: bool = False
    """Every client is dropped, and whoever comes; in-flight requests are lost, counters start from zero."""
    hang: bool = False
    """No engine takes a step, no stream gets a byte, and the page looks healthy."""
    deaf: bool = False
    """Clients that leave are not noticed, as behind a proxy that keeps its own connection: their requests run on."""
    refuse_every: int = 0
    """Every n-th completion is answered with `refuse_status` instead."""
    refuse_status: int = 429
    truncate_every: int = 0
    """Every n-th stream ends after its first tokens, properly framed, without finish reason and `[DONE]`."""
    no_usage: bool = False
    usage_factor: float = 1.0
    """What answers say of their output tokens, over what the counter says."""
    prefix_skip: int = 0
    """Characters at the start of prompts that the prefix cache does not look at: salted prompts hit it again."""
    uneven: bool = False
    """All requests go to the first engine."""
    gauge_factor: float = 1.0
    """Of the running and waiting gauges: a page that tells stale or partial loads."""
    slow: float = 1.0
    """Factor on every step's time."""
    drift_per_s: float = 0.0
    """Share of its speed that the server gains each second (loses, below 0), from the instant this was set."""

    def merged(self, changes: dict[str, Any]) -> Faults:
        """These faults with some changed. Raises ValueError naming an unknown or ill-typed one."""
        known = {field.name: field for field in fields(self)}
        for name, value in changes.items():
            if name not in known:
                raise ValueError(f"no fault is called {name!r}; there are {', '.join(known)}")
            allowed = str(known[name].type).split(" | ")
            given = "None" if value is None else type(value).__name__
            if given not in allowed and not (given == "int" and "float" in allowed):
                raise ValueError(f"fault {name} does not take {value!r}")
        return replace(self, **changes)
