"""Signed reasoning travels between the platforms that serve the models of its maker."""

from __future__ import annotations

import pytest
from signatures import signature_of

from toolwire import decode, fold, restream, translate
from toolwire.conversation.json import JSON, Object, parse, text_of
from toolwire.conversation.model import REASONING_LOST, SIGNATURE_LOST, Kind
from toolwire.conversation.parts import Reasoning
from toolwire.lint.reasoning import signed_model
from toolwire.profiles.table import profile

ANTHROPIC: JSON = {
    "model": "claude-opus-5",
    "max_tokens": 4000,
    "messages": [
        {"role": "user", "content": "Warm in Oslo?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "I should look.", "signature": "EqQBCgIYAg=="},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "no"}],
        },
    ],
    "tools": [{"name": "weather", "input_schema": {"type": "object"}}],
}


def reasoning(body: JSON, wire: str) -> list[tuple[str, str | None]]:
    parts = decode(body, wire).parts()
    return [(part.text, part.signature) for part in parts if isinstance(part, Reasoning)]


def test_signed_thinking_goes_to_bedrock_and_back() -> None:
    there = translate(ANTHROPIC, "anthropic", "bedrock")
    signed = [("I should look.", "EqQBCgIYAg==")]
    assert reasoning(there.body, "bedrock") == signed
    assert not any("signature" in loss.reason for loss in there.losses)
    home = translate(there.body, "bedrock", "anthropic", ids=there.ids)
    assert reasoning(home.body, "anthropic") == signed


def test_thinking_without_a_signature_does_not_travel() -> None:
    body = parse(text_of(ANTHROPIC).replace("EqQBCgIYAg==", ""))
    encoded = translate(body, "anthropic", "bedrock", repair=False)
    assert reasoning(encoded.body, "bedrock") == []
    assert any(loss.pointer == "/messages/1/content/0" for loss in encoded.losses)


def test_reasoning_of_another_maker_does_not_travel() -> None:
    part: JSON = {"text": "hm", "thought": True, "thoughtSignature": "EqQBCgIYAg=="}
    call: JSON = {"functionCall": {"name": "weather", "args": {}}}
    body: JSON = {
        "contents": [
            {"role": "user", "parts": [{"text": "Warm?"}]},
            {"role": "model", "parts": [part, call]},
        ]
    }
    for target in ("anthropic", "bedrock"):
        assert reasoning(translate(body, "gemini", target).body, target) == []


# --- answers and streams --------------------------------------------------------------------------


def _anthropic_block(index: int, block: Object, *deltas: Object) -> list[Object]:
    out: list[Object] = [{"type": "content_block_start", "index": index, "content_block": block}]
    for delta in deltas:
        out.append({"type": "content_block_delta", "index": index, "delta": delta})
    return [*out, {"type": "content_block_stop", "index": index}]


def _bedrock_block(index: int, *deltas: Object) -> list[Object]:
    out: list[Object] = []
    for delta in deltas:
        out.append({"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}})
    return [*out, {"contentBlockStop": {"contentBlockIndex": index}}]


SIGNATURE, HIDDEN = "EqQBCgIYAg==", "EmwKAhgBEgy3va3pzix="
ANSWERS: dict[str, Object] = {
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [
            {"type": "thinking", "thinking": "I should look.", "signature": SIGNATURE},
            {"type": "redacted_thinking", "data": HIDDEN},
            {"type": "thinking", "thinking": "", "signature": SIGNATURE},
            {"type": "text", "text": "No."},
        ],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "bedrock": {
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {
                        "reasoningContent": {
                            "reasoningText": {"text": "I should look.", "signature": SIGNATURE}
                        }
                    },
                    {"reasoningContent": {"redactedContent": HIDDEN}},
                    {"reasoningContent": {"reasoningText": {"text": "", "signature": SIGNATURE}}},
                    {"text": "No."},
                ],
            }
        },
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    },
}
EVENTS: dict[str, list[Object]] = {
    "anthropic": [
        {"type": "message_start", "message": {**ANSWERS["anthropic"], "content": []}},
        *_anthropic_block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "I should look."},
            {"type": "signature_delta", "signature": SIGNATURE},
        ),
        *_anthropic_block(1, {"type": "redacted_thinking", "data": HIDDEN}),
        *_anthropic_block(
            2,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "signature_delta", "signature": SIGNATURE},
        ),
        *_anthropic_block(3, {"type": "text", "text": ""}, {"type": "text_delta", "text": "No."}),
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}},
        {"type": "message_stop"},
    ],
    "bedrock": [
        {"messageStart": {"role": "assistant"}},
        *_bedrock_block(
            0,
            {"reasoningContent": {"text": "I should look."}},
            {"reasoningContent": {"signature": SIGNATURE}},
        ),
        *_bedrock_block(1, {"reasoningContent": {"redactedContent": HIDDEN}}),
        *_bedrock_block(
            2, {"reasoningContent": {"text": ""}}, {"reasoningContent": {"signature": SIGNATURE}}
        ),
        *_bedrock_block(3, {"text": "No."}),
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}}},
    ],
}
SIGNED = [("I should look.", SIGNATURE, None), ("", None, HIDDEN), ("", SIGNATURE, None)]


