"""The item shape in a stream: what is told of an item while it grows, and what only when it is
finished.

A text, a thought or a call of any tool is told in pieces; nothing of it is kept but a checksum, to
compare what was told with the finished item, which counts. Any other item is read when it is
finished, as in a body. Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Source
from toolwire.streaming.events import (
    Chunk,
    Event,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    Unsupported,
)
from toolwire.wires.engine.specs import UNREADABLE, Block, text_or_none
from toolwire.wires.engine.stream import StreamReader
from toolwire.wires.families.items.bodies import MESSAGE, Items, Seen
from toolwire.wires.families.items.content import CONTENT, read_block
from toolwire.wires.families.items.deltas import Growing, Grows, number

_ASKED = {
    "function_call": ("arguments", False),
    "custom_tool_call": ("input", False),
    "mcp_call": ("arguments", False),
    "code_interpreter_call": ("code", True),
}
"""Calls that are told while they grow: the field, and whether it is a text inside the arguments
rather than all of them."""


class _Told:
    """A part that is being told."""

    __slots__ = ("_given", "_mark", "_said", "_whole", "noted", "part", "slot")

    def __init__(self, slot: int, part: Part, given: JSON) -> None:
        self.slot = slot
        self.part = part
        self._given = given
        """Text that came with the opening; told if nothing else comes."""
        self.noted = False
        """Whether it was said already that annotations stay behind."""
        self._said = 0
        self._whole: str | None = None
        self._mark = 0

    def more(self, text: str) -> Event:
        """More of its text."""
        self._said += len(text)
        self._mark = _mark(text, self._mark)
        return PartDelta(self.slot, text)

    def caught_up(self, text: JSON) -> list[Event]:
        """What is missing of the whole text; where it is another text after all, its end
        says so.
        """
        if not isinstance(text, str) or not text:
            return []
        if not self._begins(text):
            self._whole = text
            return []
        return [self.more(text[self._said :])] if len(text) > self._said else []

    def _begins(self, text: str) -> bool:
        return len(text) >= self._said and _mark(text[: self._said], 0) == self._mark

    def ended(
        self, text: str | None, *, signature: str | None = None, cut: bool = False
    ) -> list[Event]:
        """The end of it, given all of its text, if anybody knows it: what was not told yet is told
        now."""
        text = text if text is not None else self._whole
        if text is None and not self._said:
            text = text_or_none(self._given)
        if text is not None and not self._begins(text):
            return [PartEnd(self.slot, text, signature, cut)]
        return [*self.caught_up(text), PartEnd(self.slot, signature=signature, cut=cut)]


def _mark(text: str, before: int) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"), before)


class Teller(StreamReader):
    """A reader, as far as items need it."""

    def __init__(self, items: Items, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.wire = items.name
        self.items = items
        self.seen = Seen()
        self.left: list[Event] = []
        """What has to be reported after what is being told."""
        self._slots = -1

    def slot(self) -> int:
        """A number for the next part."""
        self._slots += 1
        return self._slots


class Item(Growing):
    """An item that can only be told whole."""

    __slots__ = ("cut", "ended", "final", "index", "live", "over", "reader", "waiting")

    def __init__(self, reader: Teller, index: JSON, block: Object) -> None:
        super().__init__(block)
        self.reader = reader
        self.index = index
        self.live = False
        """Whether it is told while it grows, and has begun: then nothing waits for it, and nothing
        of it is kept."""
        self.over = False
        """Whether it was told to its end."""
        self.final = False
        """Whether the finished item came."""
        self.cut = False
        """Whether it ended because the stream did."""
        self.ended = False
        """Whether no more comes of it."""
        self.waiting: list[tuple[int, Callable[[], list[Event]]]] | None = None
        """What is told later, because an item before this one has not been told: when it came, and
        how it is told."""

    def opened(self) -> list[Event]:
        """What is told when it is opened."""
        return []

    def grew(self, event: Chunk, grows: Grows) -> list[Event]:
        """What is told when a piece comes."""
        return []

    def settled(self, event: Chunk, grows: Grows) -> list[Event]:
        """What is told when all of a field comes."""
        return []

    def set(self, event: Chunk) -> list[Event]:
        """What is told when something else comes."""
        return []

    def closed(self) -> list[Event]:
        """What is told when it is finished, or never will be."""
        return [PartComplete(part) for part in self.parts()]

    # --- with the tables of the bodies ---

    def parts(self) -> list[Part]:
        """Its parts as those of a body, with their ids."""
        out: list[Part] = []
        call: Call | None = None
        for part in self.read(self.assembled()):
            if isinstance(part, Call):
                part = call = self.reader.identified(part)
            elif isinstance(part, Result):
                part = self.paired(part, call)
            out.append(part)
        return out

    def read(self, block: Object) -> list[Part]:
        """Its parts as they are read from a body."""
        reader = self.reader
        at: JsonPath = (reader.count, "item")
        extra = len(reader.seen.extra)
        ((_, parts, _),) = reader.items.read_items([block], "", reader.seen)
        reader.left += [
            Unsupported((*at, *path[2:]), "no such field on this wire")
            for path in reader.seen.extra[extra:]
        ]
        del reader.seen.extra[extra:]
        return [
            replace(part, source=replace(part.source, path=(*at, *part.path[2:]))) for part in parts
        ]

    def paired(self, result: Result, call: Call | None) -> Result:
        """A result under the id of its call, which may stand in the same item."""
        return (
            replace(result, call_id=call.id) if call is not None else self.reader.answered(result)
        )

    def late(self, raw: JSON | UnsetType, block: Object, spec: Block, path: JsonPath) -> None:
        """Report fields that nobody knows and that were not there in the beginning."""
        known = raw if isinstance(raw, dict) else {}
        self.reader.left += [
            Unsupported((*path, key), "no such field on this wire")
            for key, value in block.items()
            if key not in spec.keys
            and value is not None
            and value != []
            and known.get(key) in (None, [])
        ]


class Early(Item):
    """An item that says all when it is opened, and stays open as long as what it stands for goes
    on."""

    __slots__ = ()

    def opened(self) -> list[Event]:
        self.live = True
        out: list[Event] = []
        for part in self.read({key: value for key, value in self.block.items() if key != "status"}):
            out.append(PartComplete(self.paired(part, None) if isinstance(part, Result) else part))
        return out

    def closed(self) -> list[Event]:
        if self.block.get("status") in (None, "completed"):
            return []
        return [
            Unsupported(
                (self.reader.count, "item", "status"),
                "it was told before anybody knew how it would end",
            )
        ]


class _Message(Item):
    """A message: its parts are told while they grow."""

    __slots__ = ("_told",)

    def __init__(self, reader: Teller, index: JSON, block: Object) -> None:
        super().__init__(reader, index, block)
        self._told: dict[int, _Told | None] = {}
        """Parts that were begun; None for one that was told to its end."""

    def grew(self, event: Chunk, grows: Grows) -> list[Event]:
        n = number(event.get("content_index"))
        out: list[Event] = []
        if n not in self._told:
            out = self._begun(n, grows.part)
        told, more = self._told.get(n), event.get("delta")
        if told is not None and isinstance(more, str) and more:
            out.append(told.more(more))
        return out

    def settled(self, event: Chunk, grows: Grows) -> list[Event]:
        told = self._told.get(number(event.get("content_index")))
        return told.caught_up(event.get(grows.whole)) if told is not None else []

    def _begun(self, n: int, block: JSON) -> list[Event]:
        """A part that grows is begun; one that does not waits until it is whole."""
        spec = CONTENT.get(str(block.get("type"))) if isinstance(block, dict) else None
        field = _FIELDS.get(spec.name) if spec is not None else None
        if field is None or spec is None or spec.read is None or not isinstance(block, dict):
            return []
        part = spec.read({**block, field: ""}, (self.reader.count, "part"), spec)
        told = self._told[n] = _Told(self.reader.slot(), part, block.get(field))
        self.live = True
        return [PartStart(told.slot, replace(part, source=replace(part.source, raw=block)))]

    def set(self, event: Chunk) -> list[Event]:
        kind, n, block = event.get("type"), number(event.get("content_index")), event.get("part")
        told = self._told.get(n)
        if kind == "response.content_part.added" and n not in self._told:
            return self._begun(n, block)
        if kind == "response.content_part.done" and told is not None:
            return self._ended(n, told, block, (self.reader.count, "part"))
        if kind == "response.output_text.annotation.added" and told is not None:
            told.noted = True
            return [Unsupported((self.reader.count, "annotation"), "no such field on this wire")]
        return []

    def _ended(self, n: int, told: _Told, block: JSON, path: JsonPath) -> list[Event]:
        self._told[n] = None
        if not isinstance(block, dict) or not isinstance(told.part.spec, Block):
            return told.ended(None, cut=self.cut)
        raw = told.part.raw
        known: Object = {
            **(raw if isinstance(raw, dict) else {}),
            **({"annotations": True} if told.noted else {}),
        }
        self.late(known, block, told.part.spec, path)
        return told.ended(
            text_or_none(block.get(_FIELDS[told.part.spec.name])) or None, cut=self.cut
        )

    def closed(self) -> list[Event]:
        if not self._told:
            return super().closed()
        if not self.final and not self.reader.keep:
            return [
                event
                for told in self._told.values()
                if told is not None
                for event in told.ended(None, cut=self.cut)
            ]
        out: list[Event] = []
        block, path = self.assembled(), (self.reader.count, "item")
        self.late({}, block, MESSAGE, path)
        if block.get("status") not in (None, "completed"):
            self.reader.left.append(Unsupported((*path, "status"), "no such field on this wire"))
        content = block.get("content")
        for n, one in enumerate(content if isinstance(content, list) else []):
            told = self._told.get(n)
            if told is not None:
                out += self._ended(n, told, one, (*path, "content", n))
            elif n not in self._told:
                out.append(PartComplete(read_block(one, (*path, "content", n))))
        for told in self._told.values():
            out += told.ended(None, cut=self.cut) if told is not None else []
        return out


_FIELDS = {"output_text": "text", "refusal": "refusal", "text": "text"}
"""Parts of a message that grow, and where their text stands."""


class _Thought(Item):
    """Reasoning: its thoughts, or the summary of them, are one text."""

    __slots__ = ("_field", "_n", "_told")

    def __init__(self, reader: Teller, index: JSON, block: Object) -> None:
        super().__init__(reader, index, block)
        self._told: _Told | None = None
        self._field = ""
        self._n = 0

    def grew(self, event: Chunk, grows: Grows) -> list[Event]:
        field, _, *_ = grows.path
        n, more = number(event.get(f"{field}_index")), event.get("delta")
        if not isinstance(more, str) or not more:
            return []
        out: list[Event] = []
        if self._told is None:
            self._field, self._n = field, n
            raw = {**self.block, "summary": [], "content": []}
            part = Reasoning(
                "", source=Source(raw, (self.reader.count,), self.reader.items.rows["reasoning"])
            )
            self._told = _Told(self.reader.slot(), part, None)
            self.live = True
            out.append(PartStart(self._told.slot, part))
        if field != self._field:
            return out  # the finished item says which of the two counts
        if n != self._n:
            self._n = n
            out.append(self._told.more("\n\n"))
        out.append(self._told.more(more))
        return out

    def closed(self) -> list[Event]:
        if self._told is None:
            return super().closed()
        if not self.final and not self.reader.keep:
            return self._told.ended(None, cut=self.cut)
        first, *_ = self.read(self.assembled())
        self.late(
            self._told.part.raw,
            self.block,
            self.reader.items.rows["reasoning"],
            (self.reader.count, "item"),
        )
        text = first.text or None if isinstance(first, Reasoning) else None
        return self._told.ended(
            text, signature=text_or_none(self.block.get("encrypted_content")), cut=self.cut
        )


class _Call(Item):
    """A call whose arguments come in pieces."""

    __slots__ = ("_field", "_told", "_wrapped")

    def __init__(self, reader: Teller, index: JSON, block: Object) -> None:
        super().__init__(reader, index, block)
        self._field, self._wrapped = _ASKED[str(self.type)]
        self._told: _Told | None = None

    @property
    def spec(self) -> Block:
        """How such an item is read."""
        return self.reader.items.rows[str(self.type)]

    def opened(self) -> list[Event]:
        spec, block = self.spec, self.block
        try:
            part = spec.read(block, (self.reader.count, "item"), spec)  # type: ignore[misc]
        except UNREADABLE:
            return []
        if not isinstance(part, Call) or not part.id or not part.name:
            # whoever was told of a call has its id and name for good, so they are waited for
            return []
        if part.origin != "wire" and part.executor == "client":
            return []
        part = self.reader.identified(replace(part, args=LazyJson("")))
        self.reader.seen.call(part)
        self._told = _Told(
            self.reader.slot(), part, None if self._wrapped else block.get(self._field)
        )
        self.live = spec.answer is None
        return [PartStart(self._told.slot, part)]

    def grew(self, event: Chunk, grows: Grows) -> list[Event]:
        told, more = self._told, event.get("delta")
        if told is None or not isinstance(more, str) or not more:
            return []
        if not self._wrapped:
            return [told.more(more)]
        out: list[Event] = []
        if not told.noted:
            told.noted = True
            out.append(told.more(f'{{{text_of(self._field)}:"'))
        return [*out, told.more(text_of(more)[1:-1])]

    def settled(self, event: Chunk, grows: Grows) -> list[Event]:
        return (
            []
            if self._told is None or self._wrapped
            else self._told.caught_up(event.get(grows.whole))
        )

    def closed(self) -> list[Event]:
        told = self._told
        if told is None:
            return super().closed()
        if not self.final and not self.reader.keep and self.live:
            return told.ended(None, cut=self.cut)
        first, *others = self.read(self.assembled())
        assert isinstance(told.part, Call)
        self.late(told.part.raw, self.block, self.spec, (self.reader.count, "item"))
        asked = first if isinstance(first, Call) else None
        text = asked.args.text if asked is not None and (self._wrapped or asked.args.text) else None
        out = told.ended(text, cut=self.cut)
        for part in others:
            out.append(
                PartComplete(self.paired(part, told.part) if isinstance(part, Result) else part)
            )
        return out


KINDS: dict[str, type[Item]] = {
    "message": _Message,
    "reasoning": _Thought,
    **dict.fromkeys(_ASKED, _Call),
}
"""Items that are told while they grow."""
