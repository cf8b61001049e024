"""Takes chance and the clock out of property tests: the same examples each time, however long a busy machine takes.

`pytest --hypothesis-profile=explore` looks for new ones.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

EXPLORE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", EXPLORE)
settings.register_profile("specwatch", EXPLORE, derandomize=True)
settings.load_profile("specwatch")
