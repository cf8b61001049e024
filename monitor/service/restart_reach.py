"""How a journal names the way to a server: as the config words it, with the places of secrets and never a secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from monitor.config.errors import ConfigError
from monitor.config.model import ArmConfig, EndpointConfig
from monitor.config.targets import arm_target
from probes.values import Target

_SECRETS = ("secret_headers", "api_key_env", "api_key_file", "metrics_key_env", "metrics_key_file")


def reach_of(endpoint: EndpointConfig, arm: ArmConfig) -> dict[str, Any]:
    """The two tables of the config, without what does not concern the way."""
    return {
        "endpoint": endpoint.model_dump(mode="json", exclude={"probe", "arm"}),
        "arm": arm.model_dump(mode="json", exclude={"restart"}),
    }


def target_from(reach: Mapping[str, Any]) -> tuple[Target, str]:
    """The server, and why it is reached without its keys (empty where all is well).

    A key that cannot be read here must not stop a restoring: the commands need none, and the proof will tell.
    Raises ValueError where the tables are none that this version knows.
    """
    try:
        endpoint = EndpointConfig.model_validate(reach["endpoint"])
        arm = ArmConfig.model_validate(reach["arm"])
    except (ValidationError, KeyError, TypeError) as error:
        raise ValueError(f"the journal does not say how to reach the server ({type(error).__name__})") from None
    try:
        return arm_target(endpoint, arm), ""
    except ConfigError as error:
        bare: dict[str, Any] = {name: {} if name == "secret_headers" else None for name in _SECRETS}
        lost = "; ".join(f"{problem.key} {problem.message}" for problem in error.problems)
        return arm_target(endpoint.model_copy(update=bare), arm.model_copy(update=dict.fromkeys(_SECRETS))), lost
