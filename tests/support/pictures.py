"""Snapshot kinds for syrupy: a screen as a text file that a reviewer can read, or as an SVG that shows the colours."""

from __future__ import annotations

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class TextScreen(SingleFileSnapshotExtension):
    """One terminal as text."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


class SvgScreen(SingleFileSnapshotExtension):
    """One terminal as SVG."""

    _write_mode = WriteMode.TEXT
    file_extension = "svg"
