"""A thread as JSON: sections of messages, each on the wire of its model.

Results of an incomplete turn are stored separately, by the numbers of their calls: on a wire
without ids, an incomplete set of results cannot be paired by order.
"""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.agent.thread import PLAIN_WIRE, Thread, calls_of, only_results, results_of
from toolwire.codec import decode, encode
from toolwire.codec.known_wires import detect
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Body, Object, load
from toolwire.conversation.model import Conversation, Usage
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Call, Message, Part, Result
from toolwire.errors import UsageError

VERSION = 1


def dump_thread(thread: Thread) -> Object:
    """Return a thread as JSON."""
    messages = thread.messages
    open_turn = thread.open_turn()
    open_results = [] if open_turn is None else _number_results(open_turn[1], open_turn[2])
    while open_results and only_results(messages[-1]):
        messages = messages[:-1]
    stored: Object = {
        "toolwire": VERSION,
        "id": thread.id,
        "sections": [_dump_section(wire, some) for wire, some in _split_by_wire(messages)],
    }
    if open_results:
        stored["open_results"] = open_results
    stored["usage"] = {"input": thread.usage.input, "output": thread.usage.output}
    return stored


def load_thread(body: Body, *, thread_id: str) -> Thread:
    """Return a stored thread, or a new one that continues a history of any wire.

    Args:
        body: The JSON of `dump_thread`, or a history of any wire.
        thread_id: The id of a new thread.

    Raises:
        UsageError: The body is neither of them.
    """
    value, _ = load(body, "")
    if not isinstance(value, dict) or "toolwire" not in value:
        return Thread(thread_id, decode(value, _detect(value)).messages)
    sections, stored_id = value.get("sections"), value.get("id")
    if (
        value["toolwire"] != VERSION
        or not isinstance(stored_id, str)
        or not isinstance(sections, list)
    ):
        raise UsageError("this is not a session that this version of toolwire has stored")
    messages = [
        message for n, section in enumerate(sections) for message in _load_section(section, n)
    ]
    stored_usage = value.get("usage")
    usage = stored_usage if isinstance(stored_usage, dict) else {}
    thread = Thread(
        stored_id, tuple(messages), Usage(_count(usage.get("input")), _count(usage.get("output")))
    )
    open_turn = thread.open_turn()
    results = [] if open_turn is None else _load_results(open_turn[1], value.get("open_results"))
    if not results:
        return thread
    return replace(thread, messages=(*thread.messages, Message("tool", tuple(results))))


# --- sections ---


def _split_by_wire(messages: tuple[Message, ...]) -> list[tuple[str, list[Message]]]:
    """Split messages into runs of one wire. Messages without a wire go with their neighbours."""
    sections: list[tuple[str, list[Message]]] = []
    leading: list[Message] = []
    for message in messages:
        if not message.wire:
            (sections[-1][1] if sections else leading).append(message)
        elif sections and sections[-1][0] == message.wire:
            sections[-1][1].append(message)
        else:
            sections.append((message.wire, [*leading, message]))
            leading = []
    return [(PLAIN_WIRE, leading)] if leading else sections


def _dump_section(wire: str, messages: list[Message]) -> Object:
    encoded = encode(Conversation(tuple(messages)), wire)
    section: Object = {"wire": wire, "body": encoded.body}
    ids: Object = {
        sent: original
        for sent, original in encoded.ids.ids.items()
        if sent != original and not is_minted(original)
    }
    if ids:
        section["ids"] = ids
    failed: list[JSON] = [n for n, result in enumerate(results_of(messages)) if result.error]
    if failed:
        section["failed"] = failed
    return section


def _load_section(section: JSON, number: int) -> tuple[Message, ...]:
    wire = section.get("wire") if isinstance(section, dict) else None
    if not isinstance(section, dict) or not isinstance(wire, str) or "body" not in section:
        raise UsageError("expected an object with a wire and a body", path=("sections", number))
    body = section["body"]
    if not isinstance(body, dict | list | str):
        raise UsageError("expected a body of this wire", path=("sections", number, "body"))
    messages = decode(body, wire).messages
    ids, failed = section.get("ids"), section.get("failed")
    if isinstance(ids, dict):
        messages = _restore_ids(messages, ids)
    return _restore_errors(messages, failed) if isinstance(failed, list) else messages


def _restore_ids(messages: tuple[Message, ...], ids: Object) -> tuple[Message, ...]:
    """Return messages with the original ids, which their wire could not hold."""

    def restore(part: Part) -> Part:
        match part:
            case Call(id=sent) if isinstance(original := ids.get(sent), str):
                return _with_original(part, replace(part, id=original))
            case Result(call_id=sent) if isinstance(original := ids.get(sent), str):
                return _with_original(part, replace(part, call_id=original))
        return part

    return tuple(replace(message, parts=tuple(map(restore, message.parts))) for message in messages)


def _restore_errors(messages: tuple[Message, ...], numbers: list[JSON]) -> tuple[Message, ...]:
    """Return messages with failed results marked: not every wire can hold the mark."""
    results = results_of(messages)
    failed = PartSet(
        results[n]
        for n in numbers
        if isinstance(n, int) and 0 <= n < len(results) and not results[n].error
    )

    def restore(part: Part) -> Part:
        if isinstance(part, Result) and part in failed:
            return _with_original(part, replace(part, error=True))
        return part

    if not failed:
        return messages
    return tuple(replace(message, parts=tuple(map(restore, message.parts))) for message in messages)


def _with_original(part: Part, new: Part) -> Part:
    """Return an edited part that its own wire still writes as it was read."""
    return replace(new, source=replace(part.source, original=part.original or part))


# --- an incomplete turn ---


def _number_results(reply: Message, results: list[Result]) -> list[JSON]:
    """Return results by the numbers of their calls."""
    unused = list(results)
    out: list[JSON] = []
    for number, call in enumerate(calls_of(reply)):
        found = next((result for result in unused if result.call_id == call.id), None)
        if found is not None:
            unused.remove(found)
            output = found.text if isinstance(found.output, tuple) else found.output
            out.append({"call": number, "output": output, "error": found.error})
    return out


def _load_results(reply: Message, stored: JSON) -> list[Result]:
    calls = calls_of(reply)
    results: list[Result] = []
    for entry in stored if isinstance(stored, list) else []:
        number = entry.get("call") if isinstance(entry, dict) else None
        if isinstance(entry, dict) and isinstance(number, int) and 0 <= number < len(calls):
            error = entry.get("error") is True
            results.append(calls[number].result(entry.get("output"), error=error))
    return results


def _count(value: JSON) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _detect(value: JSON) -> str:
    """Return the wire of a history; a list of messages without other signs is a chat."""
    try:
        return detect(value)
    except UsageError:
        messages = value.get("messages") if isinstance(value, dict) else value
        if isinstance(messages, list):
            return PLAIN_WIRE
        raise
