"""From throughput per arm and concurrency to the crossover, its interval and its verdict; pure, no clock, no I/O."""

from probes.crossover.cells import cells_to_points
from probes.crossover.codec import from_json, to_json
from probes.crossover.estimate import END_SLACK, curve_at, estimate, speedup_at
from probes.crossover.whole import completed

__all__ = ["END_SLACK", "cells_to_points", "completed", "curve_at", "estimate", "from_json", "speedup_at", "to_json"]
