"""Model Context Protocol: JSON-RPC messages, one by one or as a recorded exchange.

- id-keeps-its-type: an id is an integer or a string, and 1 is not "1". In the neutral id an integer
  is its digits; a string that could be taken for one is written with its quotes. Both ways are
  reversible and need no context.
- lost-id-is-a-notification: a request without an id is still a valid message, which nobody will
  ever answer.
- tool-failure-is-a-result: `isError` stands in a normal result; a JSON-RPC error is a failure of
  the protocol.
- input-required: a call may be answered by `resultType: input_required`; the retry is a new request
  with a new id.
- structured-twice: structured content is repeated as text; where the two differ, the text is what
  the model sees.
- sampling-turns-the-tables: a server may ask the client's model; that message holds a whole
  conversation.
- answers-may-overtake: responses come in any order, and calls may be made while others wait.
"""

from __future__ import annotations

import re

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object, parse, put, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import BodySource, Conversation, Kind, Tool
from toolwire.conversation.parts import (
    Call,
    Message,
    Opaque,
    Origin,
    Part,
    Result,
    Source,
    describe,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import (
    Block,
    Id,
    Wire,
    all_blocks,
    keys,
    list_at,
    opaque,
    patch_block,
    raise_unexpected,
    read_id,
    read_name,
)
from toolwire.wires.families.rpc_log.log import lose_rest, lose_settings, rewrite, turns, unchanged
from toolwire.wires.mcp.content import BLOCKS, read_offer, read_output, write_output, write_tools
from toolwire.wires.mcp.sampling import (
    METHOD,
    answer_fields,
    is_answer,
    read_answer,
    read_request,
    write_answer,
    write_request,
)

NAME = "mcp"
FAILURES = range(-32768, -31999)
"""Codes that JSON-RPC keeps for the protocol itself: an error with one of them is no tool's."""

# --- ids ------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,999}")


def _ambiguous(text: str) -> bool:
    """Whether a string would be taken for an integer, or for a string in quotes that would."""
    if text[:1] != '"':
        return _INTEGER.fullmatch(text) is not None
    inner = _unquoted(text)
    return inner is not None and _ambiguous(inner)


def _unquoted(text: str) -> str | None:
    try:
        inner = parse(text)
    except ValueError:
        return None
    return inner if isinstance(inner, str) and text_of(inner) == text else None


def neutral_id(value: JSON) -> tuple[str, Origin]:
    """The id of a message as text that tells 1 from "1", and its origin."""
    found, origin = read_id(value)
    return (
        (text_of(value), origin)
        if found and isinstance(value, str) and _ambiguous(value)
        else (found, origin)
    )


def json_id(text: str) -> JSON:
    """The id of a message for a neutral id: the reverse of `neutral_id`."""
    if _INTEGER.fullmatch(text):
        return int(text)
    inner = _unquoted(text) if text[:1] == '"' else None
    return inner if inner is not None and _ambiguous(inner) else text


# --- calls and results ----------------------------------------------------------------------------


def _read_call(message: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = neutral_id(message.get("id"))
    params = message.get("params")
    given = params.get("arguments") if isinstance(params, dict) else None
    args = LazyJson("") if given is None else LazyJson.from_value(given)
    name = read_name(params.get("name")) if isinstance(params, dict) else ""
    return Call(one, name, args, origin, "mcp", source=Source(message, path, spec))


def _write_call(call: Call, context: EncodeContext) -> JSON:
    params: Object = {"name": context.name(call.name), "arguments": context.arguments_object(call)}
    return {
        "jsonrpc": "2.0",
        "id": json_id(context.call_id(call)),
        "method": "tools/call",
        "params": params,
    }


def _result_id(message: Object) -> tuple[str, Origin]:
    found, _ = neutral_id(message.get("id"))
    return found, "wire" if found else "minted"


def _read_result(message: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = _result_id(message)
    held = message["result"]
    if not isinstance(held, dict) or held.get("resultType") not in (None, "complete"):
        return Result(one, held, False, None, origin, "mcp", source=Source(message, path, OTHER))
    output, structured = read_output(held, (*path, "result"))
    known = STRUCTURED if structured else spec
    return Result(
        one,
        output,
        held.get("isError") is True,
        None,
        origin,
        "mcp",
        source=Source(message, path, known),
    )


def _write_result(result: Result, context: EncodeContext) -> JSON:
    output = context.output(result)
    out: Object = {"jsonrpc": "2.0", "id": json_id(context.result_id(result))}
    if result.spec in (WANTING, OTHER) and isinstance(output, dict):
        return {**out, "result": output}
    if context.is_error(result) and _protocol_failure(output):
        return {**out, "error": output}  # type: ignore[dict-item]
    return {**out, "result": write_output(result, context)}


def _protocol_failure(output: object) -> bool:
    match output:
        case {"code": int(code), "message": str(), **more}:
            return code in FAILURES and more.keys() <= {"data"}
    return False


def _read_wanting(message: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = _result_id(message)
    return Result(
        one,
        message["result"],
        False,
        None,
        origin,
        "mcp-input-required",
        source=Source(message, path, spec),
    )


def _read_error(message: Object, path: JsonPath, spec: Block) -> Part:
    one, origin = _result_id(message)
    return Result(
        one, message["error"], True, None, origin, "mcp", source=Source(message, path, spec)
    )


def _write_error(result: Result, context: EncodeContext) -> JSON:
    """An error that was edited stays one as long as it looks like one."""
    out: Object = {"jsonrpc": "2.0", "id": json_id(context.result_id(result))}
    return (
        {**out, "error": result.output}
        if isinstance(result.output, dict)
        else _write_result(result, context)
    )


_RESPONSE = (Id("id"),)
_OUT = keys("jsonrpc", "id", "result")
CALL = Block(
    "tools/call",
    Call,
    _read_call,
    _write_call,
    keys("jsonrpc", "id", "method", "params"),
    (("params", keys("name", "arguments")),),
    {"method": "tools/call"},
    "call",
    "mcp",
    "client",
    (Id("id"),),
)
RESULT = Block(
    "complete",
    Result,
    _read_result,
    _write_result,
    _OUT,
    (("result", keys("content", "isError", "resultType")),),
    {"jsonrpc_result_of": "tools/call", "resultType": "complete"},
    "output",
    "mcp",
    "client",
    _RESPONSE,
)
STRUCTURED = replace(
    RESULT, inner=(("result", keys("content", "isError", "resultType", "structuredContent")),)
)
WANTING = Block(
    "input_required",
    Result,
    _read_wanting,
    _write_result,
    _OUT,
    (),
    {"jsonrpc_result_of": "tools/call", "resultType": "input_required"},
    "output",
    "mcp-input-required",
    "client",
    _RESPONSE,
)
OTHER = replace(RESULT, inner=())
"""A result of a type nobody knows yet: its output is all of it."""
ERROR = Block(
    "error",
    Result,
    _read_error,
    _write_error,
    keys("jsonrpc", "id", "error"),
    (),
    {"jsonrpc": "error"},
    "output",
    "mcp",
    "client",
    (Id("id", nullable=True),),
)
_MARKS = keys("content", "structuredContent", "isError")
"""What tells a tool's result from any other, if its request is not at hand."""

# --- reading --------------------------------------------------------------------------------------


class _Log:
    """Messages as they come: parts, tools, what nobody understood, and which method each id was
    asked for."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.tools: list[Tool] = []
        self.unknown: list[JsonPath] = []
        self.asked: dict[str, str] = {}

    def take(self, message: JSON, path: JsonPath) -> None:
        if not isinstance(message, dict):
            raise_unexpected(NAME, path, "an object", message)
        if "method" in message:
            self._request(message, path)
        elif "result" in message:
            self._response(message, path)
        elif "error" in message:
            other = self.asked.get(_result_id(message)[0], "tools/call") != "tools/call"
            self.parts.append(
                opaque("error", message, path) if other else _read_error(message, path, ERROR)
            )
        else:
            raise_unexpected(
                NAME, path, "a JSON-RPC message with a method, a result or an error", message
            )

    def _request(self, message: Object, path: JsonPath) -> None:
        method = message["method"]
        one = neutral_id(message.get("id"))[0]
        if one:
            self.asked[one] = str(method)
        if method == "tools/call":
            self.parts.append(_read_call(message, path, CALL))
        elif method == "tools/list":
            # It says nothing that its result does not: no part, but whatever came with it is told.
            self._extra(message, path, keys("jsonrpc", "id", "method"))
        else:
            self.parts.append(opaque(method, message, path))

    def _response(self, message: Object, path: JsonPath) -> None:
        held = message["result"]
        method = self.asked.get(_result_id(message)[0], "")
        fields = held if isinstance(held, dict) else {}
        if isinstance(fields.get("tools"), list) and method in ("", "tools/list"):
            where: JsonPath = (*path, "result", "tools")
            self.tools += [
                read_offer(tool, (*where, i))
                for i, tool in enumerate(list_at(NAME, held, ("tools",)))
            ]
            self._extra(message, path, keys("jsonrpc", "id", "result"))
            self._extra(fields, (*path, "result"), keys("tools", "resultType"))
        elif method not in ("", "tools/call"):
            self.parts.append(opaque("result", message, path))
        elif fields.get("resultType") == "input_required":
            self.parts.append(_read_wanting(message, path, WANTING))
        elif method or not _MARKS.isdisjoint(fields):
            self.parts.append(_read_result(message, path, RESULT))
        else:
            self.parts.append(opaque("result", message, path))

    def _extra(self, value: Object, path: JsonPath, known: frozenset[str]) -> None:
        self.unknown += [
            (*path, key)
            for key, item in value.items()
            if key not in known and item is not None and item != {}
        ]


ANSWER = answer_fields(lambda value: neutral_id(value)[0], json_id)


def read(body: JSON, kind: Kind) -> Conversation:
    """One message, or a list of them in the order in which they passed."""
    if isinstance(body, dict):
        if body.get("method") == METHOD:
            return replace(read_request(body), kind=kind)
        if "method" not in body and is_answer(body):
            return replace(read_answer(body, ANSWER), kind=kind)
    elif not isinstance(body, list):
        raise_unexpected(NAME, (), "a JSON-RPC message or a list of them", body)
    log = _Log()
    for i, message in enumerate(body) if isinstance(body, list) else ():
        log.take(message, (i,))
    if isinstance(body, dict):
        log.take(body, ())
    messages = assign_ids(turns(log.parts, NAME), seed="", ordered=False)
    if not messages and kind == "response":
        messages = (Message("assistant", (), None, NAME),)
    return Conversation(
        messages,
        tuple(log.tools),
        {},
        NAME,
        kind,
        source=BodySource(body, unknown_fields=tuple(log.unknown)),
    )


# --- writing --------------------------------------------------------------------------------------

_ROWS = (CALL, RESULT, STRUCTURED, WANTING, OTHER, ERROR)


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """An exchange; or, as a response, the newest result, or else the answer of a model."""
    source = conversation.source.body
    own = conversation.wire == NAME and conversation.kind == context.kind
    if own and not isinstance(
        kept := unchanged(conversation, context, read(source, context.kind)), UnsetType
    ):
        return kept
    if own and isinstance(source, dict) and source.get("method") == METHOD:
        return write_request(conversation, context)
    if own and isinstance(source, dict) and _lists(source) and not any(conversation.parts()):
        return put(source, ("result", "tools"), write_tools(conversation.tools, context))
    if context.kind == "response" and not (own and isinstance(source, list)):
        return _write_response(conversation, context)
    lose_settings(conversation, context)
    log = _write_exchange(
        conversation, context, list(source) if own and isinstance(source, list) else []
    )
    return log[0] if own and isinstance(source, dict) and len(log) == 1 else log


def _write_part(part: Part, own: bool, context: EncodeContext) -> JSON:
    """A message for a part; None, reported, for what is neither a call nor a result."""
    if (
        own
        and not isinstance(part.raw, UnsetType)
        and (part.spec in _ROWS or isinstance(part, Opaque))
    ):
        kept = patch_block(part, context, part.raw)
        if not isinstance(kept, UnsetType):
            return kept
    if isinstance(part, Call):
        return _write_call(part, context)
    if isinstance(part, Result):
        return _write_result(part, context)
    context.report_loss(
        part, f"a tool protocol holds calls and results only: {describe(part)[:80]}"
    )
    return None


def _write_exchange(
    conversation: Conversation, context: EncodeContext, source: list[JSON]
) -> list[JSON]:
    before = read(list(source), context.kind) if source else None
    front: list[JSON] = []
    if not source or not conversation.same_tools:
        front, source = _write_offers(conversation, context, source)
    return front + rewrite(
        conversation, context, source, before, lambda part, own: _write_part(part, own, context)
    )


def _write_offers(
    conversation: Conversation, context: EncodeContext, source: list[JSON]
) -> tuple[list[JSON], list[JSON]]:
    """The tools in the first list of tools that the log holds, or in an exchange of their own
    before it."""
    places = [i for i, entry in enumerate(source) if isinstance(entry, dict) and _lists(entry)]
    tools = write_tools(conversation.tools, context)
    for i in reversed(places):
        source = [
            *source[:i],
            put(source[i], ("result", "tools"), tools if i == places[0] else []),
            *source[i + 1 :],
        ]
    if places or not tools:
        return [], source
    one = "tools"
    while any(
        one in (part.id if isinstance(part, Call) else None,) for part in conversation.parts()
    ):
        one += "'"
    ask: Object = {"jsonrpc": "2.0", "id": one, "method": "tools/list"}
    return [ask, {"jsonrpc": "2.0", "id": one, "result": {"tools": tools}}], source


def _lists(message: Object) -> bool:
    held = message.get("result")
    return isinstance(held, dict) and isinstance(held.get("tools"), list)


def _write_response(conversation: Conversation, context: EncodeContext) -> JSON:
    results = [
        (part, message)
        for message in conversation.messages
        for part in message.parts
        if isinstance(part, Result)
    ]
    if not results:
        return _write_answer(conversation, context)
    part, message = results[-1]
    lose_settings(conversation, context)
    lose_rest(conversation, context, [part], "a response is the result of one call")
    for tool in conversation.tools:
        context.report_loss(tool, "the result of a call offers no tools")
    return _write_part(part, message.wire == NAME, context)


def _write_answer(conversation: Conversation, context: EncodeContext) -> JSON:
    """A response without a result: the tools that are on offer if that is all, else what a model
    said."""
    if conversation.tools and not any(conversation.parts()):
        lose_settings(conversation, context)
        return {
            "jsonrpc": "2.0",
            "id": "tools",
            "result": {"tools": write_tools(conversation.tools, context)},
        }
    only = conversation.messages[0].parts if len(conversation.messages) == 1 else ()
    if len(only) == 1 and isinstance(only[0], Opaque) and conversation.wire == NAME:
        return only[0].value
    return write_answer(conversation, context, ANSWER)


# --- telling it from others -----------------------------------------------------------------------


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies: nobody else speaks JSON-RPC."""
    messages = body if isinstance(body, list) else [body]
    return (
        3
        if messages
        and all(isinstance(one, dict) and one.get("jsonrpc") == "2.0" for one in messages)
        else 0
    )


WIRE = Wire(
    NAME,
    "Model Context Protocol",
    all_blocks((CALL, RESULT, WANTING, ERROR), BLOCKS),
    read,
    write,
    match_score,
)
