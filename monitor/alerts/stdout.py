"""The stdout channel: one line of JSON per message, for a log shipper or a pipe; the body is the webhook's."""

from __future__ import annotations

import json
import sys
from typing import TextIO

from monitor.alerts.message import Failed, Message, Sent
from monitor.alerts.webhook import body_of


class StdoutChannel:
    """Writes to this process's standard output, which is data here, never narration."""

    timeout_s = 1.0

    def __init__(self, name: str, stream: TextIO | None = None) -> None:
        self.name = name
        self._stream = stream

    async def send(self, message: Message, now_s: float) -> Sent | Failed:
        """One line, flushed."""
        stream = self._stream if self._stream is not None else sys.stdout
        try:
            stream.write(json.dumps(body_of(message), ensure_ascii=False) + "\n")
            stream.flush()
        except (OSError, ValueError) as error:
            return Failed(f"channel {self.name}: standard output cannot be written ({type(error).__name__})")
        return Sent()

    async def aclose(self) -> None:
        """Nothing to release: the stream is not ours."""
