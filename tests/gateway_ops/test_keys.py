"""Virtual keys: who may ask for what, and how often."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from gateway_ops.client_requests import FRONTS
from gateway_ops.running import get, model, opened, post
from mock.hosting import hosted

from toolwire.errors import ConfigError
from toolwire.gateway.app import Gateway
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.parser import read_config
from toolwire.gateway.key_files import new_key, read_keys
from toolwire.gateway.keys import KeyConfig, Keys

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
    first, second = new_key(file, "alice"), new_key(file, "bob.by@x")
    assert len(first) >= 32 and first != second
    assert first.encode() not in file.read_bytes() and second.encode() not in file.read_bytes()
    assert [one.name for one in read_keys(file)] == ["alice", "bob.by@x"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    keys = Keys(read_keys(file))
    assert keys.principal({b"authorization": b"Bearer " + first.encode()}) == "key:alice"
    assert keys.principal({b"authorization": b"Bearer " + first[:-1].encode()}) is None
    assert keys.principal({}) is None and keys.on
    with pytest.raises(ConfigError, match="exists"):
        new_key(file, "alice")


def test_limits_can_be_written_beside_a_hash_in_each_kind_of_file(tmp_path: Path) -> None:
    known = hashlib.sha256(KEY.encode()).hexdigest()
    (tmp_path / "a.toml").write_text(
        f'[keys.alice]\nsha256 = "{known}"\nmodels = ["claude-*"]\nrpm = 60\nconcurrency ='
        " 4\nexpires = 2099-01-31\n"
    )
    (tmp_path / "a.jsonl").write_text(
        f'{{"name":"alice","sha256":"{known}","models":["claude-*"],"rpm":60,"concurrency":4,"expires":"2099-01-31"}}\n'
    )
    new_key(tmp_path / "a.db", "alice")
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


def test_everything_wrong_with_a_file_of_keys_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(
        '[keys.alice]\nsha256 = "secret!"\nrmp = 3\n[keys."b b"]\nsha256 = "x"\nrpm = 0\nexpires ='
        ' "soon"\n'
    )
    with pytest.raises(ConfigError) as error:
        read_keys(file)
    told = "\n".join(error.value.mistakes)
    for word in (
        "unknown field rmp",
        "sha256: expected",
        "name: expected",
        "rpm: expected",
        "expires: expected",
    ):
        assert word in told
    assert "secret!" not in told
    with pytest.raises(ConfigError, match="no such file"):
        read_keys(tmp_path / "nowhere.db")


def test_a_bucket_lets_so_many_through_in_a_minute_and_says_when_to_come_again() -> None:
    now = [1000.0]
    keys = Keys([row(rpm=3)], clock=lambda: now[0])
    held = keys.find({b"authorization": b"bearer " + KEY.encode()})
    assert held is not None
    assert [held.acquire() for _ in range(3)] == [None] * 3
    assert held.acquire() == pytest.approx(20.0)
    now[0] += 20.1
    assert held.acquire() is None and held.acquire() is not None
    keys.use([row(rpm=3, models=("x",))])
    again = keys.find({b"authorization": b"Bearer " + KEY.encode()})
    assert again is not None and again.acquire() is not None, "another row does not fill the bucket"


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


def test_a_key_that_has_expired_is_none() -> None:
    shows = {b"authorization": b"Bearer " + KEY.encode()}
    assert Keys([row(expires=50)], wall_clock=lambda: 49.9).find(shows) is not None
    assert Keys([row(expires=50)], wall_clock=lambda: 50.0).find(shows) is None


@pytest.mark.parametrize("api", FRONTS, ids=lambda api: api.wire)
def test_refusals_come_with_their_status_in_the_shape_of_the_api(
    api: object, caplog: pytest.LogCaptureFixture
) -> None:
    (front_row,) = [one for one in FRONTS if one is api]
    caplog.set_level(logging.DEBUG, "toolwire.gateway")
    with hosted("openai-chat") as mock:
        models = ModelTable(
            read_config(
                model("openai-chat", mock.url)
                + model("openai-chat", mock.url).replace("openai-chat", "closed", 1)
            ),
            {"K": "k" * 20},
        )
        keys = Keys([row(models=("openai-*",), rpm=1)])
        with opened(Gateway(models, auth=keys)) as url:

            def asked(name: str, key: str | None) -> tuple[int, str, dict[str, str]]:
                body = front_row.begin("hello", name, False)
                shown = {} if key is None else {"authorization": f"Bearer {key}"}
                got = post(url + front_row.path(name, False), body, shown)
                return got.status, got.text, dict(got.headers)

            missing, unknown = asked("openai-chat", None), asked("openai-chat", OTHER)
            assert (missing[0], unknown[0]) == (401, 401)
            assert missing[1] == unknown[1], "whatever was wrong, the same is told"
            assert missing[2]["www-authenticate"] == "Bearer"
            assert asked("closed", KEY)[0] == 403
            limited = asked("openai-chat", KEY)
            assert limited[0] == 429 and 0 < int(limited[2]["retry-after"]) <= 60
            assert "limit" in limited[1]
            assert get(f"{url}/health").status == 200
    assert KEY not in caplog.text and OTHER not in caplog.text
