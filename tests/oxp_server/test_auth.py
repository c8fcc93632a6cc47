"""Keys and secrets: what is refused when a server is set up, and who is who."""

from __future__ import annotations

import logging

import jwt
import pytest

from toolwire.conversation.json import JSON, Object
from toolwire.errors import ConfigError
from toolwire.server.auth import NOBODY, Auth

KEY = "a key for tests that is long enough too"
OTHER_KEY = "another key for tests, of somebody else"
SECRET = "a secret for tests that is long enough"
NEXT_SECRET = "the secret that will replace the other"
NOW = 1_742_000_000.0


def bearer(secret: str = SECRET, /, **claims: JSON) -> dict[bytes, bytes]:
    held: Object = {"exp": NOW + 60, **claims}
    token = jwt.encode(held, secret, "HS256")
    return {b"authorization": b"Bearer " + token.encode()}


@pytest.mark.parametrize(
    "weak",
    ["", "dev", "x" * 31, "x" * 64, "abababababababababababababababababab", KEY + "\n", " " + KEY],
)
def test_a_weak_key_or_secret_is_refused(weak: str) -> None:
    with pytest.raises(ConfigError):
        Auth([weak])
    with pytest.raises(ConfigError):
        Auth({"me": weak})
    with pytest.raises(ConfigError):
        Auth(secrets=[weak])


def test_mistakes_of_the_setup_are_found() -> None:
    with pytest.raises(ConfigError, match="two names"):
        Auth({"a": KEY, "b": KEY})
    with pytest.raises(ConfigError, match="single"):
        Auth(KEY)
    with pytest.raises(ConfigError, match="single"):
        Auth(secrets=SECRET)
    with pytest.raises(ConfigError, match="secrets only"):
        Auth([KEY], audiences=["me"])


def test_a_mistake_does_not_tell_the_key() -> None:
    with pytest.raises(ConfigError) as found:
        Auth({"me": "short-s3cret"})
    assert "s3cret" not in str(found.value)


def test_without_keys_and_secrets_every_caller_has_the_same_principal() -> None:
    assert NOBODY.principal({b"authorization": b"Bearer x"}) == ""
    assert not NOBODY.on
    assert Auth([KEY]).on


def test_a_key_is_known_by_its_name_and_otherwise_by_a_name_that_tells_nothing() -> None:
    named = Auth({"alice": KEY, "bob": OTHER_KEY})
    assert named.principal({b"oxp-api-key": KEY.encode()}) == "key:alice"
    assert named.principal({b"authorization": b"BEARER " + OTHER_KEY.encode()}) == "key:bob"
    first, second = (Auth([KEY]).principal({b"oxp-api-key": KEY.encode()}) for _ in range(2))
    assert first == second and first is not None and first.startswith("key:sha256-")
    assert Auth([OTHER_KEY]).principal({b"oxp-api-key": OTHER_KEY.encode()}) != first


def test_a_token_is_known_by_its_subject() -> None:
    auth = Auth({"jwt": KEY}, secrets=[SECRET], now=lambda: NOW)
    assert auth.principal(bearer()) == "jwt"
    assert auth.principal(bearer(sub="alice")) == "jwt:alice"
    assert auth.principal({b"oxp-api-key": KEY.encode()}) == "key:jwt"


def test_secrets_can_be_replaced_while_both_are_in_use() -> None:
    auth = Auth(secrets=[SECRET, NEXT_SECRET], now=lambda: NOW)
    assert auth.principal(bearer()) == auth.principal(bearer(NEXT_SECRET)) == "jwt"
    assert Auth(secrets=[NEXT_SECRET], now=lambda: NOW).principal(bearer()) is None


@pytest.mark.parametrize(
    ("claims", "taken"),
    [
        ({"exp": NOW - 59}, True),
        ({"exp": NOW - 60}, False),
        ({"exp": NOW + 960}, True),
        ({"exp": NOW + 961}, False),
        ({"nbf": NOW + 60}, True),
        ({"nbf": NOW + 61}, False),
        ({"iat": NOW + 60}, True),
        ({"iat": NOW + 61}, False),
        ({"aud": "me"}, True),
        ({"aud": ["x", "me"]}, True),
        ({"aud": "x"}, False),
        ({"aud": []}, False),
        ({"aud": {}}, False),
        ({"exp": float("inf")}, False),
        ({"exp": float("nan")}, False),
    ],
    ids=str,
)
def test_times_have_a_leeway_of_a_minute_and_audiences_none(claims: Object, taken: bool) -> None:
    auth = Auth(secrets=[SECRET], audiences=["me"], now=lambda: NOW)
    assert (auth.principal(bearer(**claims)) is not None) is taken


def test_an_audience_can_be_demanded_and_a_long_life_allowed() -> None:
    assert (
        Auth(secrets=[SECRET], audiences=["me"], require_audience=True, now=lambda: NOW).principal(
            bearer()
        )
        is None
    )
    assert Auth(secrets=[SECRET], now=lambda: NOW).principal(bearer(aud="me")) is None
    assert (
        Auth(secrets=[SECRET], lifetime=None, now=lambda: NOW).principal(bearer(exp=NOW + 10**8))
        == "jwt"
    )


def test_the_log_says_why_and_holds_neither_key_nor_token(caplog: pytest.LogCaptureFixture) -> None:
    auth = Auth([KEY], secrets=[SECRET], now=lambda: NOW)
    given = [
        {b"oxp-api-key": b"wr0ng"},
        bearer(exp=NOW - 100),
        bearer(NEXT_SECRET),
        {},
        {b"authorization": b"Basic wr0ng"},
    ]
    with caplog.at_level(logging.INFO, "toolwire.server"):
        assert [auth.principal(one) for one in given] == [None] * 5
    said = [record.getMessage().removeprefix("refused a caller: ") for record in caplog.records]
    assert said == [
        "unknown key",
        "expired",
        "wrong signature",
        "no credentials",
        "not a bearer token",
    ]
