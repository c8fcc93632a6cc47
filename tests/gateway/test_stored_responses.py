"""`previous_response_id` towards upstreams without state: the official client, and each store."""

from __future__ import annotations

import asyncio
import hashlib
import json
import stat
from collections.abc import Callable
from pathlib import Path

import httpx
import openai
import pytest
from gateway.bodies import CHAT, CHAT_STREAM
from gateway.serving import UPSTREAMS, Gateways, gateway, row, serving
from gateway.upstreams import ScriptedUpstream, answers, streams
from mock.tools import FINAL, QUESTION, TOOLS, run
from openai.types.responses import Response, ResponseItemList
from postgres import database_url

from toolwire.errors import ConfigError
from toolwire.gateway.client_apis.routes import RouteTable
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.parser import read_config
from toolwire.gateway.keys import KeyConfig, Keys
from toolwire.gateway.responses_state.database import DatabaseStore
from toolwire.gateway.responses_state.history import ResponseHistory
from toolwire.gateway.responses_state.store import (
    MemoryStore,
    ResponseStore,
    StoreLimits,
    StoreUnavailable,
)

MEMORY = '[responses]\nstore = "memory:"\n'


def client(url: str, key: str = "any") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)


def ask(url: str, *, stream: bool, key: str = "any", **fields: object) -> Response:
    with client(url, key) as asking:
        if not stream:
            whole: Response = asking.responses.create(**fields)  # type: ignore[call-overload]
            return whole
        with asking.responses.stream(**fields) as events:  # type: ignore[call-overload]
            final: Response = events.get_final_response()
        return final


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_a_conversation_continues_with_only_its_new_input(
    gateways: Gateways, upstream: str, stream: bool
) -> None:
    tools = [
        {"type": "function", "name": name, "parameters": schema, "strict": False}
        for name, (_, schema) in TOOLS.items()
    ]
    fields: dict[str, object] = {"input": QUESTION}
    turns = 0
    with serving(gateway(MEMORY + row(upstream, f"{gateways.up}/{upstream}"))) as url:
        while True:
            answer = ask(url, stream=stream, model="some-model", tools=tools, **fields)  # type: ignore[arg-type]
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                break
            turns += 1
            results = [
                {
                    "type": "function_call_output",
                    "call_id": call.call_id,
                    "output": run(call.name, json.loads(call.arguments)),
                }
                for call in calls
            ]
            fields = {"input": results, "previous_response_id": answer.id}
    assert turns == 2 and answer.output_text.splitlines() == list(FINAL)


def test_without_a_store_the_error_names_the_setting() -> None:
    up = ScriptedUpstream(answers(CHAT))
    with (
        serving(up) as at,
        serving(gateway(row("openai-chat", at))) as url,
        pytest.raises(openai.BadRequestError, match=r"`input`, or set \[responses\] store"),
    ):
        ask(url, stream=False, model="m", input="hi", previous_response_id="resp_1")
    assert not up.got


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_stored_response_is_shown_with_its_input_and_deleted(stream: bool) -> None:
    ids = (b"chatcmpl-1", b"chatcmpl-2")
    replies = [answers({**CHAT, "id": reply_id.decode()}) for reply_id in ids]
    if stream:
        replies = [
            streams(*[piece.replace(b"c1", reply_id) for piece in CHAT_STREAM]) for reply_id in ids
        ]
    with (
        serving(ScriptedUpstream(*replies)) as at,
        serving(gateway(MEMORY + row("openai-chat", at))) as url,
        client(url) as asking,
    ):
        first = ask(url, stream=stream, model="m", input="hi")
        picture = {
            "type": "input_image",
            "detail": "auto",
            "image_url": "data:image/png;base64,QQ==",
        }
        question = {"role": "user", "content": [picture]}
        second = ask(url, stream=stream, model="m", input=[question], previous_response_id=first.id)
        shown = asking.responses.retrieve(second.id)
        assert (shown.id, shown.output_text, shown.usage) == (
            second.id,
            second.output_text,
            second.usage,
        )
        items = asking.responses.input_items.list(second.id, order="asc").data
        assert [(item.type, item.role) for item in items] == [  # type: ignore[union-attr]
            ("message", "user"),
            ("message", "assistant"),
            ("message", "user"),
        ]
        assert len({item.id for item in items}) == 3
        assert items[0].to_dict()["content"] == [{"type": "input_text", "text": "hi"}]
        newest = asking.responses.input_items.list(second.id, limit=1)
        assert [item.id for item in newest.data] == [items[-1].id] and newest.has_more
        assert [item.id for item in newest] == [item.id for item in reversed(items)]
        asking.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError, match="not found"):
            asking.responses.retrieve(first.id)
        assert len(asking.responses.input_items.list(second.id).data) == 3


