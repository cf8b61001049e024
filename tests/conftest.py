"""Takes chance and the clock out of property tests: the same examples each time, however long a busy machine takes.

`pytest --hypothesis-profile=explore` looks for new ones. Signals that whoever started us had ignored are heard again.
"""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

EXPLORE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", EXPLORE)
settings.register_profile("specwatch", EXPLORE, derandomize=True)
settings.load_profile("specwatch")

# A shell without job control starts what runs in its background with SIGINT ignored, nohup does so with SIGHUP, and
# every command under test would inherit that and rightly not obey them.
for number, heard in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, heard)
