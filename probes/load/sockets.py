"""Lets this process open as many sockets as a load needs; the usual soft limit of 1,024 files is too low for it."""

from __future__ import annotations

import resource

_OTHERS = 512
"""Files beside the streams: a store, logs, metrics connections, event loops."""


def allow_sockets(streams: int) -> None:
    """Raise the soft limit as far as needed and allowed; what the hard limit forbids shows up when connecting."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = streams + _OTHERS
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
