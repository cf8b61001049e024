"""Who asks for something, for the record beside every intent and sweep; it must work for users without a name too."""

from __future__ import annotations

import getpass
import os
import socket


def who_am_i() -> tuple[str, str]:
    """User and host. A container's user often has a number only: then that."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return user, socket.gethostname()
