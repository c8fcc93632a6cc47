"""Keys and secrets: those that are refused when a server is set up, and the principal of a caller."""

from __future__ import annotations

import logging
from time import time

import jwt
import pytest

from toolwire.conversation.json import JSON, Object
from toolwire.errors import ConfigError
from toolwire.server.auth import NO_AUTH, Auth

KEY = "a key for tests that is long enough too"
OTHER_KEY = "another key for tests, of another client"
SECRET = "a secret for tests that is long enough"
NEXT_SECRET = "the secret that will replace the other"


def bearer(secret: str = SECRET, /, **claims: JSON) -> dict[bytes, bytes]:
    held: Object = {"exp": time() + 60, **claims}
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


def test_mistakes_in_the_setup_are_reported() -> None:
    with pytest.raises(ConfigError, match="two names"):
        Auth({"a": KEY, "b": KEY})
    with pytest.raises(ConfigError, match="single"):
        Auth(KEY)
    with pytest.raises(ConfigError, match="single"):
        Auth(secrets=SECRET)
    with pytest.raises(ConfigError, match="only with secrets"):
        Auth([KEY], audiences=["me"])


def test_the_error_about_a_key_does_not_contain_it() -> None:
    with pytest.raises(ConfigError) as found:
        Auth({"me": "short-s3cret"})
    assert "s3cret" not in str(found.value)


def test_without_keys_and_secrets_every_caller_has_the_same_principal() -> None:
    assert NO_AUTH.principal({b"authorization": b"Bearer x"}) == ""
    assert not NO_AUTH.on
    assert Auth([KEY]).on


def test_a_key_is_identified_by_its_name_or_by_a_hash() -> None:
    named = Auth({"alice": KEY, "bob": OTHER_KEY})
    assert named.principal({b"oxp-api-key": KEY.encode()}) == "key:alice"
    assert named.principal({b"authorization": b"BEARER " + OTHER_KEY.encode()}) == "key:bob"
    first, second = (Auth([KEY]).principal({b"oxp-api-key": KEY.encode()}) for _ in range(2))
    assert first == second and first is not None and first.startswith("key:sha256-")
    assert Auth([OTHER_KEY]).principal({b"oxp-api-key": OTHER_KEY.encode()}) != first


def test_a_token_is_known_by_its_subject() -> None:
    auth = Auth({"jwt": KEY}, secrets=[SECRET])
    assert auth.principal(bearer()) == "jwt"
    assert auth.principal(bearer(sub="alice")) == "jwt:alice"
    assert auth.principal({b"oxp-api-key": KEY.encode()}) == "key:jwt"


def test_secrets_can_be_replaced_while_both_are_in_use() -> None:
    auth = Auth(secrets=[SECRET, NEXT_SECRET])
    assert auth.principal(bearer()) == auth.principal(bearer(NEXT_SECRET)) == "jwt"
    assert Auth(secrets=[NEXT_SECRET]).principal(bearer()) is None


@pytest.mark.parametrize(
    ("claim", "seconds", "accepted"),
    [
        ("exp", -30, True),
        ("exp", -61, False),
        ("exp", 950, True),
        ("exp", 1000, False),
        ("exp", float("inf"), False),
        ("exp", float("nan"), False),
        ("nbf", 30, True),
        ("nbf", 120, False),
        ("iat", 30, True),
        ("iat", 120, False),
    ],
)
def test_times_have_a_leeway_of_a_minute(claim: str, seconds: float, accepted: bool) -> None:
    auth = Auth(secrets=[SECRET])
    assert (auth.principal(bearer(**{claim: time() + seconds})) is not None) is accepted


@pytest.mark.parametrize(
    ("audience", "accepted"),
    [("me", True), (["x", "me"], True), ("x", False), ([], False), ({}, False), (7, False)],
    ids=str,
)
def test_a_token_with_audiences_must_name_an_accepted_one(audience: JSON, accepted: bool) -> None:
    auth = Auth(secrets=[SECRET], audiences=["me"])
    assert (auth.principal(bearer(aud=audience)) is not None) is accepted
    assert auth.principal(bearer()) == "jwt"


@pytest.mark.parametrize("expiry", ["9999999999", True, None, []], ids=str)
def test_an_expiry_that_is_not_a_number_is_refused(expiry: JSON) -> None:
    assert Auth(secrets=[SECRET], lifetime=None).principal(bearer(exp=expiry)) is None


def test_an_audience_can_be_demanded_and_a_long_life_allowed() -> None:
    assert (
        Auth(secrets=[SECRET], audiences=["me"], require_audience=True).principal(bearer()) is None
    )
    assert Auth(secrets=[SECRET]).principal(bearer(aud="me")) is None
    assert Auth(secrets=[SECRET], lifetime=None).principal(bearer(exp=time() + 10**8)) == "jwt"


def test_the_log_has_the_reason_and_neither_key_nor_token(caplog: pytest.LogCaptureFixture) -> None:
    auth = Auth([KEY], secrets=[SECRET])
    given = [
        {b"oxp-api-key": b"wr0ng"},
        bearer(exp=time() - 100),
        bearer(NEXT_SECRET),
        {},
        {b"authorization": b"Basic wr0ng"},
    ]
    with caplog.at_level(logging.INFO, "toolwire.server"):
        assert [auth.principal(one) for one in given] == [None] * 5
    reasons = [
        record.getMessage().removeprefix("authentication failed: ") for record in caplog.records
    ]
    assert reasons == [
        "unknown key",
        "ExpiredSignatureError: Signature has expired",
        "wrong signature",
        "no credentials",
        "not a bearer token",
    ]
