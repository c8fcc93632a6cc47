"""The item shape in a stream: reading its events.

An item is opened, grows and is finished under its place in the output; several may be open at once.
What the finished item says counts, and after it what the finished response says; neither adds to
the pieces. Pieces name their item by its id or place and never by the id of a call, which stands in
the item only. `sequence_number` is not relied on: some servers always send the same.

Parts are told in the order of their items: what comes after an item that can only be told whole
waits until that is finished. Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from toolwire.conversation.json import JSON, Object
from toolwire.streaming.events import (
    Chunk,
    Event,
    Finish,
    MessageStart,
    Metadata,
    StreamError,
    Unsupported,
)
from toolwire.wires.engine.settings import read_settings
from toolwire.wires.engine.specs import keys, read_id, text_or_none
from toolwire.wires.engine.stream import STREAM_CUT, StreamSpec, copy_json, named_sse
from toolwire.wires.families.items.bodies import ROLES, Items
from toolwire.wires.families.items.deltas import DELTAS, DONES, SETS, Grows, number
from toolwire.wires.families.items.settings import ECHO, RESPONSE, read_stop
from toolwire.wires.families.items.stream_items import KINDS, Early, Item, Teller
from toolwire.wires.families.items.stream_writer import Writer

_KNOWN = ECHO | keys("object", "output", "status", "incomplete_details", "error")


class _Reader(Teller):
    def __init__(self, items: Items, early: frozenset[str], *, keep: bool = False) -> None:
        super().__init__(items, keep=keep)
        self.kinds: dict[str, type[Item]] = {**KINDS, **dict.fromkeys(early, Early)}
        self.response: Object = {}
        self.begun = False
        self.over = False
        self.error: JSON = None
        self.came: list[Item] = []
        """Every item; of one that is over only its ids, unless the body is wanted."""
        self.line: list[Item] = []
        """Items that are not told to their end, in order."""
        self.open: dict[JSON, Item] = {}
        """Items that are not finished, by their place and by their id."""
        self.past: set[str | int] = set()
        """Places and ids of items that are finished."""
        self.final: list[Object] | None = None
        """The output of the finished response, if it has one."""
        self.path: dict[int, int] = {}
        """Where in it each item stands."""

    def read(self, event: Chunk) -> list[Event]:
        kind = event.get("type")
        if not isinstance(kind, str):
            return [Unsupported((self.count,), "an event without a type")]
        grows = DELTAS.get(kind)
        if grows is not None:
            return self._grew(event, grows)
        move = _MOVES.get(kind)
        if move is not None:
            return move(self, event)
        return self._step(event, kind)

    # --- items ---

    def _grew(self, event: Chunk, grows: Grows) -> list[Event]:
        item = self._found(event)
        out: list[Event] = []
        if item is None:
            if self._is_past(event):
                return [Unsupported((self.count,), "an event of an item that is over")]
            item, out = self._opened(event, _implied(event, grows))
        elif item.type != grows.item and str(item.type) in self.kinds:
            return [Unsupported((self.count,), "a piece of another kind of item")]
        if self.keep or not item.live:
            item.grow(event, grows)
        if item.waiting is None:
            return out + item.grew(event, grows)
        item.waiting.append((self.count, partial(item.grew, event, grows)))
        return out

    def _found(self, event: Chunk) -> Item | None:
        """The item of an event: by its id, else by its place. Some servers give an item another id
        in every event."""
        name, index = event.get("item_id"), event.get("output_index")
        item = self.open.get(name) if name.__class__ is str and name else None
        return item if item is not None or index.__class__ is not int else self.open.get(index)

    def _is_past(self, event: Chunk) -> bool:
        return any(
            key in self.past
            for key in (event.get("item_id"), event.get("output_index"))
            if isinstance(key, str | int)
        )

    def _added(self, event: Chunk) -> list[Event]:
        block = event.get("item")
        if not isinstance(block, dict):
            return [Unsupported((self.count,), "an event without its item")]
        item = self._same(block, event)
        if item is not None and item.id == read_id(block.get("id"))[0]:
            return []  # opened twice
        _, out = self._opened(event, copy_json(block))  # type: ignore[arg-type]
        return out

    def _opened(self, event: Chunk, block: Object) -> tuple[Item, list[Event]]:
        kind, index = block.get("type"), event.get("output_index")
        made = self.kinds.get(kind) if isinstance(kind, str) else None
        if kind == "message" and (
            str(block.get("role")) not in ROLES or not isinstance(block.get("content", []), list)
        ):
            made = None
        item = (made or Item)(self, index, block)
        if any(not one.live for one in self.line):
            item.waiting = [(self.count, item.opened)]
        self.came.append(item)
        self.line.append(item)
        if index.__class__ is int:
            self.open[index] = item
        if item.id:
            self.open[item.id] = item
        if index.__class__ is not int and not item.id:
            self.open[None] = item
        return item, [] if item.waiting is not None else item.opened()

    def _same(self, block: Object, event: Chunk) -> Item | None:
        """The open item that a block is."""
        for key in (read_id(block.get("id"))[0], event.get("output_index")):
            item = (
                self.open.get(key)
                if key.__class__ is int or (key.__class__ is str and key)
                else None
            )
            if item is not None and item.is_item(block):
                return item
        only = self.open.get(None)
        return only if only is not None and only.is_item(block) else None

    def _done(self, event: Chunk) -> list[Event]:
        block = event.get("item")
        if not isinstance(block, dict):
            item = self._found(event)
            return (
                [Unsupported((self.count,), "an event without its item")]
                if item is None
                else self._finished(item, None)
            )
        item = self._same(block, event)
        out: list[Event] = []
        if item is None:
            if read_id(block.get("id"))[0] in self.past:
                return []  # finished twice
            item, out = self._opened({**event, "item": block}, copy_json(block))  # type: ignore[arg-type]
        return out + self._finished(item, block)

    def _finished(self, item: Item, block: Object | None, *, cut: bool = False) -> list[Event]:
        if block is not None:
            item.finish(copy_json(block))  # type: ignore[arg-type]
            item.final = True
        item.cut, item.ended = cut, True
        for key in [key for key, one in self.open.items() if one is item]:
            del self.open[key]
            if isinstance(key, str | int):
                self.past.add(key)
        if item.id:
            self.past.add(item.id)
        if item.waiting is not None:
            item.waiting.append((self.count, partial(self._told, item)))
            return []
        return self._told(item) + self._released()

    def _told(self, item: Item) -> list[Event]:
        """The end of an item."""
        out = item.closed()
        item.over = True
        if not self.keep:
            item.shrink()
        out += self.left
        self.left = []
        return out

    def _released(self) -> list[Event]:
        """What waited and need not any longer."""
        out: list[Event] = []
        for item in self.line:
            waiting, item.waiting = item.waiting, None
            if waiting is not None:
                now = self.count
                for self.count, tell in waiting:
                    out += tell()
                self.count = now
            if not item.over and not item.live:
                break
        self.line = [item for item in self.line if not item.over]
        return out

    def _settled(self, event: Chunk) -> list[Event]:
        item, grows = self._found(event), DONES[str(event["type"])]
        if item is None:
            return []
        if self.keep or not item.live:
            item.settle(event, grows)
        if item.waiting is None:
            return item.settled(event, grows)
        item.waiting.append((self.count, partial(item.settled, event, grows)))
        return []

    def _set(self, event: Chunk) -> list[Event]:
        item = self._found(event)
        field, grows = SETS[str(event["type"])]
        if item is None:
            if self._is_past(event):
                return [Unsupported((self.count,), "an event of an item that is over")]
            item, _ = self._opened(event, _implied(event, grows))
        if self.keep or not item.live:
            item.put(event, field, grows)
        if item.waiting is None:
            return item.set(event)
        item.waiting.append((self.count, partial(item.set, event)))
        return []

    def _step(self, event: Chunk, kind: str) -> list[Event]:
        """An event that says how far an item is, or one that nobody knows."""
        item = self._found(event)
        if item is not None and kind.rpartition(".")[0] == f"response.{item.type}":
            if self.keep or not item.live:
                item.block["status"] = kind.rpartition(".")[2]
            return []
        return [Unsupported((self.count,), f"an unknown event: {kind}")]

    # --- the response ---

    def _began(self, event: Chunk) -> list[Event]:
        response = event.get("response")
        if not isinstance(response, dict):
            return []
        self.response = {**self.response, **response}
        return self._begin()

    def _begin(self) -> list[Event]:
        if self.begun:
            return []
        self.begun = True
        self.seed = text_or_none(self.response.get("id")) or ""
        settings = read_settings(RESPONSE, self.response, _KNOWN).values
        return [MessageStart({key: value for key, value in settings.items() if key != "usage"})]

    def _ended(self, event: Chunk) -> list[Event]:
        if self.over:
            return []  # ended twice
        given = event.get("response")
        response: Object = given if isinstance(given, dict) else {}
        output = response.get("output")
        self.response = response if isinstance(output, list) else {**self.response, **response}
        out = self._begin()
        self.over = True
        self.final = (
            [item for item in output if isinstance(item, dict)]
            if isinstance(output, list)
            else None
        )
        out += self._compared(self.final or [], event)
        settings = read_settings(RESPONSE, self.response, _KNOWN)
        out += [
            Unsupported((self.count, "response", *path), "no such field on this wire")
            for path in settings.unknown
        ]
        out.append(Metadata(settings.values))
        failed, error = event.get("type") == "response.failed", self.response.get("error")
        if self.error is not None:
            return out
        if failed or error is not None:
            self.error = error
            return [*out, _fault(error)]
        status: Object = {"status": _STATUS.get(str(event.get("type"))), **self.response}
        return [*out, Finish(read_stop(status, called=False))]

    def _compared(self, final: list[Object], event: Chunk) -> list[Event]:
        """What the finished response has beyond what came, and the end of what is still open."""
        blocks = dict(enumerate(final))
        names = {key: n for n, block in reversed(blocks.items()) for key in _names(block)}
        taken: set[int] = set()
        for places in (
            lambda item: [names.get(key) for key in _names(item.block)],
            lambda item: [item.index],
        ):
            for item in self.came:
                for n in places(item) if id(item) not in self.path else ():
                    if (
                        isinstance(n, int)
                        and n in blocks
                        and n not in taken
                        and item.is_item(blocks[n])
                    ):
                        self.path[id(item)] = n
                        taken.add(n)
                        break
        out: list[Event] = []
        cut = event.get("type") != "response.completed"
        for item in [item for item in self.came if not item.ended]:
            place = self.path.get(id(item))
            block = blocks.get(place) if place is not None else None
            out += self._finished(item, block, cut=cut and block is None)
        for n, block in blocks.items():
            if n not in taken:
                item, opened = self._opened({"type": "", "item": block}, copy_json(block))  # type: ignore[arg-type]
                self.path[id(item)] = n
                out += [*opened, *self._finished(item, block)]
        return out

    def _failed(self, event: Chunk) -> list[Event]:
        given = event.get("error")
        flat: Object = {
            key: value
            for key, value in event.items()
            if key not in ("type", "sequence_number", "error")
        }
        self.error = (
            given
            if isinstance(given, dict)
            else {"message": given, **flat}
            if isinstance(given, str)
            else flat
        )
        return [*self._rest(), _fault(self.error)]

    def _rest(self) -> list[Event]:
        out: list[Event] = []
        for item in [item for item in self.came if not item.ended]:
            out += self._finished(item, None, cut=True)
        return out

    def end(self) -> list[Event]:
        if self.over or self.error is not None:
            return []
        if self.done and self.came and not self.open:
            return [Finish(None)]
        out = self._rest()
        self.error = {"code": "stream_cut", "message": STREAM_CUT}
        unknown = read_settings(RESPONSE, self.response, _KNOWN).unknown
        out += [
            Unsupported((0, "response", *path), "no such field on this wire") for path in unknown
        ]
        return [*out, StreamError(STREAM_CUT, cut=True)]

    def body(self) -> JSON:
        if not self.response and not self.came:
            if self.error is None or (
                isinstance(self.error, dict) and self.error.get("code") == "stream_cut"
            ):
                raise self.nothing()
            return {"object": "response", "status": "failed", "error": self.error, "output": []}
        frame: Object = {} if self.response else {"object": "response"}
        body: Object = {**frame, **self.response, "output": self._output()}
        return (
            body
            if self.error is None or self.response.get("error") is not None
            else {**body, "error": self.error}
        )

    def _output(self) -> list[JSON]:
        """The items of the finished response, and between them what came and is not in it."""
        places = [item.index for item in self.came if isinstance(item.index, int)]
        alone = len(set(places)) == len(self.came)
        came = sorted(self.came, key=lambda item: number(item.index)) if alone else self.came
        final = self.final or []
        out: list[JSON] = []
        after = 0
        for item in came:
            place = self.path.get(id(item))
            if place is None:
                out.append(item.assembled())
            elif place >= after:
                out += final[after : place + 1]
                after = place + 1
        return [*out, *final[after:]]


def _implied(event: Chunk, grows: Grows) -> Object:
    """The item of an event, if nobody opened one."""
    block: Object = {"type": grows.item, "id": event.get("item_id")}
    return {**block, "role": "assistant", "content": []} if grows.item == "message" else block


def _names(block: Object) -> list[tuple[str, str]]:
    """What tells an item from others: its id and that of its call."""
    return [(key, name) for key in ("id", "call_id") if (name := read_id(block.get(key))[0])]


def _fault(error: JSON) -> StreamError:
    said = error.get("message") if isinstance(error, dict) else error
    code = error.get("code") or error.get("type") if isinstance(error, dict) else None
    return StreamError(str(said or "the server reported an error"), text_or_none(code))


_STATUS = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.cancelled": "cancelled",
}
_MOVES: dict[str, Callable[[_Reader, Chunk], list[Event]]] = {
    "response.output_item.added": _Reader._added,
    "response.output_item.done": _Reader._done,
    **dict.fromkeys(DONES, _Reader._settled),
    **dict.fromkeys(SETS, _Reader._set),
    **dict.fromkeys(
        ("response.created", "response.queued", "response.in_progress"), _Reader._began
    ),
    **dict.fromkeys(
        ("response.completed", "response.incomplete", "response.failed", "response.cancelled"),
        _Reader._ended,
    ),
    "error": _Reader._failed,
    **dict.fromkeys(("keepalive", "ping"), lambda reader, event: []),
}


def stream(items: Items, early: frozenset[str] = frozenset()) -> StreamSpec:
    """How a wire of this shape streams, by the tables of its bodies. `early`: items that say all
    when they are opened."""
    return StreamSpec(partial(_Reader, items, early), partial(Writer, items), named_sse)
