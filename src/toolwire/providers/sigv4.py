"""Sign a request as AWS wants it (Signature Version 4).

By hand, because the library that does it is a hundred times the size of this one; tests hold it
against that library.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from hmac import new as hmac
from urllib.parse import SplitResult, quote, urlsplit

_UNSIGNED = {"expect", "transfer-encoding", "user-agent", "x-amzn-trace-id"}
"""What somebody on the way may change."""
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
    """The header fields of a request with those that sign it. `env` has the key, the region and
    perhaps a session token.

    The path of the address is encoded, and signed encoded once more: so does every service of
    theirs but the store of files.
    """
    at = now or datetime.now(UTC)
    stamp, day = at.strftime("%Y%m%dT%H%M%SZ"), at.strftime("%Y%m%d")
    split = urlsplit(url)
    out = {key.lower(): " ".join(value.split()) for key, value in headers.items()}
    out |= {"host": _host(split), "x-amz-date": stamp}
    if token := env.get("AWS_SESSION_TOKEN"):
        out["x-amz-security-token"] = token
    names = sorted(out.keys() - _UNSIGNED)
    asked = "\n".join(
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
    text = "\n".join(("AWS4-HMAC-SHA256", stamp, scope, sha256(asked.encode()).hexdigest()))
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
    """As it is sent: without who asks, and without the usual port."""
    host = split.netloc.rpartition("@")[2]
    return host if split.port != _USUAL.get(split.scheme) else host.rpartition(":")[0]


def _query(text: str) -> str:
    pairs = sorted(tuple(one.partition("=")[::2]) for one in text.split("&") if one)
    return "&".join(f"{key}={value}" for key, value in pairs)
