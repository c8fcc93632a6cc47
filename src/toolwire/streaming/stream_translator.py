"""One stream on its way from a wire to another: what comes in, what goes out, event by event.

Between the source's reader and the target's writer stands what `translate` does for bodies: ids and
names are fitted, tools that a provider ran are told in a form that the target has, what stays
behind is reported. Nothing is held back that the target could already be told. Knows wires only
through their tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec.structs import replace

from toolwire.codec import IdMapInput, resolve
from toolwire.conversation.fitting import IdFitter
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import text_of
from toolwire.conversation.model import Loss, Setting, Usage
from toolwire.conversation.parts import Call, Part, Reasoning, Result, Text
from toolwire.errors import LocalError, RemoteError
from toolwire.profiles.table import PROFILES, Profile
from toolwire.streaming.accumulate import Accumulator, streamed_text, without_text
from toolwire.streaming.delta_cache import DeltaCache
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
from toolwire.streaming.stream_input import BYTES, EventInput, Item, resolve_stream
from toolwire.wires.engine.capabilities import EVERYTHING
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.lowering import lower_opening, lower_part, lower_settings
from toolwire.wires.engine.server_tools import POLICIES, ServerToolPolicy, server_tool_as_text
from toolwire.wires.engine.stream import StreamReader, StreamWriter

Out = TypeVar("Out")


class StreamTranslator(Generic[Out]):
    """One stream on its way: fed what comes of the source, it gives the events of the target in the
    shape that is wanted."""

    def __init__(
        self,
        source: str,
        target: str,
        shape: Callable[[Chunk], Out] | None = None,
        *,
        ids: IdMapInput = None,
        server_tools: ServerToolPolicy = "text",
        version: int | None = None,
    ) -> None:
        came, self._from = resolve_stream(source)
        goes, self.to = resolve_stream(target)
        if server_tools not in POLICIES:
            raise LocalError(
                target, (), f"server_tools is one of {', '.join(POLICIES)}, not {server_tools!r}"
            )
        if version is not None and version not in self.to.versions:
            known = ", ".join(map(str, self.to.versions)) or "none"
            raise LocalError(
                target, (), f"no such version of this wire: {version}; there are {known}"
            )
        _, rules = resolve(target)
        self._home = IdMap.of(ids)
        self._hosted: ServerToolPolicy = server_tools
        self._capabilities = EVERYTHING if came is goes else goes.capabilities
        self._hosts = goes.hosts and server_tools != "drop"
        """Whether the target can hold calls that a provider ran."""
        odd = PROFILES.get(came.name, Profile(came.name, came.name))
        self._fit = IdFitter(
            rules.id_rule,
            rules.name_rule,
            unique=rules.ids_unique_in_request,
            reverse_map=self._home,
            source_rules=(odd.id_rule, odd.name_rule),
        )
        self.events = EventInput(came.name, self._from)
        self._version = version
        self.same = (
            came is goes
            and ids is None
            and rules.name == goes.name
            and (version is None or self.to.adapt is not None)
        )
        """Whether it goes to the wire it came from: its events stay as they are, as far as the
        version knows them."""
        self._context = EncodeContext(
            goes.name, "response", ids=None, names={}, reverse_map=self._home
        )
        self._reader: StreamReader = self._from.reader(keep=False)
        self._writer: StreamWriter = self.to.writer(self._context, version)
        self._shape: Callable[[Chunk], Out] = shape or self.to.frame  # type: ignore[assignment]
        self._framed = shape is None and not self.same
        self._quick = DeltaCache()
        self._idle = False
        """Whether the next bytes begin an event, and may be like one that was seen."""
        self.over = False
        """Whether the source has said all it has to say, though it may not have closed."""
        self._said: list[Event] = []
        """What the last event said."""
        self._begun = False
        self.fault: StreamError | None = None
        """What went wrong in the source, if anything did: nothing is told after it."""
        self._told = Accumulator()
        """Calls of a provider that are told in text when they are whole."""
        self._custom: set[int] = set()
        """Open calls whose text goes out as a text inside an object."""
        self._fresh: dict[int, Call] = {}
        """Open calls without arguments so far, for a target that wants an object."""
        self._muted: set[int] = set()
        self._quiet: dict[int, PartStart] = {}
        """Reasoning that was opened and has no words yet; it may never have any."""
        self._joined = False
        """Whether something that was run is told in text: then all turns are one."""
        self._told_in: dict[int, int] = {}
        self._open: dict[str, int] = {}
        """Calls without a result so far, and which candidate asked for them."""
        self._asked: list[tuple[str, PartComplete]] = []
        """Calls of a stream that may also hold their results, for a target that cannot: which it
        is, is known later."""
        self._waits = self._reader.may_contain_results and not self._writer.supports_results
        self._minted: dict[int, str] = {}
        """Open calls under an id that was made for them."""
        self._finished: list[Finish] = []
        self._slots = -1

    @property
    def losses(self) -> list[Loss]:
        """What could not be carried so far."""
        return list(dict.fromkeys(self._context.losses))

    @property
    def usage(self) -> Usage | None:
        """What the answer used up, as far as it was told."""
        usage = self._writer.settings.get("usage")
        return usage if isinstance(usage, Usage) else None

    @property
    def ids(self) -> IdMap:
        """The map home so far."""
        home = self._fit.sent
        hidden = {sent: home.get(before, before) for sent, before in self._context.sent_ids.items()}
        return IdMap({**home, **hidden}, dict(self._fit.names), dict(self._context.forms))

    def feed(self, item: Item) -> list[Out]:
        """What an item of the source becomes."""
        quick = self._quick
        if self._idle and item.__class__ is bytes and item[-2:] == b"\n\n":
            said = quick.take(item[:-2])
            if said is not None:
                self._reader.count += 1
                return [said]  # type: ignore[list-item]
        if self.fault is not None:
            return []
        if not isinstance(item, BYTES):
            out = list(map(self._shape, self._through(self.events.given(item))))
            self.over = self._reader.over or self.fault is not None
            return out
        try:
            out = self._pieces(self.events.cut(item), quick)
        except RemoteError as broken:
            out = list(map(self._shape, self._through(StreamError(broken.why))))
        self.over = self.events.done or self._reader.over or self.fault is not None
        self._idle = self._framed and self.events.idle and not self.over
        return out

    def _pieces(self, pieces: list[bytes], quick: DeltaCache) -> list[Out]:
        out: list[Out] = []
        for piece in pieces:
            said = quick.take(piece)
            if said is not None:
                out.append(said)  # type: ignore[arg-type]
                self._reader.count += 1
                continue
            try:
                event = self.events.event(piece)
            except RemoteError as broken:
                event = StreamError(broken.why)
            if event is not None:
                shaped = list(map(self._shape, self._through(event)))
                if self._framed:
                    self._learn(quick, piece, shaped)
                out += shaped
        return out

    def _learn(self, quick: DeltaCache, piece: bytes, shaped: list[Out]) -> None:
        """Remember an event that was one text and nothing else, read and written."""
        said = self._said
        if len(said) != 1 or said[0].__class__ is not PartDelta or len(shaped) != 1:
            quick.forget()
            return
        slot = said[0].slot
        if slot in self._told or slot in self._custom:
            return
        grow, keep = self._reader.text_appender(slot), self._writer.text_appender(slot)
        if grow is not None and keep is not None and isinstance(shaped[0], bytes):
            quick.learn(piece, said[0].text, shaped[0], grow, keep)

    def end(self) -> list[Out]:
        """What is left when no more comes."""
        return list(map(self._shape, self._rest()))

    def broke(self, broken: Exception) -> list[Out]:
        """What the target is told when the source itself fails: that, and by its kind only, for its
        words may hold secrets."""
        if self.fault is not None:
            return []
        return list(
            map(
                self._shape,
                self._through(StreamError(f"the source failed: {type(broken).__name__}")),
            )
        )

    def _rest(self) -> list[Chunk]:
        out = [chunk for event in self.events.rest() for chunk in self._through(event)]
        if self.same:
            return out
        if self.fault is None:
            self._reader.done = self.events.done
            out += self._say(self._reader.end())
        return out if self.fault is not None else [*out, *self._unanswered(), *self._last()]

    def _last(self) -> list[Chunk]:
        """Why the answer is over, and the mark of its end."""
        out: list[Chunk] = []
        for finish in self._finished or [Finish(None)]:
            out += self._writer.finish(self._derived(finish))
        return [*out, *self._writer.close()]

    @property
    def tail(self) -> bytes:
        """What a framed stream ends with: nothing if it broke off."""
        if self.same:
            return self.to.trailer if self.events.done or not self.events.framed else b""
        return b"" if self.fault is not None else self.to.trailer

    def _through(self, event: Chunk | StreamError) -> list[Chunk]:
        reader = self._reader
        if isinstance(event, StreamError):
            self._said = [event]
            if self.same:
                self.fault = event
                return self._writer.error(event)
            closing: list[Event] = [
                one for one in reader.end() if isinstance(one, PartDelta | PartEnd)
            ]
            return [] if self.fault is not None else self._say([*closing, event])
        if self.same:
            return [event] if self._version is None else self._adapted(event, self._version)
        if self.fault is not None:
            return []
        self._said = said = reader.read(event)
        out = self._say(said)
        reader.count += 1
        return out

    def _adapted(self, event: Chunk, version: int) -> list[Chunk]:
        """An event of this wire as a version of it takes it."""
        assert self.to.adapt is not None
        path, known = self._reader.count, self.to.adapt(event, version)
        self._reader.count += 1
        if known is None:
            self._context.report_loss(
                (path,), f"version {version} of this wire has no such event: {event.get('type')}"
            )
            return []
        for key in event:
            if key not in known:
                self._context.report_loss(
                    (path, key), f"version {version} of this wire has no such field"
                )
        return [known]

    def _say(self, events: list[Event]) -> list[Chunk]:
        out: list[Chunk] = []
        for event in events:
            if event.__class__ is PartDelta:
                slot = event.slot
                if slot in self._muted:
                    continue
                if slot in self._quiet:
                    out += self._writer.start(self._quiet.pop(slot))
                if slot in self._told:
                    self._told.delta(event)
                elif slot in self._fresh and event.text.strip():
                    out += self._opening(event)
                elif slot in self._custom:
                    out += self._writer.delta(PartDelta(slot, text_of(event.text)[1:-1]))
                else:
                    out += self._writer.delta(event)
            else:
                out += _MOVES[event.__class__](self, event)
        return out

    def _opening(self, event: PartDelta) -> list[Chunk]:
        """The first words of arguments that have to be an object: what is none goes out as a text
        inside one."""
        call = self._fresh.pop(event.slot)
        if event.text.lstrip()[:1] == "{":
            return self._writer.delta(event)
        self._context.report_loss(
            call, "the arguments are not a JSON object; they are sent under `_raw`"
        )
        self._context.forms[call.id] = "raw"
        self._custom.add(event.slot)
        return [
            *self._writer.delta(PartDelta(event.slot, '{"_raw":"')),
            *self._writer.delta(PartDelta(event.slot, text_of(event.text)[1:-1])),
        ]

    def _begin(self, event: MessageStart) -> list[Chunk]:
        if self._begun:
            self._writer.metadata(Metadata(event.settings))
            return []
        self._begun = True
        return self._writer.begin(MessageStart(self._lower_settings(event.settings)))

    def _first(self) -> list[Chunk]:
        return [] if self._begun else self._begin(MessageStart({}))

    def _turn(self, event: TurnStart) -> list[Chunk]:
        self._fit.start_turn()
        return (
            [*self._first(), *self._writer.start_turn(event)]
            if self._writer.supports_results and not self._joined
            else []
        )

    def _start(self, event: PartStart) -> list[Chunk]:
        part, writer = event.part, self._writer
        if event.choice and not writer.supports_candidates:
            self._muted.add(event.slot)
            self._context.report_loss(
                ("choices", event.choice),
                "an answer here is one message; the other candidates stay behind",
            )
            return []
        out = self._first()
        if isinstance(part, Call):
            if (part.executor == "provider" and not self._hosts) or self._waits:
                self._told.start(event)
                self._told_in[event.slot] = event.choice
                return out
            self._reported(part)
            part = self._fitted(part)
            if part.origin == "minted":
                self._minted[event.slot] = part.id
            if part.executor == "client":
                self._open[part.id] = event.choice
            if part.family == "custom" and not writer.supports_custom_calls:
                self._context.report_loss(
                    part, "a custom call is sent as a function call with one field, `input`"
                )
                self._context.forms[part.id] = "custom"
                self._custom.add(event.slot)
                opened = PartStart(event.slot, replace(part, family="function"), event.choice)
                return [
                    *out,
                    *writer.start(opened),
                    *writer.delta(PartDelta(event.slot, '{"input":"')),
                ]
            if writer.requires_object_arguments:
                self._fresh[event.slot] = part
            event = PartStart(event.slot, part, event.choice)
        else:
            self._reported(part)
            lowered = lower_opening(part, self._capabilities, losses=self._context.losses)
            if lowered is None:
                self._muted.add(event.slot)
                return out
            if lowered is not part:
                event = replace(event, part=lowered)
            if isinstance(part, Reasoning):
                self._quiet[event.slot] = event
                return out
        return out + writer.start(event)

    def _fitted(self, call: Call) -> Call:
        """The call under the id and name it is sent with; what it is about is known by the id that
        was sent last."""
        call = self._fit.call(call)
        if call.approval_for is None:
            return call
        about = next(
            (
                sent
                for sent, before in reversed(self._fit.sent.items())
                if before == call.approval_for
            ),
            call.approval_for,
        )
        return replace(call, approval_for=about)

    def _reported(self, part: Part) -> None:
        if part.signature is not None or not (part.spec is None or part.spec.clean(part.raw)):
            self._context.report_unknown_fields(part)

    def _end(self, event: PartEnd) -> list[Chunk]:
        slot = event.slot
        if slot in self._muted:
            self._muted.discard(slot)
            return []
        minted = self._minted.pop(slot, None)
        self._fresh.pop(slot, None)
        if event.alias is not None and minted is not None:
            self._fit.sent[minted] = event.alias
        if event.signature is not None:
            self._context.report_loss(
                (self._reader.count,), "a signature that only its own provider can read"
            )
        quiet = self._quiet.pop(slot, None)
        if (
            quiet is not None
        ):  # it says nothing: what becomes of it, the writer of whole parts knows
            lowered = self._lower(quiet.part)
            if not lowered:
                return []
            return self._writer.complete(PartComplete(lowered[0], quiet.choice))
        if slot in self._told:
            part, choice = self._told.end(event), self._told_in.pop(slot)
            if isinstance(part, Call) and (part.executor == "client" or self._hosts):
                self._asked.append((part.id, PartComplete(part, choice)))
                return []
            return self._hosted_part(part, choice)
        if slot in self._custom:
            self._custom.discard(slot)
            closed = [] if event.cut else self._writer.delta(PartDelta(slot, '"}'))
            return [*closed, *self._writer.end(PartEnd(slot, cut=event.cut))]
        return self._writer.end(event)

    def _hosted_part(self, part: Part, choice: int = 0) -> list[Chunk]:
        losses: list[Loss] = []
        text = server_tool_as_text(part, self._hosted, losses)
        self._joined = True
        self._context.losses += losses
        return [] if text is None else self._whole(PartComplete(text, choice))

    def _whole(self, event: PartComplete) -> list[Chunk]:
        part, writer = event.part, self._writer
        if event.unseen and isinstance(part, Call) and self._resumed(part):
            return self._first()
        text = streamed_text(part)
        if text is not None:
            slot = self._slots
            self._slots -= 1
            grows: list[Event] = [PartDelta(slot, text)] if text else []
            return self._say(
                [
                    PartStart(slot, without_text(part), event.choice),
                    *grows,
                    PartEnd(slot, signature=part.signature),
                ]
            )
        if event.choice and not writer.supports_candidates:
            self._context.report_loss(
                part, "an answer here is one message; the other candidates stay behind"
            )
            return []
        out = self._first()
        if isinstance(part, Result):
            asked = next((whole for one, whole in self._asked if one == part.call_id), None)
            if (
                asked is not None
            ):  # whoever sent the stream ran it: it is told as a provider's tool is
                self._asked = [(one, whole) for one, whole in self._asked if whole is not asked]
                return [
                    *out,
                    *self._hosted_part(asked.part, event.choice),
                    *self._hosted_part(part, event.choice),
                ]
            if part.executor == "provider" and not self._hosts:
                return out + self._hosted_part(part, event.choice)
            if part.executor == "client" and not writer.supports_results:
                self._context.report_loss(part, "an answer holds only what the assistant says")
                return out
            self._reported(part)
            result = self._fit.result(part)
            if not result.preliminary:
                self._open.pop(result.call_id, None)
            return out + writer.complete(PartComplete(result, event.choice))
        self._reported(part)
        lowered = self._lower(part)
        if not lowered:
            return out
        if lowered[0] is not part and isinstance(lowered[0], Text):
            return out + self._whole(PartComplete(lowered[0], event.choice))
        return out + writer.complete(replace(event, part=lowered[0]))

    def _lower(self, part: Part) -> tuple[Part, ...]:
        """A complete part as the target can hold it."""
        return lower_part(
            part, self._capabilities, "assistant", kind="response", losses=self._context.losses
        )

    def _resumed(self, call: Call) -> bool:
        """Whether the reader has a call from before, of which only the result comes now; if not, it
        is told as far as known."""
        if self._writer.can_skip_call(
            replace(call, id=self._home.ids.get(call.id, call.id)),
            self._context.recorded_forms(call),
        ):
            return True
        self._context.report_loss(
            call, "its call never came; one without arguments is told in its place"
        )
        return False

    def _note(self, event: Metadata) -> list[Chunk]:
        settings = self._lower_settings(event.settings)
        return [*self._first(), *self._writer.metadata(Metadata(settings))]

    def _lower_settings(self, settings: dict[str, Setting]) -> dict[str, Setting]:
        if self._capabilities is EVERYTHING:
            return settings
        return lower_settings(settings, self._capabilities, {}, self._context.losses)

    def _finish(self, event: Finish) -> list[Chunk]:
        """Kept until no more comes: some servers go on after they gave the reason."""
        if not event.choice or self._writer.supports_candidates:
            self._finished = [*(one for one in self._finished if one.choice != event.choice), event]
        return self._first()

    def _derived(self, event: Finish) -> Finish:
        """Whether tools were called is told by the calls, not by the reason."""
        if event.choice in self._open.values() and event.stop in (None, "stop"):
            return Finish("tool", event.choice)
        return Finish(event.stop or "stop", event.choice)

    def _unanswered(self) -> list[Chunk]:
        """The calls that waited for a result and got none: they are for whoever reads."""
        asked, self._asked, self._waits = self._asked, [], False
        return [chunk for _, whole in asked for chunk in self._whole(whole)]

    def _fault(self, event: StreamError) -> list[Chunk]:
        out = [*self._first(), *self._unanswered()]
        self.fault = event
        return [*out, *self._writer.error(event)]

    def _left(self, event: Unsupported) -> list[Chunk]:
        self._context.report_loss(event.path, event.reason)
        return []


class EventTranslator(StreamTranslator[Out]):
    """What somebody else knows in neutral events, told as a stream of a wire.

    Calls that are told here were run already, or will be: a wire that cannot hold their results
    tells them in text.
    """

    def __init__(
        self,
        target: str,
        shape: Callable[[Chunk], Out] | None = None,
        *,
        server_tools: ServerToolPolicy = "text",
        version: int | None = None,
    ) -> None:
        super().__init__(target, target, shape, server_tools=server_tools, version=version)
        self.same = False
        self._waits = not self._writer.supports_results

    @property
    def joins(self) -> bool:
        """Whether calls and results are told among the words, so that they must not come in the
        middle of some."""
        return not self._writer.supports_results

    def tell(self, events: list[Event]) -> list[Out]:
        """What events become."""
        return [] if self.fault is not None else list(map(self._shape, self._say(events)))

    def close(self) -> list[Out]:
        """What a stream ends with."""
        if self.fault is not None:
            return []
        return list(map(self._shape, [*self._unanswered(), *self._last()]))


_MOVES: dict[type, Callable[..., list[Chunk]]] = {
    MessageStart: StreamTranslator._begin,
    TurnStart: StreamTranslator._turn,
    PartStart: StreamTranslator._start,
    PartEnd: StreamTranslator._end,
    PartComplete: StreamTranslator._whole,
    Metadata: StreamTranslator._note,
    Finish: StreamTranslator._finish,
    StreamError: StreamTranslator._fault,
    Unsupported: StreamTranslator._left,
}
