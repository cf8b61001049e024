"""How fast and how true the load client is, beside the clients others measure with; needs two idle cores.

`python -m benchmarks.load` runs all of it against the compiled server in `benchmarks/mock`; see docs/benchmarks.md.
"""
