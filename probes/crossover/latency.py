"""Where an arm stops being faster for the one who waits: crossovers of TPOT and TTFT, beside that of throughput.

They inform; the verdict that alerts go by comes from output tok/s alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probes.values import ArmVerdict, Cell


def latency_crossovers(cells: Sequence[Cell], baseline: str) -> Mapping[str, Mapping[str, ArmVerdict]]:
    """By metric, then by arm; a metric that too few cells have is left out."""
    return {}
