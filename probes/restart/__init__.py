"""Restarting one production server into the arms of a sweep, and back: journal, hooks, drain, proof."""
