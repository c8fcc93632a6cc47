"""Messages of one wire that an edit gave parts or messages of another: they leave in one format."""

from __future__ import annotations

import json

import pytest
from cases import WIRES
from msgspec.structs import replace

from toolwire import Conversation, Media, Message, Part, Text, decode, encode
from toolwire.conversation.json import JSON, get

MIXED = [
    wire for wire in ("anthropic", "bedrock", "gemini", "adk", "genkit", "meai") if wire in WIRES
]
APART = [wire for wire in ("anthropic", "bedrock", "gemini") if wire in WIRES]
"""Wires whose system prompt stands apart from the messages."""
IMAGE: JSON = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
CHAT = decode({"messages": [{"role": "user", "content": [IMAGE]}]}, "openai-chat")


def decode_case(wire: str, *messages: Message) -> Conversation:
    """A conversation that was read from a wire."""
    return decode(encode(Conversation(messages), wire).json(), wire)


def with_part(conversation: Conversation, index: int, part: Part) -> Conversation:
    messages = list(conversation.messages)
    messages[index] = replace(messages[index], parts=(*messages[index].parts, part))
    return replace(conversation, messages=tuple(messages))


@pytest.mark.parametrize("wire", MIXED)
def test_a_part_of_another_wire_is_written_in_the_format_of_this_one(wire: str) -> None:
    (image,) = CHAT.parts()
    encoded = encode(with_part(decode_case(wire, Message("user", "Look.")), 0, image), wire)
    assert "image_url" not in json.dumps(encoded.body)
    assert encoded.losses == []
    assert list(decode(encoded.body, wire).parts()) == [
        Text("Look."),
        Media("image", "image/png", data="aGk="),
    ]


@pytest.mark.parametrize("wire", MIXED)
def test_fields_that_a_part_of_another_wire_cannot_keep_are_reported(wire: str) -> None:
    block: JSON = {"type": "text", "text": "Oh.", "mood": "calm"}
    text = next(decode({"messages": [{"role": "user", "content": [block]}]}, "openai-chat").parts())
    encoded = encode(with_part(decode_case(wire, Message("user", "Look.")), 0, text), wire)
    assert [loss.pointer for loss in encoded.losses] == ["/messages/0/content/0/mood"]


def test_a_part_added_to_a_message_of_plain_text_makes_it_a_list_of_blocks() -> None:
    body: JSON = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi."}]}
    edited = with_part(decode(body, "anthropic"), 0, Text("Hello?"))
    content = get(encode(edited, "anthropic").body, ("messages", 0, "content"))
    assert content == [{"type": "text", "text": "Hi."}, {"type": "text", "text": "Hello?"}]


@pytest.mark.parametrize("wire", APART)
@pytest.mark.parametrize("first", [True, False])
def test_a_second_system_message_joins_the_system_prompt(wire: str, first: bool) -> None:
    native = decode_case(wire, Message("system", "Be brief."), Message("user", "Hi."))
    added = Message("system", "Be kind.")
    prompt, user = native.messages
    messages = (added, prompt, user) if first else (prompt, added, user)
    encoded = encode(replace(native, messages=messages), wire)
    conversation = decode(encoded.body, wire)
    texts = ["Be kind.", "Be brief."] if first else ["Be brief.", "Be kind."]
    assert [part.text for part in conversation.messages[0].parts if isinstance(part, Text)] == texts
    assert [message.role for message in conversation.messages] == ["system", "user"]
    assert encoded.losses == []


@pytest.mark.parametrize("wire", APART)
def test_a_system_prompt_that_was_deleted_is_not_sent(wire: str) -> None:
    native = decode_case(wire, Message("system", "Be brief."), Message("user", "Hi."))
    encoded = encode(replace(native, messages=native.messages[1:]), wire)
    assert [message.role for message in decode(encoded.body, wire).messages] == ["user"]


def test_an_edited_system_message_in_mid_conversation_keeps_its_role() -> None:
    messages: JSON = [
        {"role": "user", "content": "Hi."},
        {"role": "system", "content": "In German."},
        {"role": "user", "content": "Hello."},
    ]
    conversation = decode({"max_tokens": 9, "messages": messages}, "anthropic")
    encoded = encode(with_part(conversation, 1, Text("And short.")), "anthropic")
    assert get(encoded.body, ("messages", 1, "role")) == "system"
    assert encoded.losses == []


def test_an_answer_without_one_of_its_parts_keeps_the_others_verbatim() -> None:
    call: JSON = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}
    parts: JSON = [{"text": "Let me look."}, call]
    body: JSON = {"candidates": [{"content": {"role": "model", "parts": parts}}]}
    conversation = decode(body, "gemini", "response")
    (answer,) = conversation.messages
    edited = replace(conversation, messages=(replace(answer, parts=answer.parts[1:]),))
    written_body = encode(edited, "gemini", "response").body
    assert get(written_body, ("candidates", 0, "content", "parts")) == [call]
