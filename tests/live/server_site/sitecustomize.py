"""Loaded by the vLLM servers under test alone (PYTHONPATH): makes their waiting loops sleep instead of spin.

vLLM's engine and worker wait for each other in a loop of `os.sched_yield`. On two cores under Linux 6.18 such a loop
starves other processes: a client that needed 0.6 s of CPU waited 15 to 120 s for it, which is no fault of the client.
"""

import os
import time


def _sleep_briefly() -> None:
    time.sleep(0.0002)


os.sched_yield = _sleep_briefly
