"""Makes load and stamps what comes back: N streams in flight against one server, over a transport of our own.

What other rooms use::

    load = make_load(target, partial(RequestSource, prompts, model, sampling, series), clients, workers)
    await load.warm()              # connections, first bodies, worker processes
    load.start(spread_s)
    load.begin_window()            # health is watched from here ...
    health = load.end_window()     # ... to here: ClientHealth(lag_p99_ms, cpu_share, dispatch_p99_ms)
    load.stop_launching()
    cut_off = await load.drain(timeout_s)
    await load.aclose()            # always, whatever happened before; within two seconds

`make_load` and the protocol `Load` are in `probes.load.load`. With one process the load is a `ClosedLoop` in the
caller's event loop, with more a `WorkerLoop` whose clients live in processes of their own; `load.processes` tells how
many. Both have `records`, `in_flight`, `max_in_flight` and `take_peak()`. The source is given as a factory that can
be pickled, because every worker makes its own. Loads judge nothing.
"""
