"""The log of a tool protocol: every call and every result is a separate entry.

A call that is made while an earlier one is open belongs to the same turn, so other wires see
parallel calls. Calls keep their order among calls, and results among results. This module knows no
wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import UNSET, Struct, UnsetType

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, patch
from toolwire.conversation.model import BodySource, Conversation, Kind, Tool
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Call, Message, Part, Result, Role, Source, describe
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.incidental import setting_matters
from toolwire.wires.engine.patching import patch_parts
from toolwire.wires.engine.specs import Block

# --- reading --------------------------------------------------------------------------------------


class LogReader:
    """Collects the content of the entries of a log."""

    def __init__(self, wire: str) -> None:
        self.wire = wire
        self.parts: list[Part] = []
        self.tools: list[Tool] = []
        self.unknown: list[JsonPath] = []
        """Paths of unknown fields outside of calls and results."""

    def note_unknown(self, value: Object, path: JsonPath, known: frozenset[str]) -> None:
        """Record the fields of an object that are neither known nor empty."""
        self.unknown += [
            (*path, key)
            for key, item in value.items()
            if key not in known and item is not None and item != {}
        ]

    def conversation(self, body: JSON, kind: Kind) -> Conversation:
        """The conversation that the log holds."""
        messages = assign_ids(group_turns(self.parts, self.wire), seed="", ordered=False)
        if not messages and kind == "response":
            messages = (Message("assistant", (), wire=self.wire),)
        return Conversation(
            messages,
            tools=tuple(self.tools),
            wire=self.wire,
            kind=kind,
            source=BodySource(body, unknown_fields=tuple(self.unknown)),
        )


def group_turns(parts: Iterable[Part], wire: str) -> tuple[Message, ...]:
    """The messages of a log: for each turn, a message with its calls, then one with everything
    else."""
    log = list(parts)
    result_index = _result_indexes(log)
    out: list[Message] = []
    turn = _LogTurn()
    for i, part in enumerate(log):
        if isinstance(part, Call):
            if not turn.accepts(part, i):
                out += turn.messages(wire)
                turn = _LogTurn(turn.last_result)
            turn.calls.append(part)
            turn.last_result = max(turn.last_result, result_index.get(i, -1))
        else:
            turn.others.append(part)
            turn.has_results |= isinstance(part, Result)
    return (*out, *turn.messages(wire))


def _result_indexes(log: list[Part]) -> dict[int, int]:
    """Call index → result index, for calls with an id; of open calls with one id, the newest has
    the first result."""
    open_calls: dict[str, list[int]] = {}
    indexes: dict[int, int] = {}
    for i, part in enumerate(log):
        if isinstance(part, Call) and part.id:
            open_calls.setdefault(part.id, []).append(i)
        elif isinstance(part, Result) and open_calls.get(part.call_id):
            indexes[open_calls[part.call_id].pop()] = i
    return indexes


class _LogTurn:
    """Calls that were open at the same time, and the parts that followed the first of them."""

    __slots__ = ("calls", "has_results", "last_result", "others")

    def __init__(self, last_result: int = -1) -> None:
        self.calls: list[Call] = []
        self.others: list[Part] = []
        self.has_results = False
        self.last_result = last_result
        """The index in the log of the last result of these calls, and of the calls before them: an
        id that is used again starts a message while they are open."""

    def accepts(self, call: Call, index: int) -> bool:
        """True if a call belongs to this turn: the turn has no result yet, or one of its calls is
        open."""
        if not self.calls:
            return not self.others
        if call.id and any(other.id == call.id for other in self.calls):
            return False
        return not self.has_results or self.last_result > index

    def messages(self, wire: str) -> list[Message]:
        out = [_message("assistant", self.calls, wire)] if self.calls else []
        if self.others:
            out.append(_message("tool" if self.has_results else "user", self.others, wire))
        return out


def _message(role: Role, parts: Iterable[Part], wire: str) -> Message:
    """A message of a log, which has no JSON. If it has only one part, its path is that of the
    part."""
    content = tuple(parts)
    path = content[0].path if len(content) == 1 else ()
    return Message(role, content, wire=wire, source=Source(path=path))


# --- writing --------------------------------------------------------------------------------------


class _LogPart(Struct, frozen=True):
    """A part, the index of its entry in the log, and True if it was read from this wire."""

    entry: int
    part: Part
    native: bool


def rewrite_log(
    conversation: Conversation,
    context: EncodeContext,
    *,
    source: list[JSON],
    original: Conversation | None,
    write: Callable[[Part], JSON],
) -> list[JSON]:
    """The entries of a log after parts were added or removed.

    An entry whose parts are all still there stays, with their edits; entries that never held a part
    stay where they were.

    Args:
        conversation: The conversation to write.
        context: The encode context.
        source: The entries that were read; empty for a conversation of another wire.
        original: The conversation as it was read; None for a conversation of another wire.
        write: Writes the entry of one part.
    """
    originals: dict[int, list[Part]] = {}
    for part in original.parts() if original is not None else ():
        originals.setdefault(_entry_of(part), []).append(part)
    log = _in_log_order(conversation, context.wire, len(source))
    current: dict[int, list[Part]] = {}
    for item in log:
        if item.native and item.entry in originals:
            current.setdefault(item.entry, []).append(item.part)
    without_parts = [i for i in range(len(source)) if i not in originals]
    out: list[JSON] = []
    patched_entries: set[int] = set()
    for item in log:
        entry = item.entry
        while without_parts and item.native and without_parts[0] < entry:
            out.append(source[without_parts.pop(0)])
        if item.native and entry in patched_entries:
            continue
        patched: JSON | UnsetType = UNSET
        if item.native and entry in originals:
            patched = patch_parts(
                current[entry], originals[entry], source[entry], (entry,), context
            )
        if isinstance(patched, UnsetType):
            out.append(write(item.part))
        else:
            out.append(patched)
            patched_entries.add(entry)
    out += (source[i] for i in without_parts)
    return [entry for entry in out if entry is not None]


def _entry_of(part: Part) -> int:
    return part.path[0] if part.path and isinstance(part.path[0], int) else -1


def _in_log_order(conversation: Conversation, wire: str, length: int) -> list[_LogPart]:
    """Every part in the order of the log; a new part follows the part before it in the
    conversation."""
    log: list[_LogPart] = []
    last = -1
    for message in conversation.messages:
        native = message.wire == wire
        for part in message.parts:
            if native and 0 <= _entry_of(part) < length:
                last = _entry_of(part)
            log.append(_LogPart(last, part, native))
    for kind in (Call, Result):
        entries = [item.entry for item in log if isinstance(item.part, kind)]
        if entries != sorted(entries):
            return log
    return sorted(log, key=lambda item: item.entry)


def write_tools(
    tools: tuple[Tool, ...],
    context: EncodeContext,
    *,
    specs: tuple[Block, ...],
    read: Callable[[JSON, JsonPath], Tool],
    write: Callable[[Tool, EncodeContext], JSON],
) -> list[JSON]:
    """The tool definitions; those read from this wire (`specs`) stay verbatim except for their
    edits."""
    out: list[JSON] = []
    for tool in tools:
        if tool.spec in specs and not isinstance(tool.raw, UnsetType):
            original = write(read(tool.raw, tool.path), context)
            out.append(patch(tool.raw, original, write(tool, context)))
        elif tool.kind in ("function", "custom"):
            out.append(write(tool, context))
        else:
            context.report_loss(tool, f"a tool that only another provider has: {tool.kind}")
    return out


# --- losses ---------------------------------------------------------------------------------------

ONLY_CALLS_AND_RESULTS = "a tool protocol holds only calls and results"


def report_unsupported(part: Part, context: EncodeContext) -> None:
    """Report a part that is neither a call nor a result."""
    context.report_loss(part, f"{ONLY_CALLS_AND_RESULTS}: {describe(part)[:80]}")


def report_other_parts(
    conversation: Conversation, context: EncodeContext, written: Iterable[Part], reason: str
) -> None:
    """Report every part except those in `written`."""
    kept = PartSet(written)
    for part in conversation.parts():
        if part not in kept:
            context.report_loss(part, reason)


def report_settings(conversation: Conversation, context: EncodeContext) -> None:
    """Report all settings, unknown fields and stop reasons: a log cannot hold them."""
    native = conversation.wire == context.wire  # a response of the wire may become part of a log
    source = conversation.source
    original = source.settings if native and source.messages is not None else None
    for name, value in conversation.settings.items():
        if original is None or original.get(name, UNSET) != value:
            path = source.setting_paths.get(name, (name,))
            matters = setting_matters(name, value)
            report = context.report_loss if matters else context.report_info
            report(path, f"a tool protocol has no such setting: {name}")
    if native:
        return
    for path in source.unknown_fields:
        context.report_unknown_field(path)
    for message in conversation.messages:
        if message.stop is not None:
            context.report_loss(message, "a tool protocol has no stop reason")
