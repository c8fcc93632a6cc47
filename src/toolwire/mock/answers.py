"""A response of the offline model as a body or a stream, with ids, usage and signatures as its
provider makes them.

The wire's own writer writes the stream. This module knows only the format of each provider's
response ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from toolwire.codec import encode
from toolwire.conversation.id_map import NO_MAP
from toolwire.conversation.json import JSON, Object, dump
from toolwire.conversation.model import Conversation, Setting, Usage
from toolwire.conversation.parts import Call, Message, Reasoning, Text
from toolwire.lint.facts import Facts
from toolwire.lint.reasoning import is_reasoning_model, thinking_switch
from toolwire.mock.demo_ids import token
from toolwire.profiles.table import Profile
from toolwire.streaming.accumulate import conversation_events
from toolwire.streaming.events import (
    Chunk,
    Finish,
    MessageStart,
    Metadata,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
)
from toolwire.streaming.stream_input import resolve_stream
from toolwire.wires.engine.encode_context import EncodeContext, RequestInfo

CREATED = 1_760_000_000
"""The creation time of every response: a mock has no clock."""
SECONDS = 0.25
"""The duration of every response."""
_NAMES = {
    "openai-chat": "chatcmpl-",
    "openai-responses": "resp_",
    "azure-foundry": "resp_",
    "anthropic": "msg_01",
    "mistral": "",
    "gemini": "",
    "gemini-interactions": "v1_",
    "cohere": "",
    "text": "chatcmpl-",
}
_UNSUPPORTED_SETTINGS = {
    "anthropic": ("created",),
    "gemini": ("created",),
    "bedrock": ("id", "model", "created"),
    "cohere": ("model", "created"),
    "ollama": ("id",),
}
"""Settings for which a wire has no field."""
_EFFORT_WIRES = ("openai-responses", "azure-foundry", "gemini-interactions")
"""Wires on which a reasoning effort switches reasoning on."""
PIECES = 4
"""The number of pieces of a text or of arguments in a stream, if they are long enough."""


def wants_reasoning(view: Facts) -> bool:
    """True if the response contains reasoning: the request asks for it, or it is a reasoning
    model."""
    if view.profile.wire in _EFFORT_WIRES:
        return view.conversation.settings.get("effort") not in (None, "none")
    return thinking_switch(view) in ("enabled", "adaptive") or (
        is_reasoning_model(view) and view.profile.reasoning_to_return == "reasoning_content"
    )


HIDES_REASONING = frozenset({"openai-chat", "openai-chat-legacy", "azure-openai"})
"""Profiles whose responses never contain reasoning: OpenAI's chat API has no field for it, and
refuses one that is sent back."""


def with_shown_reasoning(message: Message, view: Facts) -> Message:
    """The message with the reasoning that the provider shows."""
    if view.profile.name in HIDES_REASONING:
        shown = tuple(part for part in message.parts if not isinstance(part, Reasoning))
        return replace(message, parts=shown)
    return with_reasoning(message) if wants_reasoning(view) else message


def with_reasoning(message: Message) -> Message:
    """The message with reasoning as its first part, unless it has some."""
    if any(isinstance(part, Reasoning) for part in message.parts):
        return message
    calls = [part.name for part in message.parts if isinstance(part, Call)]
    words = (
        f"The question asks for {', '.join(calls)}."
        if calls
        else "Everything that was asked for is here."
    )
    return replace(message, parts=(Reasoning(words), *message.parts))


class MockAnswer:
    """A response: a body, or a stream of events."""

    def __init__(
        self,
        message: Message,
        profile: Profile,
        request: Object,
        *,
        seed: str,
        model: str,
        usage: bool = True,
    ) -> None:
        self.message, self.profile, self.request = message, profile, request
        self._seed = seed
        self._info = RequestInfo(
            {"store": True, **request, "model": model},
            created=CREATED,
            id=seed,
            elapsed=lambda: SECONDS,
        )
        wire = profile.wire
        settings: dict[str, Setting] = {
            "id": _NAMES.get(wire, "") + token(22 if wire == "anthropic" else 24, seed),
            "model": model,
            "created": CREATED,
            "usage": Usage(_tokens(len(dump(request))), _tokens(_length(message))),
        }
        unsupported = (*_UNSUPPORTED_SETTINGS.get(wire, ()), *(() if usage else ("usage",)))
        self.settings = {key: value for key, value in settings.items() if key not in unsupported}
        self._signs = (
            bool(profile.reasoning_models)
            and profile.wire == "gemini"
            and re.search(profile.reasoning_models, model) is not None
        )

    @property
    def conversation(self) -> Conversation:
        """The response as a conversation of one message."""
        return Conversation((self.message,), (), self.settings, "", "response")

    def body(self) -> Object:
        """The whole body."""
        written = encode(self.conversation, self.profile.wire, "response", request=self._info).body
        assert isinstance(written, dict)
        return self._with_signature(written)

    def events(self, *, cut: bool = False) -> Iterator[Chunk]:
        """The events of the stream; a stream that is cut off ends in the middle of its last
        part."""
        _, how = resolve_stream(self.profile.wire)
        writer = how.writer(
            EncodeContext(
                self.profile.wire,
                "response",
                ids=None,
                names={},
                reverse_map=NO_MAP,
                request=self._info,
            ),
            None,
        )
        moves: dict[type, Callable[..., list[Chunk]]] = {
            MessageStart: writer.begin,
            PartStart: writer.start,
            PartDelta: writer.delta,
            PartEnd: writer.end,
            PartComplete: writer.complete,
            Metadata: writer.metadata,
            Finish: writer.finish,
        }
        last = max(
            (
                event.slot
                for event in conversation_events(self.conversation)
                if isinstance(event, PartStart)
            ),
            default=-1,
        )
        signatures = _SignatureRule(self)
        for event in conversation_events(self.conversation):
            if not isinstance(event, PartDelta):
                for chunk in moves[type(event)](event):
                    yield from signatures.chunk(chunk)
                continue
            pieces = _pieces(event.text)
            halved = cut and event.slot == last
            for piece in pieces[: max(1, len(pieces) // 2)] if halved else pieces:
                for chunk in writer.delta(PartDelta(event.slot, piece)):
                    yield from signatures.chunk(chunk)
            if halved:
                return
        for chunk in writer.close():
            yield from signatures.chunk(chunk)

    # --- signatures and encrypted reasoning ---

    def _with_signature(self, body: Object) -> Object:
        return next(iter(_SignatureRule(self).chunk(body)))

    @property
    def signature(self) -> str:
        """A signature of the response."""
        return f"ErUB{token(40, self._seed, 'signature')}"

    @property
    def signs(self) -> bool:
        """True if the first call has a signature."""
        return self._signs

    @property
    def encrypts_reasoning(self) -> bool:
        """True if the request asks for encrypted reasoning."""
        include = self.request.get("include")
        return isinstance(include, list) and "reasoning.encrypted_content" in include


class _SignatureRule:
    """Adds signatures to the chunks of a stream."""

    def __init__(self, answer: MockAnswer) -> None:
        self._answer = answer
        self._wire = answer.profile.wire
        self._signed = not answer.signs
        self._open: JSON = None

    def chunk(self, chunk: Chunk) -> Iterator[Chunk]:
        """The signed chunk, and the chunks that have to follow it."""
        if self._wire == "anthropic":
            yield from self._block(chunk)
            return
        if self._wire == "gemini" and not self._signed:
            self._part(chunk)
        if self._wire in ("openai-responses", "azure-foundry") and self._answer.encrypts_reasoning:
            self._encrypt_reasoning(chunk)
        yield chunk

    def _block(self, chunk: Chunk) -> Iterator[Chunk]:
        block, index = chunk.get("content_block"), chunk.get("index")
        if isinstance(block, dict) and block.get("type") == "thinking":
            self._open = index
        elif (
            chunk.get("type") == "content_block_stop"
            and self._open is not None
            and self._open == index
        ):
            self._open = None
            delta: Object = {"type": "signature_delta", "signature": self._answer.signature}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        content = chunk.get("content")
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and block.get("type") == "thinking":
                block["signature"] = self._answer.signature
        yield chunk

    def _part(self, chunk: Chunk) -> None:
        candidates = chunk.get("candidates")
        for candidate in candidates if isinstance(candidates, list) else []:
            content = candidate.get("content") if isinstance(candidate, dict) else None
            parts = content.get("parts") if isinstance(content, dict) else None
            for part in parts if isinstance(parts, list) else []:
                if isinstance(part, dict) and "functionCall" in part and not self._signed:
                    part["thoughtSignature"] = self._answer.signature
                    self._signed = True

    def _encrypt_reasoning(self, value: JSON) -> None:
        if isinstance(value, dict):
            if value.get("type") == "reasoning" and "summary" in value:
                value["encrypted_content"] = f"gAAAA{token(40, self._answer.signature)}"
            for element in value.values():
                self._encrypt_reasoning(element)
        elif isinstance(value, list):
            for element in value:
                self._encrypt_reasoning(element)


def _pieces(text: str) -> list[str]:
    size = max(1, -(-len(text) // PIECES))
    return [text[n : n + size] for n in range(0, len(text), size)]


def _tokens(characters: int) -> int:
    return max(1, characters // 4)


def _length(message: Message) -> int:
    return sum(
        len(part.args.text) if isinstance(part, Call) else len(part.text)
        for part in message.parts
        if isinstance(part, Call | Text | Reasoning)
    )
