"""One exchange through the gateway: a client's request for a model of another wire, and the model's
answer for the client.

On the same wire bytes pass untouched, unless the history would be refused. Otherwise the history is
translated and mended for the model, and the answer comes back under the client's ids and names;
what the client's wire cannot hold goes along in a parcel. The same request gives the same bytes in
every process. Opens no connection; knows wires only through their tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Raw, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from toolwire.codec import decode, encode, resolve
from toolwire.conversation.json import JSON, Object, dump, load, parse, put
from toolwire.conversation.model import Conversation, Loss, Setting, Tool, Usage
from toolwire.conversation.parts import Message
from toolwire.errors import DecodeError, UsageError
from toolwire.gateway.client_apis import ClientApi, foreign, may_be_foreign, may_hold, taken
from toolwire.gateway.continuation_tokens import packed, restored, seen, wanted
from toolwire.gateway.stream_relay import RelayStream
from toolwire.gateway.upstream_request import UpstreamRequest, called, customised, unsealed
from toolwire.lint import repair
from toolwire.profiles.table import Profile
from toolwire.translate import translate_conversation

__all__ = ["RelayStream", "Translator", "UpstreamRequest", "parsed"]
_MODEL = re.compile(rb'("model"\s*:\s*)"((?:[^"\\]|\\.)*)"')
_GIVES: dict[str, Object] = {
    "reasoning": {"include": ["reasoning.encrypted_content"], "store": False}
}
"""What a model that wants its thoughts back must be asked for, to give them in a form that can go
back: by what it wants."""
_THINKS = re.compile(r"(?:.*/)?(?:o\d|codex|gpt-[5-9](?!.*chat))")
"""Names of models that think without being asked to. Others refuse to be asked for it."""


class _RequestHead(Struct):
    model: Raw = Raw(b"null")
    stream: Raw = Raw(b"null")


_head = Decoder(_RequestHead).decode


def parsed(raw: bytes, wire: str) -> Object:
    """What of a request says where it goes: `model` and `stream`. The rest is not looked at.

    Raises DecodeError if it is no JSON object.
    """
    try:
        head = _head(raw)
        return {"model": parse(bytes(head.model)), "stream": parse(bytes(head.stream))}
    except (ValueError, RecursionError):
        value, _ = load(raw, wire)  # it says why, and takes what is only oddly spelled
    if not isinstance(value, dict):
        raise DecodeError("a request is a JSON object", wire=wire)
    return value


class Translator:
    """The way from one front to one model and back. Has no state of its own: any number of
    exchanges may use it."""

    __slots__ = ("_thinker", "front", "model", "rules", "same", "settings", "target", "wire")

    def __init__(
        self,
        front: ClientApi,
        target: str,
        *,
        model: str,
        settings: dict[str, Setting] | None = None,
    ) -> None:
        spoken, rules = resolve(target)
        self.front = front
        self.target = target
        self.wire = spoken.name
        self.model = model
        self.rules: Profile = rules
        self.settings = settings or {}
        self.same = front.wire == spoken.name
        self._thinker = (
            bool(rules.reasoning_models) and re.search(rules.reasoning_models, model) is not None
        )
        """Whether it is one of those that must get back what they thought."""

    # --- there ---

    def request(self, raw: bytes, *, tools: Sequence[Tool] = ()) -> UpstreamRequest:
        """What the model is asked. `tools` are offered beside those of the client.

        Raises DecodeError if the body is not one of the client's wire, UsageError if only its
        provider could answer it.
        """
        if (
            self.same
            and not tools
            and not self.settings
            and not may_hold(raw)
            and not (self.front.signs and may_be_foreign(raw))
        ):
            return self._untouched(raw)
        return self._translated(raw, tools)

    def _translated(self, raw: bytes, tools: Sequence[Tool] = ()) -> UpstreamRequest:
        read, used = self.opened(raw)
        return self.sent(
            replace(read, tools=(*read.tools, *tools)) if tools else read,
            read,
            used,
            plain=not tools,
        )

    def opened(self, raw: bytes) -> tuple[Conversation, int]:
        """A request as it is read, with the turns that its parcels hold; and how many they are.
        Raises as `request` does."""
        read = decode(raw, self.front.wire)
        asked = read.source.body
        if not isinstance(asked, dict):
            raise DecodeError("a request is a JSON object", wire=self.front.wire)
        why = None if self.same else self.front.needs(asked)
        if why is not None:
            raise UsageError(
                f"this model is not served by that provider: {why}", wire=self.front.wire
            )
        if self.same and self.front.signs:
            read = replace(read, messages=tuple(map(foreign, read.messages)))
        messages, used = self._restored(read) if may_hold(raw) else (read.messages, 0)
        settings = {**read.settings, **self.settings}
        if "model" in settings or not self.same or self._thinker:
            settings["model"] = self.model
        return replace(read, messages=messages, settings=settings), used

    def sent(
        self, asks: Conversation, read: Conversation, used: int = 0, *, plain: bool = False
    ) -> UpstreamRequest:
        """What the model is asked with a conversation that goes on from one that was opened.
        `plain`: it is just that one."""
        made = translate_conversation(asks, self.target)
        asked = read.source.body
        if not isinstance(made.body, dict) or not isinstance(asked, dict):
            raise DecodeError("a request is a JSON object", wire=self.front.wire)
        body = (
            self._nameless(made.body, asked)
            if self.same
            else {**made.body, **self._gives(made.body)}
        )
        customs = (
            frozenset()
            if self.same
            else frozenset(tool.name for tool in read.tools if tool.kind == "custom")
        )
        same = self.same and plain and not made.ids.names
        return UpstreamRequest(
            body,
            None,
            made.ids,
            same,
            tuple(made.changes),
            tuple(made.losses),
            used,
            asked,
            customs,
        )

    def _nameless(self, body: Object, asked: Object) -> Object:
        """A body without the name of the model, if the client's had none: then it stands in the
        path."""
        return (
            body
            if "model" in asked or "model" not in body
            else {key: body[key] for key in body if key != "model"}
        )

    def _gives(self, body: Object) -> Object:
        """Further fields of a request to a model that will think."""
        gives = _GIVES.get(self.rules.reasoning_to_return)
        return (
            gives
            if gives is not None and ("reasoning" in body or _THINKS.match(self.model))
            else {}
        )

    def _untouched(self, raw: bytes) -> UpstreamRequest:
        mended = repair(raw, self.wire, target=self.target)
        body = asked = mended.body
        assert isinstance(body, dict) and isinstance(asked, dict)
        if (
            self._thinker and body.get("model") != self.model
        ):  # what it wants back depends on which model it is
            came, _ = load(raw, self.wire)
            assert isinstance(came, dict)
            again = repair(put(came, ("model",), self.model), self.wire, target=self.target)
            if again.changes and isinstance(again.body, dict):
                mended, body = again, self._nameless(again.body, came)
            asked = came
        if mended.changes:
            named = {**body, "model": self.model} if "model" in body else body
            return UpstreamRequest(
                named, None, mended.ids, not mended.ids.names, tuple(mended.changes), asked=asked
            )
        if "model" not in body:
            return UpstreamRequest(body, raw, same=True, asked=body)
        named = body if body["model"] == self.model else {**body, "model": self.model}
        spelled = _MODEL.findall(raw)
        if (
            len(spelled) != 1
        ):  # it may be said twice, and servers differ in which of the two they take
            return UpstreamRequest(named, None, same=True, asked=body)
        if named is body:
            return UpstreamRequest(body, raw, same=True, asked=body)
        changed = _MODEL.sub(lambda found: found[1] + dump(self.model), raw)
        if (
            parsed(changed, self.wire).get("model") != self.model
        ):  # that was another field of this name, further in
            return UpstreamRequest(named, None, same=True, asked=body)
        return UpstreamRequest(named, changed, same=True, asked=body)

    def _restored(self, read: Conversation) -> tuple[tuple[Message, ...], int]:
        """The messages without parcels, and with what was in them where this model wants it."""
        messages: list[Message] = []
        parcels: dict[int, list[tuple[int, str]]] = {}
        for n, message in enumerate(read.messages):
            plain, found = taken(message) if message.role == "assistant" else (message, [])
            messages.append(plain)
            if found:
                parcels[n] = found
        if not parcels:
            return read.messages, 0
        return restored(messages, parcels, self.wire)

    # --- and back ---

    def answer(
        self, data: bytes, sent: UpstreamRequest
    ) -> tuple[bytes, tuple[Loss, ...], Usage | None]:
        """The model's answer for the client, what was lost, and what it used up.

        Raises DecodeError if it is none of the model's wire.
        """
        if sent.same:
            return self.renamed(data, sent)[0], (), None
        read = decode(data, self.wire, "response")
        if not read.messages:
            raise DecodeError("an answer without a message", wire=self.wire)
        usage = read.settings.get("usage")
        made = encode(self.shown(read, sent), self.front.wire, "response", ids=sent.ids)
        body, losses = made.body, tuple(made.losses)
        turn = (read.messages[0],)
        if isinstance(body, dict) and self.keeps(turn):
            copied = parse(dump(body))
            assert isinstance(copied, dict)
            self.front.put(copied, packed(self.wire, turn, self._seen(body)))
            body, losses = copied, unsealed(losses)
        return dump(body), losses, usage if isinstance(usage, Usage) else None

    def renamed(self, data: bytes, sent: UpstreamRequest) -> tuple[bytes, bool]:
        """Bytes that pass untouched but for the name of the model, where clients look for theirs;
        and whether that is done."""
        name = sent.asked.get("model")
        if not self.front.signs or not isinstance(name, str) or name == self.model:
            return data, True
        changed, many = _MODEL.subn(lambda found: found[1] + dump(name), data, count=1)
        return changed, many > 0

    def shown(self, read: Conversation, sent: UpstreamRequest) -> Conversation:
        """An answer as the client's own tools have it: a call of one that takes a text is one with
        a text."""
        messages = read.messages
        if sent.customs:
            messages = tuple(
                [
                    replace(one, parts=tuple([customised(part, sent) for part in one.parts]))
                    for one in messages
                ]
            )
        settings = called(read.settings, sent) if self.front.signs else read.settings
        if messages is read.messages and settings is read.settings:
            return read
        return replace(read, messages=messages, settings=settings)

    def keeps(self, turn: Sequence[Message]) -> bool:
        """Whether a turn has to come back as it was, and the client's wire could not."""
        return not self.same and wanted(turn, thoughts=bool(self.rules.reasoning_to_return))

    def parcel(self, turn: Sequence[Message], sent: UpstreamRequest) -> str:
        """The parcel of a turn that was streamed: what the client has put together is what it would
        have got as a whole."""
        read = self.shown(Conversation(tuple(turn), (), {}, self.wire, "response"), sent)
        return packed(
            self.wire,
            turn,
            self._seen(encode(read, self.front.wire, "response", ids=sent.ids).body),
        )

    def _seen(self, body: JSON) -> str:
        return seen(
            [
                one
                for one in decode(body, self.front.wire, "response").messages
                if one.role == "assistant"
            ]
        )

    @property
    def media(self) -> str:
        """What the model's server calls its streams."""
        spoken = resolve(self.target)[0].stream
        return spoken.media if spoken is not None else ""

    def stream(self, sent: UpstreamRequest, *, array: bool = False) -> RelayStream:
        """The model's stream on its way to the client; as one JSON array if that is how
        it is read.
        """
        return RelayStream(self, sent, array=array)
