"""Authenticate clients by static keys or by short-lived signed tokens.

Either method is enough if both are configured. There is no default secret, and weak ones are
refused. A client gets the same response for every failure; the log has the reason.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from collections.abc import Collection, Mapping, Sequence

import jwt

from toolwire.errors import ConfigError

MIN_LENGTH = 32
"""Bytes that a key or a secret must have."""
MIN_DISTINCT = 8
"""Different bytes that a key or a secret must have."""
LEEWAY = 60.0
"""Seconds that clocks may differ."""
LIFETIME = 15 * 60.0
"""Seconds that a token may be valid from now on."""
_KEY_HEADERS = (b"oxp-api-key", b"otc-api-key")
_log = logging.getLogger("toolwire.server")


class _TokenRejected(Exception):
    """Why a token is not accepted; for the log."""


class Auth:
    """The keys and tokens that a server accepts. Without any, everyone is accepted.

    Args:
        keys: Static keys by the name of their holder. The names for a list are hashes. Clients send
            a key as `OXP-API-Key` or as a bearer token.
        secrets: Shared secrets of HS256 tokens. With two, one can replace the other.
        audiences: Accepted audiences. A token that names audiences must name one of these.
        require_audience: Refuse tokens that name no audience.
        lifetime: The longest time until a token expires, in seconds; None for any. A token must
            have an expiry.
        leeway: How many seconds clocks may differ.
    """

    def __init__(
        self,
        keys: Mapping[str, str | bytes] | Sequence[str | bytes] = (),
        *,
        secrets: Sequence[str | bytes] = (),
        audiences: Collection[str] = (),
        require_audience: bool = False,
        lifetime: float | None = LIFETIME,
        leeway: float = LEEWAY,
    ) -> None:
        if isinstance(keys, str | bytes) or isinstance(secrets, str | bytes):
            raise ConfigError("expected a list of keys or secrets, got a single one")
        if isinstance(audiences, str):
            raise ConfigError("expected a list of audiences, got a single one")
        self._keys = _hash_keys(keys)
        self._secrets = [_check_strength(secret, "a secret") for secret in secrets]
        if (audiences or require_audience) and not self._secrets:
            raise ConfigError("audiences work only with secrets")
        self._audiences = frozenset(audiences)
        self._require_audience = require_audience
        self._lifetime = lifetime
        self._leeway = leeway

    @property
    def on(self) -> bool:
        """True if clients must authenticate."""
        return bool(self._keys or self._secrets)

    @property
    def methods(self) -> list[str]:
        """The accepted credentials, for messages."""
        return ["an API key"] * bool(self._keys) + ["a JWT (HS256)"] * bool(self._secrets)

    def principal(self, headers: Mapping[bytes, bytes]) -> str | None:
        """Return who sends a request; None if it is refused, "" if no authentication is required.

        The names of headers are in lower case.
        """
        if not (self._keys or self._secrets):
            return ""
        why = "no credentials"
        if self._keys:
            for name in _KEY_HEADERS:
                if (key := headers.get(name)) is not None:
                    if (holder := self._holder(key)) is not None:
                        return holder
                    why = "unknown key"
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        token = token.strip()
        if scheme.lower() == b"bearer" and token:
            if self._keys and (holder := self._holder(token)) is not None:
                return holder
            try:
                return self._subject(token)
            except _TokenRejected as error:
                why = str(error)
        elif scheme:
            why = "not a bearer token"
        _log.info("authentication failed: %s", why)
        return None

    def _holder(self, key: bytes) -> str | None:
        """Return the owner of a key. The comparison takes constant time, so that it reveals nothing
        about the keys."""
        digest = hashlib.sha256(key).digest()
        holder: str | None = None
        for known, name in self._keys:
            if hmac.compare_digest(known, digest):
                holder = name
        return holder

    def _subject(self, token: bytes) -> str:
        if not self._secrets:
            raise _TokenRejected("unknown key")
        claims = self._verify(token)
        expiry = claims.get("exp")
        if isinstance(expiry, bool) or not isinstance(expiry, int | float):
            raise _TokenRejected("exp is not a number")
        if self._lifetime is not None and expiry > time.time() + self._lifetime + self._leeway:
            raise _TokenRejected("the token expires too late")
        subject = claims.get("sub")
        # Everyone with the secret can name any subject. Tokens without one share a name.
        return f"jwt:{subject}" if isinstance(subject, str) and subject else "jwt"

    def _verify(self, token: bytes) -> Mapping[str, object]:
        """Return the claims of a token that one of the secrets signed."""
        for secret in self._secrets:
            try:
                return self._decode(token, secret, verify_audience=True)
            except jwt.InvalidSignatureError:
                continue
            except jwt.MissingRequiredClaimError as error:
                if error.claim != "aud" or self._require_audience:
                    raise _TokenRejected(str(error)) from None
            claims = self._decode(token, secret, verify_audience=False)
            if "aud" in claims:  # PyJWT treats an empty claim as none.
                raise _TokenRejected("aud is empty")
            return claims
        raise _TokenRejected("wrong signature")

    def _decode(
        self, token: bytes, secret: bytes, *, verify_audience: bool
    ) -> Mapping[str, object]:
        """Return the claims if signature, times and audience are valid; PyJWT checks them."""
        required = ["exp", "aud"] if self._require_audience else ["exp"]
        try:
            claims: dict[str, object] = jwt.decode(
                token,
                secret,
                algorithms=["HS256"],
                audience=self._audiences or None,
                leeway=self._leeway,
                options={"require": required, "verify_aud": verify_audience},
            )
        except (jwt.InvalidSignatureError, jwt.MissingRequiredClaimError):
            raise
        except (jwt.PyJWTError, ValueError, OverflowError, RecursionError) as error:
            raise _TokenRejected(f"{type(error).__name__}: {error}") from None
        return claims


def _hash_keys(keys: Mapping[str, str | bytes] | Sequence[str | bytes]) -> list[tuple[bytes, str]]:
    """Return the digest of each key and the principal of its holder."""
    named = list(keys.items()) if isinstance(keys, Mapping) else [("", key) for key in keys]
    hashed: list[tuple[bytes, str]] = []
    for name, key in named:
        checked = _check_strength(key, f"the key {name}" if name else "a key")
        digest = hashlib.sha256(checked).digest()
        # A hash of the digest is a stable name that reveals nothing about the key.
        holder = name or "sha256-" + hashlib.sha256(digest).hexdigest()[:16]
        hashed.append((digest, f"key:{holder}"))
    if len({digest for digest, _ in hashed}) != len(hashed):
        raise ConfigError("two names have the same key")
    return hashed


def _check_strength(secret: str | bytes, what: str) -> bytes:
    """Return a key or secret as bytes; raise ConfigError if it is weak."""
    value = secret.encode() if isinstance(secret, str) else secret
    if isinstance(secret, str) and secret != secret.strip():
        raise ConfigError(f"{what} starts or ends with a space or a line break")
    if len(value) < MIN_LENGTH:
        raise ConfigError(f"{what} is {len(value)} bytes long; at least {MIN_LENGTH} are required")
    if len(set(value)) < MIN_DISTINCT:
        raise ConfigError(f"{what} repeats the same few characters")
    return value


NO_AUTH = Auth()
"""Accepts everyone."""
