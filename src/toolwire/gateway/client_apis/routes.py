"""The client APIs, and the operation behind a method and a path."""

from __future__ import annotations

import re

from msgspec import Struct

from toolwire.gateway.client_apis import (
    ai_sdk,
    anthropic,
    bedrock,
    cohere,
    gemini,
    gemini_interactions,
    mistral,
    ollama,
    openai_chat,
    openai_responses,
)
from toolwire.gateway.client_apis.api import ClientApi, Operation

CLIENT_APIS: tuple[ClientApi, ...] = (
    openai_chat.API,
    openai_responses.API,
    anthropic.API,
    gemini.API,
    gemini_interactions.API,
    bedrock.API,
    mistral.API,
    cohere.API,
    ollama.API,
    ai_sdk.API,
)
BY_WIRE = {api.wire: api for api in CLIENT_APIS}


class RouteMatch(Struct, frozen=True):
    """The API and operation of a path, and the model or response that the path names."""

    api: ClientApi
    operation: Operation
    model: str | None = None
    response_id: str | None = None


class RouteTable:
    """Finds the operation of a path. Paths without a model in them are looked up directly."""

    def __init__(self) -> None:
        self._paths = [
            (re.compile(path.pattern), path, api) for api in CLIENT_APIS for path in api.paths
        ]
        self._matches: dict[tuple[str, str], RouteMatch] = {}

    def find(self, method: str, path: str) -> RouteMatch | None:
        """The operation of a path; None if there is none."""
        known = self._matches.get((method, path))
        if known is not None:
            return known
        plain = path.rstrip("/") or "/"
        for pattern, row, api in self._paths:
            match = pattern.fullmatch(plain) if row.method == method else None
            if match is None:
                continue
            names = match.groupdict()
            route = RouteMatch(
                api, row.operation, model=names.get("model"), response_id=names.get("response")
            )
            if not names and plain == path:
                self._matches[method, path] = route
            return route
        return None

    def methods(self, path: str) -> list[str]:
        """The methods that a path accepts."""
        plain = path.rstrip("/") or "/"
        return sorted({row.method for pattern, row, _ in self._paths if pattern.fullmatch(plain)})
