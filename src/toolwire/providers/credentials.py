"""The header fields that authenticate requests to a provider."""

from __future__ import annotations

from collections.abc import Mapping

from toolwire.providers.endpoints import ModelEndpoint
from toolwire.providers.sigv4 import sign


def authorize(
    endpoint: ModelEndpoint, url: str, headers: Mapping[str, str], body: bytes
) -> dict[str, str]:
    """Return the header fields of a request with those that authorize it."""
    auth, key = endpoint.provider.auth, endpoint.api_key
    if signs_requests(endpoint):
        return sign("POST", url, headers, body, env=endpoint.signing, service="bedrock")
    if key is None or auth == "none":
        return dict(headers)
    name = "authorization" if auth in ("bearer", "sigv4") else auth
    return {**headers, name: f"Bearer {key}" if name == "authorization" else key}


def signs_requests(endpoint: ModelEndpoint) -> bool:
    """True if every request is signed individually."""
    return endpoint.provider.auth == "sigv4" and endpoint.api_key is None
