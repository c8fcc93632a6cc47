"""Ports for programs that cannot choose one themselves."""

from __future__ import annotations

import random
import socket

_RANGE = range(10_000, 32_000)
"""Ports below those that systems give to outgoing connections, so that no client takes one between
the choice and the start of the program."""


def free_port() -> int:
    """A port of loopback that is free, and that most likely no other test chooses."""
    choose = random.SystemRandom().choice
    for _ in range(1000):
        port = choose(_RANGE)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise AssertionError("no port is free")
