"""The journal of one restarted server: what was done to it and all that a stranger needs to put it back.

A value and its JSON. It holds names of secrets, never a secret; the file itself is `journal_file.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, Self

SCHEMA = 1


class JournalError(Exception):
    """The journal cannot be written, read or removed; the message says which file and why."""


class Step(StrEnum):
    """What has begun. Each is written before the action that it names."""

    BEGUN = "begun"
    """A guardian watches; nothing is touched yet."""
    BEFORE_STARTED = "before_started"
    DRAINED = "drained"
    RESTARTING = "restarting"
    UP = "up"
    RESTORING = "restoring"
    RESTORED = "restored"
    AFTER_STARTED = "after_started"


@dataclass(frozen=True, slots=True)
class Proc:
    """One process, so that another one which later got the same pid is never taken for it."""

    pid: int
    start_ticks: int | None
    """Clock ticks from boot to its start; None where the system does not say."""
    boot_id: str | None


@dataclass(frozen=True, slots=True)
class Orders:
    """What to restore and how; settled before anything is touched and never changed after."""

    endpoint: str
    pool: str
    sweep_id: int
    who: str
    begun_at_s: float
    sweep_pid: int
    guardian_pid: int
    config_path: str
    live_arm: str
    drafts: bool
    """Whether the live arm must draft."""
    model: str
    """Served name that must answer again."""
    k: int | None
    """Draft tokens per step that the live arm showed before it was touched; None where the page does not tell."""
    restore: str
    """Command that turns the server into the live arm."""
    before: str | None
    after: str | None
    cwd: str
    search_path: str
    """PATH of whoever began, so that commands are found also by a daemon that was started otherwise."""
    hook_timeout_s: float
    start_timeout_s: float
    drain_s: float
    scrape_timeout_s: float
    max_page_bytes: int
    reach: Mapping[str, Any]
    """How the config words the way to the server: addresses, file names, names of secrets."""


@dataclass(frozen=True, slots=True)
class Journal:
    """How far it went."""

    orders: Orders
    step: Step
    arm: str | None = None
    """The arm of `restarting` and `up`; of `restoring` the one that was up before it, or the
    live arm where only its command was under way."""
    shown_drafts: bool | None = None
    """Of the arm that was up: whether it showed speculative decoding; None where its page does not tell."""
    shown_k: int | None = None
    hook: Proc | None = None
    """The command that was let go with this step."""
    alike: bool = False
    """A server of another arm may be up that cannot be told from the live arm by looking at it."""
    commanded: bool = False
    """The restore command has run to a good end, whatever the proof said after it."""
    attempts: int = 0
    """Tries to put the server back that failed."""
    tried_at_s: float | None = None
    error: str = ""
    """Why the last try failed."""

    def at(
        self, step: Step, *, arm: str | None = None, shown_drafts: bool | None = None, shown_k: int | None = None
    ) -> Self:
        """The same journal one step on."""
        return replace(self, step=step, arm=arm, hook=None, shown_drafts=shown_drafts, shown_k=shown_k)

    def to_json(self) -> str:
        """One JSON object, for people too."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Journal:
        """Raises JournalError for anything that `to_json` did not write."""
        try:
            data = json.loads(text)
            if data.pop("schema") != SCHEMA:
                raise JournalError("was written by another version of specwatch")
            orders, hook = data.pop("orders"), data.pop("hook")
            made = cls(
                orders=Orders(**orders),
                step=Step(data.pop("step")),
                hook=None if hook is None else Proc(**hook),
                **data,
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise JournalError(f"is no journal of a restarted server ({type(error).__name__}: {error})") from None
        for value in (made.orders, made):
            _check_types(value)
        return made


def failed_try(journal: Journal, reason: str, now_s: float) -> Journal:
    """The same journal after one more try that failed."""
    return replace(journal, hook=None, attempts=journal.attempts + 1, tried_at_s=now_s, error=reason)


_PLAIN = {"str": str, "int": int, "float": (int, float), "bool": bool}


def _check_types(value: object) -> None:
    """What commands are built from must be what it claims; the rest is checked by its constructor."""
    for field in fields(value):  # type: ignore[arg-type]
        kind, _, rest = str(field.type).partition(" | ")
        if kind not in _PLAIN:
            continue
        item = getattr(value, field.name)
        if not (isinstance(item, _PLAIN[kind]) or (rest == "None" and item is None)):  # type: ignore[arg-type]
            raise JournalError(f"is no journal of a restarted server: {field.name} is {item!r}")
