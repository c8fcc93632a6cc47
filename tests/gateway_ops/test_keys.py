"""Virtual keys: which clients may use which models, and how often."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import stat
import threading
from contextlib import closing
from io import BytesIO
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import pytest
import urllib3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]
from botocore.exceptions import ClientError  # type: ignore[import-untyped]
from gateway_ops.client_requests import FRONTS
from gateway_ops.running import get, model, post, serve_gateway
from mock.hosting import serve_mock

from toolwire.errors import ConfigError
from toolwire.gateway.app import Gateway
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.parser import read_config
from toolwire.gateway.key_files import add_key, change_key, read_keys, revoke_key
from toolwire.gateway.keys import KeyConfig, Keys, expiry_seconds

KEY = "tw-" + "k3y-of-alice-" * 4
OTHER = "tw-" + "k3y-of-bobby-" * 4


def row(key: str = KEY, **more: object) -> KeyConfig:
    fields: dict[str, object] = {
        "name": "alice",
        "sha256": hashlib.sha256(key.encode()).hexdigest(),
        **more,
    }
    return KeyConfig(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["keys.toml", "keys.jsonl", "keys.db"])
def test_a_new_key_is_shown_once_and_only_its_hash_is_kept(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    first, second = add_key(file, "alice"), add_key(file, "bob.by@x")
    assert len(first) >= 32 and first != second
    assert first.encode() not in file.read_bytes() and second.encode() not in file.read_bytes()
    assert [one.name for one in read_keys(file)] == ["alice", "bob.by@x"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    keys = Keys(read_keys(file))
    assert keys.principal({b"authorization": b"Bearer " + first.encode()}) == "key:alice"
    assert keys.principal({b"authorization": b"Bearer " + first[:-1].encode()}) is None
    assert keys.principal({}) is None and keys.on
    with pytest.raises(ConfigError, match="exists"):
        add_key(file, "alice")


def test_each_kind_of_key_file_can_hold_limits(tmp_path: Path) -> None:
    known = hashlib.sha256(KEY.encode()).hexdigest()
    (tmp_path / "a.toml").write_text(
        f'[keys.alice]\nsha256 = "{known}"\nmodels = ["claude-*"]\nrpm = 60\nconcurrency ='
        " 4\nexpires = 2099-01-31\n"
    )
    (tmp_path / "a.jsonl").write_text(
        f'{{"name":"alice","sha256":"{known}","models":["claude-*"],"rpm":60,"concurrency":4,"expires":"2099-01-31"}}\n'
    )
    add_key(tmp_path / "a.db", "alice")
    with closing(sqlite3.connect(tmp_path / "a.db")) as held, held:
        held.execute(
            "update keys set models = ?, rpm = 60, concurrency = 4, expires = '2099-01-31'",
            ('["claude-*"]',),
        )
    for name in ("a.toml", "a.jsonl", "a.db"):
        (found,) = read_keys(tmp_path / name)
        assert (found.models, found.rpm, found.concurrency) == (("claude-*",), 60, 4)
        held_key = Keys([found])._holders[bytes.fromhex(found.sha256)]
        assert held_key.expires_at == 4073500800.0
        assert held_key.may_use("claude-x") and not held_key.may_use("gpt-x")


def test_every_mistake_in_a_key_file_is_reported_at_once(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(
        '[keys.alice]\nsha256 = "secret!"\nrmp = 3\n[keys."b b"]\nsha256 = "x"\nrpm = 0\nexpires ='
        ' "soon"\n'
    )
    with pytest.raises(ConfigError) as error:
        read_keys(file)
    mistakes = "\n".join(error.value.mistakes)
    for word in (
        "unknown field rmp",
        "sha256: expected",
        "name: expected",
        "rpm: expected",
        "expires: expected",
    ):
        assert word in mistakes
    assert "secret!" not in mistakes
    with pytest.raises(ConfigError, match="no such file"):
        read_keys(tmp_path / "nowhere.db")


def test_a_changed_row_keeps_the_requests_in_progress_of_its_key() -> None:
    keys = Keys([row(concurrency=1)])
    bearer = {b"authorization": b"Bearer " + KEY.encode()}
    first = keys.find(bearer)
    assert first is not None and first.acquire() is None
    keys.use([row(concurrency=1, models=("x",))])
    second = keys.find(bearer)
    assert second is not None and second.acquire() is not None, "the first request is in progress"
    first.release()
    assert second.acquire() is None, "the slot of the first request is free again"


def _terminate_tls(request: AWSPreparedRequest, **_: object) -> AWSResponse:
    """Send a prepared request as a proxy in front of the gateway does: boto3 sends bearer tokens
    only to https."""
    url = request.url.replace("https:", "http:")
    got = urllib3.request("POST", url, body=request.body, headers=dict(request.headers))
    whole = urllib3.HTTPResponse(BytesIO(got.data), preload_content=False)
    return AWSResponse(request.url, got.status, got.headers, whole)


def test_boto3_sends_a_key_as_bearer_token_and_a_signature_is_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def converse(url: str) -> object:
        client = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=url.replace("http:", "https:"),
            config=Config(retries={"total_max_attempts": 1}),
        )
        client.meta.events.register("before-send", _terminate_tls)
        return client.converse(
            modelId="openai-chat", messages=[{"role": "user", "content": [{"text": "hello"}]}]
        )

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "AKIA0")
    with serve_mock("openai-chat") as mock:
        models = ModelTable(read_config(model("openai-chat", mock.url)), {"K": "k" * 20})
        with serve_gateway(Gateway(models)) as url:
            assert "hello" in str(converse(url)), "without keys a signature is accepted unread"
        with serve_gateway(Gateway(models, auth=Keys([row()]))) as url:
            with pytest.raises(ClientError, match="set AWS_BEARER_TOKEN_BEDROCK") as error:
                converse(url)
            assert error.value.response["Error"]["Code"] == "UnrecognizedClientException"
            monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)
            assert "hello" in str(converse(url))


@pytest.mark.parametrize("name", ["keys.toml", "keys.jsonl", "keys.db"])
def test_limits_change_and_other_keys_stay_as_they_are(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    add_key(file, "alice", {"rpm": 5.0, "models": ["claude-*", "local"]})
    add_key(file, "bob", {"expires": "2099-01-31"})
    if file.suffix == ".toml":
        text = file.read_text().replace('[keys."bob"]', "# who pays: bob\n[ keys.bob ]  # on leave")
        file.write_text(text)
    bob = read_keys(file)[1]
    change_key(file, "alice", {"rpm": None, "tpm": 1000.0, "budget_per_day": 2.5})
    alice, other = read_keys(file)
    assert (alice.rpm, alice.tpm, alice.budget_per_day) == (None, 1000, 2.5)
    assert alice.models == ("claude-*", "local") and other == bob
    change_key(file, "bob", {"concurrency": 2})
    assert read_keys(file)[1].concurrency == 2 and read_keys(file)[0] == alice
    revoke_key(file, "alice")
    assert [key.name for key in read_keys(file)] == ["bob"]
    if file.suffix == ".toml":
        assert "# who pays: bob\n" in file.read_text(), "comments stay"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(ConfigError, match="there is no key alice"):
        revoke_key(file, "alice")
    with pytest.raises(ConfigError, match="there is no key bobb; did you mean bob"):
        change_key(file, "bobb", {"rpm": 1})
    with pytest.raises(ConfigError, match="rpm: expected more than 0"):
        change_key(file, "bob", {"rpm": 0})


def test_an_expired_key_is_rejected() -> None:
    shows = {b"authorization": b"Bearer " + KEY.encode()}
    assert Keys([row(expires=50)], wall_clock=lambda: 49.9).find(shows) is not None
    assert Keys([row(expires=50)], wall_clock=lambda: 50.0).find(shows) is None
    assert expiry_seconds("2099-01-31T02:00:00+02:00") == expiry_seconds("2099-01-31")


@pytest.mark.parametrize("api", FRONTS, ids=lambda api: api.wire)
def test_refusals_come_with_their_status_in_the_shape_of_the_api(
    api: object, caplog: pytest.LogCaptureFixture
) -> None:
    (front_row,) = [one for one in FRONTS if one is api]
    caplog.set_level(logging.DEBUG, "toolwire.gateway")
    with serve_mock("openai-chat") as mock:
        models = ModelTable(
            read_config(
                model("openai-chat", mock.url)
                + model("openai-chat", mock.url).replace("openai-chat", "closed", 1)
            ),
            {"K": "k" * 20},
        )
        keys = Keys([row(models=("openai-*",), rpm=1)])
        with serve_gateway(Gateway(models, auth=keys)) as url:

            def ask_with_key(name: str, key: str | None) -> tuple[int, str, dict[str, str]]:
                body = front_row.begin("hello", name, False)
                shown = {} if key is None else {"authorization": f"Bearer {key}"}
                got = post(url + front_row.path(name, False), body, shown)
                return got.status, got.text, dict(got.headers)

            missing, unknown = ask_with_key("openai-chat", None), ask_with_key("openai-chat", OTHER)
            assert (missing[0], unknown[0]) == (401, 401)
            assert missing[1] == unknown[1], "whatever was wrong, the same is told"
            assert missing[2]["www-authenticate"] == "Bearer"
            assert ask_with_key("closed", KEY)[0] == 403
            limited = ask_with_key("openai-chat", KEY)
            assert limited[0] == 429 and 0 < int(limited[2]["retry-after"]) <= 60
            assert "limit" in limited[1]
            assert get(f"{url}/health").status == 200
    assert KEY not in caplog.text and OTHER not in caplog.text


def test_a_pipe_or_device_is_not_replaced_by_a_file_of_keys(tmp_path: Path) -> None:
    pipe = tmp_path / "keys.toml"
    os.mkfifo(pipe)

    def write_nothing() -> None:
        while True:
            os.close(os.open(pipe, os.O_WRONLY))

    threading.Thread(target=write_nothing, daemon=True).start()
    with pytest.raises(ConfigError, match="not a regular file"):
        add_key(pipe, "ann")
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]
