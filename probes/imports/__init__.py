"""Results that other tools measured, read into the estimator's points; touches files only, never a server."""

from probes.imports.answer import answer
from probes.imports.read import read_results
from probes.imports.rows import Imported, ResultFileError

__all__ = ["Imported", "ResultFileError", "answer", "read_results"]
