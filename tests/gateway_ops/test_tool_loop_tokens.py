"""Calls of the gateway's tools return to the model in the next turn, and the response still ends
with the text of the model.

Clients of one client API use the last block of a response as the answer. So tokens stand in the
middle of the response, and the message that returns is cut there. The table of what must hold:

| the model | the client gets | the model gets next |
|---|---|---|
| calls gateway tools, once or more, with text before or none | the text last | all its turns and their results, then the last text |
| calls gateway tools and the client's in one turn | the calls, then a token | its turn, and all results under its ids |
| sends text only | no token in a stream | the text |
| a token does not match | | the messages of the client, as if there had never been a token |
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from time import process_time
from typing import NamedTuple

import pytest
from cases import DEEP
from gateway.bodies import MESSAGE
from gateway.clients import AnthropicMessages
from gateway.serving import row, serving
from gateway.turns import History, Turn
from gateway.upstreams import ScriptedUpstream, answers
from gateway_ops.running import UPSTREAMS, gateway_tools, model, post, serve_gateway
from mock.hosting import ServedMock, serve_mock
from mock.tools import run
from rows import rows

from toolwire import decode
from toolwire.conversation.json import JSON, Object, dump
from toolwire.conversation.parts import Call, Message, Text
from toolwire.gateway.app import Gateway
from toolwire.gateway.client_apis.routes import BY_WIRE
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.parser import read_config
from toolwire.gateway.config.schema import ToolsConfig
from toolwire.gateway.translation.continuation_tokens import (
    MAX_TOKEN_BYTES,
    PREFIX,
    decode_token,
    digest_messages,
    encode_token,
)
from toolwire.gateway.translation.translator import Translator
from toolwire.mock.demo_model import answer
from toolwire.tools import tool

CLIENT = AnthropicMessages()
WIRES = tuple(UPSTREAMS) if DEEP else ("openai-chat", "openai-responses", "anthropic", "gemini")
HIDDEN = "redacted_thinking"


@tool(id="Bell.Ring@1.0.0")
def ring(bell: str) -> str:
    """Ring a bell.

    Args:
        bell: Which one.
    """
    return f"{bell} rang"


class Gateways(NamedTuple):
    urls: tuple[str, str]
    """Two independent gateways; the second one hides its tool calls."""
    mocks: dict[str, ServedMock]


@pytest.fixture(scope="module")
def gateways() -> Iterator[Gateways]:
    with ExitStack() as stack:
        mocks = {wire: stack.enter_context(serve_mock(wire)) for wire in WIRES}
        models = read_config("".join(model(wire, one.url) for wire, one in mocks.items()))
        rows = (ToolsConfig(), ToolsConfig(show_tool_calls="none"))
        urls = [
            stack.enter_context(
                serve_gateway(
                    Gateway(ModelTable(models, {"K": "k" * 20}), tools=gateway_tools(ring, row=one))
                )
            )
            for one in rows
        ]
        yield Gateways((urls[0], urls[1]), mocks)


RING = '[[call Bell_Ring {"bell": "%s"}]]'
ADD = '[[call Calculator_Add {"a": 1, "b": 2}]]'
OWN = {
    "words before the call": f"[[text Let me see.]] {RING % 'a'} [[then]] [[text It rang.]]",
    "no words": f"{RING % 'a'} [[then]] [[text It rang.]]",
    "thoughts": f"[[think hm]] {RING % 'a'} [[then]] [[think so]] [[text It rang.]]",
    "two at once": f"{RING % 'a'} {RING % 'b'} [[then]] [[text Both rang.]]",
    "two rounds": (
        f"[[text One.]] {RING % 'a'} [[then]] [[text Two.]] {RING % 'b'} [[then]] [[text Both"
        " rang.]]"
    ),
    "three rounds without words": (
        f"{RING % 'a'} [[then]] {RING % 'a'} [[then]] {RING % 'b'} [[then]] [[text All rang.]]"
    ),
}
"""The model calls tools of the gateway only."""
MIXED = {
    "both at once": f"[[text Let me see.]] {ADD} {RING % 'a'} [[then]] [[text Done.]]",
    "both at once, thinking": f"[[think hm]] {RING % 'a'} {ADD} [[then]] [[text Done.]]",
    "its own first": f"[[text One.]] {RING % 'a'} [[then]] {ADD} [[then]] [[text Done.]]",
    "its own first, then both": (
        f"{RING % 'a'} [[then]] [[think hm]] {RING % 'b'} {ADD} [[then]] [[text Done.]]"
    ),
    "its own last": f"{ADD} [[then]] {RING % 'a'} [[then]] [[text Done.]]",
    "all around": (
        f"{RING % 'a'} [[then]] {RING % 'b'} {ADD} [[then]] [[text So.]] {RING % 'c'} [[then]]"
        " [[text Done.]]"
    ),
}
"""The model also calls tools of the client."""
HISTORY = {"openai-responses": "input", "gemini": "contents"}


def history_of(body: JSON, wire: str) -> list[JSON]:
    """The history in a request."""
    value = body[HISTORY.get(wire, "messages")] if isinstance(body, dict) else None
    assert isinstance(value, list)
    return value


def text_and_calls(message: Message) -> tuple[str, list[tuple[str, str, JSON]]]:
    """The text and calls of a turn; ids only where the wire has them."""
    words = "".join(part.text for part in message.parts if isinstance(part, Text))
    calls = [part for part in message.parts if isinstance(part, Call)]
    return words, [
        (call.id if call.origin == "wire" else "", call.name, call.input) for call in calls
    ]


def kinds(turn: Turn) -> list[str]:
    """The types of the blocks that a client got."""
    (message,) = turn.kept
    assert isinstance(message, dict)
    return [str(block["type"]) for block in message["content"]]


def talk_to_gateways(
    urls: tuple[str, ...], wire: str, question: str, stream: bool
) -> tuple[list[Turn], History]:
    """The turns that a client gets until the model calls nothing, with alternating gateways; and
    its history with one more message."""
    history, turns = CLIENT.begin(question), list[Turn]()
    while not turns or turns[-1].calls:
        turn = CLIENT.ask(
            urls[len(turns) % len(urls)], wire, history, stream, thinks="[[think" in question
        )
        turns.append(turn)
        history = (
            CLIENT.go_on(history, turn, [run(name, given) for _, name, given in turn.calls])
            if turn.calls
            else history
        )
    return turns, [*history, *turns[-1].kept, *CLIENT.begin("[[text You are welcome.]]")]


@rows("upstream", WIRES, share=2)
@pytest.mark.parametrize("shows", [True, False], ids=["shown", "hidden"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("talk", OWN | MIXED)
def test_each_request_continues_where_the_previous_one_ended(
    gateways: Gateways, talk: str, stream: bool, shows: bool, upstream: str
) -> None:
    """Nothing of the model's history is lost or changed: it only grows by the model's turns and
    their results."""
    seen = gateways.mocks[upstream].mock.requests
    seen.clear()
    urls = gateways.urls if shows else gateways.urls[1:]
    turns, history = talk_to_gateways(urls, upstream, (OWN | MIXED)[talk], stream)
    assert kinds(turns[-1])[-1] == "text", "the last block is the answer"
    assert (
        CLIENT.ask(urls[0], upstream, history, stream, thinks="thoughts" in talk).text
        == "You are welcome."
    )
    asked = list(seen)
    assert [one.status for one in asked] == [200] * len(asked), "the strict server took it"
    for before, after in pairwise(asked):
        old, new = history_of(before.body, upstream), history_of(after.body, upstream)
        assert new[: len(old)] == old
        assert PREFIX not in json.dumps(new)
        was, now = decode(before.body, upstream), decode(after.body, upstream)
        answered = answer(was, id_profile=upstream)
        client_blocks = [
            one for one in now.messages[len(was.messages) :] if one.role == "assistant"
        ]
        assert text_and_calls(
            Message("assistant", tuple([part for one in client_blocks for part in one.parts]))
        ) == text_and_calls(answered)
        assert all(pair.call is not None and pair.result is not None for pair in now.pairs())


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_a_token_stands_before_the_answer_that_follows_it(gateways: Gateways, stream: bool) -> None:
    turns, _ = talk_to_gateways(gateways.urls[:1], "anthropic", OWN["two rounds"], stream)
    assert kinds(turns[0]) == [
        "text",
        "text",
        "text",
        HIDDEN,
        "text",
        "text",
        "text",
        HIDDEN,
        "text",
    ]
    turns, _ = talk_to_gateways(gateways.urls[1:], "openai-chat", OWN["no words"], stream)
    assert kinds(turns[0]) == [HIDDEN, "text"]


def test_a_streamed_response_numbers_its_blocks_without_a_gap(gateways: Gateways) -> None:
    asked: list[JSON] = [{"role": "user", "content": MIXED["its own first, then both"]}]
    tools: list[JSON] = [{"name": "Calculator_Add", "input_schema": {"type": "object"}}]
    body: Object = {
        "model": "gemini",
        "max_tokens": 99,
        "stream": True,
        "messages": asked,
        "tools": tools,
    }
    got = post(f"{gateways.urls[0]}/v1/messages", body, {"anthropic-version": "2023-06-01"})
    client_blocks = [
        json.loads(line[6:]) for line in got.text.splitlines() if line.startswith("data: ")
    ]
    starts = [one for one in client_blocks if one["type"] == "content_block_start"]
    assert [one["index"] for one in starts] == list(range(len(starts))) and len(starts) > 4
    assert [one["index"] for one in client_blocks if one["type"] == "content_block_stop"] == list(
        range(len(starts))
    )
    for one in client_blocks:
        if one["type"] == "content_block_delta":
            kind = {
                "text_delta": "text",
                "thinking_delta": "thinking",
                "input_json_delta": "tool_use",
            }[one["delta"]["type"]]
            assert starts[one["index"]]["content_block"]["type"] == kind


def test_a_streamed_response_of_text_has_no_token(gateways: Gateways) -> None:
    turns, _ = talk_to_gateways(gateways.urls[:1], "anthropic", "[[think hm]] [[text Hi]]", True)
    assert kinds(turns[0]) == ["thinking", "text"]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_a_model_that_was_stopped_while_it_called_gets_its_calls_back(stream: bool) -> None:
    with serve_mock("openai-chat") as server:
        models = ModelTable(read_config(model("openai-chat", server.url)), {"K": "k" * 20})
        with serve_gateway(
            Gateway(models, tools=gateway_tools(ring, row=ToolsConfig(max_turns=1)))
        ) as url:
            turns, history = talk_to_gateways(
                (url,), "openai-chat", f"{RING % 'a'} [[never-stop]]", stream
            )
            CLIENT.ask(url, "openai-chat", history, stream)
        rounds = list(server.mock.requests)
    assert [len(history_of(one.body, "openai-chat")) for one in rounds] == [1, 3, 6], (
        "two turns of a call and a result, and a thanks"
    )
    assert len(turns) == 1


SIGNED: list[JSON] = [
    {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
    {"type": "text", "text": "Let me see."},
    {"type": "tool_use", "id": "toolu_1", "name": "Bell_Ring", "input": {"bell": "a"}},
]
ASKS: list[JSON] = [
    {"type": "thinking", "thinking": "so", "signature": "YWdhaW4="},
    {"type": "tool_use", "id": "toolu_2", "name": "Calculator_Add", "input": {"a": 1, "b": 2}},
]


@pytest.mark.parametrize("first", [[SIGNED], []], ids=["after a tool of the gateway", "at once"])
def test_signed_turns_are_restored_verbatim_also_on_their_own_wire(first: list[JSON]) -> None:
    """Reasoning that is written from its parts loses its signature even if both sides use one wire."""
    script = [
        answers({**MESSAGE, "content": one, "stop_reason": "tool_use"}) for one in (*first, ASKS)
    ]
    up = ScriptedUpstream(*script, answers(MESSAGE))
    with (
        serving(up) as url,
        serve_gateway(
            Gateway(
                ModelTable(read_config(row("anthropic", url)), {"KEY": "k" * 20}),
                tools=gateway_tools(ring),
            )
        ) as at,
    ):
        turn = CLIENT.ask(at, "m", CLIENT.begin("go"), True, thinks=True)
        CLIENT.ask(at, "m", CLIENT.go_on(CLIENT.begin("go"), turn, ["3"]), True, thinks=True)
    rang: Object = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a rang"}
    added: Object = {"type": "tool_result", "tool_use_id": "toolu_2", "content": "3"}
    wanted: list[JSON] = (
        [{"role": "assistant", "content": SIGNED}, {"role": "user", "content": [rang]}]
        if first
        else []
    )
    wanted += [{"role": "assistant", "content": ASKS}, {"role": "user", "content": [added]}]
    assert history_of(up.got[-1].json, "anthropic")[1:] == wanted


# --- restored turns -------------------------------------------------------------------------------

TALK = OWN["two rounds"]
Blocks = list[Object]


@pytest.fixture(scope="module")
def client_blocks(gateways: Gateways) -> dict[str, Blocks]:
    """The blocks that a client got for two rounds, by the wire of the model."""
    out: dict[str, Blocks] = {}
    for wire in WIRES:
        (turn,), _ = talk_to_gateways(gateways.urls[:1], wire, TALK, True)
        (message,) = turn.kept
        assert isinstance(message, dict)
        out[wire] = message["content"]
    return out


def request(
    wire: str, *assistant: Blocks, translator: Translator | None = None
) -> tuple[Object, int]:
    """The request to a model for a history with these assistant messages, and the number of tokens
    that were used."""
    messages: list[JSON] = [{"role": "assistant", "content": [*one]} for one in assistant]
    thanks: JSON = {"role": "user", "content": "Thanks."}
    asked: Object = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": TALK}, *messages, thanks],
    }
    sent = (translator or Translator(BY_WIRE["anthropic"], wire, model="m")).request(dump(asked))
    return sent.body, sent.restored_turns


def plain(blocks: Blocks) -> Blocks:
    """A response without its tokens."""
    return [block for block in blocks if block["type"] != HIDDEN]


def change_blocks(blocks: Blocks, old: str, new: str) -> Blocks:
    """A response with a changed text."""
    out: Blocks = json.loads(json.dumps(blocks).replace(old, new))
    assert out != blocks
    return out


def rang(body: Object, wire: str) -> list[str]:
    """The bells that the model rang, by the calls in its history."""
    pairs = decode(body, wire).pairs()
    assert all(pair.call is not None and pair.result is not None for pair in pairs)
    return [
        str(pair.call.input["bell"])
        for pair in pairs
        if pair.call is not None and isinstance(pair.call.input, dict)
    ]


def test_a_message_that_a_client_split_by_block_is_restored(
    client_blocks: dict[str, Blocks],
) -> None:
    for wire, blocks in client_blocks.items():
        one, many = request(wire, blocks), request(wire, *[[block] for block in blocks])
        assert decode(one[0], wire).messages == decode(many[0], wire).messages
        assert one[1] == many[1] == 2 and rang(one[0], wire) == ["a", "b"]


CHANGES: dict[str, Callable[[Blocks], Blocks]] = {
    "every piece edited": lambda blocks: change_blocks(
        change_blocks(blocks, "One.", "First."), "Two.", "Second."
    ),
    "not to be read": lambda blocks: change_blocks(blocks, PREFIX, f"{PREFIX}AA"),
    "of another piece": lambda blocks: [
        *blocks[:3],
        blocks[7],
        *blocks[4:7],
        blocks[3],
        *blocks[8:],
    ],
}


@pytest.mark.parametrize("change", CHANGES)
def test_where_no_token_fits_the_history_is_as_if_there_had_never_been_one(
    client_blocks: dict[str, Blocks], change: str
) -> None:
    for wire, blocks in client_blocks.items():
        changed = CHANGES[change](blocks)
        assert request(wire, changed) == request(wire, plain(changed))
        assert request(wire, changed)[1] == 0


def test_a_token_of_another_wire_is_left_out(client_blocks: dict[str, Blocks]) -> None:
    for wire, other in pairwise(client_blocks):
        assert request(other, client_blocks[wire]) == request(other, plain(client_blocks[wire]))


def test_tokens_that_are_too_large_together_are_left_out_and_the_newest_count(
    client_blocks: dict[str, Blocks], monkeypatch: pytest.MonkeyPatch
) -> None:
    for wire, blocks in client_blocks.items():
        sizes = [_size(str(block["data"])) for block in blocks if block["type"] == HIDDEN]
        monkeypatch.setattr(
            "toolwire.gateway.translation.restore_history.MAX_TOKEN_BYTES", sum(sizes)
        )
        assert rang(request(wire, blocks)[0], wire) == ["a", "b"]
        monkeypatch.setattr(
            "toolwire.gateway.translation.restore_history.MAX_TOKEN_BYTES", sum(sizes) - 1
        )
        assert rang(request(wire, blocks)[0], wire) == ["b"]
        monkeypatch.setattr(
            "toolwire.gateway.translation.restore_history.MAX_TOKEN_BYTES", sizes[-1] - 1
        )
        assert request(wire, blocks) == request(wire, plain(blocks))


def _size(token: str) -> int:
    raw = token.removeprefix(PREFIX)
    return len(zlib.decompress(base64.urlsafe_b64decode(raw + "=" * (-len(raw) % 4))))


@pytest.mark.parametrize(
    ("old", "new", "left"), [("One.", "First.", ["b"]), ("Two.", "Second.", ["a"])]
)
def test_a_piece_that_was_edited_counts_and_the_others_come_back(
    client_blocks: dict[str, Blocks], old: str, new: str, left: list[str]
) -> None:
    for wire, blocks in client_blocks.items():
        body, used = request(wire, change_blocks(blocks, old, new))
        assert used == 1 and rang(body, wire) == left
        assert new in json.dumps(body) and old not in json.dumps(history_of(body, wire)[1:])
        assert "Both rang." in json.dumps(history_of(body, wire)[1:])


def test_a_response_that_broke_off_after_a_tool_ran_is_restored_up_to_there(
    client_blocks: dict[str, Blocks],
) -> None:
    for wire, blocks in client_blocks.items():
        body, used = request(wire, blocks[:4])
        assert used == 1 and rang(body, wire) == ["a"]
        assert [one.role for one in decode(body, wire).messages if one.role == "assistant"] == [
            "assistant"
        ]


def test_a_token_of_the_whole_message_covers_the_remaining_parts(
    client_blocks: dict[str, Blocks],
) -> None:
    blocks = client_blocks["openai-chat"]
    held, _ = decode_token(str(blocks[7]["data"]), MAX_TOKEN_BYTES)
    assert held is not None and held.covers_preceding and held.wire == "openai-chat"
    rest = [*blocks[4:7], blocks[8]]
    shown = digest_messages(
        decode({**MESSAGE, "content": [*rest]}, "anthropic", "response").messages
    )
    whole: Object = {"type": HIDDEN, "data": encode_token(held.wire, held.messages, shown)}
    body, used = request("openai-chat", [*blocks[:4], *rest[:-1], whole, rest[-1]])
    assert used == 2 and rang(body, "openai-chat") == ["a", "b"]
    assert "Both rang." not in json.dumps(history_of(body, "openai-chat")[1:]), (
        "the token is all that there was"
    )


def test_many_tokens_that_unfold_to_too_much_take_no_longer_than_one() -> None:
    for size in (MAX_TOKEN_BYTES - 1000, 4 * MAX_TOKEN_BYTES):
        held = b'{"wire":"anthropic","digest":"","body":"' + b"a" * size
        for torn in (zlib.compress(held, 9), zlib.compress(held, 9)[:-9] + b"garbage!!"):
            block: Object = {
                "type": HIDDEN,
                "data": PREFIX + base64.urlsafe_b64encode(torn).decode().rstrip("="),
            }
            start = process_time()
            request("anthropic", *[[block] * 2] * 100)
            assert process_time() - start < 2
