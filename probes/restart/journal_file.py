"""Keeps a journal on disk so that it survives a kill and a power cut at any instant; interprets nothing.

A write is a new file, synced, renamed over the old one, and the folder synced: readers see the old or the new whole.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from probes.restart.journal import Journal, JournalError

MODE = 0o600


class JournalFile:
    """The journal of one endpoint."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(path.name + ".new")

    def exists(self) -> bool:
        """Whether something is left to do."""
        return os.path.lexists(self.path)

    def write(self, journal: Journal) -> None:
        """Durable once it returns. Raises JournalError; the old content then still stands, or already the new."""
        part = self._part
        try:
            with contextlib.suppress(FileNotFoundError):
                part.unlink()
            fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, MODE)
            try:
                with os.fdopen(fd, "w", encoding="utf-8") as file:
                    file.write(journal.to_json())
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(part, self.path)
            except BaseException:
                with contextlib.suppress(OSError):
                    part.unlink()
                raise
            self._sync_folder()
        except OSError as error:
            raise JournalError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def read(self) -> Journal:
        """Raises JournalError where it is not there, not ours or not a journal.

        Its commands are going to be run, so a file that somebody else could have written is refused.
        """
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(fd, encoding="utf-8") as file:
                found = os.fstat(fd)
                if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
                    raise JournalError(
                        f"{self.path} is not trusted: it must be a file that only uid {os.geteuid()} can write;"
                        " run specwatch as the user that began the sweep, or look into the file and restore by hand"
                    )
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise JournalError(f"{self.path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
        try:
            return Journal.from_json(text)
        except JournalError as error:
            raise JournalError(f"{self.path} {error}") from None

    def remove(self) -> None:
        """All is done. Raises JournalError where it stays."""
        try:
            with contextlib.suppress(FileNotFoundError):
                self.path.unlink()
            with contextlib.suppress(OSError):  # a write that a kill cut short
                self._part.unlink()
            self._sync_folder()
        except OSError as error:
            raise JournalError(f"{self.path} cannot be removed: {error.strerror or error}") from error

    def _sync_folder(self) -> None:
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
