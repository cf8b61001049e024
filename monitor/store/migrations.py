"""The schema, as numbered steps that are only ever appended; a released step is never edited.

Times are Unix seconds in `*_s` columns. JSON columns hold whole values of `codec.py`, beside the few columns that
queries use, so that a new field of a value needs no new column.
"""

from __future__ import annotations

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

from monitor.store.schema import FIRST

APPLICATION_ID = 0x73706377
"""`spcw` in the file's header: tells our file from any other program's."""

migrations = Migrations("specwatch")


@migrations()
def m001_first(db: Database) -> None:
    """Every table of 0.1."""
    for statement in FIRST:
        db.execute(statement)


@migrations()
def m002_resumed_sweeps(db: Database) -> None:
    """Which broken-off sweep a sweep went on with."""
    db.execute("ALTER TABLE sweeps ADD COLUMN resumes INTEGER REFERENCES sweeps(id)")


@migrations()
def m003_ends_of_sweeps(db: Database) -> None:
    """Why a sweep ended in a word that decisions go by, and what it used up."""
    db.execute("ALTER TABLE sweeps ADD COLUMN ended_by TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE sweeps ADD COLUMN tally TEXT NOT NULL DEFAULT '{}'")


STEPS = ("m001_first", "m002_resumed_sweeps", "m003_ends_of_sweeps")
"""Names of all steps, so that a store of a newer version is recognised."""
