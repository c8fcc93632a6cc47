"""The laws about streams as oracles: each takes any events and raises if the library breaks a law."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy

from cases import facts, nodes, same
from msgspec import UNSET, Struct
from oracles import BODY_ORACLES, DOCUMENTED, Input, Oracle, arguments_of

from toolwire import DecodeError, Reasoning, Result, Text, decode, translate
from toolwire.codec import resolve
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, get
from toolwire.conversation.model import real_losses
from toolwire.streaming.events import Event, PartEnd
from toolwire.streaming.restream import StreamSource, TranslatedStream, fold, restream
from toolwire.wires.engine.encode_context import VALUE_CHANGED
from toolwire.wires.engine.stream import StreamSpec

CUT_OFF = (" ", '{"_raw":" "}')
"""Arguments of a call whose stream broke off before the first of them."""
MODEL_ROLES = {"adk": "model", "gemini": "model", "genkit": "model"}
"""The role of the model where it is not `assistant`."""
REPORTED_CHANGES = (
    "the final arguments differ from the deltas that were sent; the deltas stay",
    VALUE_CHANGED,
)
"""Losses of a stream that sends a value again and changes it: what was written cannot change."""


def events_of(given: Input) -> list[JSON]:
    """The events of a stream."""
    assert isinstance(given.body, list)
    return given.body


def fold_or_none(given: Input) -> JSON:
    """The body of a stream; None if the stream is refused or broke off."""
    try:
        return fold(events_of(given), given.wire)
    except DecodeError as error:
        assert error.why
        return None


def translate_stream(given: Input, stream: StreamSource | None = None) -> TranslatedStream[bytes]:
    """The stream of the target. On its own wire it is rewritten, as the gateway does to add
    calls: with an id map, events are not passed through."""
    ids = IdMap() if _stays_on_wire(given) else None
    stream = events_of(given) if stream is None else stream
    out = restream(stream, given.wire, given.target, ids=ids)
    assert isinstance(out, TranslatedStream)
    return out


def _stays_on_wire(given: Input) -> bool:
    return _wire_name(given.wire) == _wire_name(given.target)


def _wire_name(name: str) -> str:
    """The wire of a wire or profile."""
    return resolve(name)[0].name


class AnswerContent(Struct, frozen=True):
    """The content of an answer, without the boundaries of its texts."""

    calls: list[tuple[str, str]]
    """Name and arguments of each call for the client."""
    text: str
    reasoning: str


def read_answer(body: JSON, wire: str) -> AnswerContent:
    """The content of an answer; blanks in texts are left out, because some wires put a line between
    two texts."""
    conversation = decode(body, wire, "response")
    parts = list(conversation.parts())
    calls = [
        (call.name, "{}" if arguments_of(call) in CUT_OFF else arguments_of(call))
        for call in conversation.calls()
        if call.executor == "client"
    ]
    texts = [part.text for part in parts if isinstance(part, Text)]
    thoughts = [part.text for part in parts if isinstance(part, Reasoning)]
    return AnswerContent(calls, "".join("".join(texts).split()), "".join("".join(thoughts).split()))


def restore_names(calls: list[tuple[str, str]], ids: IdMap) -> list[tuple[str, str]]:
    """Calls with the names that their tools have in the source."""
    return [(ids.names.get(name, name), arguments) for name, arguments in calls]


def stream_raises_only_documented_errors(given: Input) -> bool:
    """`fold` raises only DecodeError, `restream` nothing, and what it writes can be folded."""
    events = events_of(given)
    before = deepcopy(events)
    fold_or_none(given)
    stream = translate_stream(given)
    written = b"".join(stream)
    fold(written, given.target)
    assert all(loss.reason for loss in stream.losses)
    assert same(before, events), "the input was changed"
    return True


def bytes_may_be_cut_anywhere(given: Input) -> bool:
    """The pieces in which bytes arrive change neither the output nor the losses; events have the
    same losses."""
    whole = _bytes_of(given)
    if not whole or any("" in event for event in events_of(given) if isinstance(event, dict)):
        return False  # a frame of an AWS event stream cannot have an empty name
    expected = translate_stream(given, whole)
    written = b"".join(expected)
    for size in (1, 7, 64):
        pieces = [whole[n : n + size] for n in range(0, len(whole), size)]
        stream = translate_stream(given, pieces)
        assert b"".join(stream) == written, size
        assert stream.losses == expected.losses, size
    events = translate_stream(given)
    list(events)
    assert events.losses == expected.losses
    return True


def _spec(name: str) -> StreamSpec:
    """How a wire or profile streams."""
    stream = resolve(name)[0].stream
    assert stream is not None
    return stream


def _may_hold_results(wire: str) -> bool:
    """True if streams of a wire may have results of the client."""
    return _spec(wire).reader().may_contain_results


def _is_of_client(result: Result) -> bool:
    return result.executor == "client"


def _is_plain_answer(body: JSON, wire: str) -> bool:
    """True if an answer is the assistant's, and its calls have names and readable arguments.

    What broke off is told in other ways by events than by a body. Where no stream of a wire has
    results of the client, its calls are written before a result can come.
    """
    try:
        conversation = decode(body, wire, "response")
    except DOCUMENTED:
        return False
    if {message.role for message in conversation.messages} != {"assistant"}:
        return False
    if not _may_hold_results(wire) and any(map(_is_of_client, conversation.results())):
        return False
    was_cut = isinstance(body, dict) and bool(body.get("error"))
    return all(
        call.name
        and not (was_cut and call.family == "custom")
        and not call.args.broken
        and isinstance(call.input, dict)
        and "_raw" not in call.input
        for call in conversation.calls()
    )


def stream_commutes(given: Input) -> bool:
    """Folding what is restreamed gives the calls, the text and the reasoning of the translated
    folded body, unless a change of an emitted value is reported."""
    roles = [get(given.body, path) for path in nodes(given.body) if path[-1:] == ("role",)]
    if not all(role == MODEL_ROLES.get(_wire_name(given.wire), "assistant") for role in roles):
        return False  # an answer under another role holds no calls as a body
    body = fold_or_none(given)
    if body is None or not _is_plain_answer(body, given.wire):
        return False
    exempt = facts(_wire_name(given.wire)).exempt
    if exempt.merged_cuts and isinstance(body, list) and get(body[-1:], (0, "error")) is not UNSET:
        return False
    if any(get(body, (key, 0, "index")) not in (UNSET, 0) for key in ("choices", "candidates")):
        # A stream waits for candidate 0 and reports the others; a body has the first one.
        return False
    finds_calls_by_id = exempt.repeats_answer or any(
        call.approval_for for call in decode(body, given.wire, "response").calls()
    )
    if finds_calls_by_id and not _has_unique_ids(body, given.wire):
        return False  # as repeated calls are, and those that an approval request is about
    for pair in decode(body, given.wire, "response").pairs():
        if pair.call is None:
            return False  # a stream announces the call of a result; a body leaves it out
        if pair.result is None and pair.call.executor == "provider":
            return False  # without a result, not every wire tells who runs a call
    if get(body, ("request", "messages")) is not UNSET:
        return False  # the turns before the last one belong to the request, not to the answer
    stream = translate_stream(given)
    there = fold(b"".join(stream), given.target)
    try:
        # A repair could remove repeated calls, which a stream has written before it knows that.
        repairs = not _stays_on_wire(given)
        made = translate(body, given.wire, given.target, "response", repair=repairs)
        expected, found = read_answer(made.body, given.target), read_answer(there, given.target)
    except DOCUMENTED:
        return False
    if any(loss.reason in REPORTED_CHANGES for loss in stream.losses):
        return False
    sent_names = stream.ids.names
    if any(sent_names.get(name, name) != name for name, _ in read_answer(body, given.wire).calls):
        # A name became that of a later tool, which a body fits first: the tools have to be the same.
        expected.calls[:] = restore_names(expected.calls, made.ids)
        found.calls[:] = restore_names(found.calls, stream.ids)
    known_losses = {loss.reason for loss in made.losses}
    is_reported = any(loss.reason not in known_losses for loss in real_losses(stream.losses))
    if is_reported and Counter(found.calls) < Counter(expected.calls):
        return False  # a stream left calls out and says so
    ordered = sorted if exempt.indexed_calls else list
    calls, expected_calls = ordered(found.calls), ordered(expected.calls)
    assert calls == expected_calls, f"{calls}, not {expected_calls}"
    texts = [(found.text, expected.text), (found.reasoning, expected.reasoning)]
    if decode(body, given.wire, "response").results():
        texts = []  # where the turn before a result belongs to the request, its text is not read
    for text, expected_text in texts:
        # Blocks may grow in turn, and a wire with one text joins what arrives.
        lost, added = Counter(expected_text) - Counter(text), Counter(text) - Counter(expected_text)
        # On its own wire, the body is verbatim, and the stream describes what it cannot repeat.
        is_described = is_reported and _stays_on_wire(given)
        assert is_reported or not lost, f"{text}, not {expected_text}"
        assert is_described or not added, f"{text}, not {expected_text}"
    if _has_unique_ids(body, given.wire):
        is_late = has_late_ids(given)
        ids = call_ids(there, given.target, stream.ids, of_source=is_late)
        expected_ids = call_ids(made.body, given.target, made.ids, of_source=is_late)
        identified = ordered(zip(ids, found.calls, strict=True))
        expected_calls_by_id = ordered(zip(expected_ids, expected.calls, strict=True))
        assert identified == expected_calls_by_id, f"{identified}, not {expected_calls_by_id}"
    return True


def call_ids(body: JSON, wire: str, made: IdMap, *, of_source: bool = False) -> list[str]:
    """The ids of the client's calls in a translated answer; empty for one that was minted.

    A minted id may be left out, and is then minted again from the id of the answer, which a stream
    may send last. A target may also fit it, so the id map tells which ids were minted.

    Args:
        body: The answer.
        wire: Its wire.
        made: The id map of its translation.
        of_source: Return the ids of the source, which the id map restores.
    """
    calls = decode(body, wire, "response").calls()
    ids = [call.id for call in calls if call.executor == "client"]
    if of_source:
        ids = [made.ids.get(i, i) for i in ids]
    return ["" if is_minted(i) or is_minted(made.ids.get(i, i)) else i for i in ids]


def has_late_ids(given: Input) -> bool:
    """True if a call was emitted under a minted id before its own id arrived, which only the id map
    has then."""
    reader = _spec(given.wire).reader()
    events: list[Event] = []
    for chunk in events_of(given):
        assert isinstance(chunk, dict)
        events += [] if reader.over else reader.read(chunk)
        reader.count += 1
    events += reader.end()
    return any(isinstance(event, PartEnd) and event.alias for event in events)


def _has_unique_ids(body: JSON, wire: str) -> bool:
    """True if the calls of an answer all have ids of their own and are the client's.

    Of calls with one id, a stream changes that of the second, before it knows of a third that has
    the new one; calls of a provider are not on every wire.
    """
    calls = decode(body, wire, "response").calls()
    return len({call.id for call in calls}) == len(calls) and all(
        call.executor == "client" for call in calls
    )


def stream_to_its_own_wire_is_unchanged(given: Input) -> bool:
    """A stream that stays on its wire comes out as it went in, in whatever pieces it arrives."""
    events = events_of(given)
    stream = restream(events, given.wire, _wire_name(given.wire), framed=False)
    assert same(list(stream), events)
    whole = _bytes_of(given)
    pieces = [whole[n : n + 7] for n in range(0, len(whole), 7)] or [b""]
    expected = b"".join(restream(whole, given.wire, _wire_name(given.wire)))
    assert b"".join(restream(pieces, given.wire, _wire_name(given.wire))) == expected
    return True


def stream_may_break_off(given: Input) -> bool:
    """Bytes that end anywhere are folded or refused with DecodeError, and restreamed."""
    whole = _bytes_of(given)
    for end in sorted({len(whole) * n // 7 for n in range(1, 7)} | {len(whole) - 2}):
        piece = whole[: max(end, 0)]
        try:
            fold(piece, given.wire)
        except DecodeError as error:
            assert error.why
        written = b"".join(translate_stream(given, [piece]))
        if written:
            fold(written, given.target)
    return True


def source_may_fail(given: Input) -> bool:
    """A source that fails leaves the content of one that just ends there."""
    events = events_of(given)
    for end in range(0, len(events) + 1, len(events) // 8 + 1):
        ended, failed = (
            b"".join(translate_stream(given, source))
            for source in (events[:end], [*events[:end], []])
        )
        try:
            expected = read_answer(fold(ended, given.target), given.target)
            found = read_answer(fold(failed, given.target), given.target)
        except DOCUMENTED:
            continue
        assert found == expected, f"{found}, not {expected}"
    return True


def _bytes_of(given: Input) -> bytes:
    frame = _spec(given.wire).frame
    return b"".join(frame(event) for event in events_of(given) if isinstance(event, dict))


STREAM_ORACLES: dict[str, Oracle] = {
    oracle.__name__: oracle
    for oracle in (
        stream_raises_only_documented_errors,
        stream_to_its_own_wire_is_unchanged,
        stream_may_break_off,
        source_may_fail,
        bytes_may_be_cut_anywhere,
        stream_commutes,
    )
}
ORACLES = {**BODY_ORACLES, **STREAM_ORACLES}
