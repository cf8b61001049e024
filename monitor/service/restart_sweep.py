"""Brings a production server up in each arm of a sweep and never leaves without having put it back.

Wrap `run_sweep` with `restart_arms`: nothing is touched before the first arm is asked for, and the way out restores.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from monitor.config.errors import ConfigError
from monitor.config.load import Loaded
from monitor.config.model import EndpointConfig, ProbeConfig
from monitor.config.targets import arm_target, probe_of
from monitor.service.guardian_process import NoGuardian, part_from, start_guardian, until_gone, until_ready
from monitor.service.locks import AlreadyHeld, Lock
from monitor.service.restart_orders import live_arm_of, orders_for
from monitor.service.restart_reach import target_from
from monitor.service.uninterrupted import first_signal_only, uninterrupted
from monitor.store.db import Store
from probes.restart.drain import NotDrained, until_drained
from probes.restart.hooks import Hook, HookFailed, hook_env, raise_unless_ok
from probes.restart.journal import Journal, JournalError, Step
from probes.restart.journal_file import JournalFile
from probes.restart.paths import restart_paths
from probes.restart.proof import Expected, NotProven, prove_in_time
from probes.restart.put_back import LET_END_S, NotPutBack, PutBack
from probes.restart.steps import looked_otherwise, owes_restart, what_is_owed
from probes.scrape.scrape import Scraper
from probes.sweep.plan import ArmPlan, SweepPlan
from probes.sweep.preflight import ArmMismatch
from probes.sweep.shown import shown_url
from probes.sweep.watch import ForeignTraffic
from probes.values import Target

log = logging.getLogger(__name__)

TRIES = 2
TRY_AGAIN_S = 2.0
SLACK_S = 1800.0
"""For what has no limit of its own: looks at the server, kills, a slow disk."""

Tell = Callable[[str, str], None]
"""Takes a phase (`restart` or `restore`) and a note for people."""


class NotRestored(Exception):
    """The server does not run its live arm again, or what `before` did is not undone; the message says all of it."""

    def __init__(self, endpoint: str, reason: str) -> None:
        super().__init__(reason)
        self.endpoint = endpoint
        self.reason = reason


class RestartFailed(ArmMismatch):
    """An arm could not be brought up, or nothing may be touched; the sweep ends as for any arm that is not there."""


def _quiet(phase: str, note: str) -> None:
    pass


@asynccontextmanager
async def restart_arms(
    loaded: Loaded, store: Store, plan: SweepPlan, probe: ProbeConfig, sweep_id: int, tell: Tell = _quiet
) -> AsyncIterator[BringUp]:
    """`async with restart_arms(...) as bring_up:` around the sweep. Raises NotRestored on the way out.

    The way out holds off cancellation, and all stop signals but the first.
    """
    bring_up = BringUp(loaded, store.path, plan, probe, sweep_id, tell)
    with first_signal_only(f"the server of {plan.endpoint} is being put back"):
        try:
            yield bring_up
        finally:
            await bring_up.leave()


class BringUp:
    """Turns the endpoint's server into one arm; `await bring_up(arm)` before each pass over the ladder.

    Raises RestartFailed (an ArmMismatch) where the arm does not come up, and ForeignTraffic where the server does not
    drain. May be cancelled at any instant.
    """

    def __init__(
        self, loaded: Loaded, store_path: Path, plan: SweepPlan, probe: ProbeConfig, sweep_id: int, tell: Tell
    ) -> None:
        self._loaded, self._plan, self._probe, self._sweep_id = loaded, plan, probe, sweep_id
        self._tell_caller = tell
        self._endpoint: EndpointConfig = probe_of(loaded.config, plan.endpoint)[0]
        self._paths = restart_paths(store_path, plan.endpoint)
        self._file = JournalFile(self._paths.journal)
        self._lock: Lock | None = None
        self._guardian: subprocess.Popen[bytes] | None = None
        self._journal: Journal | None = None
        self._begun = False
        self._given_up: NotRestored | None = None

    async def __call__(self, arm: ArmPlan) -> None:
        """A freshly started, proven server in this arm."""
        try:
            if not self._begun:
                await self._begin()
            await self._restart(arm)
        except (HookFailed, JournalError, NotProven, NoGuardian, ConfigError, ValueError) as error:
            raise RestartFailed(f"arm {arm.name} of {self._plan.endpoint} was not brought up: {error}") from error
        except NotDrained as error:
            words = f"before arm {arm.name} of {self._plan.endpoint}: {error}"
            if error.requests is None:
                raise RestartFailed(words) from error
            raise ForeignTraffic(words, arm.name, error.requests) from error

    async def leave(self) -> None:
        """Put the server back where it was touched. Raises NotRestored."""
        if self._lock is None:
            return
        try:
            if self._given_up is not None:
                raise self._given_up  # once more: whoever was told first may have kept it to himself
            await uninterrupted(self._put_back)
        finally:
            self._lock.release()
            await self._part()

    async def _begin(self) -> None:
        if self._journal is not None:
            raise ValueError("`before` did not end well, so nothing is restarted")
        live = live_arm_of(self._endpoint, self._probe)
        self._take_lock()
        if self._file.exists():
            self._tell("restore", "an earlier sweep left the server in one of its arms")
            await self._put_back()
        target = arm_target(self._endpoint, live)
        orders = await orders_for(self._loaded, self._endpoint, self._probe, live, target, self._sweep_id)
        self._tell("restart", "starting the guardian")
        self._guardian = start_guardian(self._paths, hung_after_s=self._longest_s())
        await until_ready(self._guardian, self._paths)
        journal = Journal(replace(orders, guardian_pid=self._guardian.pid), Step.BEGUN)
        self._write(journal)
        if orders.before is not None:
            self._tell("restart", "running `before`")
            await self._command(orders.before, journal.at(Step.BEFORE_STARTED), live.name, target)
        self._begun = True

    async def _restart(self, arm: ArmPlan) -> None:
        orders = self._now.orders
        if arm.restart is None:
            raise ValueError("it has no `restart` command")
        if self._guardian is None or self._guardian.poll() is not None:
            raise NoGuardian(f"the guardian is dead, and without it nothing is restarted; see {self._paths.log}")
        async with aclosing(self._scraper(arm.target)) as scraper:
            self._tell("restart", f"arm {arm.name}: waiting for {orders.drain_s:g} s without requests")
            # What runs gets as long to end as a command does; the quiet time comes on top.
            before = await until_drained(
                scraper, quiet_s=orders.drain_s, bound_s=orders.drain_s + orders.hook_timeout_s
            )
            if not owes_restart(self._now):
                self._write(self._now.at(Step.DRAINED))
            self._tell("restart", f"arm {arm.name}: restarting")
            is_live = arm.name == orders.live_arm
            told = arm.speculative is not orders.drafts and before.speculation_configured is not None
            going = replace(self._now.at(Step.RESTARTING, arm=arm.name), alike=self._now.alike or not (is_live or told))
            await self._command(arm.restart, going, arm.name, arm.target)
            self._tell("restart", f"arm {arm.name}: waiting for it to serve")
            expected = Expected(
                arm.name,
                drafts=orders.drafts if is_live else arm.speculative,
                model=arm.target.model or orders.model,
                k=orders.k if is_live else None,
            )
            proven = await prove_in_time(
                arm.target,
                expected,
                scraper,
                before,
                timeout_s=orders.start_timeout_s,
                identify_s=orders.scrape_timeout_s,
            )
        shown_drafts, shown_k = proven.shown_drafts, proven.shown_k
        up = self._now.at(Step.UP, arm=arm.name, shown_drafts=shown_drafts, shown_k=shown_k)
        self._write(replace(up, alike=not (is_live or looked_otherwise(up))))
        log.info("event=arm_up endpoint=%s arm=%s drafted=%s", orders.endpoint, arm.name, proven.drafted)

    async def _command(self, command: str, journal: Journal, arm: str, target: Target) -> None:
        """The journal step first, then the command. Raises HookFailed and JournalError."""
        orders = journal.orders
        env = hook_env(
            os.environ,
            search_path=orders.search_path,
            endpoint=orders.endpoint,
            arm=arm,
            url=shown_url(target.url),
        )
        hook = Hook(command, cwd=Path(orders.cwd), env=env, log=self._paths.log)
        try:
            self._write(replace(journal, hook=hook.proc))
        except BaseException:
            hook.call_off()
            raise
        hook.let_go()
        raise_unless_ok(command, await hook.finish(orders.hook_timeout_s), orders.hook_timeout_s)

    async def _put_back(self) -> None:
        """Restore what the journal owes, in a few tries. Raises NotRestored."""
        if not self._file.exists():
            return
        journal = self._journal
        for left in reversed(range(TRIES)):
            try:
                journal = journal or self._file.read()
                target, lost = target_from(journal.orders.reach)
                work = PutBack(self._file, journal, target, self._paths.log, self._note, lost)
                await work.run()
                self._journal = None
                return
            except NotPutBack as failed:
                journal = self._journal = failed.journal
                log.error("event=restore_failed endpoint=%s reason=%s", self._plan.endpoint, failed)
                self._tell("restore", f"failed: {failed}")
                if not left:
                    self._given_up = NotRestored(self._plan.endpoint, self._loud(failed.journal, str(failed)))
                    raise self._given_up from failed
            except (JournalError, ValueError) as error:
                words = f"{self._plan.endpoint} is NOT RESTORED: {error}"
                self._given_up = NotRestored(self._plan.endpoint, words)
                raise self._given_up from error
            await asyncio.sleep(TRY_AGAIN_S)

    def _loud(self, journal: Journal, reason: str) -> str:
        return (
            f"{self._plan.endpoint} is NOT RESTORED: {reason}. Still to do: {what_is_owed(journal)}."
            f" The guardian and `specwatch serve` try again, `specwatch stop` at once;"
            f" once you have started {journal.orders.live_arm} by hand, run it all the same: it proves what runs and"
            f" does the rest. What the commands said: {self._paths.log}"
        )

    async def _part(self) -> None:
        """The guardian ends once it has the lock and sees no journal; where one is left it goes on trying."""
        guardian = self._guardian
        if guardian is None:
            return
        if self._file.exists():
            part_from(guardian)
        elif not await until_gone(guardian):
            log.warning("event=guardian_lingers pid=%s", guardian.pid)

    def _longest_s(self) -> float:
        """A sweep that still holds the server after this hangs: its budget, and twice all that restoring may take."""
        probe = self._probe
        back_s = LET_END_S + 2 * probe.hook_timeout_s + probe.start_timeout_s
        return 60 * self._plan.max_minutes + TRIES * back_s + SLACK_S

    def _note(self, words: str) -> None:
        self._tell("restore", words)

    def _take_lock(self) -> None:
        if self._lock is not None:
            return
        try:
            self._lock = Lock(self._paths.lock).acquire()
        except AlreadyHeld as held:
            raise ValueError(f"another process is at work on the server ({held.holder})") from None
        except OSError as error:
            raise ValueError(f"{self._paths.lock} cannot be opened: {error.strerror}") from error

    @property
    def _now(self) -> Journal:
        assert self._journal is not None
        return self._journal

    def _write(self, journal: Journal) -> None:
        self._file.write(journal)
        self._journal = journal

    def _scraper(self, target: Target) -> Scraper:
        scrape = self._loaded.config.scrape
        return Scraper(target, timeout_s=scrape.timeout_s, max_bytes=scrape.max_page_bytes)

    def _tell(self, phase: str, note: str) -> None:
        """A screen or store that fails must not stop a restoring."""
        log.debug("event=%s endpoint=%s note=%s", phase, self._plan.endpoint, note)
        try:
            self._tell_caller(phase, note)
        except Exception:
            log.exception("event=progress_not_told endpoint=%s", self._plan.endpoint)
