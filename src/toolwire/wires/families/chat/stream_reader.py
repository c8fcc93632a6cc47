"""The chat shape in chunks: reading them. A delta of each field of the message, calls in pieces
under an index.

Several wires speak it with different tables. When the calls are over is known only at the end of
the stream: pieces may come in any order, and some servers go on after they gave the reason. Knows
no wire by name; a `Chat` and a `Speech` hold its tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Source, Text
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    Metadata,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
    Unsupported,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import SettingSpec, read_settings
from toolwire.wires.engine.specs import read_block
from toolwire.wires.engine.stream import STREAM_CUT, StreamReader, copy_json, merge
from toolwire.wires.families.chat.choice import Candidate
from toolwire.wires.families.chat.merge import TEXTS
from toolwire.wires.families.chat.messages import DECLINED, PLAIN, THOUGHT, Chat
from toolwire.wires.families.chat.tool_call_deltas import Calls, Growing, number_of, word_of

_DELTA = frozenset({"role", "content", "refusal", "tool_calls", "function_call"})
_ENTRY = frozenset({"index", "id", "type", "function", "custom"})
_INNER = frozenset({"name", "arguments", "input"})
_JOINTS = ("_", "-", ".", "/", ":")
"""A name that ends so is likely to go on."""


class Speech(Struct, frozen=True, eq=False):
    """What one wire of this shape says around its chunks, and how it says a piece of a part."""

    fields: tuple[SettingSpec, ...]
    means: Mapping[str, str]
    write: Callable[[Conversation, EncodeContext], JSON]
    thinks: Callable[[str], Object]
    """The delta for a piece of reasoning."""
    refuses: bool = True
    """Whether a refusal has a field of its own."""
    indexed: bool = False
    """Whether a whole message keeps the index of a call."""
    silent: JSON = ""
    """The content of a message that only calls."""
    whole: bool = False
    """Whether a call goes out only when it is whole: the types of some SDKs want its name in every
    piece."""


class ChatReader(StreamReader):
    """Reads chunks."""

    def __init__(self, chat: Chat, speech: Speech, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.wire = chat.name
        self.chat = chat
        self.speech = speech
        self.begun = False
        self.slots = 0
        self.choices: dict[int, Candidate] = {}
        self.waiting: list[tuple[Candidate, Growing]] = []
        """Calls that are not announced yet: the next chunk may bring their id, or the rest of their
        name."""
        self.top: Object = {}
        self.error: JSON = None
        self.left: set[str] = set()
        self.fields = frozenset({*_DELTA, *chat.thoughts})
        legacy = {"function_call"} if chat.legacy is not None else set()
        self.apart = frozenset(
            {"tool_calls", *legacy, *({chat.executed.name} if chat.executed is not None else ())}
        )
        """Fields that are not put together by joining their pieces."""

    # --- one chunk ---

    def read(self, event: Chunk) -> list[Event]:
        choices = event.get("choices")
        out: list[Event] = []
        plain = self.begun and not self.keep and not event.get("usage") and "error" not in event
        if plain and isinstance(choices, list) and len(choices) == 1 and not self.waiting:
            common = self._common(choices[0])
            if common is not None:
                return [common]
        if not self.begun or self.keep or event.get("usage") or "error" in event or not choices:
            out = self._around(event, choices)
            if self.error is not None:
                return out
        before = self.waiting
        if isinstance(choices, list):
            for place, choice in enumerate(choices):
                if isinstance(choice, dict):
                    out += self._choice(choice, place)
        if before:
            out += self._announce([one for one in before if one[1].slot < 0])
        return out

    def _common(self, choice: JSON) -> Event | None:
        """What nearly all chunks are: one piece of the arguments of one open call, or of the text,
        and nothing else."""
        if not isinstance(choice, dict) or choice.get("finish_reason") or choice.get("logprobs"):
            return None
        delta, index = choice.get("delta"), choice.get("index")
        one = self.choices.get(index) if isinstance(index, int) else None
        if one is None or not isinstance(delta, dict) or len(delta) != 1:
            return None
        text = delta.get("content")
        if text.__class__ is str:
            return PartDelta(one.slot, text) if text and one.speaking == "content" else None
        calls = delta.get("tool_calls")
        entry = calls[0] if isinstance(calls, list) and len(calls) == 1 else None
        function = entry.get("function") if isinstance(entry, dict) and len(entry) == 2 else None
        if not isinstance(entry, dict) or not isinstance(function, dict) or len(function) != 1:
            return None
        held, text = one.calls.label(entry.get("index")), function.get("arguments")
        if (
            held is None
            or held.slot < 0
            or text.__class__ is not str
            or not held.arguments.grow(text)
        ):
            return None
        held.chunk = self.count
        one.calls.last = held
        return PartDelta(held.slot, text)

    def _around(self, event: Chunk, choices: JSON) -> list[Event]:
        """Everything but the choices: the first thing that is said of each counts, the last of
        usage."""
        out: list[Event] = []
        for key, value in event.items():
            if key == "choices" or (key == "error" and value is None):
                continue
            if key == "usage":
                if value:
                    self.top[key] = value
                    out.append(
                        Metadata(
                            read_settings(self.speech.fields, {"usage": value}, frozenset()).values
                        )
                    )
            elif key not in self.top or (
                value and not self.top[key] and not (key == "id" and self.called)
            ):
                self.top[key] = (
                    value  # but an id that comes after calls were given theirs is too late
                )
            elif isinstance(value, dict) and isinstance(before := self.top[key], dict):
                self.top[key] = {**value, **before}
        if not self.begun and (choices or self.top.get("id")):
            self.begun = True
            self.seed = str(self.top.get("id") or "")
            known = read_settings(
                self.speech.fields,
                {k: v for k, v in self.top.items() if k != "usage"},
                frozenset({"object"}),
            )
            out.insert(0, MessageStart(known.values))
            out += [
                Unsupported((self.count, *path), "no such field on this wire")
                for path in known.unknown
            ]
        error = event.get("error")
        if error is not None:
            self.error = error
            said = error.get("message") if isinstance(error, dict) else error
            code = (error.get("type") or error.get("code")) if isinstance(error, dict) else None
            out += self._rest(cut=True)
            out.append(
                StreamError(
                    str(said or "the server reported an error"),
                    str(code) if code is not None else None,
                )
            )
        return out

    def _choice(self, choice: Object, place: int) -> list[Event]:
        index = choice.get("index")
        index = index if isinstance(index, int) else place
        one = self.choices.get(index)
        if one is None:
            one = self.choices[index] = Candidate(index)
        out: list[Event] = []
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get(
                "message"
            )  # some servers end with the whole message, or send nothing else
            if not isinstance(delta, dict) or one.said:
                delta = {}
        calls = delta.get("tool_calls")
        if calls and isinstance(calls, list):
            if len(delta) > 1:
                out += self._fields(one, delta, place)
            for entry in calls:
                if isinstance(entry, dict):
                    out += self._piece(one, entry)
        elif delta:
            out += self._fields(one, delta, place)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict) and self.chat.legacy is not None:
            out += self._legacy(one, legacy)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            one.reason = reason
        if self.keep:
            for key, value in choice.items():
                if key not in ("index", "delta", "message"):
                    one.frame[key] = (
                        merge(one.frame.get(key), value) if key != "finish_reason" else one.reason
                    )
        logs = choice.get("logprobs")
        return (
            out
            if logs is None
            else out + self._note("logprobs", (self.count, "choices", place, "logprobs"))
        )

    def _note(self, key: str, path: JsonPath) -> list[Event]:
        """Report a field that stays behind, once."""
        if key in self.left:
            return []
        self.left.add(key)
        return [Unsupported(path, "no such field on this wire")]

    # --- texts ---

    def _fields(self, one: Candidate, delta: Object, place: int) -> list[Event]:
        out: list[Event] = []
        for key in self.chat.thoughts:
            thought = delta.get(key)
            if thought and isinstance(thought, str):
                out += self._speak(one, "thought", thought)
                break
        content = delta.get("content")
        if content.__class__ is str:
            if self.keep:
                one.pieces.append(content)
            if content:
                out += self._speak(one, "content", content)
        elif isinstance(content, list):
            out += self._blocks(one, content, place)
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            out += self._speak(one, "refusal", refusal)
        if not self.fields.issuperset(delta):
            out += self._beyond(one, delta, place)
        if self.keep:
            for key, value in delta.items():
                if key == "role":
                    one.message[key] = one.message.get(key) or value
                elif key == "content":
                    one.message.setdefault(key, None)
                elif key not in self.apart:
                    one.message[key] = merge(one.message.get(key), value)
        return out

    def _beyond(self, one: Candidate, delta: Object, place: int) -> list[Event]:
        out: list[Event] = []
        for key, value in delta.items():
            if key in self.fields or value is None or value == []:
                continue
            if self.chat.executed is not None and key == self.chat.executed.name:
                out += self._executed(one, value, place)
            else:
                out += self._note(key, (self.count, "choices", place, "delta", key))
        return out

    def _blocks(self, one: Candidate, content: list[JSON], place: int) -> list[Event]:
        """Content as a list of blocks: text and thoughts grow, anything else is whole."""
        out: list[Event] = []
        for i, block in enumerate(content):
            if self.keep:
                one.pieces.append(copy_json(block))
            if isinstance(block, str):
                out += self._speak(one, "content", block)
                continue
            if not isinstance(block, dict):
                continue
            part = read_block(
                self.wire,
                self.chat.content,
                block,
                (self.count, "choices", place, "delta", "content", i),
            )
            if isinstance(part, Text) and part.signature is None:
                out += self._speak(
                    one, "refusal" if part.refusal else "content", part.text, listed=True
                )
            elif isinstance(part, Reasoning) and part.hidden is None and part.signature is None:
                out += self._speak(one, "thought", part.text, listed=True)
            else:
                out += [*self._hush(one), PartComplete(part, one.index)]
        return out

    def _speak(self, one: Candidate, field: str, text: str, *, listed: bool = False) -> list[Event]:
        """A piece of a text. A message has one text of each kind, even if calls come in between,
        unless they are listed."""
        if not text:
            return []
        if one.speaking == field:
            return [PartDelta(one.slot, text)]
        out = self._hush(one)
        one.speaking, one.slot, one.said = field, self.slots, True
        self.slots += 1
        more = field in one.spoken and not listed
        one.spoken.add(field)
        return [
            *out,
            PartStart(one.slot, _OPENED[field], one.index, more),
            PartDelta(one.slot, text),
        ]

    def _hush(self, one: Candidate) -> list[Event]:
        """Close the text that is open."""
        if not one.speaking:
            return []
        one.speaking = ""
        return [PartEnd(one.slot)]

    # --- calls ---

    def _piece(self, one: Candidate, entry: Object) -> list[Event]:
        function = entry.get("function")
        family = "function"
        if not isinstance(function, dict):
            custom = entry.get("custom")
            function = custom if isinstance(custom, dict) else {}
            family = "custom" if isinstance(custom, dict) else "function"
        given = function.get(TEXTS[family])
        index = entry.get("index")
        label_of = index if index.__class__ is int else number_of(index)
        held = one.calls.find(
            label_of,
            word_of(entry.get("id")),
            word_of(function.get("name")),
            given,
            family,
            self.count,
        )
        text = held.arguments.add(given)
        beyond = self._unknown(held, entry, function) if len(entry) > 2 or len(function) > 1 else []
        if held.slot >= 0:
            if not text:
                return beyond
            if self.keep:
                held.texts.append(text)
            return [*beyond, PartDelta(held.slot, text)]
        if text:
            held.texts.append(text)
        held.ready = (
            held.ready
            or held.arguments.begun
            or (given is not None and held.name[-1:] not in _JOINTS)
        )
        if held.name and held.id and held.ready:
            out = beyond
            if self.waiting:  # calls are announced in the order in which they came
                earlier = one.calls.every[: one.calls.every.index(held)]
                out = [
                    *beyond,
                    *self._announce(
                        [pair for pair in self.waiting if pair[1] in earlier], last=True
                    ),
                ]
            return [*out, *self._opened(one, held)]
        if (one, held) not in self.waiting:
            self.waiting = [*self.waiting, (one, held)]
        return beyond

    def _unknown(self, held: Growing, entry: Object, function: Object) -> list[Event]:
        """Fields of a call that nobody knows: kept for the body, reported for other wires."""
        out: list[Event] = []
        for inside, known, path in ((entry, _ENTRY, ()), (function, _INNER, (held.family,))):
            for key, value in inside.items():
                if key not in known and value is not None:
                    if self.keep:
                        place: Object = held.more if not path else held.more.setdefault(path[0], {})  # type: ignore[assignment]
                        place[key] = merge(place.get(key), value)
                    out += self._note(key, (self.count, "tool_calls", *path, key))
        return out

    def _legacy(self, one: Candidate, entry: Object) -> list[Event]:
        held = one.legacy
        if held is None:
            held = one.legacy = Growing(None, "function-legacy")
        name = word_of(entry.get("name"))
        if name and name != held.name:
            held.name += name
        text = held.arguments.add(entry.get("arguments"))
        if text and (held.slot < 0 or self.keep):
            held.texts.append(text)
        if held.slot < 0:
            return self._opened(one, held) if held.name and held.arguments.begun else []
        return [PartDelta(held.slot, text)] if text else []

    def _announce(
        self, waiting: Iterable[tuple[Candidate, Growing]], *, last: bool = False
    ) -> list[Event]:
        """Announce what waited for one chunk and got nothing: an id is made. One without a name
        goes on waiting."""
        out: list[Event] = []
        for one, held in waiting:
            if last or (held.name and not (held.chunk == self.count and not held.ready)):
                out += self._opened(one, held)
        return out

    def _opened(self, one: Candidate, held: Growing) -> list[Event]:
        out = self._hush(one)
        held.slot = self.slots
        self.slots += 1
        one.said = True
        self.waiting = [pair for pair in self.waiting if pair[1] is not held]
        held.made = not held.id
        ordinal = (
            len(one.executed) + (one.calls.every.index(held) if held in one.calls.every else 0)
            if held.made
            else 0
        )
        made = Call(
            held.id,
            held.name,
            LazyJson(""),
            "minted" if held.made else "wire",
            held.family,
            source=Source(path=(self.count,)),
        )
        call = self.identified(made, ordinal)
        out.append(PartStart(held.slot, call, one.index))
        text = "".join(held.texts)
        if not self.keep:
            held.texts.clear()
        return [*out, PartDelta(held.slot, text)] if text else out

    def _executed(self, one: Candidate, ran: JSON, place: int) -> list[Event]:
        """Tools that the provider ran: told when the result is there."""
        spec = self.chat.executed
        out: list[Event] = []
        for i, block in enumerate(ran if isinstance(ran, list) else []):
            if spec is None or spec.read is None or not isinstance(block, dict):
                continue
            label_of = block.get("index")
            held = one.executed.setdefault(
                label_of if isinstance(label_of, int) else len(one.executed), {}
            )
            done = "output" in held
            held.update(block)
            if (
                "output" in held
                and not done
                and spec.answer is not None
                and spec.answer.read is not None
            ):
                path: JsonPath = (self.count, "choices", place, "delta", spec.name, i)
                call, result = (
                    spec.read(held, path, spec),
                    spec.answer.read(held, path, spec.answer),
                )
                assert isinstance(call, Call)
                assert isinstance(result, Result)
                out += [
                    *self._hush(one),
                    PartComplete(self.identified(call), one.index),
                    PartComplete(self.answered(result), one.index),
                ]
        return out

    def again(self, slot: int) -> Callable[[str], bool] | None:
        """A text takes anything; a call's arguments, what is nothing but the next piece."""
        for one in self.choices.values():
            if one.speaking and one.slot == slot:
                return bool
            for held in one.calls.every:
                if held.slot == slot:
                    return partial(self._more, one.calls, held)
        return None

    def _more(self, calls: Calls, held: Growing, text: str) -> bool:
        held.chunk = self.count
        calls.last = held
        return held.arguments.grow(text)

    # --- the end ---

    def _rest(self, *, cut: bool) -> list[Event]:
        out: list[Event] = []
        for one in self.choices.values():
            waiting = [pair for pair in self.waiting if pair[0] is one]
            if one.legacy is not None and one.legacy.slot < 0:
                waiting.append((one, one.legacy))
            out += [*self._announce(waiting, last=True), *self._hush(one)]
            short = cut or one.reason == "length"
            for held in (*one.calls.every, *([one.legacy] if one.legacy is not None else [])):
                rest, whole = held.arguments.close()
                if rest:
                    out.append(PartDelta(held.slot, rest))
                    held.texts.append(rest)
                if whole is not None:
                    held.texts = [whole]
                alias = held.id if held.made and held.id else None
                out.append(
                    PartEnd(
                        held.slot, whole, cut=short and not held.arguments.complete, alias=alias
                    )
                )
        return out

    def end(self) -> list[Event]:
        if self.error is not None:
            return []
        if (
            not self.done and any(one.reason is None for one in self.choices.values())
        ) or not self.choices:
            self.error = {"message": STREAM_CUT, "type": "stream_cut"}
            return [*self._rest(cut=True), StreamError(STREAM_CUT, cut=True)]
        means = self.speech.means
        finished = [
            Finish(means.get(one.reason, one.reason) if one.reason else None, n)
            for n, one in self.choices.items()
        ]
        return [*self._rest(cut=False), *finished]

    def body(self) -> JSON:
        if (
            not self.choices
            and self.error == {"message": STREAM_CUT, "type": "stream_cut"}
            and not self.top
        ):
            raise self.nothing()
        speech, broken = self.speech, self.error is not None
        body: Object = {
            **self.top,
            "choices": [
                one.whole(self.chat, silent=speech.silent, indexed=speech.indexed, broken=broken)
                for _, one in sorted(self.choices.items())
            ],
        }
        if str(body.get("object", "")).endswith(".chunk"):
            body["object"] = str(body["object"]).removesuffix(".chunk")
        return body if self.error is None else {**body, "error": self.error}


_OPENED: dict[str, Part] = {
    "content": Text("", source=Source(spec=PLAIN)),
    "refusal": Text("", True, source=Source(spec=DECLINED)),
    "thought": Reasoning("", source=Source(spec=THOUGHT)),
}
