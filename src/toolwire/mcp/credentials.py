"""Tokens and secrets that a server adds to calls that have none."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from msgspec.structs import replace

from toolwire.mcp.protocol import CallMetadata
from toolwire.tools.runnable import Runnable

CredentialSource: TypeAlias = Mapping[str, str] | Callable[[str], str | None]
"""Tokens or secrets by id, or a function of the id."""


def environment(id: str) -> str | None:
    """The value of the environment variable of this name."""
    return os.environ.get(id)


def add_credentials(
    metadata: CallMetadata,
    tool: Runnable,
    tokens: CredentialSource | None,
    secrets: CredentialSource | None,
) -> CallMetadata:
    """Add the server's credentials for requirements that the request does not meet."""
    if not tool.needs or (tokens is None and secrets is None):
        return metadata
    token_ids = [authorization.id for authorization in tool.needs.authorization]
    return replace(
        metadata,
        tokens=_with_defaults(metadata.tokens, token_ids, tokens),
        secrets=_with_defaults(metadata.secrets, tool.needs.secrets, secrets),
    )


def _with_defaults(
    sent: Mapping[str, str], ids: Collection[str], source: CredentialSource | None
) -> Mapping[str, str]:
    if source is None:
        return sent
    added: dict[str, str] = {}
    for id in ids:
        if not sent.get(id):
            value = source.get(id) if isinstance(source, Mapping) else source(id)
            if value:
                added[id] = value
    return {**sent, **added}
