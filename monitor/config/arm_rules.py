"""Checks the arms of one endpoint: that there is something to compare, and that each can be reached or started.

Pure. Restarting a server is dangerous, so everything that a restart needs is asked for before anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from monitor.config.errors import Finding, Key, nearest
from monitor.config.model import ArmConfig, EndpointConfig, ProbeConfig

_DEAD_FLAG = re.compile(r"disable[-_]by[-_]batch[-_]size")
_SECRET = re.compile(
    r"""(?:api[-_]?key|hf[-_]token|secret|passw(?:or)?d|(?-i:[A-Z_]*TOKEN)(?==))\s*[= ]\s*["']?[^\s"'$]""",
    re.IGNORECASE,
)
"""A value written out after a word that names a secret; `--api-key $KEY` and `--api-key-file F` are none."""

ARM_VARIABLE = "SPECWATCH_ARM"
"""Tells a restart command which arm is wanted."""


def check_arms(endpoint: EndpointConfig, key: Key) -> Iterator[Finding]:
    """Findings on the arms at `key` + ("arm", position) and on what the probe says of them."""
    probe, arms = endpoint.probe, (*key, "arm")
    restarted = any(arm.restart is not None for arm in endpoint.arm)
    for index, arm in enumerate(endpoint.arm):
        yield from _check_restarted(arm, (*arms, index)) if restarted else _check_server(arm, (*arms, index))
    if probe is None:
        return
    yield from _check_names(endpoint, probe, key)
    yield from _check_roles(endpoint.arm, probe, arms)
    yield from _check_restarts(endpoint.arm, probe, key)
    yield from _check_hooks(probe, restarted, (*key, "probe"))


def _check_server(arm: ArmConfig, key: Key) -> Iterator[Finding]:
    if arm.url is None:
        yield Finding(
            key,
            "the arm has no url, so it cannot be measured",
            'add url = "http://host:port"; where one server is to be restarted from arm to arm, give every arm restart',
            also=((*key, "url"),),
        )


def _check_restarted(arm: ArmConfig, key: Key) -> Iterator[Finding]:
    """One arm of a probe whose arms are brought up by restarting the endpoint's one server."""
    if arm.restart is None:
        yield Finding(
            key,
            "has no restart command while other arms have one: the arms are either all servers of their own or all "
            "brought up by restarting the endpoint's server",
            'add restart = "...", or remove it from the others and give every arm its url',
            also=((*key, "restart"),),
        )
        return
    if arm.url is not None:
        yield Finding(
            (*key, "url"),
            "an arm with a restart command is reached at the endpoint's url and has none of its own",
            "remove url, or remove restart",
        )
    if not arm.restart.strip():
        yield Finding((*key, "restart"), "is an empty command", "write the command, or remove restart")
    yield from check_command(arm.restart, (*key, "restart"))
    if _DEAD_FLAG.search(arm.restart):
        yield Finding(
            (*key, "restart"),
            "has disable_by_batch_size, which vLLM has ignored since 0.10: the arm drafts at every batch size",
            "remove it; what newer versions read is num_speculative_tokens_per_batch_size, worth an arm of its own",
            note=True,
        )


def check_command(command: str, key: Key) -> Iterator[Finding]:
    """A command must not hold a secret: it is written into the restart journal and seen in process lists."""
    if _SECRET.search(command):
        yield Finding(
            key,
            "looks as if it holds a secret; commands are written into the restart journal and seen in process lists",
            "put it into a variable or a file and name that in the command; hooks get the environment of specwatch",
        )


def _check_names(endpoint: EndpointConfig, probe: ProbeConfig, key: Key) -> Iterator[Finding]:
    names = [arm.name for arm in endpoint.arm]
    arms: Key = (*key, "arm")
    if len(names) < 2:
        yield Finding(
            (*key, "probe"),
            f"a sweep compares at least two arms and there is {'only one' if names else 'none'}",
            f'add an [[endpoint.arm]] called "{probe.baseline}" without speculation and one with it',
            also=(arms,),
        )
        if not names:
            return
    for field in ("baseline", "live_arm"):
        wanted: str | None = getattr(probe, field)
        if wanted is not None and wanted not in names:
            close = nearest(wanted, names)
            yield Finding(
                (*key, "probe", field),
                f'"{wanted}" is not one of the arms: {", ".join(names)}',
                f'write {field} = "{close}"' if close else "name one of them, or add the arm",
                also=(arms, *((*arms, index, "name") for index in range(len(names)))),
            )