def test_responses_are_not_shown_without_a_store_or_to_another_key() -> None:
    with (
        serving(ScriptedUpstream(answers(CHAT))) as at,
        serving(gateway(row("openai-chat", at))) as url,
        client(url) as asking,
        pytest.raises(openai.NotFoundError, match=r"set \[responses\] store"),
    ):
        asking.responses.retrieve("resp_1")
    alice, bob = "tw-" + "a" * 40, "tw-" + "b" * 40
    keys = [
        KeyConfig(name=key[3], sha256=hashlib.sha256(key.encode()).hexdigest())
        for key in (alice, bob)
    ]
    with serving(ScriptedUpstream(answers(CHAT))) as at:
        app = gateway(MEMORY + row("openai-chat", at))
        app._state.auth = Keys(keys)
        with serving(app) as url:
            stored = ask(url, stream=False, key=alice, model="m", input="hi")
            for act in ("retrieve", "delete"):
                with client(url, bob) as asking, pytest.raises(openai.NotFoundError):
                    getattr(asking.responses, act)(stored.id)
            with client(url, alice) as asking:
                assert asking.responses.retrieve(stored.id).id == stored.id


def test_listed_input_items_have_every_required_field() -> None:
    given = [
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png,"}]},
        {"role": "assistant", "content": "Hm."},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "x"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "2"},
    ]
    with (
        serving(ScriptedUpstream(answers(CHAT))) as at,
        serving(gateway(MEMORY + row("openai-chat", at))) as url,
    ):
        stored = ask(url, stream=False, model="m", input=given)
        listed = httpx.get(f"{url}/v1/responses/{stored.id}/input_items?order=asc").json()
    assert len(ResponseItemList.model_validate(listed).data) == len(given)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "order=up", "after=none", "stream=true"]
)
def test_a_wrong_query_for_input_items_is_a_client_error(query: str) -> None:
    with (
        serving(ScriptedUpstream(answers(CHAT))) as at,
        serving(gateway(MEMORY + row("openai-chat", at))) as url,
    ):
        stored = ask(url, stream=False, model="m", input="hi")
        got = httpx.get(f"{url}/v1/responses/{stored.id}/input_items?{query}")
    assert got.status_code == 400 and got.json()["error"]["message"]


def test_paths_with_ids_are_not_kept_in_memory() -> None:
    routes = RouteTable()
    for n in range(3):
        assert routes.find("GET", f"/v1/responses/resp_{n}") is not None
    assert not routes._matches


def test_a_response_is_not_found_if_it_was_not_to_be_stored_or_belongs_to_another_key() -> None:
    alice, bob = "tw-" + "a" * 40, "tw-" + "b" * 40
    keys = [
        KeyConfig(name=key[3], sha256=hashlib.sha256(key.encode()).hexdigest())
        for key in (alice, bob)
    ]
    chats = [{**CHAT, "id": f"chatcmpl-{n}"} for n in range(4)]
    with serving(ScriptedUpstream(*map(answers, chats))) as at:
        app = gateway(MEMORY + row("openai-chat", at))
        app._state.auth = Keys(keys)
        with serving(app) as url:

            def go_on(key: str, previous: Response) -> Response:
                return ask(
                    url,
                    stream=False,
                    key=key,
                    model="m",
                    input="more",
                    previous_response_id=previous.id,
                )

            unstored = ask(url, stream=False, key=alice, model="m", input="hi", store=False)
            with pytest.raises(openai.BadRequestError) as error:
                go_on(alice, unstored)
            assert error.value.code == "previous_response_not_found"
            stored = ask(url, stream=False, key=alice, model="m", input="hi")
            with pytest.raises(openai.BadRequestError, match="not found"):
                go_on(bob, stored)
            assert go_on(alice, stored).output_text == "Hi"


def test_an_upstream_that_keeps_responses_itself_gets_the_id() -> None:
    up = ScriptedUpstream(answers({"error": {"message": "no"}}, 400))
    with (
        serving(up) as at,
        serving(gateway(MEMORY + row("openai-responses", at))) as url,
        pytest.raises(openai.BadRequestError),
    ):
        ask(url, stream=False, model="m", input="hi", previous_response_id="resp_1")
    assert up.got[0].json["previous_response_id"] == "resp_1"


def test_a_response_is_sent_even_if_it_cannot_be_stored(tmp_path: Path) -> None:
    file = tmp_path / "responses.db"
    up = ScriptedUpstream(streams(*CHAT_STREAM))
    store = f'[responses]\nstore = "sqlite:///{file}"\n'
    with serving(up) as at, serving(gateway(store + row("openai-chat", at))) as url:
        file.unlink()
        file.mkdir()
        for extra in tmp_path.glob("responses.db-*"):
            extra.unlink()
        answer = ask(url, stream=True, model="m", input="hi")
        assert answer.output_text == "Hello"


