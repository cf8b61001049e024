"""Pure answer to "which arm does production run now?", from config, the sweep's arms and the page.

The page wins over config where it plainly contradicts it: an operator who switches speculation off must not be told
that it is still costing throughput.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from monitor.values import StoredCrossover


class Shown(Protocol):
    """What a stretch of pages says of speculation."""

    @property
    def speculation_configured(self) -> bool | None: ...
    @property
    def drafting(self) -> bool | None: ...
    @property
    def k(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class LiveArm:
    """The arm's name, or None with the reason."""

    name: str | None
    reason: str


def find_live_arm(
    declared: str | None, stored: StoredCrossover | None, window: Shown, baseline: str | None = None
) -> LiveArm:
    """Declared arm unless the page contradicts it; else the only arm whose K and drafting match.

    Before the first sweep nothing is known of the arms but which one is the baseline, as config names it.
    """
    if stored is None and declared is not None and baseline is not None:
        off = declared == baseline
        if off and window.speculation_configured:
            return LiveArm(None, f"config says {declared}, but the server speculates")
        if not off and window.speculation_configured is False:
            return LiveArm(baseline, f"config says {declared}, but the server shows no speculation")
    if declared is not None and not _contradicts(declared, stored, window):
        if window.speculation_configured and window.drafting is False:
            # K = 0 in a schedule, or no match for n-gram: not off, but not what the sweep measured either.
            return LiveArm(None, f"{declared} is declared, but the server drafted nothing in the live window")
        return LiveArm(declared, "declared in config")
    if stored is None:
        if declared is not None:
            return LiveArm(declared, "declared in config")
        return LiveArm(None, "no live_arm in config and no sweep to match against")
    prefix = f"config says {declared}, which the server contradicts; " if declared is not None else ""
    if window.speculation_configured is None:
        return LiveArm(None, prefix + "the page does not say whether speculation is on")
    if window.speculation_configured and window.drafting is False:
        return LiveArm(None, prefix + "speculation is configured but drafted nothing in the live window")
    if window.speculation_configured and window.k is None:
        return LiveArm(None, prefix + "the server speculates but does not show its K; set live_arm")
    k = window.k if window.speculation_configured else None
    matches = sorted(arm for arm, arm_k in stored.arm_k.items() if arm_k == k)
    shown = f"K={k}" if k is not None else "no speculation"
    if len(matches) == 1:
        return LiveArm(matches[0], prefix + f"the only measured arm with {shown}")
    if not matches:
        return LiveArm(None, prefix + f"the server shows {shown}, which no measured arm has")
    return LiveArm(None, prefix + f"several measured arms have {shown} ({', '.join(matches)}); set live_arm")


def _contradicts(declared: str, stored: StoredCrossover | None, window: Shown) -> bool:
    """Only what the page plainly says counts: an arm whose K is not known (None) is not refuted by another K."""
    if stored is None or declared not in stored.arm_k or window.speculation_configured is None:
        return False
    known = stored.arm_k[declared]
    if declared == stored.result.baseline:
        return window.speculation_configured
    if not window.speculation_configured:
        return known is not None
    return known is not None and window.k is not None and known != window.k
