"""A request that is put together from what was translated before has the very bytes that
translating it would give."""

from __future__ import annotations

import json

import pytest
from cases import CASES, DEEP, recorded

from toolwire.conversation.json import JSON, Object, dump
from toolwire.errors import WireError
from toolwire.gateway.client_apis import FRONTS, ClientApi
from toolwire.gateway.translation_cache import BYTES, NEW, CachedTranslation
from toolwire.gateway.translator import Translator

TARGETS = (
    "anthropic",
    "openai-chat",
    "openai-responses",
    "gemini",
    "bedrock",
    "mistral",
    "cohere",
    "ollama",
    "deepseek",
)

BY_WIRE = {front.wire: front for front in FRONTS}


def plain(body: Object) -> Object:
    return body


def bodies(wire: str) -> list[JSON]:
    held = [case.body for case in CASES if case.wire == wire and case.kind == "request"]
    known = [case.body for case in recorded(wire) if case.kind == "request"]
    return held + (known if DEEP else known[:60])


def sent(relay: Translator, raw: bytes) -> tuple[bytes, list[str], dict[str, dict[str, str]]] | str:
    try:
        made = relay.request(raw)
    except WireError as error:
        return str(error)
    return made.data(plain), [str(loss) for loss in made.losses], made.ids.to_dict()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("front", FRONTS, ids=lambda front: front.wire)
def test_what_is_put_together_has_the_bytes_the_losses_and_the_ids_of_the_long_way(
    front: ClientApi, target: str
) -> None:
    long, short = (
        Translator(front, target, model="m"),
        Translator(front, target, model="m").remember(),
    )
    for body in bodies(front.wire):
        if isinstance(body, dict):
            raw = dump(body)
            wanted = sent(long, raw)
            assert sent(short, raw) == wanted, "the first time"
            assert sent(short, raw) == wanted, "the second time"


def history(turns: int) -> Object:
    messages: list[JSON] = [{"role": "system", "content": "Be brief."}]
    for n in range(turns):
        calls: list[JSON] = [
            {
                "id": f"call_{n}_{k}",
                "type": "function",
                "function": {"name": "look", "arguments": json.dumps({"n": n, "k": k})},
            }
            for k in range(1 + n % 2)
        ]
        messages += [
            {"role": "user", "content": f"Look at {n}."},
            {"role": "assistant", "content": None, "tool_calls": calls},
        ]
        messages += [
            {"role": "tool", "tool_call_id": f"call_{n}_{k}", "content": f"seen {n} {k}"}
            for k in range(len(calls))
        ]
        messages.append({"role": "assistant", "content": f"It is {n}."})
    messages.append({"role": "user", "content": "Thanks."})
    tool: JSON = {
        "type": "function",
        "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
    }
    return {"model": "any", "messages": messages, "tools": [tool], "temperature": 0.5}


@pytest.mark.parametrize("target", ["anthropic", "gemini", "openai-responses"])
def test_a_history_that_grows_is_put_together_and_equal_at_every_turn(target: str) -> None:
    front = next(one for one in FRONTS if one.wire == "openai-chat")
    long, short = (
        Translator(front, target, model="m"),
        Translator(front, target, model="m").remember(),
    )
    for turns in range(8):
        raw = dump(history(turns))
        made = short.request(raw)
        assert made.woven is not None, "this goes the short way"
        assert made.data(plain) == long.request(raw).data(plain)
        assert made.whole() == long.request(raw).body


@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: body["messages"].pop(3),
        lambda body: body["messages"].append(
            {"role": "tool", "tool_call_id": "call_9", "content": "stray"}
        ),
        lambda body: body["messages"].insert(3, {"role": "user", "content": "Wait."}),
        lambda body: body["messages"].append(body["messages"][2]),
        lambda body: body["messages"].insert(5, {"role": "system", "content": "Now be long."}),
        lambda body: body["messages"].insert(1, {"role": "assistant", "content": "I begin."}),
    ],
    ids=["lost", "stray", "between", "again", "system", "assistant-first"],
)
def test_a_history_that_is_not_tidy_goes_the_long_way(spoil: object) -> None:
    front = next(one for one in FRONTS if one.wire == "openai-chat")
    long, short = (
        Translator(front, "anthropic", model="m"),
        Translator(front, "anthropic", model="m").remember(),
    )
    body = history(3)
    assert callable(spoil)
    spoil(body)
    made = short.request(dump(body))
    assert made.woven is None
    assert made.data(plain) == long.request(dump(body)).data(plain)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.gateway.translation_cache.BYTES", 10_000)
    front = next(one for one in FRONTS if one.wire == "openai-chat")
    relay = Translator(front, "anthropic", model="m").remember()
    for n in range(200):
        asked: JSON = {"model": "m", "messages": [{"role": "user", "content": f"{n} " + "x" * 500}]}
        assert relay.request(dump(asked)).woven is not None
    assert relay.recall is not None and relay.recall.held <= 10_000 + 2_000