def all_reasoning(body: JSON, wire: str, kind: Kind) -> list[tuple[str, str | None, str | None]]:
    parts = decode(body, wire, kind).parts()
    return [(p.text, p.signature, p.hidden) for p in parts if isinstance(p, Reasoning)]


@pytest.mark.parametrize("source, target", [("anthropic", "bedrock"), ("bedrock", "anthropic")])
def test_signed_and_encrypted_reasoning_of_an_answer_travels(source: str, target: str) -> None:
    encoded = translate(ANSWERS[source], source, target, "response")
    assert all_reasoning(encoded.body, target, "response") == SIGNED
    assert not [loss for loss in encoded.losses if loss.reason in (SIGNATURE_LOST, REASONING_LOST)]


@pytest.mark.parametrize("source, target", [("anthropic", "bedrock"), ("bedrock", "anthropic")])
def test_signed_and_encrypted_reasoning_of_a_stream_travels(source: str, target: str) -> None:
    events = EVENTS[source]
    stream = restream(iter(events), source, target, framed=False)
    body = fold(list(stream), target)
    assert all_reasoning(body, target, "response") == SIGNED
    assert not [loss for loss in stream.losses if loss.reason in (SIGNATURE_LOST, REASONING_LOST)]


def test_encrypted_reasoning_of_a_request_travels() -> None:
    body = parse(
        text_of(ANTHROPIC).replace(
            '{"type":"thinking","thinking":"I should look.","signature":"EqQBCgIYAg=="}',
            f'{{"type":"redacted_thinking","data":"{HIDDEN}"}}',
        )
    )
    there = translate(body, "anthropic", "bedrock")
    assert all_reasoning(there.body, "bedrock", "request") == [("", None, HIDDEN)]
    home = translate(there.body, "bedrock", "anthropic", ids=there.ids)
    assert all_reasoning(home.body, "anthropic", "request") == [("", None, HIDDEN)]


# --- the model that signed ------------------------------------------------------------------------


def request_signed_by(signer: str, model: str) -> JSON:
    """A tool loop whose thinking one model signed, in a request for another."""
    text = text_of(ANTHROPIC).replace(SIGNATURE, signature_of(signer))
    return parse(text.replace('"claude-opus-5"', f'"{model}"'))


MODELS = [
    ("claude-opus-4-8", "claude-opus-4-8", True),
    ("claude-sonnet-4-5-20250929", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
    ("claude-opus-4-8", "claude-sonnet-4-6", False),
    ("claude-fable-5-1", "claude-opus-5", False),
    ("claude-opus-5", "claude-fable-5-1", True),
    ("claude-opus-5", "claude-opus-5-5-20261001", True),
]


@pytest.mark.parametrize("target", ["anthropic", "vertex-anthropic", "bedrock"])
@pytest.mark.parametrize("signer, model, kept", MODELS)
def test_thinking_goes_to_the_models_that_accept_its_signature(
    signer: str, model: str, target: str, kept: bool
) -> None:
    encoded = translate(request_signed_by(signer, model), "anthropic", target)
    found = reasoning(encoded.body, "bedrock" if target == "bedrock" else "anthropic")
    assert [text for text, _ in found] == (["I should look."] if kept else [])
    names = [change.name for change in encoded.changes]
    assert names == ([] if kept else ["signature-of-other-model"])
    assert b"I should look." in encoded.json()


@pytest.mark.parametrize("signature", ["", "abc", "EqQB", "gAAAAABo", "é" * 50, "=" * 100])
def test_a_text_that_is_no_signature_names_no_model(signature: str) -> None:
    assert signed_model(signature, profile("anthropic").signing_models) == ""
