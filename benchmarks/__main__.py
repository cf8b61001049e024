"""`python -m benchmarks` (make bench): every benchmark that needs nothing but this machine, one after the other."""

from __future__ import annotations

from benchmarks import parse_metrics

if __name__ == "__main__":
    parse_metrics.main()
