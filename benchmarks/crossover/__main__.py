"""Prints the evaluation of the crossover estimator as the tables of docs/crossover.md.

A report for people; what must hold is asserted by tests/unit/crossover, not here.
"""

from __future__ import annotations

import argparse

from benchmarks.crossover import measured, simulated, speed


def main() -> None:
    """Run every part, from a seed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crossover", description=__doc__)
    parser.add_argument("--sweeps", type=int, default=2000, help="simulated sweeps per shape (2000)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    simulated.report(given.sweeps, given.seed)
    measured.report()
    speed.report(given.seed)


if __name__ == "__main__":
    main()
