"""The tables of the first release as plain SQL, so that each can be read at a glance; it must never be edited after it.

Wide rows keyed by (endpoint, time): one endpoint's last minutes lie together, which is what every screen asks for.
No STRICT tables and no RETURNING: SQLite before 3.37 is still what long-lived distributions ship.
"""

READINGS = (
    # What rarely changes on a page (names, cache config, histogram edges) is stored once and referred to.
    "CREATE TABLE page_facts (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, body TEXT NOT NULL)",
    """CREATE TABLE scrapes (
        endpoint TEXT NOT NULL, at_s REAL NOT NULL, mono_s REAL NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
        engine_kind TEXT, speculation_configured INTEGER, k INTEGER, process_start_s REAL, scrape_s REAL,
        page_bytes INTEGER, engine_count INTEGER NOT NULL, facts_id INTEGER NOT NULL REFERENCES page_facts(id),
        sweep_id INTEGER,
        PRIMARY KEY (endpoint, at_s)
    ) WITHOUT ROWID""",
    """CREATE TABLE engine_readings (
        endpoint TEXT NOT NULL, at_s REAL NOT NULL, position INTEGER NOT NULL, engine TEXT NOT NULL,
        running REAL, waiting REAL, kv_usage REAL, generation_tokens REAL, generation_tokens_live INTEGER NOT NULL,
        prompt_tokens REAL, finished REAL, preemptions REAL, prefix_queries REAL, prefix_hits REAL, drafts REAL,
        draft_tokens REAL, accepted_tokens REAL, accepted_per_pos TEXT, acceptance_length_gauge REAL,
        spec_verify_calls REAL, edges_id INTEGER REFERENCES page_facts(id), histograms BLOB,
        PRIMARY KEY (endpoint, at_s, position)
    ) WITHOUT ROWID""",
    """CREATE TABLE identities (
        id INTEGER PRIMARY KEY, endpoint TEXT NOT NULL, first_seen_s REAL NOT NULL, last_seen_s REAL NOT NULL,
        fingerprint TEXT NOT NULL, body TEXT NOT NULL)""",
    "CREATE INDEX identities_newest ON identities (endpoint, last_seen_s)",
)

SWEEPS = (
    """CREATE TABLE sweeps (
        id INTEGER PRIMARY KEY AUTOINCREMENT, pool TEXT NOT NULL, endpoint TEXT NOT NULL, started_at_s REAL NOT NULL,
        ended_at_s REAL, outcome TEXT NOT NULL, reason TEXT NOT NULL, "trigger" TEXT NOT NULL, who TEXT NOT NULL,
        pid INTEGER NOT NULL, host TEXT NOT NULL, fingerprint TEXT NOT NULL, baseline TEXT NOT NULL, live_arm TEXT,
        plan TEXT NOT NULL, progress TEXT, exit_code INTEGER, arm_k TEXT NOT NULL DEFAULT '{}',
        identities TEXT NOT NULL DEFAULT '{}')""",
    "CREATE INDEX sweeps_newest ON sweeps (started_at_s)",
    # The last word against two sweeps of one pool, whatever the callers checked before.
    "CREATE UNIQUE INDEX sweeps_one_running ON sweeps (pool) WHERE outcome = 'running'",
    """CREATE TABLE cells (
        id INTEGER PRIMARY KEY, sweep_id INTEGER NOT NULL REFERENCES sweeps(id), arm TEXT NOT NULL,
        rung INTEGER NOT NULL, repeat INTEGER NOT NULL, position INTEGER NOT NULL, started_at_s REAL NOT NULL,
        concurrency REAL, output_tok_s REAL, void INTEGER NOT NULL, body TEXT NOT NULL)""",
    "CREATE INDEX cells_of_sweep ON cells (sweep_id, position)",
    """CREATE TABLE crossovers (
        sweep_id INTEGER PRIMARY KEY REFERENCES sweeps(id), pool TEXT NOT NULL, fingerprint TEXT NOT NULL,
        measured_at_s REAL NOT NULL, live_arm TEXT, arm_k TEXT NOT NULL, result TEXT NOT NULL)""",
    "CREATE INDEX crossovers_newest ON crossovers (pool, fingerprint, measured_at_s)",
)

ALERTS = (
    """CREATE TABLE alert_states (
        endpoint TEXT NOT NULL, rule TEXT NOT NULL, phase TEXT NOT NULL, pending_since_s REAL, firing_since_s REAL,
        clear_since_s REAL, alert_id TEXT, evaluated_at_s REAL, no_data_since_s REAL,
        PRIMARY KEY (endpoint, rule)
    ) WITHOUT ROWID""",
    """CREATE TABLE events (
        id INTEGER PRIMARY KEY AUTOINCREMENT, alert_id TEXT NOT NULL, endpoint TEXT NOT NULL, pool TEXT NOT NULL,
        rule TEXT NOT NULL, kind TEXT NOT NULL, at_s REAL NOT NULL, started_at_s REAL NOT NULL, title TEXT NOT NULL,
        text TEXT NOT NULL, facts TEXT NOT NULL, UNIQUE (alert_id, kind))""",
    # in_doubt counts attempts whose fate is unknown (begun and not answered): such a message may have arrived.
    """CREATE TABLE outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT, event_id INTEGER NOT NULL REFERENCES events(id), alert_id TEXT NOT NULL,
        kind TEXT NOT NULL, channel TEXT NOT NULL, created_at_s REAL NOT NULL, outcome TEXT NOT NULL DEFAULT 'pending',
        attempts INTEGER NOT NULL DEFAULT 0, in_doubt INTEGER NOT NULL DEFAULT 0, held INTEGER NOT NULL DEFAULT 0,
        next_try_s REAL NOT NULL, claimed_until_s REAL, finished_at_s REAL, message TEXT,
        last_error TEXT NOT NULL DEFAULT '', UNIQUE (event_id, channel))""",
    "CREATE INDEX outbox_pending ON outbox (channel, id) WHERE outcome = 'pending'",
    "CREATE INDEX outbox_of_alert ON outbox (alert_id, channel)",
    "CREATE INDEX outbox_sent ON outbox (channel, finished_at_s) WHERE outcome = 'delivered'",
    """CREATE TABLE channel_health (
        channel TEXT PRIMARY KEY, failures INTEGER NOT NULL, failing_since_s REAL, hold_until_s REAL,
        last_error TEXT NOT NULL
    ) WITHOUT ROWID""",
)

INTENTS = (
    """CREATE TABLE intents (
        id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, subject TEXT NOT NULL, who TEXT NOT NULL,
        host TEXT NOT NULL, created_at_s REAL NOT NULL, reason TEXT NOT NULL, args TEXT NOT NULL, claimed_at_s REAL,
        done_at_s REAL, result TEXT NOT NULL DEFAULT '')""",
    "CREATE INDEX intents_of_kind ON intents (kind, id)",
    "CREATE INDEX intents_open ON intents (kind, id) WHERE done_at_s IS NULL",
)

FIRST = READINGS + SWEEPS + ALERTS + INTENTS
