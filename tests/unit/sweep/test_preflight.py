"""Arms that are not what the plan says are refused before any load, with a sentence that names the cure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.sweep.plan import ArmPlan, SweepPlan
from probes.sweep.preflight import ArmMismatch, check
from probes.values import Identity, Reading, State
from tests.support.evidence import reading
from tests.support.plans import arm, plan

SECRET = "http://user:pass@127.0.0.1:8001"
OFF, ON = reading(0.0), reading(0.0, drafting=True)
WHO = Identity(version="0.33.0", model="tiny", model_root="org/tiny", max_model_len=4096, models=("tiny",))


def run(
    sweep: SweepPlan | None = None, off: Reading = OFF, on: Reading = ON, off_is: Identity = WHO, on_is: Identity = WHO
) -> str:
    sweep = sweep or plan(arm("off", SECRET), arm("k3"))
    other = sweep.arms[1].name
    with pytest.raises(ArmMismatch) as caught:
        check(sweep, {"off": off, other: on}, {"off": off_is, other: on_is})
    assert "pass" not in str(caught.value)
    return str(caught.value)


def test_good_arms_pass_and_give_model_and_k() -> None:
    seen = check(plan(), {"off": OFF, "k3": ON}, {"off": WHO, "k3": WHO})
    assert seen.models == {"off": "tiny", "k3": "tiny"}
    assert seen.arm_k == {"off": None, "k3": 3}


def test_a_baseline_that_speculates_looks_swapped() -> None:
    text = run(off=ON, on=OFF)
    assert text.startswith(
        "arm off at http://127.0.0.1:8001 has speculative decoding configured (K=3): the arms look swapped"
    )


def test_an_sglang_baseline_is_known_by_its_server_info() -> None:
    text = run(off_is=replace(WHO, speculative_algorithm="EAGLE3", k=4))
    assert "has speculative decoding configured (K=4)" in text


def test_a_second_arm_without_speculation_may_share_the_address() -> None:
    two = ArmPlan("again", arm("off").target, speculative=False)
    seen = check(plan(arm("off"), two), {"off": OFF, "again": OFF}, {"off": WHO, "again": WHO})
    assert seen.arm_k == {"off": None, "again": None}


@pytest.mark.parametrize("state", [State.DOWN, State.NOT_AN_ENGINE, State.EMPTY, State.UNAUTHORIZED])
def test_an_arm_that_is_not_there_is_named(state: State) -> None:
    text = run(off=replace(OFF, state=state, reason="because"))
    assert text == f"arm off at http://127.0.0.1:8001 is {state.value}: because"


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (replace(WHO, model_root="org/other"), "model (org/tiny and org/other)"),
        (replace(WHO, version="0.26.0"), "server version (0.33.0 and 0.26.0)"),
        (replace(WHO, max_model_len=8192), "max_model_len (4096 and 8192)"),
    ],
)
def test_arms_may_differ_in_nothing_but_speculation(changed: Identity, what: str) -> None:
    assert f"differ in {what}" in run(on_is=changed)


def test_what_a_server_does_not_say_is_no_difference() -> None:
    silent = replace(WHO, model_root=None, version=None, max_model_len=None)
    check(plan(), {"off": OFF, "k3": ON}, {"off": WHO, "k3": silent})


def test_several_models_need_a_choice() -> None:
    both = replace(WHO, models=("tiny", "lora"))
    assert "serves several models (tiny, lora); set `model` to one of them" in run(off_is=both)
    chosen = ArmPlan("off", replace(arm("off").target, model="lora"), speculative=False)
    seen = check(plan(chosen, arm("k3")), {"off": OFF, "k3": ON}, {"off": both, "k3": WHO})
    assert seen.models["off"] == "lora"


def test_a_model_that_is_not_served_is_named() -> None:
    chosen = ArmPlan("off", replace(arm("off").target, model="big"), speculative=False)
    assert "does not serve 'big', but tiny" in run(plan(chosen, arm("k3")))


def test_a_server_without_a_model_list_needs_a_choice() -> None:
    assert "does not list its models" in run(off_is=Identity())
