"""Everything that touches an inference server: the passive probe (one scrape) and the active probe (a sweep).

This room never imports `monitor`, a store, a screen or a scheduler; what it learns leaves as frozen values
(`probes.values`), and the monitor decides what to remember and whom to tell.
"""
