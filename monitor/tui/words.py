"""The words and glyphs for what an endpoint is doing, so that no screen says it by colour alone or in its own way.

Pure. Shared by the table, the headline, the endpoint screen, the clipboard and the quit message.
"""

from __future__ import annotations

from dataclasses import dataclass

from monitor.compared import compared_in, moved_in, withdrawn
from monitor.now_words import tokens, unreckoned_short
from monitor.tui import format as fmt
from monitor.tui.progress import progress_text
from monitor.tui.view import View, above_but_off, above_since_s, since_s
from monitor.units import age_text, percent
from monitor.values import (
    AlertPhase,
    CrossoverNow,
    EndpointStatus,
    LiveVerdict,
    Snapshot,
)
from probes.answer_values import Verdict
from probes.values import State

STATE_WORDS = {
    State.STALE: ("◌", "stale"),
    State.DOWN: ("✕", "down"),
    State.EMPTY: ("○", "empty page"),
    State.NOT_AN_ENGINE: ("✕", "not an engine"),
    State.UNAUTHORIZED: ("✕", "unauthorized"),
    State.SLEEPING: ("○", "sleeping"),
}


@dataclass(frozen=True, slots=True)
class Sign:
    """A glyph, a word and the role that colours them."""

    glyph: str
    word: str
    role: str

    @property
    def text(self) -> str:
        """Both, as drawn."""
        return f"{self.glyph} {self.word}"


def sign(view: View, status: EndpointStatus) -> Sign:
    """The one thing to know of an endpoint, with since when where that is known (at most 15 cells)."""
    at_s = view.snapshot.at_s
    if any(one.endpoint == status.name for one in view.snapshot.unrestored):
        return Sign("✕", "NOT RESTORED", "alarm")
    alert = view.alert_of(status.name)
    if alert is not None and alert.phase is AlertPhase.FIRING:
        if not view.watched:
            return Sign("▲", "fired", "alarm")
        return Sign("▲", f"FIRING {_ago(since_s(alert), at_s)}".strip(), "alarm")
    if status.state is not State.OK:
        glyph, word = STATE_WORDS[status.state]
        return Sign(glyph, word, "bad" if glyph == "✕" else "warn")
    if status.sweep_id is not None:
        return Sign("»", _sweep_word(view.snapshot, status.sweep_id), "note")
    if status.verdict is LiveVerdict.ABOVE:
        ago = _ago(above_since_s(view, status), at_s)
        if alert is not None and view.watched:
            return Sign("▲", f"pending {ago}".strip(), "bad")
        if above_but_off(status):
            return Sign("○", "above, off", "good")
        return Sign("▲", f"above {ago}".strip(), "bad")
    if status.verdict is LiveVerdict.INSIDE:
        return Sign("◆", "inside", "warn")
    if status.verdict is LiveVerdict.BELOW:
        return Sign("●", "below", "good")
    if status.crossover is not None and status.crossover.expired:
        return Sign("?", "expired", "warn")
    return Sign("?", "unknown", "warn")


def _sweep_word(snapshot: Snapshot, sweep_id: int) -> str:
    sweep = next((one for one in snapshot.sweeps if one.id == sweep_id), None)
    if sweep is None or sweep.progress is None or not sweep.progress.total_cells:
        return "in a sweep"
    done = f"sweep {sweep.progress.done_cells}/{sweep.progress.total_cells}"
    return "after a sweep" if sweep.ended_at_s is not None else done if len(done) <= 13 else "in a sweep"


def _ago(since: float | None, at_s: float) -> str:
    return "" if since is None else fmt.age(at_s - since)


def measured_to(crossover: CrossoverNow) -> float | None:
    """The highest concurrency that the sweep compared."""
    return max((point.concurrency for point in crossover.band), default=None)


def crossover_text(view: View, status: EndpointStatus) -> str:
    """The crossover that the verdict goes by, or the word for why there is none, in at most 14 cells.

    `~` in front: not as swept, but as of now.
    """
    crossover = compared_in(status)
    if crossover is None:
        swept = any(sweep.pool == status.pool and sweep.result is not None for sweep in view.snapshot.sweeps)
        return fmt.UNKNOWN if swept else "no sweep yet"
    if status.as_of_now is not None and withdrawn(status.as_of_now):
        uncovered = any(reason.code == "mix_not_covered" for reason in status.as_of_now.reasons)
        return "mix not swept" if uncovered else "withdrawn"
    return ("~" if moved_in(status) else "") + swept_text(crossover)


