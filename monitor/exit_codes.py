"""Every exit code in one place; scripts and cron jobs rely on them. Code 5 (arm mismatch) comes from the probes."""

from __future__ import annotations

FAILED = 1
CONFIG = 2
REFUSED = 3
ABORTED = 4
RUNNING = 6
NOT_RESTORED = 7
