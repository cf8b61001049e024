"""Everything that remembers, decides and shows: config, store, live state, alerts, the daemon and the screens.

This room imports `probes` and is never imported by it.
"""