def counted(relay: Translator, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The bodies that go the long way from now on."""
    went: list[bytes] = []
    assert relay.recall is not None
    make = relay.recall._make

    def counting(raw: bytes) -> CachedTranslation:
        went.append(raw)
        return make(raw)

    monkeypatch.setattr(relay.recall, "_make", counting)
    return went


def test_a_long_history_is_learnt_a_little_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    relay = Translator(BY_WIRE["openai-chat"], "anthropic", model="m").remember()
    went = counted(relay, monkeypatch)
    raw = dump(history(30))
    ways: list[bool] = []
    for _ in range(20):
        went.clear()
        ways.append(relay.request(raw).woven is not None)
        assert len(went) <= NEW + 1
    assert not ways[0] and ways[-1] and not went, "what is known need not be learnt"


def test_what_cannot_be_put_together_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    relay = Translator(BY_WIRE["openai-chat"], "anthropic", model="m").remember()
    body = history(2)
    messages = body["messages"]
    assert isinstance(messages, list)
    messages.append({"role": "assistant", "content": "Well.", "audio": {"id": "audio_1"}})
    messages.append({"role": "user", "content": "Go on."})
    relay.request(dump(body))
    went = counted(relay, monkeypatch)
    assert relay.request(dump(body)).woven is None and not went


def test_large_results_do_not_fill_the_memory() -> None:
    relay = Translator(BY_WIRE["openai-chat"], "anthropic", model="m").remember()
    for n in range(60):
        body = history(1)
        messages = body["messages"]
        assert isinstance(messages, list)
        messages.append({"role": "user", "content": f"{n} " + "x" * 250_000})
        relay.request(dump(body))
    assert relay.recall is not None
    assert sum(map(len, relay.recall._cards)) <= BYTES and relay.recall.held <= 2 * BYTES


@pytest.mark.parametrize("target", ["openai-responses", "anthropic", "gemini"])
def test_fields_of_one_request_never_stand_in_for_those_of_another(target: str) -> None:
    tools: JSON = [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    ]
    asked: Object = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    odd: Object = {**asked, "top_p\x1e0.5\x1ftools": tools}
    honest: Object = {**asked, "top_p": 0.5, "tools": tools}
    relay, plainly = (
        Translator(BY_WIRE["openai-chat"], target, model="m").remember(),
        Translator(BY_WIRE["openai-chat"], target, model="m"),
    )
    for body in (odd, odd, honest, honest):
        assert sent(relay, dump(body)) == sent(plainly, dump(body))


def test_an_answer_goes_on_with_the_message_that_the_page_ends_with() -> None:
    def said(role: str, id: str) -> JSON:
        return {"id": id, "role": role, "parts": [{"type": "text", "text": "Once upon a time"}]}

    front = BY_WIRE["ai-sdk"]
    relay = Translator(front, "openai-chat", model="m").remember()
    for id in ("A7", "A8"):
        asked = relay.request(
            dump({"id": "c", "messages": [said("user", "u"), said("assistant", id)]})
        )
        assert asked.woven is not None
        assert front.opening({"type": "start"}, asked.asked) == {"type": "start", "messageId": id}


def test_requests_that_are_refused_take_no_room() -> None:
    relay = Translator(BY_WIRE["openai-responses"], "anthropic", model="m").remember()
    assert relay.recall is not None
    for n in range(5):
        with pytest.raises(Exception, match="stored"):
            relay.request(
                dump(
                    {
                        "model": "m",
                        "previous_response_id": f"{n}",
                        "input": [{"role": "user", "content": "hi"}],
                    }
                )
            )
    assert relay.recall.held == 0
