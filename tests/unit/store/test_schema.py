"""The released schema, column by column: a change here is a change that needs a new migration."""

from __future__ import annotations

from monitor.store.db import Store
from monitor.store.migrations import STEPS, migrations

RELEASED = {
    "alert_states": "endpoint rule phase pending_since_s firing_since_s clear_since_s alert_id evaluated_at_s "
    "no_data_since_s",
    "cells": "id sweep_id arm rung repeat position started_at_s concurrency output_tok_s void body",
    "channel_health": "channel failures failing_since_s hold_until_s last_error",
    "crossovers": "sweep_id pool fingerprint measured_at_s live_arm arm_k result",
    "engine_readings": "endpoint at_s position engine running waiting kv_usage generation_tokens "
    "generation_tokens_live prompt_tokens finished preemptions prefix_queries prefix_hits drafts draft_tokens "
    "accepted_tokens accepted_per_pos acceptance_length_gauge spec_verify_calls edges_id histograms",
    "events": "id alert_id endpoint pool rule kind at_s started_at_s title text facts",
    "identities": "id endpoint first_seen_s last_seen_s fingerprint body",
    "intents": "id kind subject who host created_at_s reason args claimed_at_s done_at_s result",
    "outbox": "id event_id alert_id kind channel created_at_s outcome attempts in_doubt held next_try_s "
    "claimed_until_s finished_at_s message last_error",
    "page_facts": "id digest body",
    "scrapes": "endpoint at_s mono_s state reason engine_kind speculation_configured k process_start_s scrape_s "
    "page_bytes engine_count facts_id sweep_id",
    "sweeps": "id pool endpoint started_at_s ended_at_s outcome reason trigger who pid host fingerprint baseline "
    "live_arm plan progress exit_code arm_k identities resumes ended_by tally",
}


def test_a_blank_file_gets_exactly_these_columns(store: Store) -> None:
    tables = [name for name in store.db.table_names() if not name.startswith(("sqlite_", "_sqlite_"))]
    columns = {name: " ".join(column.name for column in store.db.table(name).columns) for name in tables}
    assert columns == RELEASED


def test_the_live_window_is_found_by_key(store: Store) -> None:
    for table in ("scrapes", "engine_readings"):
        plan = store.rows(f"EXPLAIN QUERY PLAN SELECT * FROM {table} WHERE endpoint = 'a' AND at_s >= 1 AND at_s <= 2")
        assert [row["detail"] for row in plan] == [
            f"SEARCH {table} USING PRIMARY KEY (endpoint=? AND at_s>? AND at_s<?)"
        ]


def test_every_step_is_known_by_name_so_that_a_newer_one_is_not(store: Store) -> None:
    assert tuple(step.name for step in migrations.applied(store.db)) == STEPS
    assert migrations.pending(store.db) == []
