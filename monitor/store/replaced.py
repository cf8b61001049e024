"""Says in SQL that two neighbouring pages are two processes', for queries that condense readings without loading them.

The same rule as `probes.scrape.rates.restarted` follows in Python, less what fell, which each query sees by itself.
"""

from __future__ import annotations

SHOWN = (
    "s.process_start_s AS process, s.engine_kind AS kind, s.speculation_configured AS configured, s.k AS k,"
    " s.facts_id AS facts"
)
"""What the rule needs of a scrape `s`."""

BEFORE = ", ".join(f"lag({name}) OVER w AS {name}_0" for name in ("process", "kind", "configured", "k", "facts"))
"""The same of the row before, in the window `w`."""

_BODY = "(SELECT body FROM page_facts WHERE id = {0})"
_MODELS, _MODELS_0 = (f"{_BODY.format(facts)}, '$[0]'" for facts in ("facts", "facts_0"))

REPLACED = f"""ifnull(
    process IS NOT process_0 OR kind <> kind_0
    OR (kind = 'vllm' AND (k <> k_0 OR configured <> configured_0))
    OR (facts <> facts_0 AND json_array_length({_MODELS}) > 0 AND json_array_length({_MODELS_0}) > 0
        AND NOT EXISTS (SELECT 1 FROM json_each({_MODELS}) x JOIN json_each({_MODELS_0}) y ON x.value = y.value)), 0)"""
"""1 where the row's page cannot be of the process that wrote the one before.

What a page does not show is no difference, its process start excepted.
"""
