"""Tools of the gateway's own: offered to every model beside those of the client, and run here.

The model is asked; calls of the gateway's tools are run, and it is asked again, until it says
something or calls a tool of the client. To the client all that is one answer, told as it comes.
What happened behind it travels in a parcel, so that the next request has it again and no replica
remembers anything. A call is recorded under a key made of the client's request and of the call
itself: a request that is sent again runs nothing again. Where a name is taken, the client's tool
keeps it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from itertools import count
from time import monotonic, time

from msgspec.structs import replace

from toolwire.agent.reply_reader import ReplyReader
from toolwire.agent.thread import add_usage, calls_of
from toolwire.agent.tool_results import arguments_of, failed_result, result_of, shorten
from toolwire.agent.toolset import Toolset
from toolwire.codec import decode
from toolwire.conversation.json import JSON, Object, dump
from toolwire.conversation.model import Choice, Conversation, Format, Tool, Usage
from toolwire.conversation.parts import Call, Message, Result
from toolwire.errors import DecodeError, InputError
from toolwire.execution.errors import MissingRequirements
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.tool_call import ToolCall, ToolCallResult
from toolwire.gateway.config import ToolsRow
from toolwire.gateway.errors import UpstreamFailed
from toolwire.gateway.merged_stream import MergedStream
from toolwire.gateway.observer import RequestRecord
from toolwire.gateway.translator import Translator, UpstreamRequest
from toolwire.providers.http.response import Response
from toolwire.providers.http.upstream import CONNECTION_ERRORS
from toolwire.streaming import events
from toolwire.streaming.accumulate import conversation_events
from toolwire.streaming.events import Event
from toolwire.tools.errors import InvalidInput
from toolwire.tools.registry import ToolSource
from toolwire.tools.runnable import Runnable
from toolwire.wires.engine.server_tools import ServerToolPolicy

PATIENCE = 60.0
"""Seconds that requests have to end before their tools are closed."""
LONGEST = 100_000
"""Characters of a result."""
MARK = "gateway_"
"""Before the name of a tool whose own name the client uses."""
_NO_MATTER = frozenset(
    {
        "model",
        "stream",
        "stream_options",
        "user",
        "metadata",
        "safety_identifier",
        "prompt_cache_key",
    }
)
"""Fields of a request that may differ when it is sent again."""
_log = logging.getLogger("toolwire.gateway")

Asks = Callable[[UpstreamRequest], AbstractAsyncContextManager[Response]]
"""Asks the model; whatever keeps it from answering is raised."""


class GatewayTools:
    """The tools of a gateway, open for as long as it runs. `gather` opens what they need."""

    def __init__(
        self,
        gather: Callable[[AsyncExitStack], Awaitable[Collection[ToolSource]]],
        calls: Callable[[], ToolExecutor],
        row: ToolsRow,
        *,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self.row = row
        self.offer = Toolset(())
        self.secrets = dict(secrets or {})
        self._gather = gather
        self._make = calls
        self.calls = calls()
        self._life: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self.running = 0
        """Requests under way."""

    async def open(self) -> None:
        """Open all servers of tools. Raises what keeps one from opening."""
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = loop.create_future()
        self._stop = asyncio.Event()
        self._life = loop.create_task(
            self._lived(opened)
        )  # what some of them open must be closed by the same task
        await opened

    async def _lived(self, opened: asyncio.Future[None]) -> None:
        try:
            async with AsyncExitStack() as stack:
                self.offer = Toolset(await self._gather(stack))
                self.calls.check_tools(self.offer.names.values())
                await stack.enter_async_context(self.calls)
                opened.set_result(None)
                await self._stop.wait()
        except Exception as error:
            if opened.done():
                _log.warning("tools were not closed as they should be: %s", type(error).__name__)
            else:
                opened.set_exception(error)

    async def close(self) -> None:
        """Finish what is under way and close them."""
        if self._life is not None:
            late = monotonic() + PATIENCE
            while self.running and monotonic() < late:
                await asyncio.sleep(0.05)
            await self.calls.drain(5.0)
            self._stop.set()
            await self._life
            self._life = None

    def named(self, taken: Collection[str]) -> dict[str, Runnable]:
        """The tools by names that nobody else has."""
        out: dict[str, Runnable] = {}
        for name, tool in self.offer.names.items():
            free, n = name, 1
            while free in taken or free in out:
                free = f"{MARK}{n if n > 1 else ''}{name}"[:64]
                n += 1
            out[free] = tool
        return out


class ToolLoop:
    """One request whose model may call tools of the gateway."""

    def __init__(
        self,
        own: GatewayTools,
        relay: Translator,
        raw: bytes,
        told: RequestRecord,
        *,
        stream: bool,
        array: bool = False,
        mark: str = "",
    ) -> None:
        """`mark` tells apart requests that are the same to the letter, if the client gave one.
        Raises as `Relay.request` does."""
        self._own = own
        self._relay = relay
        self._told = told
        self._stream = stream
        self._read, self._parcels = relay.opened(raw)
        self._who = told.key
        source = self._read.source.body
        asked: Object = source if isinstance(source, dict) else {}
        kept: Object = {key: value for key, value in asked.items() if key not in _NO_MATTER}
        self._base = hashlib.sha256(
            b"\x00".join(
                (relay.front.wire.encode(), self._who.encode(), mark.encode(), dump(_sorted(kept)))
            )
        )
        self._names = (
            own.named({tool.name for tool in self._read.tools}) if _free(self._read) else {}
        )
        self._tools = tuple(_offered(name, tool) for name, tool in self._names.items())
        self._times: Counter[bytes] = Counter()
        self._turns: list[Message] = []
        """What happened behind the answer, in the wire of the model."""
        self._usage: Usage | None = None
        self.first = self._sent(False)
        hosted: ServerToolPolicy = (
            "drop"
            if own.row.show == "none" or isinstance(self._read.settings.get("format"), Format)
            else "text"
        )
        self._pipe = MergedStream(
            relay, self.first, self._turns, stream=stream, array=array, hosted=hosted
        )
        self._base_slot = self._next_slot = 0
        self._finish: events.Finish | None = None
        self.begun = False
        """Whether the client was told something, so that nobody else can be asked any more."""

    @property
    def media(self) -> str:
        """The media type of the answer."""
        return (
            "application/json"
            if not self._stream or self._pipe.listed
            else self._pipe.target_spec.media
        )

    @property
    def headers(self) -> dict[str, str]:
        """Further header fields of the answer."""
        return dict(self._pipe.target_spec.headers) if self._stream else {}

    def _sent(self, last: bool) -> UpstreamRequest:
        """What the model is asked now; the last time it may call nothing more."""
        read, settings = self._read, self._read.settings
        if last:
            settings = {**settings, "choice": Choice("none")}
        asks = replace(
            read,
            messages=(*read.messages, *self._turns),
            tools=(*read.tools, *self._tools),
            settings=settings,
        )
        return self._relay.sent(asks, read, self._parcels)

    async def run(self, ask: Asks) -> AsyncGenerator[bytes]:
        """The answer in the client's wire, piece by piece; as one piece if it is not a stream.

        Raises what `ask` raises and DecodeError; once `begun` it tells the client and raises
        nothing.
        """
        self._own.running += 1
        try:
            async with aclosing(self._run_all(ask)) as pieces:
                async for out in pieces:
                    yield out
        finally:
            self._own.running -= 1

    async def _run_all(self, ask: Asks) -> AsyncGenerator[bytes]:
        turn = 1
        while True:
            sent = self.first if turn == 1 else self._sent(turn > self._own.row.turns)
            if turn > 1:
                self._note(sent)
            try:
                async with ask(sent) as response, aclosing(self._heard(response, sent)) as said:
                    async for out in said:
                        yield out
                message, usage = self._message
            except (UpstreamFailed, InputError, ValueError, *CONNECTION_ERRORS) as error:
                if not self.begun:
                    raise
                why = (
                    error.message
                    if isinstance(error, UpstreamFailed)
                    else f"the answer broke off: {type(error).__name__}"
                )
                self._told.error = why
                yield self._out([events.StreamError(why)]) + self._pipe.trailer
                return
            self._usage = usage if self._usage is None else add_usage(self._usage, usage or Usage())
            own = [call for call in calls_of(message) if self._tool(call, sent) is not None]
            self._turns.append(message)
            if not own:
                break
            results = await self._ran(own, sent)
            self._turns.append(Message("tool", tuple(results)))
            out = self._out(
                [
                    self._result(call, result, sent)
                    for call, result in zip(own, results, strict=True)
                ]
            )
            if out:
                yield out
            if len(own) < len(calls_of(message)) or turn > self._own.row.turns:
                break
            if out := self._given(self._pipe.between()):
                yield out
            turn += 1
        self._told.usage = self._usage
        yield self._closed()

    def _note(self, sent: UpstreamRequest) -> None:
        """What was done to the history on the way, for whoever looks on."""
        more = [change.name for change in sent.changes if change.name not in self._told.changes]
        self._told.changes += tuple(dict.fromkeys(more))

    # --- the model ---

    async def _heard(self, response: Response, sent: UpstreamRequest) -> AsyncGenerator[bytes]:
        """What an answer says, for the client; at its end it is known as a message."""
        self._base_slot = self._next_slot
        wire = self._relay.wire
        if not self._stream or "application/json" in response.headers.get("content-type", ""):
            data = await response.read_all()
            self._told.heard(data)
            read = decode(data, wire, "response")
            if not read.messages:
                raise DecodeError("an answer without a message", wire=wire)
            out = self._out(
                [one for event in conversation_events(read) for one in self._seen(event, sent)]
            )
            usage = read.settings.get("usage")
            self._message = read.messages[0], usage if isinstance(usage, Usage) else None
            if out:
                yield out
            return
        heard = ReplyReader(wire)
        while data := await response.read():
            self._told.heard(data)
            out = self._out([one for event in heard.feed(data) for one in self._seen(event, sent)])
            if out:
                yield out
            if heard.over:
                break
        out = self._out([one for event in heard.end() for one in self._seen(event, sent)])
        if heard.error is not None:
            raise DecodeError(heard.error.message, wire=wire)
        reply = heard.reply()
        if reply.cut:
            raise DecodeError("the answer broke off", wire=wire)
        self._message = reply.message, reply.usage
        if out:
            yield out

    def _seen(self, event: Event, sent: UpstreamRequest) -> list[Event]:
        """An event of one of several answers as one of the only answer that the client gets."""
        match event:
            case events.MessageStart(settings):
                return (
                    [replace(event, settings=_without(settings))]
                    if not self._turns
                    else [events.TurnStart("assistant")]
                )
            case events.Metadata(settings):
                return [replace(event, settings=kept)] if (kept := _without(settings)) else []
            case events.Finish(choice=0):
                self._finish = event
            case events.PartStart(slot=slot, part=part, choice=0):
                shown = (
                    self._shown(part, sent)
                    if isinstance(part, Call)
                    else replace(part, signature=None)
                )
                return [replace(event, slot=self._slot(slot), part=shown)]
            case events.PartDelta(slot=slot):
                return [replace(event, slot=self._slot(slot))]
            case events.PartEnd(slot=slot):
                return [replace(event, slot=self._slot(slot), signature=None)]
            case events.PartComplete(part=part, choice=0):
                return (
                    [replace(event, part=self._shown(part, sent))]
                    if isinstance(part, Call)
                    else [event]
                )
            case events.Unsupported():
                return [event]
        return []

    def _slot(self, slot: int) -> int:
        self._next_slot = max(self._next_slot, self._base_slot + slot + 1)
        return self._base_slot + slot

    def _shown(self, call: Call, sent: UpstreamRequest) -> Call:
        """A call as the client sees it: one of the gateway's own is one that somebody else runs."""
        if call.executor != "client" or self._tool(call, sent) is None:
            return call
        return replace(call, executor="provider", name=_home(call, sent))

    def _out(self, told: list[Event]) -> bytes:
        """Events for the client; nothing yet if it wants the whole."""
        return self._given(self._pipe.emit(told))

    def _given(self, pieces: list[bytes]) -> bytes:
        self.begun = self.begun or (self._stream and bool(pieces))
        return b"".join(pieces) if self._stream else b""

    def _closed(self) -> bytes:
        """The end of the answer, or all of it."""
        turns = self._turns
        told: list[Event] = (
            [events.Metadata({"usage": self._usage})] if self._usage is not None else []
        )
        if self._finish is not None:
            stop = self._finish.stop
            asked = turns[-1].role == "tool" or bool(calls_of(turns[-1]))
            told.append(
                events.Finish("stop" if stop == "tool" and not (asked and self._open()) else stop)
            )
        pieces = [*self._pipe.emit(told), *self._pipe.close()]
        self._told.losses += tuple(map(str, self._pipe.losses))
        return b"".join((*pieces, self._pipe.trailer)) if self._stream else dump(self._pipe.whole())

    def _open(self) -> bool:
        """Whether a call waits for the client."""
        told = {
            part.call_id for one in self._turns for part in one.parts if isinstance(part, Result)
        }
        return any(call.id not in told for one in self._turns[-2:] for call in calls_of(one))

    # --- the tools ---

    def _tool(self, call: Call, sent: UpstreamRequest) -> Runnable | None:
        return self._names.get(_home(call, sent))

    async def _ran(self, calls: list[Call], sent: UpstreamRequest) -> list[Result]:
        slots = asyncio.Semaphore(self._own.row.parallel)
        keys = [self._key(call, sent) for call in calls]

        async def one(call: Call, key: str) -> Result:
            async with slots:
                return await self._run(call, key, sent)

        return list(
            await asyncio.gather(*(one(call, key) for call, key in zip(calls, keys, strict=True)))
        )

    def _key(self, call: Call, sent: UpstreamRequest) -> str:
        """The id under which a call is recorded: the same whenever this request is sent again and
        the model asks for the same."""
        said = dump([_home(call, sent), _sorted(call.input)])
        n = self._times[said]
        self._times[said] += 1
        made = self._base.copy()
        made.update(b"\x00%d\x00" % n + said)
        return f"gw-{made.hexdigest()[:40]}"

    async def _run(self, call: Call, key: str, sent: UpstreamRequest) -> Result:
        tool = self._tool(call, sent)
        assert tool is not None
        given = arguments_of(call)
        if given is None:
            return self._ended(
                tool, failed_result(call, "the arguments are not a JSON object"), "bad-arguments"
            )
        who = f"gateway:{self._who}" if self._who else "gateway"
        ask = ToolCall(
            tool=tool,
            input=given,
            call_id=key,
            principal=who,
            user_id=self._who or None,
            secrets=self._own.secrets,
        )
        try:
            answer = await asyncio.wait_for(self._answered(ask), self._own.row.seconds)
        except InvalidInput as error:
            return self._ended(
                tool, failed_result(call, f"the arguments do not fit: {error}"), "bad-arguments"
            )
        except MissingRequirements as error:
            return self._ended(tool, failed_result(call, str(error)), "missing-requirements")
        except TimeoutError:
            return self._ended(
                tool,
                failed_result(call, "the tool took too long; it may still be running"),
                "timeout",
            )
        return self._ended(
            tool, shorten(call, result_of(call, answer), LONGEST), answer.state, answer.replayed
        )

    async def _answered(self, ask: ToolCall) -> ToolCallResult:
        """What became of a call; one that ran so long ago that nobody can be sending it again is
        another one."""
        for n in count(1):
            answer = await self._own.calls.execute(ask)
            age = time() - (answer.started_at or 0) / 1000
            if not answer.replayed or answer.started_at is None or age <= self._own.row.again:
                return answer
            ask = replace(ask, call_id=f"{(ask.call_id or '').partition('.')[0]}.{n}")
        raise AssertionError

    def _ended(self, tool: Runnable, result: Result, state: str, replayed: bool = False) -> Result:
        self._told.tools.append((str(tool.id), state, replayed))
        return result

    def _result(self, call: Call, result: Result, sent: UpstreamRequest) -> Event:
        return events.PartComplete(
            self._shown(call, sent).result(result.output, error=result.error)
        )


def _free(read: Conversation) -> bool:
    """Whether the model may choose: a client that demands a call demands one of its own."""
    choice = read.settings.get("choice")
    return not isinstance(choice, Choice) or choice.mode != "required"


def _offered(name: str, tool: Runnable) -> Tool:
    return replace(tool.definition(), name=name)


def _home(call: Call, sent: UpstreamRequest) -> str:
    """What a tool was called before its name was made to fit."""
    return sent.ids.names.get(call.name, call.name)


def _without(settings: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in settings.items() if key != "usage"}


def _sorted(value: JSON) -> JSON:
    """A value under the same letters, however its keys stood."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value
