"""Turns the config's channels into places that messages can be sent to; addresses are read here, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from monitor.alerts.message import Channel
from monitor.alerts.slack import SlackChannel
from monitor.alerts.stdout import StdoutChannel
from monitor.alerts.webhook import WebhookChannel
from monitor.config.model import ChannelConfig
from monitor.config.targets import channel_url

__all__ = ["Channel", "open_channels"]


def open_channels(configs: Sequence[ChannelConfig]) -> Mapping[str, Channel]:
    """Every channel by its name. Raises ConfigError where an address cannot be read."""
    return {config.name: _open(config) for config in configs}


def _open(config: ChannelConfig) -> Channel:
    match config.kind:
        case "stdout":
            return StdoutChannel(config.name)
        case "slack":
            return SlackChannel(config.name, channel_url(config), config.timeout_s)
        case "webhook":
            return WebhookChannel(config.name, channel_url(config), config.timeout_s)
