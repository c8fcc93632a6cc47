"""Sign requests for AWS (Signature Version 4).

Written by hand, because botocore is a hundred times as large as this module; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from hmac import new as hmac
from urllib.parse import SplitResult, quote, urlsplit

_UNSIGNED = {"expect", "transfer-encoding", "user-agent", "x-amzn-trace-id"}
"""Header fields that a proxy may change."""
_USUAL = {"http": 80, "https": 443}


def sign(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    env: Mapping[str, str],
    service: str,
    now: datetime | None = None,
) -> dict[str, str]:
    """Return the header fields of a request with those that sign it.

    Args:
        method: The HTTP method.
        url: Where the request goes. Its path is encoded, and encoded once more for the signature,
            as for every AWS service but S3.
        headers: The header fields.
        body: The body.
        env: The key, the region, and an optional session token.
        service: The AWS service.
        now: The time of the signature; by default now.
    """
    at = now or datetime.now(UTC)
    stamp, day = at.strftime("%Y%m%dT%H%M%SZ"), at.strftime("%Y%m%d")
    split = urlsplit(url)
    out = {key.lower(): " ".join(value.split()) for key, value in headers.items()}
    out |= {"host": _host(split), "x-amz-date": stamp}
    if token := env.get("AWS_SESSION_TOKEN"):
        out["x-amz-security-token"] = token
    names = sorted(out.keys() - _UNSIGNED)
    canonical_request = "\n".join(
        (
            method,
            quote(split.path or "/", safe="/~"),
            _query(split.query),
            *(f"{name}:{out[name]}" for name in names),
            "",
            ";".join(names),
            sha256(body).hexdigest(),
        )
    )
    scope = f"{day}/{env['region']}/{service}/aws4_request"
    text = "\n".join(
        ("AWS4-HMAC-SHA256", stamp, scope, sha256(canonical_request.encode()).hexdigest())
    )
    key = f"AWS4{env['AWS_SECRET_ACCESS_KEY']}".encode()
    for word in (day, env["region"], service, "aws4_request"):
        key = hmac(key, word.encode(), sha256).digest()
    signature = hmac(key, text.encode(), sha256).hexdigest()
    credential = f"{env['AWS_ACCESS_KEY_ID']}/{scope}"
    out["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={';'.join(names)},"
        f" Signature={signature}"
    )
    return out


def _host(split: SplitResult) -> str:
    """The Host field: without a login, and without the default port."""
    host = split.netloc.rpartition("@")[2]
    return host if split.port != _USUAL.get(split.scheme) else host.rpartition(":")[0]


def _query(text: str) -> str:
    pairs = sorted(
        tuple(parameter.partition("=")[::2]) for parameter in text.split("&") if parameter
    )
    return "&".join(f"{key}={value}" for key, value in pairs)
