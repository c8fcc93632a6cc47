"""One request whose model may call tools of the gateway.

The model is asked, calls of the gateway's tools are run, and the model is asked again, until it
answers or calls a tool of the client. The client gets one response, streamed as it is made.
Continuation tokens carry the turns behind it, so that the next request contains them and no replica
has to store them. If client and gateway have a tool of the same name, that of the client keeps it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext

from msgspec.structs import replace

from toolwire.agent.reply_reader import ReplyReader
from toolwire.agent.thread import add_usage, calls_of
from toolwire.codec import decode
from toolwire.conversation.json import dump
from toolwire.conversation.model import Choice, Conversation, Format, Tool, Usage
from toolwire.conversation.parts import Call, Message, Result
from toolwire.errors import DecodeError, InputError
from toolwire.gateway.errors import UpstreamFailed
from toolwire.gateway.observe.request_record import RequestRecord
from toolwire.gateway.tools.call_keys import CallKeys
from toolwire.gateway.tools.gateway_tools import GatewayTools
from toolwire.gateway.tools.tool_runs import ToolRuns
from toolwire.gateway.translation.merged_stream import MergedStream
from toolwire.gateway.translation.outcome import usage_of
from toolwire.gateway.translation.response_stream import JsonArray
from toolwire.gateway.translation.translator import NO_MESSAGE, Translator
from toolwire.gateway.translation.upstream_request import UpstreamRequest
from toolwire.providers.http.response import Response
from toolwire.providers.http.upstream import CONNECTION_ERRORS
from toolwire.streaming import events
from toolwire.streaming.accumulate import conversation_events
from toolwire.streaming.events import Event
from toolwire.tools.runnable import Runnable
from toolwire.wires.engine.server_tools import ServerToolPolicy

SendUpstream = Callable[[UpstreamRequest], AbstractAsyncContextManager[Response]]
"""Sends a request to the model. Raises UpstreamFailed."""


class ToolLoop:
    """The turns of one request."""

    def __init__(
        self,
        tools: GatewayTools,
        translator: Translator,
        raw: bytes,
        record: RequestRecord,
        *,
        stream: bool,
        array: JsonArray | None = None,
        idempotency_key: str = "",
    ) -> None:
        """Read the request. Raises as `Translator.request` does."""
        self._tools = tools
        self._translator = translator
        self._record = record
        self._stream = stream
        self._request = translator.read_request(raw)
        self._conversation = self._request.conversation
        body = self._conversation.source.body
        keys = CallKeys(translator.api.wire, record.key, idempotency_key, body)
        self._runs = ToolRuns(tools, keys, client=record.key, report=record.tools.append)
        self._by_name: dict[str, Runnable] = {}
        if _model_may_choose(self._conversation):
            client_names = {tool.name for tool in self._conversation.tools}
            self._by_name = tools.by_free_name(client_names)
        self._definitions: tuple[Tool, ...] = tuple(
            replace(tool.definition(), name=name) for name, tool in self._by_name.items()
        )
        self._turns: list[Message] = []
        """The turns behind the response, on the wire of the model."""
        self._usage: Usage | None = None
        self._finish: events.Finish | None = None
        self._base_slot = self._next_slot = 0
        first_request = self._next_request(may_call=True)
        self.first_request = replace(first_request, describe=record.info)
        self._output = MergedStream(
            translator,
            self.first_request,
            self._turns,
            stream=stream,
            array=array,
            server_tools=self._server_tools(),
        )
        self.started = False
        """True if the client got some bytes, so that no other upstream can be tried."""

    def _server_tools(self) -> ServerToolPolicy:
        wants_json = isinstance(self._conversation.settings.get("format"), Format)
        return "drop" if self._tools.config.show_tool_calls == "none" or wants_json else "text"

    @property
    def media_type(self) -> str:
        """The content type of the response."""
        return self._output.media_type

    @property
    def headers(self) -> Mapping[str, str]:
        """Further headers of the response."""
        return self._output.headers

    @property
    def finish_reason(self) -> str | None:
        """Why the model stopped last."""
        return None if self._finish is None else self._finish.stop

    def _next_request(self, *, may_call: bool) -> UpstreamRequest:
        """The request of the next turn."""
        original, settings = self._conversation, self._conversation.settings
        if not may_call:
            settings = {**settings, "choice": Choice("none")}
        conversation = replace(
            original,
            messages=(*original.messages, *self._turns),
            tools=(*original.tools, *self._definitions),
            settings=settings,
        )
        return self._translator.write_request(conversation, self._request)

    async def run(self, first_response: Response, send: SendUpstream) -> AsyncGenerator[bytes]:
        """The response for the client, piece by piece; one piece if it is not streamed.

        Args:
            first_response: the response to `first_request`.
            send: sends the requests of further turns.

        Raises what `send` raises and DecodeError. Once `started`, the client gets an error event
        and nothing is raised.
        """
        self._tools.in_progress += 1
        try:
            async with aclosing(self._run_turns(first_response, send)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            self._tools.in_progress -= 1

    async def _run_turns(
        self, first_response: Response, send: SendUpstream
    ) -> AsyncGenerator[bytes]:
        turn, request = 1, self.first_request
        opened: AbstractAsyncContextManager[Response] = nullcontext(first_response)
        while True:
            try:
                async with opened as response:
                    async with aclosing(self._read_response(response, request)) as pieces:
                        async for piece in pieces:
                            yield piece
                    response.close()
            except (UpstreamFailed, InputError, ValueError, *CONNECTION_ERRORS) as error:
                if not self.started:
                    raise
                yield self._report_failure(error)
                return
            calls = self._gateway_calls(self._message, request)
            self._turns.append(self._message)
            if not calls:
                break
            results = await self._runs.run(calls)
            self._turns.append(Message("tool", tuple(results)))
            shown = self._show_results(calls, results)
            if piece := self._send(self._output.emit(shown)):
                yield piece
            client_calls = len(calls_of(self._message)) - len(calls)
            if client_calls or turn > self._tools.config.max_turns:
                break
            if piece := self._send(self._output.emit_token()):
                yield piece
            turn += 1
            request = self._next_request(may_call=turn <= self._tools.config.max_turns)
            self._note_changes(request)
            opened = send(request)
        self._record.usage = self._usage
        yield self._close()

    def _report_failure(self, error: Exception) -> bytes:
        message = f"the response broke off: {type(error).__name__}"
        if isinstance(error, UpstreamFailed):
            message = error.message
        self._record.error = message
        piece = self._send(self._output.emit([events.StreamError(message)]))
        return piece + self._output.trailer

    def _note_changes(self, request: UpstreamRequest) -> None:
        known = self._record.changes
        more = [change.name for change in request.changes if change.name not in known]
        self._record.changes += tuple(dict.fromkeys(more))

    # --- responses of the model ---

    async def _read_response(
        self, response: Response, request: UpstreamRequest
    ) -> AsyncGenerator[bytes]:
        """A response of the model for the client. At its end, `_message` holds it."""
        self._base_slot = self._next_slot
        wire, record = self._translator.wire, self._record
        if not self._stream or "application/json" in response.headers.get("content-type", ""):
            data = await response.read_all()
            record.capture_upstream_response(data)
            conversation = decode(data, wire, "response")
            if not conversation.messages:
                raise DecodeError(NO_MESSAGE, wire=wire)
            piece = self._emit(list(conversation_events(conversation)), request)
            self._finish_turn(conversation.messages[0], usage_of(conversation))
            if piece:
                yield piece
            return
        reader = ReplyReader(wire)
        while data := await response.read():
            record.capture_upstream_response(data)
            if piece := self._emit(reader.feed(data), request):
                yield piece
            if reader.over:
                break
        piece = self._emit(reader.end(), request)
        if reader.error is not None:
            raise DecodeError(reader.error.message, wire=wire)
        reply = reader.reply()
        if reply.cut:
            raise DecodeError("the response broke off", wire=wire)
        self._finish_turn(reply.message, reply.usage)
        if piece:
            yield piece

    def _finish_turn(self, message: Message, usage: Usage | None) -> None:
        self._message = message
        self._usage = usage if self._usage is None else add_usage(self._usage, usage or Usage())

    def _emit(self, source: list[Event], request: UpstreamRequest) -> bytes:
        """The events of one of the responses as bytes of the single response for the client."""
        merged = [event for chunk in source for event in self._merge(chunk, request)]
        return self._send(self._output.emit(merged))

    def _merge(self, event: Event, request: UpstreamRequest) -> list[Event]:
        """An event of one of several responses as an event of the merged response."""
        match event:
            case events.MessageStart(settings):
                if self._turns:
                    return [events.TurnStart("assistant")]
                return [replace(event, settings=_without_usage(settings))]
            case events.Metadata(settings):
                kept = _without_usage(settings)
                return [replace(event, settings=kept)] if kept else []
            case events.Finish(choice=0):
                self._finish = event
            case events.PartStart(slot=slot, part=part, choice=0):
                shown = replace(part, signature=None)
                if isinstance(part, Call):
                    shown = self._show_call(part, request)
                return [replace(event, slot=self._slot(slot), part=shown)]
            case events.PartDelta(slot=slot):
                return [replace(event, slot=self._slot(slot))]
            case events.PartEnd(slot=slot):
                return [replace(event, slot=self._slot(slot), signature=None)]
            case events.PartComplete(part=Call() as call, choice=0):
                return [replace(event, part=self._show_call(call, request))]
            case events.PartComplete(choice=0) | events.Unsupported():
                return [event]
        return []

    def _slot(self, slot: int) -> int:
        self._next_slot = max(self._next_slot, self._base_slot + slot + 1)
        return self._base_slot + slot

    def _show_call(self, call: Call, request: UpstreamRequest) -> Call:
        """A call as the client sees it: a call of the gateway's tools is one that a server runs."""
        name = _original_name(call, request)
        if call.executor != "client" or name not in self._by_name:
            return call
        return replace(call, executor="provider", name=name)

    def _send(self, pieces: list[bytes]) -> bytes:
        """The next bytes of a stream; nothing if the client gets the whole at the end."""
        if not self._stream:
            return b""
        self.started = self.started or bool(pieces)
        return b"".join(pieces)

    def _close(self) -> bytes:
        """The end of the stream, or the whole response."""
        last: list[Event] = []
        if self._usage is not None:
            last.append(events.Metadata({"usage": self._usage}))
        if self._finish is not None:
            stop = self._finish.stop
            if stop == "tool" and not self._has_open_calls():
                stop = "stop"
            last.append(events.Finish(stop))
        pieces = [*self._output.emit(last), *self._output.close()]
        self._record.losses += tuple(map(str, self._output.losses))
        if self._stream:
            return b"".join((*pieces, self._output.trailer))
        return dump(self._output.whole())

    def _has_open_calls(self) -> bool:
        """True if a call waits for the client."""
        parts = [part for message in self._turns for part in message.parts]
        answered = {part.call_id for part in parts if isinstance(part, Result)}
        last = [call for message in self._turns[-2:] for call in calls_of(message)]
        return any(call.id not in answered for call in last)

    # --- tools ---

    def _gateway_calls(
        self, message: Message, request: UpstreamRequest
    ) -> list[tuple[Call, str, Runnable]]:
        """The calls of a message that belong to the gateway's tools, with the name and the tool."""
        named = [(call, _original_name(call, request)) for call in calls_of(message)]
        return [(call, name, self._by_name[name]) for call, name in named if name in self._by_name]

    def _show_results(
        self, calls: list[tuple[Call, str, Runnable]], results: list[Result]
    ) -> list[Event]:
        shown: list[Event] = []
        for (call, name, _), result in zip(calls, results, strict=True):
            seen = replace(call, executor="provider", name=name)
            shown.append(events.PartComplete(seen.result(result.output, error=result.error)))
        return shown


def _model_may_choose(conversation: Conversation) -> bool:
    """False if the client demands a call: it means one of its own tools."""
    choice = conversation.settings.get("choice")
    return not isinstance(choice, Choice) or choice.mode != "required"


def _original_name(call: Call, request: UpstreamRequest) -> str:
    """The name of a tool before it was fitted to the model's wire."""
    return request.ids.names.get(call.name, call.name)


def _without_usage(settings: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in settings.items() if key != "usage"}
