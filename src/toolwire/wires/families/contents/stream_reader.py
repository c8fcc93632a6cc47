"""Streams whose events hold whole contents: how their parts grow, and what their readers share.

The parts have no numbers; they arrive one after the other.

- stream-text-and-thoughts: adjacent texts of one kind are one part. A text with another field, such
  as a signature, is a separate part. An empty text separates the text before it from the next.
- stream-arguments-by-path: a call may be opened, get values by their JSON paths, and end with a
  part that does not have `willContinue`. Only one call is open at a time, and this end is all that
  separates two calls of one tool.
"""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Reasoning, Source, Text
from toolwire.streaming.events import Event, PartDelta, PartEnd, PartStart, Unsupported
from toolwire.wires.engine.part_sequence import PartSequence
from toolwire.wires.engine.specs import read_id, read_name
from toolwire.wires.engine.stream import StreamReader, copy_json, merge
from toolwire.wires.families.contents.parts import ContentParts, signature_of
from toolwire.wires.families.contents.spelling import get_field, spellings
from toolwire.wires.families.contents.stream_arguments import PartialArguments

_PARTIAL_CALL = spellings("partialArgs", "willContinue")
_FUNCTION_CALL = spellings("functionCall")
_THOUGHT_FIELDS = {"text", "thought"}


class ContentReader(StreamReader):
    """Reads a stream of contents."""

    def __init__(self, parts: ContentParts, *, keep: bool = False) -> None:
        super().__init__(keep=keep)
        self.wire = parts.name
        self.parts = parts
        self.started = False
        """True if `MessageStart` was emitted."""
        self.recognized = False
        """True if an event of this wire arrived."""


class _OpenCall(Struct, eq=False):
    """A call that is still growing."""

    slot: int
    block: Object
    """The block as in the whole body."""
    call: Object
    """The call inside the block."""
    call_id: str
    alias: str | None = None
    """The id of the call, if the call started without it."""
    signature: str | None = None
    arguments: PartialArguments = field(default_factory=PartialArguments)


class PartStream(PartSequence):
    """Turns the parts of one candidate or one turn into events, in the order of their arrival."""

    __slots__ = ("_call", "_parts")

    def __init__(self, reader: ContentReader, choice: int = 0, *, keep: bool | None = None) -> None:
        super().__init__(reader, choice, keep=keep)
        self._parts = reader.parts
        self._call: _OpenCall | None = None

    @property
    def open_kind(self) -> str:
        """The block name of the open part: `text`, `thought` or `functionCall`; empty if none."""
        if self._call is not None:
            return "functionCall"
        return "" if self.open is None else _kind(self.open.part)

    def read(self, block: JSON, path: JsonPath) -> list[Event]:
        """The events for the next part."""
        if block.__class__ is dict:
            text = block.get("text")
            if text.__class__ is str and (len(block) == 1 or block.keys() == _THOUGHT_FIELDS):
                kind = "thought" if block.get("thought") is True else "text"
                return self.read_text(text, kind, block=block, path=path)
            call = get_field(block, "functionCall")
            if isinstance(call, dict) and (
                self._call is not None or not _PARTIAL_CALL.isdisjoint(call)
            ):
                events = self._read_partial_call(block, call, path)
                if events is not None:
                    return events
        if not isinstance(block, dict):
            return [*self.close(), Unsupported(path, "not a part")]
        return self.add(self._parts.read_part(block, path), block)

    def read_text(self, text: str, kind: str, *, block: Object, path: JsonPath) -> list[Event]:
        """The events for a piece of text; an empty piece closes the open part."""
        if not text:
            return self.close()
        if self.open is not None and self.open_kind == kind:
            return self.continue_text(self.open, text)
        source = Source(block, path, self._parts.blocks[kind])
        part = (Reasoning if kind == "thought" else Text)(text, source=source)
        return self.add_text(part, block, continues=False)

    def close(self, *, cut: bool = False, signature: str | None = None) -> list[Event]:
        if self._call is None:
            return super().close(cut=cut, signature=signature)
        call, self._call = self._call, None
        return self._close_call(call, cut=cut)

    # --- calls ---

    def _read_partial_call(self, block: Object, call: Object, path: JsonPath) -> list[Event] | None:
        """The events for a piece of a growing call; None if the call is complete in itself."""
        out: list[Event] = []
        part = self._call
        call_id, _ = read_id(call.get("id"))
        is_named = bool(read_name(call.get("name")))
        if part is None or (is_named and (not call_id or call_id != part.call_id)):
            if _PARTIAL_CALL.isdisjoint(call):
                return None
            first = {key: copy_json(call[key]) for key in call if key not in _PARTIAL_CALL}
            spelling = "functionCall" if "functionCall" in block else "function_call"
            block = {**block, spelling: first}
            opened = self._parts.read_part(block, path)
            if not isinstance(opened, Call):
                return None
            out = self.close()
            opened = replace(self.reader.assign_call_id(opened), args=LazyJson(""), signature=None)
            slot, signature = self.reader.next_slot(), signature_of(block)
            part = self._call = _OpenCall(slot, block, first, call_id, signature=signature)
            if self.keep:
                self.blocks.append(block)
            out.append(PartStart(part.slot, opened, self.choice))
        else:
            self._continue_call(part, block, call, call_id=call_id)
        values = get_field(call, "partialArgs")
        for value in values if isinstance(values, list) else []:
            text = part.arguments.add(value) if isinstance(value, dict) else ""
            if text:
                out.append(PartDelta(part.slot, text))
        if get_field(call, "willContinue") is not True:
            out += self.close()
        return out

    def _continue_call(self, part: _OpenCall, block: Object, call: Object, *, call_id: str) -> None:
        part.signature = signature_of(block) or part.signature
        if call_id and not part.call_id:
            part.call_id = part.alias = part.call["id"] = call_id
        merge(
            part.call,
            {
                key: value
                for key, value in call.items()
                if key not in _PARTIAL_CALL and key not in ("id", "name")
            },
        )
        if not self.keep:
            return
        for key, value in block.items():
            if key not in _FUNCTION_CALL and value is not None:
                part.block[key] = copy_json(value)

    def _close_call(self, part: _OpenCall, *, cut: bool) -> list[Event]:
        out: list[Event] = []
        arguments = part.arguments
        corrected: str | None = None
        initial_args = part.call.get("args")
        if not cut:
            by_path = bool(arguments.texts)
            text = arguments.close()
            corrected = arguments.corrected_text
            if initial_args and not by_path:  # the call started with all of its arguments
                text = text_of(initial_args)
                arguments.texts[:] = [text]
            elif isinstance(initial_args, dict) and initial_args:  # or with some of them
                more = LazyJson("".join(arguments.texts) if corrected is None else corrected).value
                if isinstance(more, dict):
                    corrected = text_of({**initial_args, **more})
            out.append(PartDelta(part.slot, text))
        if self.keep:
            text = "".join(arguments.texts) if corrected is None else corrected
            if text or not initial_args:
                value = LazyJson(text).value
                part.call["args"] = value if isinstance(value, dict) else {"_raw": text}
        out.append(PartEnd(part.slot, corrected, part.signature, cut, part.alias))
        return out


def _kind(part: Text | Reasoning) -> str:
    return "thought" if isinstance(part, Reasoning) else "text"
