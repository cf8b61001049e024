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
    arm_k: int | None = None
    """Another K than the arm's name says; a change restarts the server, as it would a real one."""

    def merged(self, changes: dict[str, Any]) -> Faults:
        """These faults with some changed. Raises ValueError naming an unknown or ill-typed one."""
        known = {field.name: field for field in fields(self)}
        for name, value in changes.items():
            if name not in known:
                raise ValueError(f"no fault is called {name!r}; there are {', '.join(known)}")
            default = known[name].default
            optional = default is None and (value is None or type(value) is int)
            number = type(default) is float and type(value) in (int, float)
            if not (optional or number or type(value) is type(default)):
                raise ValueError(f"fault {name} does not take {value!r}")
        return replace(self, **changes)
