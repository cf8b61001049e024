"""The long-running side: scrape loops, sweeps as child processes, alert evaluation, delivery, our own metrics."""