def test_mistakes_in_the_table_are_reported() -> None:
    text = '[responses]\nstore = "redis://x"\nmax_mb = 0\n[models.m]\nupstream = "demo"\n'
    with pytest.raises(ConfigError) as error:
        ModelTable(read_config(text), {})
    mistakes = "\n".join(error.value.mistakes)
    assert "[responses] store: expected memory:" in mistakes and "[responses] max_mb" in mistakes


# --- every store ----------------------------------------------------------------------------------


class Clock:
    """A clock that tests set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


LIMITS = StoreLimits(size=1000, age=60.0)
Build = Callable[[Path, StoreLimits, Clock], ResponseStore]
STORES: dict[str, Build] = {
    "memory": lambda folder, limits, clock: MemoryStore(limits, clock=clock),
    "sqlite": lambda folder, limits, clock: DatabaseStore(
        f"sqlite:///{folder / 'responses.db'}", limits, clock=clock
    ),
    "postgresql": lambda folder, limits, clock: DatabaseStore(database_url(), limits, clock=clock),
}


def history(name: str, size: int = 10) -> ResponseHistory:
    """A history whose items cannot be compressed."""
    text = "".join(hashlib.sha256(f"{name}{n}".encode()).hexdigest() for n in range(size))
    return ResponseHistory(name, json.dumps([text]).encode())


@pytest.mark.parametrize("kind", STORES)
def test_a_store_keeps_finds_replaces_and_forgets(kind: str, tmp_path: Path) -> None:
    async def use() -> None:
        clock = Clock()
        store = STORES[kind](tmp_path, LIMITS, clock)
        await store.open()
        try:
            assert await store.find("", "r1") is None
            await store.save("", history("r1", 1))
            await store.save("alice", ResponseHistory("r1", b"[1]"))
            assert await store.find("", "r1") == history("r1", 1)
            assert await store.find("alice", "r1") == ResponseHistory("r1", b"[1]")
            await store.save("alice", ResponseHistory("r1", b"[2]"))
            assert await store.find("alice", "r1") == ResponseHistory("r1", b"[2]")
            whole = ResponseHistory("r2", b"[3]", b'{"id":"r2"}')
            await store.save("alice", whole)
            assert await store.find("alice", "r2") == whole
            await store.remove("bob", "r2")
            assert await store.find("alice", "r2") == whole
            await store.remove("alice", "r2")
            assert await store.find("alice", "r2") is None
            clock.now += 61
            assert await store.find("", "r1") is None, "too old"
            for n in range(10):
                clock.now += 1
                await store.save("", history(f"s{n}", 6))
            kept = [n for n in range(10) if await store.find("", f"s{n}") is not None]
            assert kept and kept[-1] == 9 and len(kept) < 6, kept
            assert kept == list(range(kept[0], 10)), "the newest ones"
        finally:
            await store.close()

    asyncio.run(use())


def test_a_file_is_private_and_survives_a_restart(tmp_path: Path) -> None:
    async def use() -> None:
        for _ in range(2):
            store = DatabaseStore(f"sqlite:///{tmp_path / 'r.db'}", LIMITS)
            await store.open()
            await store.save("", history("r1", 1))
            await store.close()
            assert await store.find("", "r1") == history("r1", 1), "it connects again"
            await store.close()

    asyncio.run(use())
    assert stat.S_IMODE((tmp_path / "r.db").stat().st_mode) == 0o600


class BrokenStore(MemoryStore):
    """A store that can be neither read nor written."""

    async def save(self, owner: str, history: ResponseHistory) -> None:
        raise StoreUnavailable("PostgreSQL: OperationalError")

    async def find(self, owner: str, response_id: str) -> ResponseHistory | None:
        raise StoreUnavailable("PostgreSQL: OperationalError")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_response_arrives_although_it_cannot_be_stored(
    stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    replies = [streams(*CHAT_STREAM)] if stream else [answers(CHAT)]
    with serving(ScriptedUpstream(*replies)) as at:
        app = gateway(MEMORY + row("openai-chat", at))
        app._state.responses = BrokenStore(LIMITS)
        with serving(app) as url, client(url) as asking:
            response = ask(url, stream=stream, model="m", input="hi")
            assert response.output_text and "its response is not stored" in caplog.text
            with pytest.raises(openai.InternalServerError, match="cannot be read now") as error:
                ask(url, stream=False, model="m", input="x", previous_response_id="r")
            assert error.value.status_code == 503
            with pytest.raises(openai.InternalServerError, match="cannot be read now"):
                asking.responses.retrieve("r")


def test_a_store_that_cannot_be_reached_is_named_without_its_password() -> None:
    store = DatabaseStore("postgresql://me:s3cret@127.0.0.1:9/x", LIMITS)
    with pytest.raises(StoreUnavailable, match="PostgreSQL: OperationalError; check") as error:
        asyncio.run(store.open())
    assert "s3cret" not in str(error.value)