def _check_roles(arms: Sequence[ArmConfig], probe: ProbeConfig, key: Key) -> Iterator[Finding]:
    baseline = next((arm for arm in arms if arm.name == probe.baseline), None)
    for index, arm in enumerate(arms):
        at: Key = (*key, index)
        if arm.dynamic and (arm is baseline or arm.speculation is False):
            yield Finding(
                (*at, "dynamic"),
                "an arm without speculation has no draft length to change",
                "remove it, or set it on the arm that runs a schedule",
            )
        if arm is baseline:
            if arm.speculation:
                yield Finding(
                    (*at, "speculation"), "the baseline must not speculate", "remove it or name another baseline"
                )
        elif baseline is not None and arm.url == baseline.url and arm.url is not None and arm.speculation is not False:
            yield Finding(
                (*at, "url"),
                f'is the address of the baseline "{baseline.name}", so one server would have to be both on and off',
                "give each arm its own server, or set speculation = false to compare a server with itself",
                also=((*key, arms.index(baseline), "url"),),
                # The sweep itself proves it from counters and ends with exit 5; a file can only suspect it.
                note=True,
            )


def _check_restarts(arms: Sequence[ArmConfig], probe: ProbeConfig, key: Key) -> Iterator[Finding]:
    at: Key
    first = next((index for index, arm in enumerate(arms) if arm.restart is not None), None)
    if first is None:
        if probe.allow_restart:
            yield Finding(
                (*key, "probe", "allow_restart"),
                "changes nothing: no arm has a restart command",
                "remove it",
                note=True,
            )
        return
    at = (*key, "arm", first, "restart")
    if not probe.allow_restart:
        yield Finding(
            at,
            f'arm "{arms[first].name}" would restart a server, and allow_restart is not true',
            "write allow_restart = true under [endpoint.probe] if a sweep may do that, or give every arm its own url",
            also=((*key, "probe", "allow_restart"),),
        )
    if probe.live_arm is None:
        yield Finding(
            (*key, "probe", "live_arm"),
            "is missing: arms are brought up by restarts, and nothing says which one to bring back afterwards",
            f"write live_arm = the arm that production runs, one of: {', '.join(arm.name for arm in arms)}",
            also=((*key, "arm"),),
        )
    for index, arm in enumerate(arms):
        twin = next((other for other in arms[:index] if arm.restart and other.restart == arm.restart), None)
        reads_arm = arm.restart is not None and ARM_VARIABLE in arm.restart
        if twin is not None and arm.speculation is not False and not reads_arm:
            yield Finding(
                (*key, "arm", index, "restart"),
                f'is the command of arm "{twin.name}" as well: right where it goes by the variable {ARM_VARIABLE}, '
                "which names the arm; otherwise both would be the same server",
                "nothing to do where it reads the variable; otherwise give each arm its own command, or set "
                "speculation = false to compare a server with itself",
                note=True,
            )


def _check_hooks(probe: ProbeConfig, restarted: bool, key: Key) -> Iterator[Finding]:
    for name, other, why in (
        ("before", "after", "what it does would never be undone"),
        ("after", "before", "there is nothing for it to undo"),
    ):
        command = getattr(probe, name)
        if command is None:
            continue
        if getattr(probe, other) is None:
            yield Finding(
                (*key, name),
                f"has no {other} beside it: {why}",
                f"add {other}, or remove {name}",
                also=((*key, other),),
            )
        if not command.strip():
            yield Finding((*key, name), "is an empty command", f"write the command, or remove {name} and {other}")
        yield from check_command(command, (*key, name))
    if probe.before is not None and probe.after is not None and not restarted:
        yield Finding(
            (*key, "before"),
            "is never run: hooks belong to restarts, and no arm has a restart command",
            "remove before and after",
            note=True,
        )
