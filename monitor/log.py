"""Logging for every command: key=value lines on stderr, or in a file where a screen owns the terminal.

Messages carry names and reasons, never keys, webhook addresses or request bodies.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path


def setup_logging(*, verbose: bool = False, file: Path | None = None) -> None:
    """Send our own records to stderr (or `file`); libraries speak up from warnings on."""
    handler: logging.Handler = logging.FileHandler(file) if file is not None else logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for ours in ("monitor", "probes"):
        logging.getLogger(ours).setLevel(logging.DEBUG if verbose else logging.INFO)
