"""Cells with one thing wrong, each with the code it must get and a cell that is alike but sound; a table, no measuring.

Nothing here may be imported by a process that wants virtual time before the clock is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from probes.sim.server import SimServer
from probes.sim.spec import SimSpec
from probes.sweep.plan import LoadSpec

BROKE_OFF = "broke_off"
"""What stands for a code where the cell ends by ForeignTraffic."""
NOT_SETTLED = "not_settled"
"""What stands for a code where the server still runs our requests after the cell was broken off."""
MID_S = 9.0
"""Seconds after the cell's start, well inside the window: idle readings and ramp take about two."""
OFF_TOK_S = 159.0
"""What four clients get from PLAIN."""
PLAIN = SimSpec(mean_output_tokens=24.0, time_scale=4.0, prompt_cost=0.1, start_noise=0.0, seed=5)
DRAFTING = replace(PLAIN, k=3)

Change = Callable[[SimServer], object]


def _faults(**changes: Any) -> Change:
    return lambda server: server.set_faults(**changes)


@dataclass(frozen=True)
class Scene:
    """One cell to measure."""

    spec: SimSpec = PLAIN
    faults: dict[str, Any] = field(default_factory=dict)
    """From before the sweep looked at the server."""
    restarted: bool = False
    """Between the sweep's first look and the cell."""
    later: Change | None = None
    later_at_s: float = MID_S
    speculative: bool = False
    """What the sweep takes the server for."""
    load: LoadSpec = field(default_factory=lambda: LoadSpec(max_tokens=128))
    history_tok_s: float | None = None
    """The baseline's rate in an earlier sweep."""
    restart: str | None = None
    max_foreign: float = 1.0
    clients: int = 4
    cell_s: float = 16.0
    busy_s: float = 0.0
    """Every quarter of a second our own process stands still for so long."""
    break_off: bool = False
    """Cancel the cell at `later_at_s` and see whether the server settles."""


@dataclass(frozen=True)
class Fault:
    """A scene that must get a code, and one beside it that must not."""

    code: str
    broken: Scene
    sound: Scene = Scene()


def _k3(**changes: Any) -> Scene:
    return Scene(DRAFTING, speculative=True, **changes)


FAULTS: dict[str, Fault] = {
    "off arm drafts": Fault("arm_drafting", Scene(DRAFTING)),
    "silently the other arm": Fault("arm_not_drafting", _k3(faults={"arm_k": 0}), _k3()),
    "configured, never drafts": Fault("arm_not_drafting", _k3(faults={"not_drafting": True}), _k3()),
    "dies": Fault("no_window", Scene(later=_faults(dead=True))),
    "page dies": Fault("no_window", Scene(later=_faults(page_status=503)), Scene(faults={"page_delay_s": 0.1})),
    "hangs": Fault("stalled", Scene(later=_faults(hang=True))),
    "hangs to the end": Fault("drain_cut_off", Scene(later=_faults(hang=True))),
    "429": Fault("errors", Scene(faults={"refuse_every": 4}), Scene(faults={"refuse_every": 60})),
    "a few 429": Fault("few_errors", Scene(faults={"refuse_every": 60})),
    "500": Fault("errors", Scene(faults={"refuse_every": 4, "refuse_status": 500})),
    "cut streams": Fault("errors", Scene(faults={"truncate_every": 4})),
    "no usage": Fault("no_usage", Scene(faults={"no_usage": True})),
    "usage lies": Fault("token_mismatch", Scene(faults={"usage_factor": 1.2}), Scene(faults={"usage_factor": 1.0})),
    "rates lie": Fault("rates_apart", Scene(faults={"usage_factor": 1.2})),
    "restarted before": Fault("restarted_before", Scene(restarted=True)),
    "restarts": Fault("counter_reset", Scene(later=lambda server: server.restart())),
    "upgraded": Fault("server_changed", Scene(later=_faults(version="0.27.0")), Scene(later=_faults(version="0.26.0"))),
    "another K": Fault("server_changed", _k3(later=_faults(arm_k=1)), _k3(later=_faults(arm_k=3))),
    "salt is no use": Fault("prefix_hits", Scene(faults={"prefix_skip": 9})),
    "no prefix cache": Fault(
        "prefix_hits",
        Scene(
            replace(PLAIN, prefix_caching=False),
            load=LoadSpec(max_tokens=128, prefix_hit_target=0.3, chars_per_token=4.0),
        ),
        Scene(load=LoadSpec(max_tokens=128, prefix_hit_target=0.3, chars_per_token=4.0)),
    ),
    "short foreign requests": Fault("foreign_traffic", Scene(faults={"foreign_per_request": 1})),
    "foreign users": Fault(BROKE_OFF, Scene(later=_faults(foreign_clients=3)), Scene(later=_faults(foreign_clients=1))),
    "one foreign user": Fault("not_idle", Scene(later=_faults(foreign_clients=1))),
    "preempted": Fault("preemptions", Scene(later=_faults(kv_reserved=0.997))),
    "full cache": Fault("kv_limit", Scene(faults={"kv_reserved": 0.95}), Scene(faults={"kv_reserved": 0.5})),
    "limited": Fault("limited", Scene(faults={"kv_reserved": 0.95}), Scene(faults={"kv_reserved": 0.5})),
    "few places": Fault("waiting", Scene(replace(PLAIN, max_num_seqs=1)), Scene(replace(PLAIN, max_num_seqs=4))),
    "uneven": Fault(
        "engines_uneven", Scene(replace(PLAIN, engines=2), faults={"uneven": True}), Scene(replace(PLAIN, engines=2))
    ),
    "gauges lie": Fault("concurrency_mismatch", Scene(faults={"gauge_factor": 0.5})),
    "slower than before": Fault(
        "baseline_degraded",
        Scene(faults={"slow": 1.2}, history_tok_s=OFF_TOK_S),
        Scene(faults={"slow": 1.02}, history_tok_s=OFF_TOK_S),
    ),
    "slows down": Fault("not_steady", Scene(faults={"drift_per_s": -0.02}), Scene(faults={"drift_per_s": -0.001})),
    "slows down a little": Fault(
        "drifting", Scene(faults={"drift_per_s": -0.0025}, cell_s=45.0, clients=1), Scene(cell_s=45.0, clients=1)
    ),
    "slow start": Fault("ramp_cut", Scene(faults={"slow": 1.6}, later=_faults(slow=1.0), later_at_s=7.5)),
    "cut at the cap": Fault("capped", Scene(load=LoadSpec(max_tokens=12))),
    "dead flag": Fault(
        "dead_flag",
        Scene(restart="serve --speculative-config '{\"disable_by_batch_size\": 8}'"),
        Scene(restart="serve --speculative-config '{\"num_speculative_tokens\": 3}'"),
    ),
    "crawls": Fault("too_few_tokens", Scene(replace(PLAIN, time_scale=900.0))),
    "answers nothing": Fault("too_few_requests", Scene(replace(PLAIN, time_scale=900.0))),
    "our machine is busy": Fault("client_limit", Scene(busy_s=0.12), Scene(busy_s=0.004)),
    "our machine is a little busy": Fault("latency_coarse", Scene(busy_s=0.04)),
    "a proxy keeps them running": Fault(
        NOT_SETTLED,
        Scene(
            faults={"deaf": True},
            break_off=True,
            load=LoadSpec(max_tokens=2000),
            spec=replace(PLAIN, mean_output_tokens=3000.0),
        ),
        Scene(break_off=True),
    ),
}
"""Every way in which a cell can go wrong that a server can be made to show."""