def swept_text(crossover: CrossoverNow) -> str:
    """A crossover with its interval, or the word for why it has none."""
    return fmt.verdict_words(crossover.verdict, crossover.value, crossover.low, crossover.high, measured_to(crossover))


def now_text(status: EndpointStatus) -> str:
    """What the live traffic makes of the sweep: acceptance, break-even and mix, now and when swept."""
    now = status.as_of_now
    if now is None:
        return ""
    parts = []
    if now.acceptance_length is not None:
        notes = [f"swept {now.acceptance_measured:.2f}"] if now.acceptance_measured is not None else []
        if now.break_even is not None:
            notes.append(f"pays from {now.break_even.ratio:.2f}")
        elif now.no_break_even is not None:
            notes.append("pays with none here" if now.no_break_even.code == "never_pays" else "pays with any here")
        parts.append(f"acceptance {now.acceptance_length:.2f}" + (f" ({', '.join(notes)})" if notes else ""))
    if now.mix is not None:
        swept = f" (swept {tokens(now.mix_measured)})" if now.mix_measured is not None else ""
        parts.append(f"tokens {tokens(now.mix.mix)}{swept}")
    if remark := unreckoned_short(now):
        parts.append(remark)
    return " · ".join(parts)


def arm_text(status: EndpointStatus) -> str:
    """Live arm and K: `k3 K3`, `dyn K2.4`, `off`, `? K3`."""
    if status.drafting is False and status.speculation_configured is False:
        return status.live_arm or "off"
    k = status.effective_k if status.effective_k is not None else status.k
    k_text = "" if k is None else f" K{fmt.number(k, 1).removesuffix('.0')}"
    return f"{status.live_arm or '?'}{k_text}"


def server_text(status: EndpointStatus) -> str:
    """Engine, version and how many schedulers it has; what is not known is left out and never 0."""
    if status.engine_kind is None and not status.version:
        return "engine unknown"
    parts = [" ".join(part for part in (status.engine_kind or "version", status.version or "") if part)]
    if count := len(status.engines):
        busiest = f", busiest {status.busiest_engine}" if count > 1 and status.busiest_engine else ""
        parts.append(f"{count} engine{'s' if count != 1 else ''}{busiest}")
    return " · ".join(parts)


def data_age(view: View, status: EndpointStatus) -> float | None:
    """Age of the newest good reading, the snapshot's own age included where it is not now."""
    return None if status.age_s is None else status.age_s + view.lag_s


def dimmed(view: View, status: EndpointStatus) -> bool:
    """Numbers of this row are not live."""
    return view.stale or status.state is not State.OK


def headline(view: View) -> tuple[Sign, str]:
    """The first screen's first row: which endpoint is over, by how much, since when; else what cannot be judged."""
    endpoints = view.snapshot.endpoints
    if view.snapshot.unrestored:
        names = ", ".join(one.endpoint for one in view.snapshot.unrestored)
        return Sign("✕", "NOT RESTORED", "alarm"), f"{names}: not the arm that production is meant to run"
    hot = [s for s in view.rows if sign(view, s).glyph == "▲"] or [s for s in endpoints if sign(view, s).glyph == "▲"]
    if hot:
        word = "above" if all(s.verdict is LiveVerdict.ABOVE for s in hot) else "firing" if view.watched else "fired"
        return Sign("▲", f"{len(hot)} of {len(endpoints)} {word}", sign(view, hot[0]).role), _over(view, hot[0])
    unknown = [s for s in endpoints if s.verdict is LiveVerdict.UNKNOWN]
    judged = len(endpoints) - len(unknown)
    if not unknown:
        inside = sum(s.verdict is LiveVerdict.INSIDE for s in endpoints)
        note = f", {inside} inside the interval" if inside else ""
        return Sign("●", "none above", "good"), f"all {judged} judged{note}"
    # One that cannot be read is no matter of the sweep beside it.
    swept = [progress_text(view.sweep_of(s)) if s.state is State.OK else "" for s in unknown]
    if not judged and all(swept):
        return Sign("»", "in a sweep", "note"), f"{swept[0]}: 3 shows it"
    if not judged:
        return Sign("?", "cannot judge", "warn"), f"none of {len(endpoints)} can be judged: the reasons are below"
    names = ", ".join(s.name for s in unknown[:3]) + (" …" if len(unknown) > 3 else "")
    return Sign("?", "none above", "warn"), f"but {len(unknown)} of {len(endpoints)} cannot be judged: {names}"


