"""Puts a server back from its journal: ends what a dead sweep left running, restarts, proves, undoes `before`.

Whoever calls holds the endpoint's restart lock. Every piece may run again after a kill at any instant.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from probes.restart.drain import let_end
from probes.restart.hooks import Hook, HookFailed, hook_env, raise_unless_ok, writable_log
from probes.restart.journal import Journal, JournalError, Step, failed_try
from probes.restart.journal_file import JournalFile
from probes.restart.procs import POLL_S, end_group, still_runs
from probes.restart.proof import Expected, Newness, NotProven, prove_in_time, prove_now
from probes.restart.steps import owes_after, owes_restart, proof_may_suffice, restoring
from probes.scrape.scrape import Scraper
from probes.sweep.shown import shown_url
from probes.values import Target

log = logging.getLogger(__name__)

LOOKS = 3
LOOK_S = 2.0
"""One failed look at a busy server must not cost its users a restart that it does not need."""
LET_END_S = 60.0
"""Requests that are still in the system get so long, or `drain_s` if that is shorter, before the restart back."""
OLD_FOR_S = 60.0
"""A command that was to bring the live arm back is given so long to replace a server that looks like it already."""

Note = Callable[[str], None]


class NotPutBack(Exception):
    """The server is not proven to be as it was, or `after` did not end well; the journal stays."""

    def __init__(self, reason: str, journal: Journal) -> None:
        super().__init__(reason)
        self.journal = journal
        """As it stands now, with this failure in it."""


class PutBack:
    """One try to do all that a journal owes."""

    def __init__(
        self, file: JournalFile, journal: Journal, target: Target, log_path: Path, note: Note, lost: str = ""
    ) -> None:
        """`lost` says which keys of the target could not be read here; it may be why a proof fails."""
        self._file = file
        self._journal = journal
        self._target = target
        self._log_path = log_path
        self._note = note
        self._lost = lost

    async def run(self) -> None:
        """Do it and remove the journal. Raises NotPutBack with the journal kept and the failure in it.

        A journal that cannot be written any more (a full disk) does not stop it: the old one says enough.
        """
        try:
            await self._run()
        except Exception as error:
            # Whatever goes wrong is a failed try: it must be seen, counted and tried again.
            known = isinstance(error, HookFailed | NotProven | JournalError)
            reason = str(error) if known else f"{type(error).__name__}: {error}"
            if self._lost:
                reason += f"; reached without its keys ({self._lost})"
            self._keep(failed_try(self._journal, reason, time.time()))
            raise NotPutBack(reason, self._journal) from error

    async def _run(self) -> None:
        await self._end_leftover()
        if owes_restart(self._journal):
            if not (proof_may_suffice(self._journal) and await self._is_back()):
                await self._restart()
            self._keep(self._journal.at(Step.RESTORED))
        if owes_after(self._journal):
            await self._after()
        self._file.remove()

    async def _end_leftover(self) -> None:
        left = self._journal.hook
        if left is None or not still_runs(left):
            return
        self._note("ending the command that the dead sweep left running")
        if await end_group(left.pid, lambda: not still_runs(left)):
            return
        # One under sudo cannot be ended by us; what it does must not come after what brings the live arm back.
        orders = self._journal.orders
        log.warning("event=hook_lives_on endpoint=%s pid=%s", orders.endpoint, left.pid)
        self._note(f"waiting for a command that cannot be ended (pid {left.pid})")
        end_s = time.monotonic() + orders.hook_timeout_s
        while still_runs(left) and time.monotonic() < end_s:  # noqa: ASYNC110 - a process of others tells nobody
            await asyncio.sleep(POLL_S)

    async def _is_back(self) -> bool:
        """Whether it runs the live arm already, without another restart."""
        orders = self._journal.orders
        self._note(f"looking whether arm {orders.live_arm} is back already")
        async with aclosing(self._scraper()) as scraper:
            for left in reversed(range(LOOKS)):
                try:
                    await prove_now(
                        self._target, self._expected(), scraper, Newness(None), identify_s=orders.scrape_timeout_s
                    )
                    return True
                except NotProven as problem:
                    log.info("event=not_back_yet endpoint=%s reason=%s", orders.endpoint, problem)
                    if problem.wrong or not left:
                        return False
                await asyncio.sleep(LOOK_S)
        return False

    async def _restart(self) -> None:
        orders = self._journal.orders
        async with aclosing(self._scraper()) as scraper:
            self._note("letting what is in the system end")
            before = await let_end(scraper, bound_s=min(orders.drain_s, LET_END_S))
            self._note(f"restarting arm {orders.live_arm}")
            await self._command(orders.restore, restoring(self._journal))
            self._keep(replace(self._journal, hook=None, commanded=True))
            self._note(f"waiting for arm {orders.live_arm} to serve")
            try:
                await prove_in_time(
                    self._target,
                    self._expected(),
                    scraper,
                    before,
                    timeout_s=orders.start_timeout_s,
                    # A command that finds the live arm running may well do nothing; then there will be no new process.
                    old_for_s=None if self._journal.alike else min(OLD_FOR_S, orders.start_timeout_s / 2),
                    identify_s=orders.scrape_timeout_s,
                )
            except NotProven as problem:
                if problem.replaced:
                    self._journal = replace(self._journal, alike=False)
                raise

    async def _after(self) -> None:
        after = self._journal.orders.after
        assert after is not None
        self._note("undoing `before`")
        await self._command(after, self._journal.at(Step.AFTER_STARTED))

    async def _command(self, command: str, journal: Journal) -> None:
        """Run one command with its journal step written first. Raises HookFailed."""
        orders = journal.orders
        env = hook_env(
            os.environ,
            search_path=orders.search_path,
            endpoint=orders.endpoint,
            arm=orders.live_arm,
            url=shown_url(self._target.url),
        )
        hook = Hook(command, cwd=Path(orders.cwd), env=env, log=writable_log(self._log_path))
        self._keep(replace(journal, hook=hook.proc))
        hook.let_go()
        end = await hook.finish(orders.hook_timeout_s)
        raise_unless_ok(command, end, orders.hook_timeout_s)

    def _keep(self, journal: Journal) -> None:
        self._journal = journal
        try:
            self._file.write(journal)
        except JournalError as error:
            log.error("event=journal_not_written endpoint=%s reason=%s", journal.orders.endpoint, error)

    def _expected(self) -> Expected:
        orders = self._journal.orders
        return Expected(orders.live_arm, orders.drafts, orders.model, orders.k)

    def _scraper(self) -> Scraper:
        orders = self._journal.orders
        return Scraper(self._target, timeout_s=orders.scrape_timeout_s, max_bytes=orders.max_page_bytes)
