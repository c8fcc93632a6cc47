"""Secrets and tokens for tools, given by the names of environment variables."""

from __future__ import annotations

import os
import re

from toolwire.cli.framework.errors import CommandError

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}|[a-z_][a-z0-9_]{0,63}")


def read_variable(name: str) -> str:
    """Return the value of an environment variable.

    The message for an invalid name does not repeat it: the user may have typed the secret itself.
    """
    if not _VARIABLE.fullmatch(name):
        raise CommandError(
            "expected the name of an environment variable with the secret or token, not its value"
        )
    value = os.environ.get(name)
    if not value:
        raise CommandError(f"the environment variable {name} is not set")
    return value


def read_token(option: str) -> tuple[str, str]:
    """Return id and value of a token given as `ID=VARIABLE`, or as `ID` if both names are equal."""
    token_id, equals, variable = option.partition("=")
    return token_id, read_variable(variable if equals else token_id)
