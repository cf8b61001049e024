"""The terminal dashboard, the only package that imports textual; `serve`, `once` and `sweep` must never load it.

A `Snapshot` comes in, text goes out: `draw/` holds pure functions from a snapshot to lines of spans, `plot.py` the
braille charts, `pane.py` the one widget that paints lines, `app.py` keys and the poll loop, `actions.py` the one table
from which bindings, footer, help and palette are made.
"""
