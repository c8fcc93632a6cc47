"""How contents of Gemini's family grow in a stream: parts come one after the other, and there is
nothing that numbers them.

- texts-come-in-pieces: adjacent texts of one kind are one part. One with another field (a
  signature) is a part of its own, and an empty one parts the text before it from the text after it.
- arguments-come-by-path: a call may be opened, fed with values by their JSON paths, and closed by a
  part that does not say that it continues. One call at a time; the closing mark is all that parts
  two calls of one tool.

Knows no wire by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, snake, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Source, Text
from toolwire.streaming.events import (
    Event,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    Unsupported,
)
from toolwire.wires.engine.specs import read_id, read_name
from toolwire.wires.engine.stream import StreamReader, copy_json, merge
from toolwire.wires.families.contents.parts import Parts, seal_of
from toolwire.wires.families.contents.settings import keys, pick

# --- arguments by path ----------------------------------------------------------------------------

_STEP = re.compile(
    r"""\.?([^.\[\]'"]+)|\[(\d+)\]|\[\s*'((?:[^'\\]|\\.)*)'\s*\]|\[\s*"((?:[^"\\]|\\.)*)"\s*\]"""
)
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_SNAKE = {name: snake(name) for name in _VALUES}


def steps(path: str) -> list[str | int]:
    """The steps of a JSON path from its root: `$.a['b c'][0]` is a, `b c`, 0."""
    out: list[str | int] = []
    for plain, index, single, double in _STEP.findall(path.removeprefix("$")):
        out.append(int(index) if index else plain or re.sub(r"\\(.)", r"\1", single or double))
    return out


class Arguments:
    """Values that come by their paths, told as the JSON text of the object they make.

    What is nested is opened and closed as the paths go. A text stays open until another path comes:
    it may go on. A path that leads back into what was closed cannot be told any more; then `whole`
    has the text after all.
    """

    __slots__ = ("_astray", "_kinds", "_path", "_quoted", "_shut", "_value", "text")

    def __init__(self) -> None:
        self.text: list[str] = []
        self._path: list[str | int] = []
        self._kinds = ""
        """The brackets that are open, as they will be closed."""
        self._quoted = False
        self._value: JSON = {}
        self._shut: set[tuple[str | int, ...]] = set()
        self._astray = False

    def take(self, given: Object) -> str:
        """The text that one value adds."""
        name = next((name for name in _VALUES if name in given or _SNAKE[name] in given), None)
        path = pick(given, "jsonPath")
        if name is None or not isinstance(path, str):
            return ""
        value = None if name == "nullValue" else plain(pick(given, name))
        said = self._told(steps(path) or [""], value)
        if said:
            self.text.append(said)
        return said

    def _told(self, path: list[str | int], value: JSON) -> str:
        if isinstance(value, str) and self._quoted and path == self._path:
            _put(self._value, path, value, grow=True)
            return text_of(value)[1:-1]
        out: list[str] = ['"'] if self._quoted else []
        self._quoted = isinstance(value, str)
        shared = 0
        while shared < min(len(path), len(self._path)) - 1 and path[shared] == self._path[shared]:
            shared += 1
        if self._kinds:
            self._shut.update(tuple(self._path[:n]) for n in range(shared + 1, len(self._path) + 1))
            out += [*self._kinds[:shared:-1], ","]
            self._kinds = self._kinds[: shared + 1]
        else:
            out.append("{")
            self._kinds = "}"
        self._astray = self._astray or any(
            tuple(path[:n]) in self._shut for n in range(1, len(path) + 1)
        )
        for n in range(shared, len(path)):
            if n > shared:
                self._kinds += "]" if isinstance(path[n], int) else "}"
                out.append("[" if isinstance(path[n], int) else "{")
            if self._kinds[-1] == "}":
                out.append(text_of(str(path[n])) + ":")
        self._path = path
        out.append(text_of(value)[:-1] if self._quoted else text_of(value))
        _put(self._value, path, value)
        return "".join(out)

    def close(self) -> str:
        """The text that closes what is open."""
        said = ('"' if self._quoted else "") + self._kinds[::-1] if self._kinds else "{}"
        self.text.append(said)
        self._kinds, self._quoted = "", False
        return said

    @property
    def whole(self) -> str | None:
        """All of the text, where it is not what was told."""
        return text_of(self._value) if self._astray else None


def plain(value: JSON) -> JSON:
    """A value without the point that clients put into whole numbers: on this wire every number is a
    double."""
    return (
        int(value)
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53
        else value
    )


def _put(held: JSON, path: Sequence[str | int], value: JSON, *, grow: bool = False) -> None:
    """Put a value where its path says, with what leads there."""
    for n, step in enumerate(path):
        last = n == len(path) - 1
        new: JSON = value if last else [] if isinstance(path[n + 1], int) else {}
        if isinstance(held, list):
            at = step if isinstance(step, int) and step < len(held) else len(held)
            if at == len(held):
                held.append(new)
            elif last:
                held[at] = _more(held[at], value) if grow else value
            held = held[at]
        elif isinstance(held, dict):
            key = str(step)
            if last:
                held[key] = _more(held.get(key), value) if grow else value
            elif not isinstance(held.get(key), list | dict):
                held[key] = new
            held = held[key]


def _more(old: JSON, new: JSON) -> JSON:
    return old + new if isinstance(old, str) and isinstance(new, str) else new


# --- parts ----------------------------------------------------------------------------------------

_GROWS = keys("partialArgs", "willContinue")
_THINKS = {"text", "thought"}


class _Growing:
    """A call whose arguments are coming."""

    __slots__ = ("alias", "args", "block", "id", "signature", "slot")

    def __init__(self, slot: int, one: str, block: Object) -> None:
        self.slot = slot
        self.id = one
        self.alias: str | None = None
        self.block = block
        self.signature = seal_of(block)
        self.args = Arguments()


class Growing(StreamReader):
    """A reader whose parts grow so; it counts their slots."""

    slots = -1


class Growth:
    """The parts of one candidate, or of one turn, as they come."""

    __slots__ = (
        "_call",
        "_kind",
        "_parts",
        "_pieces",
        "_reader",
        "_slot",
        "blocks",
        "choice",
        "keep",
    )

    def __init__(self, parts: Parts, reader: Growing, choice: int = 0) -> None:
        self._parts = parts
        self._reader = reader
        self.keep = reader.keep
        self.choice = choice
        self.blocks: list[JSON] = []
        """The parts as a whole body has them, if they are kept."""
        self._kind = ""
        """The row of the text that is open."""
        self._slot = -1
        self._pieces: list[str] = []
        self._call: _Growing | None = None

    def take(self, block: JSON, path: JsonPath) -> list[Event]:
        """What the next part says."""
        if block.__class__ is dict:
            text = block.get("text")
            if text.__class__ is str and (len(block) == 1 or block.keys() == _THINKS):
                return self.said(
                    text, "thought" if block.get("thought") is True else "text", block, path
                )
            call = pick(block, "functionCall")
            if isinstance(call, dict) and (self._call is not None or not _GROWS.isdisjoint(call)):
                grown = self._grown(block, call, path)
                if grown is not None:
                    return grown
        out = self.close()
        if not isinstance(block, dict):
            return [*out, Unsupported(path, "not a part")]
        if self.keep:
            self.blocks.append(copy_json(block))
        part = self._parts.read_part(block, path)
        if isinstance(part, Call):
            part = self._reader.identified(part)
        elif isinstance(part, Result):
            part = self._reader.answered(part)
        out.append(PartComplete(part, self.choice))
        return out

    def said(self, text: str, kind: str, block: Object, path: JsonPath) -> list[Event]:
        """A piece of text. An empty one closes what is open."""
        out: list[Event] = []
        if kind != self._kind or not text:
            out = self.close()
            if not text:
                return out
            out.append(self._opened(kind, block, path))
        if self.keep:
            self._pieces.append(text)
        out.append(PartDelta(self._slot, text))
        return out

    def _opened(self, kind: str, block: Object, path: JsonPath) -> Event:
        spec = self._parts.rows[kind]
        opened: Part = (Reasoning if kind == "thought" else Text)(
            "", source=Source(block, path, spec)
        )
        self._kind, self._slot = kind, self._next()
        if self.keep:
            self.blocks.append(dict(block))
        return PartStart(self._slot, opened, self.choice)

    def _next(self) -> int:
        self._reader.slots += 1
        return self._reader.slots

    @property
    def kind(self) -> str:
        """The kind of text that is open, if one is."""
        return self._kind

    def speaks(self, slot: int) -> bool:
        """Whether this is the slot of the text that is open."""
        return bool(self._kind) and slot == self._slot

    @property
    def growing(self) -> bool:
        """Whether a call is open."""
        return self._call is not None

    def close(self, *, cut: bool = False, signature: str | None = None) -> list[Event]:
        """Close what is open."""
        if self._call is not None:
            return self._shut(self._call, cut=cut)
        if not self._kind:
            return []
        if self.keep:
            self.blocks[-1] = {**self.blocks[-1], "text": "".join(self._pieces)}  # type: ignore[dict-item]
            self._pieces.clear()
        self._kind = ""
        return [PartEnd(self._slot, signature=signature, cut=cut)]

    # --- calls ---

    def _grown(self, block: Object, call: Object, path: JsonPath) -> list[Event] | None:
        """What a part of a growing call says; None if it is a call like any other."""
        one, _ = read_id(call.get("id"))
        growing = self._call
        out: list[Event] = []
        if growing is None or (read_name(call.get("name")) and (not one or one != growing.id)):
            if _GROWS.isdisjoint(call):
                return None
            out = self.close()
            began = {key: copy_json(value) for key, value in call.items() if key not in _GROWS}
            spelling = "functionCall" if "functionCall" in block else "function_call"
            part = self._parts.read_part({**block, spelling: began}, path)
            if not isinstance(part, Call):
                return None
            part = self._reader.identified(part)
            growing = self._call = _Growing(self._next(), one, {**block, spelling: began})
            if self.keep:
                self.blocks.append(growing.block)
            out.append(
                PartStart(
                    growing.slot, replace(part, args=LazyJson(""), signature=None), self.choice
                )
            )
        else:
            growing.signature = seal_of(block) or growing.signature
            if one and not growing.id:  # it comes late, and was announced under another
                growing.id = growing.alias = one
                held = growing.block.get("functionCall") or growing.block.get("function_call")
                if isinstance(held, dict):
                    held["id"] = one
            if self.keep:
                self._widened(growing.block, block, call)
        given = pick(call, "partialArgs")
        for value in given if isinstance(given, list) else []:
            said = growing.args.take(value) if isinstance(value, dict) else ""
            if said:
                out.append(PartDelta(growing.slot, said))
        return (
            out if pick(call, "willContinue") is True else [*out, *self._shut(growing, cut=False)]
        )

    def _widened(self, block: Object, more: Object, call: Object) -> None:
        for key, value in more.items():
            if key in _CALL:
                held = block.get("functionCall") or block.get("function_call")
                rest = {
                    name: item
                    for name, item in call.items()
                    if name not in _GROWS and name not in ("id", "name")
                }
                merge(held, rest)
            elif value is not None:
                block[key] = copy_json(value)

    def _shut(self, growing: _Growing, *, cut: bool) -> list[Event]:
        self._call = None
        args = growing.args
        late: list[Event] = []
        whole = None if cut else args.whole
        if not cut:
            before = len(args.text)
            said = args.close()
            whole = args.whole
            given = _given(growing.block)
            if not before and given:  # it was opened with its arguments
                args.text[:] = [said := text_of(given)]
            elif isinstance(given, dict) and given:  # or with some of them
                more = LazyJson(whole if whole is not None else "".join(args.text)).value
                whole = text_of({**given, **more}) if isinstance(more, dict) else whole
            late = [PartDelta(growing.slot, said)]
        if self.keep:
            text = "".join(args.text) if whole is None else whole
            held = LazyJson(text)
            call = growing.block.get("functionCall") or growing.block.get("function_call")
            if isinstance(call, dict) and (text or not call.get("args")):
                call["args"] = held.value if isinstance(held.value, dict) else {"_raw": text}
        return [*late, PartEnd(growing.slot, whole, growing.signature, cut, growing.alias)]


_CALL = keys("functionCall")


def _given(block: Object) -> JSON:
    call = pick(block, "functionCall")
    return call.get("args") if isinstance(call, dict) else None
