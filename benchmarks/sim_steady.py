"""Holds the simulator's step times against the steady cells of real sweeps, which they were not fitted to.

Run from the repository root: `.venv/bin/python -m benchmarks.sim_steady`. Every rung of the streaming sweeps in
`tests/data/h200/streaming` that one CUDA graph and one front end could carry is replayed in virtual time: closed loop,
clients started over one request's time, answers of one length. It prints a table and changes no file.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from math import expm1, log, sqrt
from statistics import fmean

from benchmarks.fit_sim import DATA, MAX_MODEL_LEN, TURNAROUND_S
from probes.sim.engine import Engine
from probes.sim.model import H200
from probes.sim.request import Request
from probes.sim.spec import SimSpec
from probes.sim.truth import ClosedLoop

POOR = (0.45, 0.20, 0.09)
ARMS = {"off": 0, "k1": 1, "k3": 3, "k5": 5, "k3poor": 3}
GRAPH_TOKENS = 512
"""The largest CUDA graph of those servers; beyond it they were slow and fast by turns."""
FRONT_END_FROM = 128
"""Clients from which the one API server process held `off` back; `static-178` had four."""
WARM, COUNTED = 1.5, 4
"""Requests per client before the window and in it."""
START_S, RATE_TOK_S = 0.6, 14_000
"""About one request's time on these servers: alone, and for each token that all clients wait for."""
SWEEPS = {"static": (109, 256), "static-178": (178, 256), "poor-acceptance": (109, 256), "second-mix": (627, 128)}
"""Prompt and output tokens."""


def measured() -> dict[tuple[str, str, int], float]:
    """Mean output tok/s by (sweep, arm, clients)."""
    cells: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for sweep in SWEEPS:
        for cell in json.loads((DATA / "streaming" / f"{sweep}.json").read_text(encoding="utf-8"))["cells"]:
            arm, rung = cell["arm"], cell["rung"]
            if arm not in ARMS or rung * (ARMS[arm] + 1) > GRAPH_TOKENS or rung > FRONT_END_FROM:
                continue
            if arm == "off" and rung >= FRONT_END_FROM and sweep != "static-178":
                continue
            cells[sweep, arm, rung].append(cell["output_tok_s"])
    return {key: fmean(values) for key, values in cells.items()}


def simulated(sweep: str, arm: str, clients: int) -> float:
    """Output tok/s in the steady window."""
    prompt, output = SWEEPS[sweep]
    spec = SimSpec(
        k=ARMS[arm],
        start_noise=0.0,
        step_noise=0.0,
        prefix_caching=False,
        max_model_len=MAX_MODEL_LEN,
        **({"acceptance": POOR} if arm == "k3poor" else {}),
    )
    engine = Engine(spec, model=H200, stretch=1.0)
    loop = ClosedLoop(
        engine,
        clients,
        lambda now_s: Request(prompt, output, output, now_s),
        turnaround_s=TURNAROUND_S,
        spread_s=START_S + clients * output / RATE_TOK_S,
    )
    rounds = COUNTED * (1 if clients > 8 else 2)

    def until(finished: float) -> tuple[float, float]:
        while sum(engine.counters.finished.values()) < finished:
            loop.step()
        return loop.now_s, engine.counters.generation_tokens

    begin_s, before = until(WARM * clients)
    end_s, after = until((WARM + rounds) * clients)
    return (after - before) / (end_s - begin_s)


def main() -> None:
    """Markdown: one row for each sweep, arm and rung, then the root mean square of the errors by sweep."""
    errors: dict[str, list[float]] = defaultdict(list)
    lines = ["| sweep | arm | clients | measured | simulated | error |", "|---" * 6 + "|"]
    for (sweep, arm, clients), tok_s in sorted(measured().items()):
        made = simulated(sweep, arm, clients)
        errors[sweep].append(log(made / tok_s))
        lines.append(f"| {sweep} | {arm} | {clients} | {tok_s:,.0f} | {made:,.0f} | {made / tok_s - 1:+.1%} |")
    sys.stdout.write("\n".join(lines) + "\n\n")
    for sweep, logs in errors.items():
        worst = expm1(max(logs, key=abs))
        sys.stdout.write(f"{sweep}: rms {sqrt(fmean(e * e for e in logs)):.1%}, worst {worst:+.1%}\n")


if __name__ == "__main__":
    main()
