"""What a streaming wire is made of: a reader, a writer, and how its events are framed.

A reader takes the wire's own events and says what happens in the neutral ones; asked to keep, it
also puts together the whole body that the stream stands for. A writer takes neutral events and says
them in the wire's own. Both use the rows of the bodies. Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from msgspec import UNSET, Struct
from msgspec.structs import replace

from toolwire.conversation.ids import first_free, mint
from toolwire.conversation.json import JSON, Object, dump
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation, Setting
from toolwire.conversation.parts import Call, Message, Result
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
)
from toolwire.streaming.framing import aws, ndjson
from toolwire.wires.engine.encode_context import EncodeContext

DONE = b"data: [DONE]\n\n"
STREAM_CUT = "the stream ended before the answer was over"


class StreamReader:
    """Reads one stream of a wire. Memory does not grow with the stream unless the body is asked
    for."""

    wire = ""
    may_contain_results = False
    """Whether its streams may hold the results of the calls they tell."""

    def __init__(self, *, keep: bool = False) -> None:
        self.keep = keep
        """Whether the whole body is wanted at the end."""
        self.count = 0
        """How many events came before the one that is being read: the first step of every pointer
        into the stream."""
        self.done = False
        """Whether the stream said `[DONE]`."""
        self.over = False
        """Whether the wire's own last event has come: nothing more is waited for."""
        self.seed = ""
        """What tells this answer from the next, for ids that have to be made: the answer's own id.
        """
        self.calls: list[Call] = []
        """Every call so far, with its id."""
        self.answered_indexes: set[int] = set()
        """Which of them have a result."""

    def read(self, event: Chunk) -> list[Event]:
        """What one event of the wire says."""
        raise NotImplementedError

    def end(self) -> list[Event]:
        """What is left to say when no more comes: parts that stayed open, why the model stopped, or
        that the stream broke."""
        raise NotImplementedError

    def body(self) -> JSON:
        """The whole body. Raises RemoteError if the stream was none of this wire."""
        raise NotImplementedError

    def assign_call_id(self, call: Call, ordinal: int | None = None) -> Call:
        """The call with the id it has from here on: its own, or one that the whole body will be
        given too.

        `ordinal` is its place among all calls of the body, where it is not the order in which they
        are announced.
        """
        if not call.id:
            path = len(self.calls) if ordinal is None else ordinal
            taken = {one.id for one in self.calls}
            call = replace(
                call,
                id=first_free(lambda salt: mint(f"{self.seed}{salt}", path, call.name), taken),
                origin="minted",
            )
        self.calls.append(replace(call, args=LazyJson(""), source=replace(call.source, raw=UNSET)))
        return call

    def assign_result_id(self, result: Result) -> Result:
        """The result under the id of its call: where it came without, that of the oldest call of
        its name without an answer."""
        path = next(
            (
                i
                for i, call in enumerate(self.calls)
                if (
                    call.id == result.call_id
                    if result.call_id
                    else i not in self.answered_indexes
                    and result.name in (None, "", call.name)
                    and call.family == result.family
                )
            ),
            None,
        )
        if path is None:
            made = mint(f"{self.seed} result", len(self.calls), result.name or "")
            return result if result.call_id else replace(result, call_id=made, origin="minted")
        self.answered_indexes.add(path)
        return replace(result, call_id=self.calls[path].id)

    def text_appender(self, slot: int) -> Callable[[str], bool] | None:
        """What takes in more text of an open part from an event that is like the last one but for
        its text.

        It gives False, and does nothing, if the text could mean more than that. None: every event
        has to be read.
        """
        return None

    def no_events_error(self) -> RemoteError:
        """What to raise when there was not one event of this wire."""
        return RemoteError(self.wire, (), "there is no event of this wire in the stream")


