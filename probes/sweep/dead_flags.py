"""Flags that a server takes and does not heed, found in the command that starts an arm; pure.

vLLM shows its speculative settings nowhere over HTTP, so only a restart command can be looked at.
"""

from __future__ import annotations

import re

_DISABLE = re.compile(r"(?:speculative[-_])?disable[-_]by[-_]batch[-_]size")
_DEAD_SINCE = (0, 10)


def dead_flags(command: str | None, version: str | None) -> tuple[str, ...]:
    """A sentence for each flag of `command` that does nothing on vLLM `version` (None: not known).

    `disable_by_batch_size` was read by the V0 engine only: accepted and ignored from 0.10.0 on, refused from 0.17 on.
    """
    found = _DISABLE.search(command or "")
    if found is None:
        return ()
    release = _release(version)
    if release is not None and release < _DEAD_SINCE:
        return ()
    where = f"on vLLM {version}" if release is not None else "from vLLM 0.10 on"
    return (
        f"{found[0]} does nothing {where}: speculation stays on at every batch size; take it out, and compare with an"
        " arm started without speculation",
    )


def _release(version: str | None) -> tuple[int, int] | None:
    match = re.match(r"v?(\d+)\.(\d+)", version or "")
    return None if match is None else (int(match[1]), int(match[2]))
