"""The chunks of a Genkit stream, as its HTTP flows send them: `{"message": chunk}`, and at the end
`{"result": response}`.

- bare-chunks-too: a chunk or a response may come without such a frame (the framework's own API
  sends lines of them), and a flow's chunk may be plain text. A stream of bare chunks has no other
  end than its own.
- index-counts-messages: a model's turn, the tools' responses, the next turn. The response has the
  last one; those before it stand in the messages of its request.
- texts-grow: the first part of a chunk continues the last one before it, if both are text or both
  are reasoning. Two texts in one chunk are two texts; so a text that is to stand for itself comes
  after an empty piece of the one before it.
- aggregated-says-again: a chunk that says so holds the whole message so far.
- snapshots-and-fragments: JavaScript sends a request again and again, with the input as far as it
  could be parsed and `partial`; Go sends fragments of JSON text as the input, with ref and name on
  the first only. Objects are told when they are not partial any more, or the turn is over; text
  that begins with a brace is told as it comes.
- a-ref-may-come-late: Go gives refs to requests without one only in the response. Such a request is
  told when the turn is over.
- completion-order: responses come as the tools finish; a ref says whose they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import mint
from toolwire.conversation.json import JSON, JsonPath, Object, get, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation, Kind
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Role, Text
from toolwire.errors import RemoteError
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
    TurnStart,
    Unsupported,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, text_or_none
from toolwire.wires.engine.stream import (
    STREAM_CUT,
    StreamReader,
    StreamSpec,
    copy_json,
    data_sse,
    merge,
)
from toolwire.wires.genkit.pending_requests import Asked
from toolwire.wires.genkit.stream_writer import ChunkWriter

NAME = "genkit"
_CHUNK = frozenset({"role", "index", "content", "aggregated"})
_WHOLE = frozenset({"finishReason", "usage", "candidates"})
"""What a response has and a chunk has not."""
_LEFT = "no such field on this wire"


class _Reader(StreamReader):
    wire = NAME
    replies = True

    def __init__(
        self,
        part: Callable[[JSON, JsonPath], Part],
        read: Callable[[JSON, Kind], Conversation],
        roles: Mapping[str, Role],
        *,
        keep: bool = False,
    ) -> None:
        super().__init__(keep=keep)
        self.part_of = part
        self.answer_of = read
        self.roles = roles
        self.begun = False
        self.framed = False
        """Whether chunks came inside an object, so that a result is sure to follow."""
        self.messages: list[tuple[Object, list[JSON]]] = []
        self.index: JSON = None
        self.role: Role | None = None
        self.asked: list[Asked] = []
        """What the current message asks for."""
        self.ordinal = 0
        self.told: dict[type[Part], int] = {}
        """What the current message has: how much text, or how many parts."""
        self.waits: list[Call] = []
        """Calls without an answer."""
        self.grows: tuple[Block, str, Object] | None = None
        self.pieces: list[str] = []
        self.repeats = False
        """Whether chunks came that say all of their message again."""
        self.slots = 0
        self.reported: set[str] = set()
        self.extra: Object = {}
        self.response: Object | None = None
        self.error: JSON = None

    def read(self, event: Chunk) -> list[Event]:
        out: list[Event] = []
        if not self.begun:
            self.begun = True
            out.append(MessageStart({}))
        if "content" in event:
            return out + self._chunk(event, (self.count,))
        if event.get("error") is not None:
            return out + self._fault(event["error"])
        if "result" in event:
            return out + self._result(event["result"], (self.count, "result"))
        if not _WHOLE.isdisjoint(event):
            return out + self._result(event, (self.count,))
        chunk = event.get("message")
        self.framed = self.framed or "message" in event
        path: JsonPath = (self.count, "message")
        if isinstance(chunk, str):
            return out + self._chunk({"content": [{"text": chunk}]}, path)
        if isinstance(chunk, dict):
            return out + self._chunk(chunk, path)
        return [*out, Unsupported((self.count,), "an unknown event")]

    def again(self, slot: int) -> Callable[[str], bool] | None:
        return (
            self._longer
            if slot == self.slots and self.grows is not None and not self.repeats
            else None
        )

    def _longer(self, text: str) -> bool:
        assert self.grows is not None
        kind = Text if self.grows[0].part is Text else Reasoning
        self.told[kind] += len(text)
        return True

    # --- chunks ---

    def _chunk(self, chunk: Object, path: JsonPath) -> list[Event]:
        content = chunk.get("content")
        out: list[Event] = []
        if not isinstance(content, list):
            return [Unsupported((*path, "content"), _LEFT)]
        if self.role is None or not chunk.keys().isdisjoint(("role", "index")):
            out = self._message(chunk, content)
        if not _CHUNK.issuperset(chunk):
            out += self._around(chunk, path)
        if chunk.get("aggregated") is True:
            self.repeats = True
            return out + self._aggregated(
                [block for block in content if self._readable(block)], path
            )
        for i, block in enumerate(content):
            out += self._part(block, (*path, "content", i), first=i == 0)
        return out

    def _around(self, chunk: Object, path: JsonPath) -> list[Event]:
        """Fields of a chunk that nobody knows."""
        out: list[Event] = []
        for key, value in chunk.items():
            if key in _CHUNK or value is None:
                continue
            if self.keep:
                self.extra[key] = merge(self.extra.get(key), value)
            if key not in self.reported:
                self.reported.add(key)
                out.append(Unsupported((*path, key), _LEFT))
        return out

    def _message(self, chunk: Object, content: list[JSON]) -> list[Event]:
        """The next message, if it is one."""
        said, index = chunk.get("role"), chunk.get("index")
        role = (
            self.roles.get(said, "assistant") if isinstance(said, str) else self.role or "assistant"
        )
        same = index is None or self.index is None or index == self.index
        if self.role is not None and same and role == self.role:
            self.index = index if self.index is None else self.index
            return []
        first = self.role is None
        self._adopt(content)
        out = self._released(cut=False)
        self._next(role, index)
        return out if first and role == "assistant" else [*out, TurnStart(role)]

    def _next(self, role: Role, index: JSON) -> None:
        self.role, self.index = role, index
        self.asked = []
        self.told = {}
        if self.keep:
            name = next((said for said, neutral in self.roles.items() if neutral == role), "model")
            self.messages.append(({"role": name}, []))

    def _adopt(self, content: list[JSON]) -> None:
        """A response with a ref tells that of the only request of its name that came without."""
        for name in {one.call.name for one in self.asked if not one.ref}:
            bare = [one for one in self.asked if not one.ref and one.call.name == name]
            answers = [get(block, ("toolResponse",)) for block in content]
            refs = [
                get(answer, ("ref",))
                for answer in answers
                if isinstance(answer, dict) and answer.get("name") == name
            ]
            if len(bare) == len(refs) == 1 and isinstance(refs[0], str):
                bare[0].ref = refs[0]

    # --- parts ---

    def _part(self, block: JSON, path: JsonPath, *, first: bool) -> list[Event]:
        if not isinstance(block, dict):
            return [Unsupported(path, _LEFT)]
        try:
            part = self.part_of(block, path)
        except RemoteError as wrong:
            return [Unsupported(wrong.path, wrong.why)]
        spec = part.spec
        if isinstance(part, Text | Reasoning) and isinstance(spec, Block):
            return self._text(part, spec, block, first=first)
        if isinstance(part, Call):
            return self._request(part, block)
        out = self._closed(cut=False)
        self.told[type(part)] = self.told.get(type(part), 0) + 1
        self._kept(copy_json(block))
        return [*out, PartComplete(self._answered(part) if isinstance(part, Result) else part)]

    def _kept(self, block: JSON) -> None:
        if self.keep:
            self.messages[-1][1].append(block)

    def _text(
        self, part: Text | Reasoning, spec: Block, block: Object, *, first: bool
    ) -> list[Event]:
        kind = type(part)
        self.told[kind] = self.told.get(kind, 0) + len(part.text)
        grows = self.grows
        plain = spec.clean(
            {key: value for key, value in block.items() if value is not None}
        )  # Python writes nulls
        if (
            first
            and plain
            and grows is not None
            and grows[0] is spec
            and grows[2].get("metadata") is None
        ):
            if self.keep:
                self.pieces.append(part.text)
            if block.get("metadata") is not None:
                grows[2]["metadata"] = copy_json(block["metadata"])
            return [PartDelta(self.slots, part.text)] if part.text else []
        out = self._closed(cut=False)
        ((_, field),) = spec.deltas.values()
        held = dict(block)
        self.grows = (spec, field, held)
        self.pieces = [part.text]
        self._kept(held)
        more = [PartDelta(self.slots, part.text)] if part.text else []
        return [*out, PartStart(self.slots, replace(part, text="", signature=None)), *more]

    def _closed(self, *, cut: bool) -> list[Event]:
        if self.grows is None:
            return []
        (_, field, held), self.grows = self.grows, None
        if len(self.pieces) > 1:
            held[field] = "".join(self.pieces)
        self.slots += 1
        return [PartEnd(self.slots - 1, signature=self.part_of(held, ()).signature, cut=cut)]

    def _answered(self, result: Result) -> Result:
        """The result under the id of its call: its ref; else the oldest call of its name without
        one, or the only one with."""
        if result.call_id:
            self.waits = [call for call in self.waits if call.id != result.call_id]
            return result
        named = [call for call in self.waits if call.name == result.name]
        found = next(
            (call for call in named if call.origin == "minted"),
            named[0] if len(named) == 1 else None,
        )
        if found is None:
            return replace(
                result, call_id=mint(f"{self.seed} result", len(self.called), result.name or "")
            )
        self.waits.remove(found)
        return replace(result, call_id=found.id)

    # --- requests ---

    def _request(self, part: Call, block: Object) -> list[Event]:
        held = block["toolRequest"]
        request = held if isinstance(held, dict) else {}
        one = self._same(part)
        out: list[Event] = []
        fragment = one is not None and not part.name
        if one is None:
            out = self._closed(cut=False)
            for before in self.asked:  # fragments belong to the newest request
                out += self._ended(before, cut=False) if before.ref and before.pieces else []
            one = Asked(part, block, self.ordinal)
            self.ordinal += 1
            self.asked.append(one)
            self._kept(one.block)
        one.ref = one.ref or part.id
        one.take(request.get("input"), unfinished=request.get("partial") is True, fragment=fragment)
        return out + self._progress(one)

    def _same(self, part: Call) -> Asked | None:
        """The request that this is more of."""
        for one in reversed(self.asked):
            if one.closed:
                continue
            if part.id and one.ref:
                if part.id == one.ref:
                    return one
            elif not part.name or (not part.id and one.partial and one.call.name == part.name):
                return one
        return None

    def _progress(self, one: Asked) -> list[Event]:
        """What can be told of a request by now."""
        before = self.asked[: self.asked.index(one)] if one in self.asked else []
        if (
            not one.ref or not one.call.name or any(other.slot < 0 for other in before)
        ):  # told in the order in which they came
            return []
        if not isinstance(one.value, UnsetType) and not one.partial:
            return self._ended(one, cut=False)
        out = self._started(one)
        if one.live:
            out += [PartDelta(one.slot, one.pieces[-1])] if one.pieces[-1] else []
        elif any(one.pieces) and one.coded:
            one.live = True
            out += [PartDelta(one.slot, piece) for piece in one.pieces if piece]
        if one.live and not self.keep:
            one.pieces.clear()
        return out

    def _started(self, one: Asked) -> list[Event]:
        if one.slot >= 0:
            return []
        out = self._closed(cut=False)
        call = self.identified(
            replace(one.call, id=one.ref, origin="wire" if one.ref else "minted"), one.ordinal
        )
        self.waits.append(self.called[-1])
        self.told[Call] = self.told.get(Call, 0) + 1
        one.slot = self.slots
        self.slots += 1
        return [*out, PartStart(one.slot, replace(call, args=LazyJson(""), signature=None))]

    def _ended(self, one: Asked, *, cut: bool) -> list[Event]:
        if one.closed:
            return []
        one.closed = True
        out = self._started(one)
        text = "" if one.live else one.text()
        out += [PartDelta(one.slot, text)] if text else []
        one.partial = one.partial and cut
        if self.keep:
            one.block["toolRequest"] = one.request()
        one.pieces = []
        return [
            *out,
            PartEnd(
                one.slot,
                signature=one.call.signature,
                cut=one.partial or (cut and isinstance(one.value, UnsetType)),
            ),
        ]

    def _released(self, *, cut: bool) -> list[Event]:
        """All of the current message that was still open."""
        out = self._closed(cut=cut)
        for one in self.asked:
            out += self._ended(one, cut=cut)
        return out

    def _readable(self, block: JSON) -> bool:
        try:
            return isinstance(self.part_of(block, ()), Part)
        except RemoteError:
            return False

    def _aggregated(self, content: list[JSON], path: JsonPath) -> list[Event]:
        """A chunk that holds all of its message so far: what is new in it."""
        asked = list(self.asked)
        past: dict[type[Part], int] = {}
        out: list[Event] = []
        for i, block in enumerate(content):
            if not isinstance(block, dict):
                continue
            part = self.part_of(block, (*path, "content", i))
            if not isinstance(part, Call):
                out += self._beyond(part, past)
                continue
            known = next(
                (one for one in asked if one.ref == part.id and one.call.name == part.name), None
            )
            if known is not None:
                asked.remove(known)
            if known is None or not known.closed:
                out += self._request(part, block)
        if self.keep:
            self._again([copy_json(block) for block in content])
        return out

    def _beyond(self, part: Part, past: dict[type[Part], int]) -> list[Event]:
        """What a part of a message that is said again has beyond what was told: known by its
        length, or by its number."""
        kind = type(part)
        before, told = past.get(kind, 0), self.told.get(kind, 0)
        past[kind] = before + (len(part.text) if isinstance(part, Text | Reasoning) else 1)
        if past[kind] <= told or not isinstance(part.raw, dict):
            return []
        if isinstance(part, Text | Reasoning) and isinstance(part.spec, Block):
            new = part.text[max(told - before, 0) :]
            return self._text(replace(part, text=new), part.spec, part.raw, first=told > before)
        return self._part(part.raw, part.path, first=False)

    def _again(self, content: list[JSON]) -> None:
        """The current message, said again: what is still open in it goes on there."""
        self.messages[-1] = (self.messages[-1][0], content)
        last = content[-1] if content else None
        if (
            self.grows is not None
            and isinstance(last, dict)
            and isinstance(last.get(self.grows[1]), str)
        ):
            self.grows = (self.grows[0], self.grows[1], last)
            self.pieces = [str(last[self.grows[1]])]
        for block in content:
            for one in self.asked:
                if (
                    isinstance(block, dict)
                    and not one.closed
                    and one.ref
                    and get(block, ("toolRequest", "ref")) == one.ref
                ):
                    one.block = block

    # --- the end ---

    def _result(self, result: JSON, at: JsonPath) -> list[Event]:
        self.over = True
        try:
            said = self.answer_of(result, "response") if isinstance(result, dict) else None
        except RemoteError:
            said = None
        if said is None or not isinstance(result, dict):
            self.extra["result"] = result
            return [
                *self._released(cut=False),
                Unsupported(at, "what a flow gives is its own"),
                Finish(None),
            ]
        self.response = result
        out: list[Event] = []
        for choice, message in enumerate(said.messages):
            out += (
                [PartComplete(self._named(part), choice) for part in message.parts]
                if choice
                else self._settled(message.parts)
            )
        out.append(Metadata(said.settings))
        out += [Unsupported((*at, *path), _LEFT) for path in said.source.unknown_fields]
        return out + [Finish(message.stop, choice) for choice, message in enumerate(said.messages)]

    def _named(self, part: Part) -> Part:
        """A part of a response: its calls already have ids."""
        if isinstance(part, Call):
            self.ordinal += 1
            return self.identified(part)
        return part

    def _settled(self, parts: tuple[Part, ...]) -> list[Event]:
        """What the response says of its message beyond what was told."""
        out: list[Event] = []
        if self.role != "assistant":
            out = self._released(cut=False)
            out += [TurnStart("assistant")] if self.role is not None else []
            self._next("assistant", None)
        calls = [part for part in parts if isinstance(part, Call)]
        mine = {one.ref for one in self.asked if one.ref}
        for one in self.asked:
            found = next(
                (
                    call
                    for call in calls
                    if call.name == one.call.name
                    and (
                        call.id == one.ref
                        if one.ref
                        else call.origin == "minted" or call.id not in mine
                    )
                ),
                None,
            )
            if found is None:
                continue
            calls = [call for call in calls if call is not found]
            if not one.closed:
                one.ref = one.ref or ("" if found.origin == "minted" else found.id)
                one.value, one.partial = found.input if found.args.text else None, False
        if not self.told and not self.asked:
            return out + [PartComplete(self._named(part)) for part in parts]
        past: dict[type[Part], int] = {}
        out += [
            event
            for part in parts
            if isinstance(part, Text | Reasoning)
            for event in self._beyond(part, past)
        ]
        out += self._released(cut=False)
        missed = [
            part
            for part in parts
            if not isinstance(part, Text | Reasoning | Call) and type(part) not in self.told
        ]
        return out + [PartComplete(self._named(part)) for part in (*calls, *missed)]

    def _fault(self, error: JSON) -> list[Event]:
        self.error = error
        said = error.get("message") if isinstance(error, dict) else error
        code = text_or_none(error.get("status")) if isinstance(error, dict) else None
        return [
            *self._released(cut=True),
            StreamError(said if isinstance(said, str) else text_of(error), code),
        ]

    def end(self) -> list[Event]:
        if self.over or self.error is not None:
            return []
        if self.role is not None and not self.framed:
            return [*self._released(cut=False), Finish(None)]
        self.error = {"message": STREAM_CUT}
        return [*self._released(cut=True), StreamError(STREAM_CUT, cut=True)]

    def body(self) -> JSON:
        whole: list[JSON] = [{**head, "content": content} for head, content in self.messages]
        last: JSON = {"role": "model", "content": []}
        if self.role == "assistant" and whole:
            last = whole.pop()
        earlier: Object = {"request": {"messages": whole}} if whole else {}
        failed: Object = {} if self.error is None else {"error": self.error}
        if self.response is not None:
            return {**earlier, **self.response, **failed}
        if (
            not self.messages
            and not self.extra
            and (self.error is None or self.error == {"message": STREAM_CUT})
        ):
            raise self.nothing()
        return {**self.extra, "message": last, **earlier, **failed}


def stream(
    part: Callable[[JSON, JsonPath], Part],
    read: Callable[[JSON, Kind], Conversation],
    roles: Mapping[str, Role],
    foreign: Mapping[type[Part], Callable[..., JSON]],
    write: Callable[[Conversation, EncodeContext], JSON],
) -> StreamSpec:
    """How this wire streams, by the tables of its bodies."""
    says = {neutral: said for said, neutral in roles.items()}
    return StreamSpec(
        partial(_Reader, part, read, roles), partial(ChunkWriter, foreign, write, says), data_sse
    )
