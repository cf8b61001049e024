"""A process that goes through the arms as a restart sweep does, and can be killed at any write of its journal.

`python -m tests.support.restart_driver CONFIG ARMS [KILL]`: ARMS is a list like `off,k3,k3,off`; KILL is
`step[:arm]@before|after[+guardian]`, as in `restarting:off@after`: SIGKILL to itself (and first to the guardian) just
before or just after the journal reaches that step; `removed` is its removal. Nothing of the product is replaced: the
interpreter's audit events tell when the file is renamed into place.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from monitor.config.load import load_config
from monitor.config.targets import probe_of
from monitor.log import setup_logging
from monitor.service.lifeline import on_stop_signals
from monitor.service.restart_sweep import NotRestored, restart_arms
from monitor.service.sweep_plan import plan_for
from monitor.store.db import open_store
from probes.sweep.guard import Stopped, guarded
from probes.sweep.preflight import ArmMismatch


class Killer:
    """Watches the journal through audit events."""

    def __init__(self, words: str, journal: Path) -> None:
        where, _, how = words.partition("@")
        self.step, _, self.arm = where.partition(":")
        self.before = how.startswith("before")
        self.guardian = how.endswith("+guardian")
        self.journal = str(journal)
        self.guardian_pid = 0
        self.armed = False
        self.busy = False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.busy or event not in ("os.rename", "os.remove", "open"):
            return
        self.busy = True
        try:
            if self.armed and event == "open" and args[0] == str(Path(self.journal).parent):
                self.kill()
            elif event == "os.rename" and str(args[1]) == self.journal:
                data = json.loads(Path(args[0]).read_text())
                self.guardian_pid = data["orders"]["guardian_pid"]
                self.reached(data["step"] == self.step and (not self.arm or data["arm"] == self.arm))
            elif event == "os.remove" and str(args[0]) == self.journal:
                self.reached(self.step == "removed")
        finally:
            self.busy = False

    def reached(self, there: bool) -> None:
        if there and self.before:
            self.kill()
        self.armed = there

    def kill(self) -> None:
        if self.guardian:
            os.kill(self.guardian_pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


async def drive(config: Path, arms: list[str], stopped: list[int]) -> int:
    loaded = load_config(config)
    _, probe = probe_of(loaded.config, "chat")
    with open_store(loaded.store_path) as store:
        plan = plan_for(loaded, "chat", (), store)
        by_name = {arm.name: arm for arm in plan.arms}
        try:
            async with restart_arms(loaded, store, plan, probe, 1) as bring_up:
                for index, name in enumerate(arms):
                    await guarded(bring_up(by_name[name]), lambda: "a signal" if stopped else None)
                    (config.parent / f"up-{index}").touch()
        except NotRestored as left:
            sys.stderr.write(f"{left}\n")
            return 7
        except Stopped:
            return 4
        except ArmMismatch as problem:
            sys.stderr.write(f"{problem}\n")
            return 5
    return 0


def main() -> int:
    setup_logging()
    config, arms = Path(sys.argv[1]), sys.argv[2].split(",")
    if len(sys.argv) > 3:
        sys.addaudithook(Killer(sys.argv[3], config.parent / "specwatch.db.restart-chat.json"))
    stopped: list[int] = []

    def ask(number: int, _frame: object) -> None:
        if stopped:
            sys.exit(128 + number)
        stopped.append(number)

    on_stop_signals(ask)
    return asyncio.run(drive(config, arms, stopped))


if __name__ == "__main__":
    sys.exit(main())
