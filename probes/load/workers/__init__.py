"""Load from several processes, for more streams than one core can read in time: every worker is a `ClosedLoop`.

The parent tells workers what to do by a pipe and hears how they do twenty times a second by another. A worker whose
parent is gone closes its streams and ends. Keys travel in the pipe only, never in arguments or the environment.
"""
