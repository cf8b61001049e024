"""A flag that its server ignores is found in the command that starts it, and said of no other version."""

from __future__ import annotations

import pytest

from probes.sweep.dead_flags import dead_flags

JSON = 'vllm serve m --speculative-config \'{"num_speculative_tokens": 3, "disable_by_batch_size": 16}\''
OPTION = "vllm serve m --speculative-disable-by-batch-size 16"


@pytest.mark.parametrize(("command", "flag"), [(JSON, "disable_by_batch_size"), (OPTION, "disable-by-batch-size")])
@pytest.mark.parametrize(
    ("version", "where"), [("0.10.0", "vLLM 0.10.0"), ("v0.26.0rc1", "v0.26.0rc1"), (None, "from vLLM 0.10 on")]
)
def test_it_is_named_with_the_version(command: str, flag: str, version: str | None, where: str) -> None:
    (text,) = dead_flags(command, version)
    assert flag in text
    assert f"does nothing {'on ' if version else ''}" in text
    assert where in text


@pytest.mark.parametrize("version", ["0.9.2", "0.8.5.post1"])
def test_versions_that_heed_it_are_left_alone(version: str) -> None:
    assert dead_flags(JSON, version) == ()


@pytest.mark.parametrize("command", [None, "", "vllm serve m --max-num-seqs 64"])
def test_other_commands_have_none(command: str | None) -> None:
    assert dead_flags(command, "0.26.0") == ()
