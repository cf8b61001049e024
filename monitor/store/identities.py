"""Remembers what each endpoint said it was, and when it became something else; it must not compute fingerprints."""

from __future__ import annotations

from monitor.store.codec import from_text, to_text
from monitor.store.db import Store
from probes.values import Identity

_NEWEST = "SELECT * FROM identities WHERE endpoint = ? ORDER BY last_seen_s DESC, id DESC LIMIT 1"


def save_identity(store: Store, endpoint: str, at_s: float, identity: Identity, fingerprint: str) -> None:
    """Note the identity seen at `at_s`; an unchanged one only moves its last-seen time. Raises StoreError."""
    body = to_text(identity)
    with store.write() as db:
        newest = store.row(_NEWEST, (endpoint,))
        if newest is not None and newest["body"] == body and newest["fingerprint"] == fingerprint:
            db.execute("UPDATE identities SET last_seen_s = ? WHERE id = ?", (at_s, newest["id"]))
            return
        db.table("identities").insert(
            {
                "endpoint": endpoint,
                "first_seen_s": at_s,
                "last_seen_s": at_s,
                "fingerprint": fingerprint,
                "body": body,
            }
        )


def load_identity(store: Store, endpoint: str) -> tuple[Identity, str, float] | None:
    """Newest identity, its fingerprint and when it was last seen; None before the first. Raises StoreError."""
    newest = store.row(_NEWEST, (endpoint,))
    if newest is None:
        return None
    return from_text(Identity, newest["body"]), newest["fingerprint"], newest["last_seen_s"]


def fingerprints_shown(store: Store, endpoint: str) -> list[tuple[float, str]]:
    """Every fingerprint the endpoint has shown with the instant from which it did, oldest first. Raises StoreError."""
    sql = "SELECT first_seen_s, fingerprint FROM identities WHERE endpoint = ? ORDER BY first_seen_s, id"
    return [(row["first_seen_s"], row["fingerprint"]) for row in store.rows(sql, (endpoint,))]
