"""Arms that are not what the plan says are refused before any load, with a sentence that names the cure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.sweep.plan import ArmPlan, SweepPlan
from probes.sweep.preflight import ArmMismatch, Preflight, check, check_up
from probes.values import Identity, Reading, State, Target
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
    assert text == f"arm off at http://127.0.0.1:8001 is {state.words}: because"


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


def test_declared_hardware_that_differs_is_refused_before_any_load() -> None:
    on_l40 = replace(arm("k3"), hardware="L40S")
    text = run(plan(replace(arm("off"), hardware="H200"), on_l40))
    assert "arms off and k3 are declared to run on different hardware (H200 and L40S)" in text
    check(plan(arm("off"), on_l40), {"off": OFF, "k3": ON}, {"off": WHO, "k3": WHO})


def test_a_kv_cache_of_another_type_is_refused() -> None:
    fp8 = replace(ON, cache_config={"cache_dtype": "fp8"})
    assert "differ in KV cache type (auto and fp8)" in run(
        off=replace(OFF, cache_config={"cache_dtype": "auto"}), on=fp8
    )


def test_every_pair_of_arms_is_compared() -> None:
    third = arm("k1")
    silent = replace(WHO, version=None)
    with pytest.raises(ArmMismatch, match=r"arm k3 at .* and arm k1 at .* differ in server version"):
        check(
            plan(arm("off"), arm("k3"), third),
            {"off": OFF, "k3": ON, "k1": ON},
            {"off": silent, "k3": WHO, "k1": replace(WHO, version="0.26.0")},
        )


RESTARTED = plan(
    *(
        ArmPlan(name, Target("e", SECRET), speculative=name != "off", restart=f"start {name}", hardware="H200")
        for name in ("off", "k3")
    )
)


def first_look() -> Preflight:
    """The live arm is up, whichever it is."""
    return check(RESTARTED, {"off": ON, "k3": ON}, {"off": WHO, "k3": WHO})


def test_one_server_for_all_arms_is_not_refused_for_the_arm_it_is_now() -> None:
    assert first_look().arm_k == {"off": None, "k3": None}


def test_an_arm_that_came_up_is_looked_at() -> None:
    up = check_up(RESTARTED, RESTARTED.arms[1], first_look(), replace(ON, process_start_s=70.0), WHO)
    assert (up.of("k3").k, up.of("k3").started_at_s) == (3, 70.0)
    assert up.arm_k == {"off": None, "k3": 3}
    assert check_up(RESTARTED, RESTARTED.arms[0], up, OFF, WHO).arm_k == {"off": None, "k3": 3}


@pytest.mark.parametrize(
    ("name", "page", "identity", "says"),
    [
        ("off", ON, WHO, "has speculative decoding configured"),
        ("k3", OFF, WHO, "came up without speculative decoding: its restart command starts another arm"),
        ("k3", ON, replace(WHO, version="0.34.0"), "differ in server version"),
        ("k3", ON, replace(WHO, models=("a", "b")), "serves several models"),
        ("k3", replace(ON, state=State.DOWN, reason="refused"), WHO, "is down: refused"),
    ],
)
def test_an_arm_that_came_up_as_another_is_refused(name: str, page: Reading, identity: Identity, says: str) -> None:
    which = next(one for one in RESTARTED.arms if one.name == name)
    with pytest.raises(ArmMismatch) as caught:
        check_up(RESTARTED, which, first_look(), page, identity)
    assert says in str(caught.value)
    assert "pass" not in str(caught.value)
