"""Who is asking: nobody in particular, the holder of a key, or the bearer of a short-lived signed
token.

Any method that is on and accepts is enough. There is no default secret, and short ones are refused.
A caller is told the same whatever was wrong; the log says what it was. Knows no protocol beyond
three headers.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence

import jwt

from toolwire.errors import ConfigError

LEAST = 32
"""Bytes that a key or a secret must have."""
LEEWAY = 60.0
"""Seconds that clocks may differ."""
LIFETIME = 15 * 60.0
"""Seconds that a token may be valid ahead of now."""
_KEY_HEADERS = (b"oxp-api-key", b"otc-api-key")
_log = logging.getLogger("toolwire.server")


class _Unauthorized(Exception):
    """Why a token is not taken; for the log."""


class Auth:
    """What a server asks of its callers. Without keys and secrets it asks nothing, and ignores
    whatever is sent.

    `keys` are static keys by the name of who holds them (a list gives them names of its own), sent
    as `OXP-API-Key` or as a bearer token. `secrets` sign tokens with HS256; several so that one can
    be replaced by the next. Tokens must expire, within `lifetime` (None: whenever); one that names
    an audience must name one of `audiences`.
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
        now: Callable[[], float] = time.time,
    ) -> None:
        if isinstance(keys, str | bytes) or isinstance(secrets, str | bytes):
            raise ConfigError("expected a list of keys or secrets, got a single one")
        named = list(keys.items()) if isinstance(keys, Mapping) else [("", key) for key in keys]
        self._keys: list[tuple[bytes, str]] = []
        for name, key in named:
            digest = hashlib.sha256(
                _long_enough(key, f"the key {name}" if name else "a key")
            ).digest()
            # A name of its own that is stable and tells nothing about the key
            self._keys.append(
                (digest, f"key:{name or 'sha256-' + hashlib.sha256(digest).hexdigest()[:16]}")
            )
        if len({digest for digest, _ in self._keys}) != len(self._keys):
            raise ConfigError("the same key is given to two names")
        self._secrets = [_long_enough(secret, "a secret") for secret in secrets]
        if (audiences or require_audience) and not self._secrets:
            raise ConfigError("audiences are of use with secrets only")
        if isinstance(audiences, str):
            raise ConfigError("expected a list of audiences, got a single one")
        self._audiences = frozenset(audiences)
        self._require_audience = require_audience
        self._lifetime = lifetime
        self._leeway = leeway
        self._now = now

    @property
    def on(self) -> bool:
        """Whether anything is asked at all."""
        return bool(self._keys or self._secrets)

    @property
    def methods(self) -> list[str]:
        """What is taken, in words for a person."""
        return ["an API key"] * bool(self._keys) + ["a JWT (HS256)"] * bool(self._secrets)

    def principal(self, headers: Mapping[bytes, bytes]) -> str | None:
        """Who is asking, by headers in lower case; an empty text is nobody in particular, None is
        refused."""
        if not (self._keys or self._secrets):
            return ""
        why = "no credentials"
        if self._keys:
            for name in _KEY_HEADERS:
                if (given := headers.get(name)) is not None:
                    if (found := self._holder(given)) is not None:
                        return found
                    why = "unknown key"
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        token = token.strip()
        if scheme.lower() == b"bearer" and token:
            if self._keys and (found := self._holder(token)) is not None:
                return found
            try:
                return self._subject(token)
            except _Unauthorized as no:
                why = str(no)
        elif scheme:
            why = "not a bearer token"
        _log.info("refused a caller: %s", why)
        return None

    def _holder(self, given: bytes) -> str | None:
        """Whose key it is. All keys are compared, each in the same time, so that nothing can be
        learnt by the clock."""
        digest = hashlib.sha256(given).digest()
        found: str | None = None
        for known, name in self._keys:
            if hmac.compare_digest(known, digest):
                found = name
        return found

    def _subject(self, token: bytes) -> str:
        if not self._secrets:
            raise _Unauthorized("unknown key")
        claims = self._claims(token)
        self._check_times(claims)
        self._check_audience(claims.get("aud"))
        subject = claims.get("sub")
        # Who can sign may name any subject; without one all signers are one
        return f"jwt:{subject}" if isinstance(subject, str) and subject else "jwt"

    def _claims(self, token: bytes) -> Mapping[str, object]:
        why = ""
        for secret in self._secrets:
            try:
                # The times are checked here, by this clock: so that a test can set it, and exp, nbf
                # and iat mean the same now
                claims: dict[str, object] = jwt.decode(
                    token,
                    secret,
                    algorithms=["HS256"],
                    options={
                        "require": ["exp"],
                        "verify_aud": False,
                        "verify_exp": False,
                        "verify_nbf": False,
                        "verify_iat": False,
                    },
                )
            except jwt.InvalidSignatureError:
                why = "wrong signature"
                continue
            except (jwt.PyJWTError, ValueError, RecursionError) as error:
                raise _Unauthorized(f"{type(error).__name__}: {error}") from None
            return claims
        raise _Unauthorized(why)

    def _check_times(self, claims: Mapping[str, object]) -> None:
        now, leeway = self._now(), self._leeway
        exp, nbf, iat = (_seconds(claims, name) for name in ("exp", "nbf", "iat"))
        if exp is None or not exp > now - leeway:
            raise _Unauthorized("expired")
        if self._lifetime is not None and exp > now + self._lifetime + leeway:
            raise _Unauthorized("the token lives too long")
        if nbf is not None and not nbf <= now + leeway:
            raise _Unauthorized("not valid yet")
        if iat is not None and not iat <= now + leeway:
            raise _Unauthorized("issued in the future")

    def _check_audience(self, aud: object) -> None:
        if aud is None:
            if self._require_audience:
                raise _Unauthorized("no audience")
            return
        given = [aud] if isinstance(aud, str) else aud
        if not isinstance(given, list) or not any(
            isinstance(one, str) and one in self._audiences for one in given
        ):
            raise _Unauthorized("another audience")


NOBODY = Auth()
"""Asks nothing of its callers."""


def _seconds(claims: Mapping[str, object], name: str) -> int | float | None:
    at = claims.get(name)
    if at is not None and (isinstance(at, bool) or not isinstance(at, int | float)):
        raise _Unauthorized(f"{name} is not a number")
    return at


def _long_enough(secret: str | bytes, what: str) -> bytes:
    held = secret.encode() if isinstance(secret, str) else secret
    if isinstance(secret, str) and secret != secret.strip():
        raise ConfigError(
            f"{what} begins or ends with a blank: perhaps it was read with its line end"
        )
    if len(held) < LEAST:
        raise ConfigError(f"{what} is {len(held)} bytes long; at least {LEAST} are needed")
    if len(set(held)) < 8:
        raise ConfigError(f"{what} is the same few characters again and again")
    return held
