"""Proves on the simulator what a cost claims: at one concurrency tok/s moves, at one arrival rate it does not.

`python -m benchmarks.eval_cost` prints the tables of `docs/cost.md`. In the first ones curves are what a sweep without
noise would measure, and the loads lie between its rungs; virtual time, no sockets. The last one counts how often the
intervals of noisy sweeps cover (`cover_cost.py`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.cover_cost import LADDERS, coverage
from probes.answer_values import Axis, BandPoint, CurvePoint
from probes.crossover import estimate
from probes.crossover.arrival import Curve, SameRate, curves_of, lead, same_rate
from probes.sim.arrivals import Arrival, Served, poisson, serve
from probes.sim.engine import Engine
from probes.sim.spec import SimSpec
from probes.sim.truth import throughput_tok_s

LADDER = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96)
CLOSED = (6, 12, 20, 28, 40, 56, 80)
SHARES = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)
"""Arrival rates, as shares of what the slower arm can make at most."""
MIXES = ((178, 256, 0.5), (64, 512, 0.5), (178, 64, 0.2), (900, 256, 0.2), (900, 120, 0.15))
"""Prompt tokens, mean output tokens, and the share of capacity as above that their arrivals ask for."""
REQUESTS = 4000
SWEEPS = 500
SEED = 20
CROSSOVER = 24.0
K = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """One server with speculation off and on, and the curves a sweep would find."""

    off: SimSpec
    on: SimSpec
    curves: Mapping[str, Curve]
    most_tok_s: float
    """What both arms can make."""

    def engine(self, arm: str) -> Engine:
        """A fresh engine of one arm, without a bias of its start."""
        return Engine(replace(self.off if arm == "off" else self.on, start_noise=0.0, step_noise=0.0))


def pair(crossover: float = CROSSOVER, *, ladder: Sequence[int] = LADDER, request_steps: int = 60_000) -> Pair:
    """Measure both arms at every rung, closed loop, noise off."""
    off, on = SimSpec(k=0, crossover=crossover), SimSpec(k=K, crossover=crossover)
    made = {
        (arm, x): throughput_tok_s(spec, x, request_steps=request_steps)
        for arm, spec in (("off", off), ("on", on))
        for x in ladder
    }
    points = [CurvePoint(arm, float(x), tok_s, repeat) for (arm, x), tok_s in made.items() for repeat in (0, 1)]
    found = estimate(points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE)
    most = min(max(tok_s for (arm, _), tok_s in made.items() if arm == name) for name in ("off", "on"))
    return Pair(off, on, curves_of(found.curves), most)


def switched_closed(pair: Pair, clients: int, *, request_steps: int = 60_000) -> tuple[float, BandPoint]:
    """True and predicted tok/s of `off` over `on` where clients wait for their answers."""
    off, on = (throughput_tok_s(spec, clients, request_steps=request_steps) for spec in (pair.off, pair.on))
    predicted = lead(pair.curves["off"], pair.curves["on"], float(clients))
    assert predicted is not None
    return off / on, predicted


def switched_open(
    pair: Pair, share: float, *, requests: int = REQUESTS, seed: int = 1
) -> tuple[Served, Served, SameRate]:
    """The same Poisson arrivals on `on` and on `off`, and where `off` is predicted to sit from where `on` sits."""
    arrivals: list[Arrival] = poisson(
        share * pair.most_tok_s / pair.on.mean_output_tokens, requests, pair.on.mean_output_tokens, seed
    )
    on, off = serve(pair.engine("on"), arrivals), serve(pair.engine("off"), arrivals)
    return on, off, same_rate(pair.curves["on"], pair.curves["off"], on.concurrency)


def other_mix(
    pair: Pair, prompt_tokens: int, output_tokens: int, share: float, requests: int, seed: int = 3
) -> tuple[Served, Served, SameRate]:
    """Traffic of another shape than the curves were measured with, and nothing done about it."""
    arrivals = poisson(share * pair.most_tok_s / output_tokens, requests, output_tokens, seed)
    on, off = (serve(pair.engine(arm), arrivals, prompt_tokens=prompt_tokens) for arm in ("on", "off"))
    return on, off, same_rate(pair.curves["on"], pair.curves["off"], on.concurrency)


def report(requests: int, sweeps: int) -> Iterator[str]:
    """All tables, as Markdown."""
    servers = pair()
    yield f"Clients that wait (closed loop), crossover {CROSSOVER:.0f}: tok/s of off over k{K}."
    yield ""
    yield "| clients | moved by | predicted | error |"
    yield "|---|---|---|---|"
    for clients in CLOSED:
        true, predicted = switched_closed(servers, clients)
        error = 100 * (predicted.ratio / true - 1)
        yield (
            f"| {clients} | {true:.3f} | {predicted.ratio:.3f} [{predicted.low:.3f}, {predicted.high:.3f}] "
            f"| {error:+.1f}% |"
        )
    yield ""
    yield f"The same {requests} Poisson arrivals on both arms, k{K} first."
    yield ""
    yield (
        "| share of capacity | tok/s k3, off | in system k3 | in system off | predicted | error "
        "| time per token moved by |"
    )
    yield "|---|---|---|---|---|---|---|"
    for share in SHARES:
        on, off, there = switched_open(servers, share, requests=requests)
        assert there.concurrency is not None, there.reason
        low, high = (f"{edge:.2f}" if edge is not None else "..." for edge in (there.low, there.high))
        yield (
            f"| {share:.0%} | {on.tok_s:.0f}, {off.tok_s:.0f} | {on.concurrency:.2f} | {off.concurrency:.2f} "
            f"| {there.concurrency:.2f} [{low}, {high}] | {100 * (there.concurrency / off.concurrency - 1):+.1f}% "
            f"| {off.token_s / on.token_s:.2f} (predicted {there.concurrency / on.concurrency:.2f}) |"
        )

    yield ""
    yield f"Traffic of another shape than was swept, {requests} Poisson arrivals each, curves as they were swept."
    yield ""
    yield "| prompt + output tokens | in system k3 | in system off | predicted | error |"
    yield "|---|---|---|---|---|"
    for prompt_tokens, output_tokens, share in MIXES:
        on, off, there = other_mix(servers, prompt_tokens, output_tokens, share, requests)
        solved = there.concurrency
        said = there.reason if solved is None else f"{solved:.2f}"
        error = "" if solved is None else f"{100 * (solved / off.concurrency - 1):+.1f}%"
        yield (
            f"| {prompt_tokens} + {output_tokens} | {on.concurrency:.2f} | {off.concurrency:.2f} | {said} | {error} |"
        )
    yield ""
    yield f"{sweeps} random sweeps a ladder: 90% intervals, held against the truth."
    yield ""
    yield "| ladder | same arrivals cover | median width | median error | no answer | one concurrency covers |"
    yield "|---|---|---|---|---|---|"
    for index, (name, ladder) in enumerate(LADDERS.items()):
        found = coverage(ladder, sweeps, SEED + index)
        yield (
            f"| {name}: {', '.join(map(str, ladder))} | {found.same_rate:.1%} of {found.cases - found.silent} "
            f"| {found.width_octaves:.2f} octaves | {found.error:.1%} | {found.silent} | {found.same_concurrency:.1%} |"
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=REQUESTS, help="arrivals per row")
    parser.add_argument("--sweeps", type=int, default=SWEEPS, help="random sweeps per ladder")
    args = parser.parse_args()
    for line in report(args.requests, args.sweeps):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
