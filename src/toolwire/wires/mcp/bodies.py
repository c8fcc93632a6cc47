"""Model Context Protocol: whole bodies. A body is one message or a recorded log of messages."""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.model import Conversation, Kind
from toolwire.conversation.parts import Call, Opaque, Part, Result
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.patching import patch_block, patch_parts
from toolwire.wires.engine.specs import keys, list_at, opaque, raise_unexpected
from toolwire.wires.families.rpc_log.log import (
    LogReader,
    report_other_parts,
    report_settings,
    report_unsupported,
    rewrite_log,
)
from toolwire.wires.mcp import sampling
from toolwire.wires.mcp.blocks import NAME, read_tool, write_tools
from toolwire.wires.mcp.messages import (
    ALL_SPECS,
    CALL,
    ERROR,
    INPUT_REQUIRED,
    RESULT,
    read_call,
    read_error,
    read_input_required,
    read_result,
    result_id,
    write_call,
    write_result,
)

_RESULT_MARKS = keys("content", "structuredContent", "isError")
"""Fields that identify the result of a tool if its request is not in the log."""

# --- reading --------------------------------------------------------------------------------------


class _MessageReader(LogReader):
    """Reads JSON-RPC messages in order, and remembers the method of each request id."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self.methods: dict[str, str] = {}

    def read(self, message: JSON, path: JsonPath) -> None:
        """Read one message."""
        if not isinstance(message, dict):
            raise_unexpected(NAME, path, dict, message)
        if "method" in message:
            self._read_request(message, path)
        elif "result" in message:
            self._read_response(message, path)
        elif "error" in message:
            if self.methods.get(result_id(message), "tools/call") == "tools/call":
                self.parts.append(read_error(message, path, ERROR))
            else:
                self.parts.append(opaque("error", message, path))
        else:
            expected = "a JSON-RPC message with a method, a result or an error"
            raise_unexpected(NAME, path, expected, message)

    def _read_request(self, message: Object, path: JsonPath) -> None:
        method = message["method"]
        request_id = result_id(message)
        if request_id:
            self.methods[request_id] = str(method)
        if method == "tools/call":
            self.parts.append(read_call(message, path, CALL))
        elif method == "tools/list":
            # The result holds the tools; the request is not a part, but its other fields are
            # recorded.
            self.note_unknown(message, path, keys("jsonrpc", "id", "method"))
        else:
            self.parts.append(opaque(method, message, path))

    def _read_response(self, message: Object, path: JsonPath) -> None:
        result = message["result"]
        method = self.methods.get(result_id(message), "")
        fields = result if isinstance(result, dict) else {}
        if isinstance(fields.get("tools"), list) and method in ("", "tools/list"):
            self.tools += [
                read_tool(tool, (*path, "result", "tools", i))
                for i, tool in enumerate(list_at(NAME, fields, ("tools",)))
            ]
            self.note_unknown(message, path, keys("jsonrpc", "id", "result"))
            self.note_unknown(fields, (*path, "result"), keys("tools", "resultType"))
        elif method not in ("", "tools/call"):
            self.parts.append(opaque("result", message, path))
        elif fields.get("resultType") == "input_required":
            self.parts.append(read_input_required(message, path, INPUT_REQUIRED))
        elif method or not _RESULT_MARKS.isdisjoint(fields):
            self.parts.append(read_result(message, path, RESULT))
        else:
            self.parts.append(opaque("result", message, path))


def read(body: JSON, kind: Kind) -> Conversation:
    """Read one message, or a list of messages in the order in which they were sent."""
    log = _MessageReader()
    if isinstance(body, list):
        for i, message in enumerate(body):
            log.read(message, (i,))
    elif isinstance(body, dict):
        if body.get("method") == sampling.METHOD:
            return replace(sampling.read_request(body), kind=kind)
        if "method" not in body and sampling.is_answer(body):
            return replace(sampling.read_answer(body), kind=kind)
        log.read(body, ())
    else:
        raise_unexpected(NAME, (), ("a JSON-RPC message", "a list of them"), body)
    return log.conversation(body, kind)


# --- writing --------------------------------------------------------------------------------------


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """Write a log of messages. A response is the last result, or else the answer of a model."""
    source = conversation.source.body
    native = context.native
    if native:
        patched = _patch_body(conversation, context)
        if not isinstance(patched, UnsetType):
            return patched
        if isinstance(source, dict) and source.get("method") == sampling.METHOD:
            return sampling.write_request(conversation, context)
        if isinstance(source, dict) and _is_tool_list(source) and not any(conversation.parts()):
            return put(source, ("result", "tools"), write_tools(conversation.tools, context))
    log = source if native and isinstance(source, list) else None
    if context.kind == "response" and log is None:
        return _write_response(conversation, context)
    report_settings(conversation, context)
    messages = _write_log(conversation, context, log or [])
    return messages[0] if native and isinstance(source, dict) and len(messages) == 1 else messages


def _patch_body(conversation: Conversation, context: EncodeContext) -> JSON | UnsetType:
    """The source body with the edits of its parts; UNSET if anything else was edited."""
    source = conversation.source
    if not conversation.same_tools or conversation.settings != source.settings:
        return UNSET
    original = read(source.body, context.kind)
    return patch_parts(conversation.parts(), original.parts(), source.body, (), context)


def _write_part(part: Part, context: EncodeContext) -> JSON:
    """The message of a call or a result; any other part is reported as a loss, and None
    returned."""
    is_message = part.spec in ALL_SPECS or (isinstance(part, Opaque) and len(part.path) < 2)
    if is_message and not isinstance(part.raw, UnsetType):
        patched = patch_block(part, context, part.raw)
        if not isinstance(patched, UnsetType):
            return patched
    if isinstance(part, Call):
        return write_call(part, context)
    if isinstance(part, Result):
        return write_result(part, context)
    report_unsupported(part, context)
    return None


def _write_log(
    conversation: Conversation, context: EncodeContext, source: list[JSON]
) -> list[JSON]:
    original = read(list(source), context.kind) if source else None
    first: list[JSON] = []
    if not source or not conversation.same_tools:
        first, source = _put_tools(conversation, context, source)
    return first + rewrite_log(
        conversation,
        context,
        source=source,
        original=original,
        write=lambda part: _write_part(part, context),
    )


def _put_tools(
    conversation: Conversation, context: EncodeContext, source: list[JSON]
) -> tuple[list[JSON], list[JSON]]:
    """The messages to put before a log to define the tools, and the log.

    The tools go into the first tool list of the log, or into a new request and response.
    """
    tools = write_tools(conversation.tools, context)
    lists = [
        i for i, entry in enumerate(source) if isinstance(entry, dict) and _is_tool_list(entry)
    ]
    if lists:
        source = list(source)
        for i in lists:
            source[i] = put(source[i], ("result", "tools"), tools if i == lists[0] else [])
    if lists or not tools:
        return [], source
    request_id = "tools"
    call_ids = {call.id for call in conversation.calls()}
    while request_id in call_ids:
        request_id += "'"
    request: Object = {"jsonrpc": "2.0", "id": request_id, "method": "tools/list"}
    return [request, _tool_list(request_id, tools)], source


def _tool_list(request_id: str, tools: list[JSON]) -> Object:
    return {"jsonrpc": "2.0", "id": request_id, "result": {"tools": tools}}


def _is_tool_list(message: Object) -> bool:
    result = message.get("result")
    return isinstance(result, dict) and isinstance(result.get("tools"), list)


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    """The last result. Without results, the tools if there are no parts, or the answer of a
    model."""
    result = next(reversed(conversation.results()), None)
    if result is not None:
        report_settings(conversation, context)
        report_other_parts(conversation, context, [result], "a response is the result of one call")
        for tool in conversation.tools:
            context.report_loss(tool, "the result of a call has no tool definitions")
        return _write_part(result, context)
    parts = list(conversation.parts())
    if conversation.tools and not parts:
        report_settings(conversation, context)
        return _tool_list("tools", write_tools(conversation.tools, context))
    if len(parts) == len(conversation.messages) == 1 and context.native:
        only = parts[0]
        if isinstance(only, Opaque):
            return only.value
    return sampling.write_answer(conversation, context)


# --- recognizing bodies ---------------------------------------------------------------------------


def match_score(body: JSON) -> int:
    """How well a body matches this wire: no other wire uses JSON-RPC."""
    messages = body if isinstance(body, list) else [body]
    is_rpc = all(
        isinstance(message, dict) and message.get("jsonrpc") == "2.0" for message in messages
    )
    return 3 if messages and is_rpc else 0
