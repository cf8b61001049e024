"""The passive probe: one scrape becomes one reading, two readings become rates; never sends load."""