def _over(view: View, first: EndpointStatus) -> str:
    since = above_since_s(view, first)
    text = first.name
    crossover = compared_in(first)
    if first.concurrency is not None and crossover is not None and crossover.value is not None:
        text += f" {fmt.concurrency(first.concurrency)} vs {crossover_text(view, first)}"
    elif crossover is not None and crossover.verdict is Verdict.NEVER_FASTER:
        text += ", where speculation is never faster"
    if _slower(first):
        text += f", {first.loss_pct:.0f}% less output"
    if since is not None:
        text += f" since {fmt.minute(since, view.snapshot.at_s)}"
    if dimmed(view, first):
        text += f", data {fmt.age(data_age(view, first))} old"
    return text


def why(view: View, status: EndpointStatus) -> str:
    """Why the verdict is what it is, as one sentence: the state's reason, the crossover's, or the two numbers."""
    if status.verdict is LiveVerdict.INSIDE and status.concurrency is not None and status.verdict_reason:
        return f"{fmt.concurrency(status.concurrency)} in the system per engine, {status.verdict_reason}"
    unmeasured = status.crossover is None and status.state is State.OK and status.sweep_id is None
    if unmeasured and status.pool in view.snapshot.unprobed:
        return f"nothing sweeps {status.pool}, for it has no [endpoint.probe], so there is nothing to compare with"
    if status.verdict_reason:
        return status.verdict_reason
    if status.reason:
        return status.reason
    crossover = compared_in(status)
    against = "" if crossover is None else f" against {crossover_text(view, status)} of {crossover.for_arm}"
    point = status.speedup_now
    loss = ""
    if point is not None and _slower(status):
        # The band stands beneath it; a small screen has no room for its edges twice.
        more = 100 * (1 / point.ratio - 1)
        loss = f": {status.loss_pct:.0f}% less output, {more:.0f}% more time per token than without speculation"
    return f"{fmt.concurrency(status.concurrency)} in the system per engine{against}{loss}"


def alert_note(view: View, status: EndpointStatus) -> str:
    """Whether the alert rule counts this, and if it cannot, why; empty where the verdict's reason says it already."""
    alert = view.alert_of(status.name)
    firing = alert is not None and alert.phase is AlertPhase.FIRING
    terms = view.snapshot.terms
    if firing and not view.watched:
        return "The alert fired before the daemon went: nobody judges it now, and nobody is told of its end."
    if status.alerting:
        beyond = f"the whole band is beyond the tolerated loss of {percent(terms.tolerated_loss_pct)}"
        if not view.watched:
            return f"Nobody is alerted, for no daemon runs; {beyond}."
        return f"The {'alert fires' if firing else 'alert rule counts'}: {beyond}."
    if firing:
        return (
            f"The alert still fires: it ends once the loss has stayed under {percent(terms.clear_loss_pct)} for "
            f"{age_text(terms.keep_firing_for_s)}."
        )
    if status.alerting_reason and status.alerting_reason != status.verdict_reason:
        return f"No alert: {status.alerting_reason}."
    return ""


def _slower(status: EndpointStatus) -> bool:
    """A loss that does not round to nothing."""
    return status.loss_pct is not None and status.loss_pct >= 0.5


def facts(view: View, status: EndpointStatus) -> str:
    """One endpoint as text for a chat or a ticket."""
    crossover = status.crossover
    measured = "" if crossover is None else f", measured {fmt.age(crossover.age_s)} ago (sweep {crossover.sweep_id})"
    since = above_since_s(view, status) if sign(view, status).glyph == "▲" else None
    rows = [
        f"{status.name} (pool {status.pool}): {sign(view, status).text}"
        + (f", since {fmt.minute(since, view.snapshot.at_s)}" if since is not None else ""),
        f"at {fmt.clock(view.snapshot.at_s)}, data {fmt.age(data_age(view, status))} old",
        f"concurrency per engine {fmt.concurrency(status.concurrency)}, "
        f"crossover {crossover_text(view, status)}{measured}",
        f"headroom {fmt.ratio(status.headroom)}, speedup now {fmt.band(status.speedup_now)}, "
        f"live arm {arm_text(status)}, "
        f"acceptance length {fmt.number(status.acceptance_length, 2)}",
    ]
    rows += [text for text in (now_text(status), why(view, status), alert_note(view, status)) if text]
    return "\n".join(rows)


def farewell(mode: str, daemon: str) -> str:
    """What goes on after the viewer is closed."""
    if mode == "daemon":
        return f"Viewer closed. The daemon ({daemon or 'specwatch serve'}) goes on watching and alerting."
    if mode == "local":
        return "Viewer closed. Local mode: nothing watches these endpoints now; `specwatch serve` would."
    return "Viewer closed. The daemon is gone: nothing watches these endpoints; start `specwatch serve`."