class StreamWriter:
    """Writes one stream of a wire: each neutral event becomes the wire's own events, at once where
    the grammar allows."""

    supports_candidates = False
    """Whether the wire can hold several candidates."""
    supports_results = False
    """Whether the wire can hold results of tools, and several turns, in an answer."""
    requires_object_arguments = False
    """Whether the pieces of a call's arguments have to add up to an object."""
    supports_custom_calls = False
    """Whether the wire can hold calls whose input is free text."""

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        self.context = context
        self.settings: dict[str, Setting] = {}
        self.version = version
        """The version of the wire to write, for wires that have several."""

    def begin(self, event: MessageStart) -> list[Chunk]:
        """The answer begins; always the first call."""
        self.settings.update(event.settings)
        seed = self.settings.get("id")
        self.context.seed = seed if isinstance(seed, str) else ""
        return []

    def start_turn(self, event: TurnStart) -> list[Chunk]:
        """The next message begins; asked only of wires that hold results."""
        return []

    def start(self, event: PartStart) -> list[Chunk]:
        raise NotImplementedError

    def delta(self, event: PartDelta) -> list[Chunk]:
        raise NotImplementedError

    def end(self, event: PartEnd) -> list[Chunk]:
        raise NotImplementedError

    def report_changed_arguments(self, event: PartEnd) -> None:
        """Report arguments that turned out to be others than those that were sent piece by piece,
        which stay."""
        if event.whole is not None:
            self.context.report_loss(
                (), "arguments that were told again otherwise: what was sent first stays"
            )

    def complete(self, event: PartComplete) -> list[Chunk]:
        raise NotImplementedError

    def can_skip_call(self, call: Call, words: Collection[str]) -> bool:
        """Whether a call without arguments need not be told, because its reader has had it from
        before.

        `words` are those that the map home has about it.
        """
        return False

    def text_appender(self, slot: int) -> Callable[[str], object] | None:
        """What takes in more text of an open part whose event is always the same but for the text;
        None if it is not."""
        return None

    def metadata(self, event: Metadata) -> list[Chunk]:
        """Usage and the like: kept for the end."""
        self.settings.update(event.settings)
        return []

    def finish(self, event: Finish) -> list[Chunk]:
        raise NotImplementedError

    def error(self, event: StreamError) -> list[Chunk]:
        raise NotImplementedError

    def close(self) -> list[Chunk]:
        """The last events, after every candidate is finished; none after a fault."""
        return []

    def write_empty_body(
        self,
        write: Callable[[Conversation, EncodeContext], JSON],
        stop: str | None = None,
        message: Message | None = None,
    ) -> Object:
        """An answer without parts as the wire writes its bodies: what the first and last events are
        made of."""
        said = message if message is not None else Message("assistant", (), stop)
        body = write(Conversation((said,), (), self.settings, "", "response"), self.context)
        assert isinstance(body, dict)
        return body


class StreamSpec(Struct, frozen=True, eq=False):
    """How a wire streams."""

    reader: Callable[..., StreamReader]
    writer: Callable[..., StreamWriter]
    frame: Callable[[Chunk], bytes]
    trailer: bytes = b""
    """What follows the last event."""
    media: str = "text/event-stream"
    headers: Mapping[str, str] = {}
    """Header fields of an HTTP answer that holds such a stream, beside its content type."""
    unwrap: Callable[[str, JSON], JSON] | None = None
    """Makes one event of a frame's name and payload, on wires whose payload does not name its own
    type."""
    versions: tuple[int, ...] = ()
    """Versions of the wire that a writer can be asked for; the first is the one nobody has to ask
    for."""
    adapt: Callable[[Chunk, int], Chunk | None] | None = None
    """An event of the wire as a version of it takes it; None if that has no such event."""


def one_line(event: Chunk) -> bytes:
    """An event as JSON in which nobody sees a line break: some clients take Unicode's own ones for
    the end of a line."""
    text = dump(event)
    if text.isascii():
        return text
    for raw, escape in BREAKS.items():
        text = text.replace(raw, escape)
    return text


BREAKS = {b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029", b"\xc2\x85": b"\\u0085"}
"""Line breaks that JSON does not escape, and their escapes."""


def data_sse(event: Chunk) -> bytes:
    """Server-sent events without names."""
    return b"data: " + one_line(event) + b"\n\n"


def named_sse(event: Chunk) -> bytes:
    """Server-sent events whose name is the type in their data."""
    kind = event.get("type")
    name = (
        b"event: " + kind.encode("utf-8", "replace") + b"\n"
        if isinstance(kind, str) and kind.isprintable()
        else b""
    )
    return name + b"data: " + one_line(event) + b"\n\n"


def ndjson_line(event: Chunk) -> bytes:
    """One JSON object a line."""
    return ndjson.write(one_line(event))


def aws_message(event: Chunk) -> bytes:
    """AWS messages: the only field of an event is its type. An exception is one whose
    name says so.
    """
    name, payload = next(iter(event.items())) if len(event) == 1 else ("", event)
    return aws.write(
        dump(payload), name, kind="exception" if name.endswith("Exception") else "event"
    )


def unwrap_typed(name: str, payload: JSON) -> JSON:
    """An event whose type stands in its data; where it does not, its name is its type."""
    return (
        payload
        if not name or not isinstance(payload, dict) or "type" in payload
        else {"type": name, **payload}
    )


def unwrap_named(name: str, payload: JSON) -> JSON:
    """An event under its name, as AWS's own SDK gives it."""
    return {name: payload} if name else payload


# --- putting a body together ----------------------------------------------------------------------


def merge(old: JSON, new: JSON) -> JSON:
    """A value with a fragment of it joined on: texts and lists grow, objects are merged, anything
    else is replaced.

    Lists and objects are grown in place: give it only what belongs to the body that is being put
    together.
    """
    if new is None:
        return old
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    if isinstance(old, list) and isinstance(new, list):
        old.extend(new)
        return old
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in new.items():
            old[key] = merge(old.get(key), value)
        return old
    return copy_json(new)


def copy_json(value: JSON) -> JSON:
    """A copy whose containers may be changed."""
    if isinstance(value, dict):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) for item in value]
    return value
