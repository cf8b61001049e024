"""The JSON document of a crossover: its shape is what users and other hosts rely on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from probes.answer_values import Axis, CurvePoint, Verdict
from probes.crossover import estimate, from_json, speedup_at, to_json
from tests.support.measured_sweeps import h200_points


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    only_one_rung = CurvePoint("k9", 4.0, 900.0, 0)
    points = [*h200_points(), only_one_rung]
    return to_json(estimate(points, baseline="off", axis=Axis.CONCURRENCY_PER_ENGINE))


def test_the_document_has_the_promised_keys(document: dict[str, Any]) -> None:
    assert list(document)[:6] == ["schema", "baseline", "axis", "arms", "best", "schedule"]
    assert document["schema"] == 1
    assert document["axis"] == "concurrency_per_engine"
    assert document["schedule"] is None
    assert set(document["arms"]) == {"k1", "k3", "k5", "k9"}
    k3 = document["arms"]["k3"]
    assert list(k3) == ["verdict", "crossover", "low", "high", "speedup", "capacity", "reasons"]
    assert k3["verdict"] == "crosses"
    assert all(len(row) == 4 for row in k3["speedup"])
    assert list(k3["capacity"]) == ["running", "tok_s", "limited_by"]
    assert list(k3["reasons"][0]) == ["code", "text"]
    assert list(document["best"][0])[:5] == ["from", "to", "arm", "margin_pct", "confident"]
    assert document["arms"]["k1"]["high"] is None
    assert document["arms"]["k9"]["verdict"] == "insufficient"


def test_the_document_is_plain_json_without_nan(document: dict[str, Any]) -> None:
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_a_document_read_back_says_the_same(document: dict[str, Any]) -> None:
    again = from_json(document)
    assert to_json(again) == document
    assert again.arms["k3"].verdict is Verdict.CROSSES
    now = speedup_at(again.arms["k3"], 100.0)
    assert now is not None
    assert 1.1 < now.ratio < 1.2


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({}, "schema is None"),
        ({"schema": 2}, "schema is 2"),
        ({"schema": 1, "axis": "clients", "arms": {}, "best": []}, "'baseline' is missing"),
        ({"schema": 1, "baseline": "off", "axis": "clients", "arms": [], "best": []}, "not a crossover of schema 1"),
        ({"schema": 1, "baseline": "off", "axis": "requests", "arms": {}, "best": []}, "requests"),
    ],
)
def test_another_document_is_refused_in_words(broken: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        from_json(broken)
