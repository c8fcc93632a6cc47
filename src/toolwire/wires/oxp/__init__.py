"""Open eXecution Protocol 1.0: one call and its result, and the tools on offer.

- bare-or-enveloped: the same object stands alone, or under `request` and `result` beside `$schema`;
  both are read.
- two-spellings-of-input: the text of the specification says `inputs`, its schema and every client
  `input`.
- id-is-optional: a request may leave `call_id` out; the server then makes one and returns it. It is
  an idempotency key, so an id that only we made is never sent with a request: another conversation
  could have the same.
- developer-message-is-private: it must not reach a model, so it is no part of a result's output.
- refusals-have-no-id: a call that was not run (400, 401, 422) is answered by a message and no
  `call_id`.
- tool-id-has-a-kit: `Kit.Tool@1.2.3`; a name without a kit gets one, and loses it on the way home.
- one-at-a-time: a body is one call or one result. A list of bodies, or both in one object, is a
  recorded exchange.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import IdRule, assign_ids, fit
from toolwire.conversation.json import JSON, JsonPath, Object, patch, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import BodySource, Conversation, Kind, Tool
from toolwire.conversation.parts import Call, Message, Output, Part, Result, Source, Text, describe
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import (
    Block,
    Id,
    Wire,
    keys,
    list_at,
    patch_block,
    patch_parts,
    raise_unexpected,
    read_id,
    read_name,
    read_result_id,
    text_or_none,
)
from toolwire.wires.families.rpc_log.log import lose_rest, lose_settings, rewrite, turns, unchanged

NAME = "oxp"
VERSION = "urn:oxp:1.0"
TOOL_ID = re.compile(r"[A-Za-z0-9_]+\.[A-Za-z0-9_]+(@([0-9]+|[0-9]+\.[0-9]+\.[0-9]+))?")
KIT = "tools."
"""The kit of a tool that has none: its name on another wire is no tool id here."""
_WORD = IdRule("A-Za-z0-9_", 64)
_SHORT = IdRule("A-Za-z0-9_-", 64)

# --- calls ----------------------------------------------------------------------------------------


def _read_call(request: Object, path: JsonPath) -> Part:
    id_field, input_field = (
        _spelling(request, "call_id", "execution_id"),
        _spelling(request, "input", "inputs"),
    )
    one, origin = read_id(request.get(id_field))
    given = request.get(input_field)
    args = LazyJson("") if given is None else LazyJson.from_value(given)
    return Call(
        one,
        read_name(request.get("tool_id")),
        args,
        origin,
        source=Source(request, path, CALLS[id_field, input_field]),
    )


def _spelling(request: Object, name: str, other: str) -> str:
    """Which of two names for one field is used; the newer one if both are."""
    return other if request.get(name) is None and other in request else name


def _call_row(id_field: str, input_field: str) -> Block:
    def write(call: Call, context: EncodeContext) -> JSON:
        sent = context.wire_id(call)
        out: Object = {
            "tool_id": context.name(call.name),
            **({id_field: sent} if sent is not None else {}),
        }
        return {**out, input_field: context.arguments_object(call)}

    return Block(
        "request",
        Call,
        None,
        write,
        keys("tool_id", id_field, input_field),
        (),
        {"path": "request"},
        "call",
        "function",
        "client",
        (Id(id_field, required=False),),
        ("request",),
    )


CALLS = {
    (one, given): _call_row(one, given)
    for one in ("call_id", "execution_id")
    for given in ("input", "inputs")
}
"""Rows by the names of the id and of the arguments: drafts before 1.0 said `execution_id`."""
CALL = CALLS["call_id", "input"]

# --- results --------------------------------------------------------------------------------------


def _read_result(response: Object, path: JsonPath) -> Part:
    one, origin = read_result_id(response.get(_spelling(response, "call_id", "execution_id")))
    error, value = response.get("error"), response.get("value")
    failed = response.get("success") is False or (error is not None and value is None)
    if failed and error is not None:
        return Result(
            one, _read_error(error), True, None, origin, source=Source(response, path, ERROR)
        )
    held: Object = (
        {key: response[key] for key in _DRAFTS if response.get(key) is not None}
        if value is None
        else {}
    )
    output: JSON = held or ("" if value is None else value)
    return Result(
        one, output, failed, None, origin, source=Source(response, path, DRAFT if held else VALUE)
    )


def _read_error(error: JSON) -> Output:
    """What a model may see of an error: its message, and what is meant for the prompt of
    a retry.
    """
    match error:
        case {"message": str(message), "additional_prompt_content": str(more)}:
            return (Text(message), Text(more))
        case {"message": str(message)}:
            return message
    return error


def _write_result(result: Result, context: EncodeContext) -> JSON:
    out: Object = {"call_id": context.result_id(result)}
    output = context.output(result)
    if context.is_error(result):
        context.note_result_form(result, flag=True, structure=False)
        return {**out, "success": False, "error": _write_error(output, context)}
    return {**out, "success": True, "value": _write_value(output, context)}


def _write_error(output: Output, context: EncodeContext) -> JSON:
    texts = [part for part in output if isinstance(part, Text)] if isinstance(output, tuple) else []
    if isinstance(output, tuple) and len(texts) == len(output) == 2:
        return {"message": texts[0].text, "additional_prompt_content": texts[1].text}
    if isinstance(output, tuple):
        return {"message": _told(output, context)}
    return {"message": output if isinstance(output, str) else text_of(output)}


def _write_value(output: Output, context: EncodeContext) -> JSON:
    """Any JSON; a tool that gives nothing gives null."""
    if isinstance(output, tuple):
        return _told(output, context) or None
    return None if output == "" else output


def _told(output: tuple[Part, ...], context: EncodeContext) -> str:
    for part in output:
        if not isinstance(part, Text):
            context.report_loss(
                part, f"a value is JSON, and holds this only in words: {describe(part)[:80]}"
            )
    if len(output) > 1:
        context.report_loss(output[1], "a result of several parts is sent as one text")
    return "\n".join(describe(part) for part in output)


def _read_refusal(body: Object, path: JsonPath) -> Part:
    """Why a call was not run: a text, or an object if it says more that a model can use."""
    said = {key: body[key] for key in _SAID if body.get(key) is not None}
    output: JSON = said["message"] if len(said) == 1 else said
    return Result("", output, True, None, "minted", source=Source(body, path, REFUSAL))


def _write_refusal(result: Result, context: EncodeContext) -> JSON:
    return result.output if isinstance(result.output, dict) else {"message": result.text}


_SAID = ("message", "parameter_errors", "missing_requirements")
_DRAFTS = ("output", "artifact", "requires_authorization")
_ANSWER = keys("call_id", "execution_id", "success")


def _result_row(name: str, known: frozenset[str], inner: frozenset[str] = frozenset()) -> Block:
    return Block(
        name,
        Result,
        None,
        _write_result,
        _ANSWER | known,
        ((name, inner),) if inner else (),
        {"path": "result", "field": name},
        "output",
        "function",
        "client",
        (Id("call_id"),),
        ("response",),
    )


VALUE = _result_row("value", keys("value"))
ERROR = _result_row("error", keys("error"), keys("message", "additional_prompt_content"))
DRAFT = replace(VALUE, keys=_ANSWER | keys(*_DRAFTS))
"""A result as drafts had it: its output is whatever field they had for it."""
REFUSAL = Block(
    "message",
    Result,
    None,
    _write_refusal,
    keys("$schema", *_SAID),
    (),
    {"field": "message"},
    "output",
    "function",
    "client",
    (),
    ("response",),
)
_ROWS = (*CALLS.values(), VALUE, ERROR, DRAFT, REFUSAL)

# --- tools ----------------------------------------------------------------------------------------

OFFER = Block("tool", Tool, keys=keys("id", "name", "description", "version", "input_schema"))
RENAMED = replace(OFFER, keys=keys("id", "description", "version", "input_schema"))
"""A definition whose short name does not follow from its id."""
UNKNOWN_VERSION = "0.0.0"


def _read_offer(tool: JSON, path: JsonPath) -> Tool:
    """A tool on offer, by its id; drafts wrapped the schema in `parameters`."""
    if not isinstance(tool, dict):
        raise_unexpected(NAME, path, "an object", tool)
    name = read_name(tool.get("id")) or read_name(tool.get("name"))
    schema = tool.get("input_schema")
    if isinstance(schema, dict) and len(schema) == 1 and isinstance(schema.get("parameters"), dict):
        schema = schema["parameters"]
    spec = OFFER if tool.get("name") in (None, name, _short(name)) else RENAMED
    return Tool(
        name, text_or_none(tool.get("description")) or None, schema, source=Source(tool, path, spec)
    )


def _short(tool_id: str) -> str:
    return fit(tool_id.partition("@")[0].replace(".", "_"), _SHORT) if tool_id else ""


def _offer(tool: Tool, context: EncodeContext) -> Object:
    sent = context.name(tool.name)
    version = sent.partition("@")[2]
    full = version if version.count(".") == 2 else f"{version}.0.0" if version else UNKNOWN_VERSION
    out: Object = {
        "id": sent,
        "name": _short(sent),
        "description": tool.description or "",
        "version": full,
    }
    if tool.description == "":
        context.report_loss(tool, "every tool has a description here; an empty one is none")
    if tool.schema is not None and tool.kind != "custom":
        out["input_schema"] = tool.schema
    if tool.kind == "custom":
        out["input_schema"] = context.schema_of(tool)
    if tool.strict is not None:
        context.report_loss(tool, "no strict flag here")
    return out


def _write_tools(tools: tuple[Tool, ...], context: EncodeContext) -> list[JSON]:
    out: list[JSON] = []
    for tool in tools:
        if tool.spec in (OFFER, RENAMED):
            was = _read_offer(tool.raw, tool.path)  # type: ignore[arg-type]
            out.append(patch(was.raw, _offer(was, context), _offer(tool, context)))  # type: ignore[arg-type]
        elif tool.kind in ("function", "custom"):
            out.append(_offer(tool, context))
        else:
            context.report_loss(tool, f"a tool of another provider: {tool.kind}")
    return out


# --- reading --------------------------------------------------------------------------------------


class _Log:
    """Bodies as they come: parts, tools, and what nobody understood."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.tools: list[Tool] = []
        self.unknown: list[JsonPath] = []

    def take(self, body: JSON, path: JsonPath) -> None:
        if not isinstance(body, dict):
            raise_unexpected(NAME, path, "an object", body)
        if "tool_id" in body:
            self.parts.append(_read_call(body, path))
        elif "success" in body:
            self.parts.append(_read_result(body, path))
        elif isinstance(body.get("request"), dict) or isinstance(body.get("result"), dict):
            self._envelope(body, path)
        elif isinstance(body.get("items"), list) or isinstance(body.get("tools"), list):
            key = "items" if isinstance(body.get("items"), list) else "tools"
            self.tools += [
                _read_offer(tool, (*path, key, i))
                for i, tool in enumerate(list_at(NAME, body, (key,)))
            ]
            self._extra(body, path, keys("$schema", key))
        elif isinstance(body.get("message"), str):
            self.parts.append(_read_refusal(body, path))
        else:
            raise_unexpected(
                NAME, path, "a request, a result, a list of tools or an error message", body
            )

    def _envelope(self, body: Object, path: JsonPath) -> None:
        self._extra(body, path, keys("$schema", "request", "result", "response"))
        for key in ("request", "result", "response"):
            held = body.get(key)
            inside = isinstance(held, dict) and (
                "request" in held or "result" in held or _refuses(held)
            )
            if isinstance(held, dict) and inside and key != "result":
                self.take(held, (*path, key))
            elif isinstance(held, dict):
                self.parts.append(
                    _read_call(held, (*path, key))
                    if key == "request"
                    else _read_result(held, (*path, key))
                )
            elif held is not None:
                raise_unexpected(NAME, (*path, key), "an object", held)

    def _extra(self, value: Object, path: JsonPath, known: frozenset[str]) -> None:
        self.unknown += [
            (*path, key) for key, item in value.items() if key not in known and item is not None
        ]


def _refuses(held: Object) -> bool:
    return isinstance(held.get("message"), str) and "success" not in held and "tool_id" not in held


def _adopted(parts: list[Part]) -> list[Part]:
    """The parts with the ids that only the other side has, where no other call could be meant.

    A server makes the id of a call that came without; a refusal has none. Either belongs to the
    request it stands with, or else to the only one that still waits.
    """
    known = {part.id for part in parts if isinstance(part, Call)}
    out = list(parts)
    waiting: list[tuple[int, Call]] = []
    for i, part in enumerate(parts):
        if isinstance(part, Call):
            waiting.append((i, part))
        if not isinstance(part, Result):
            continue
        meant = (
            [one for one in waiting if one[1].id == part.call_id] if part.call_id in known else []
        )
        if part.call_id not in known or not part.call_id:
            beside = [
                one for one in waiting if len(part.path) > 1 and one[1].path[:1] == part.path[:1]
            ]
            meant = [one for one in beside or waiting if not (part.call_id and one[1].id)]
        if len(meant) == 1:
            place, call = meant[0]
            waiting.remove(meant[0])
            if part.call_id and not call.id:
                out[place] = replace(call, id=part.call_id, origin="wire")
            elif call.id and not part.call_id:
                out[i] = replace(part, call_id=call.id, origin="wire")
    return out


def read(body: JSON, kind: Kind) -> Conversation:
    """One body, or a list of them in the order in which they passed."""
    log = _Log()
    if isinstance(body, list):
        listed = bool(body) and all(
            isinstance(one, dict) and "id" in one and "tool_id" not in one for one in body
        )
        for i, one in enumerate(body):
            if listed:
                log.tools.append(_read_offer(one, (i,)))
            else:
                log.take(one, (i,))
    else:
        log.take(body, ())
    messages = assign_ids(turns(_adopted(log.parts), NAME), seed="", ordered=False)
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


def write(conversation: Conversation, context: EncodeContext) -> JSON:
    """One call, or as a response one result; a log that was read here stays one. With neither, the
    tools on offer."""
    own = conversation.wire == NAME and conversation.kind == context.kind
    if own and not isinstance(
        kept := unchanged(conversation, context, read(conversation.source.body, context.kind)),
        UnsetType,
    ):
        return kept
    lose_settings(conversation, context)
    if (
        own
        and not isinstance(conversation.source.body, list)
        and not isinstance(kept := _kept(conversation, context), UnsetType)
    ):
        return kept
    if own and isinstance(conversation.source.body, list) and any(conversation.parts()):
        return _write_log(conversation, context, conversation.source.body)
    chosen = _newest(conversation, context)
    if chosen is None:
        return _write_list(conversation, context)
    _fit_names([chosen.name] if isinstance(chosen, Call) else [], context)
    one = "call" if isinstance(chosen, Call) else "result"
    lose_rest(conversation, context, [chosen], f"a body is one {one} here")
    for tool in conversation.tools:
        context.report_loss(tool, f"a {one} offers no tools")
    mine = any(
        message.wire == NAME and any(part is chosen for part in message.parts)
        for message in conversation.messages
    )
    return _write_part(chosen, mine, conversation, context)


def _kept(conversation: Conversation, context: EncodeContext) -> JSON | UnsetType:
    """The body that was read, if all of it is still there and what came is nothing it could say
    instead."""
    before = read(conversation.source.body, context.kind)
    old = [
        part for message in conversation.messages if message.wire == NAME for part in message.parts
    ]
    new = [
        part for message in conversation.messages if message.wire != NAME for part in message.parts
    ]
    if not conversation.same_tools or any(isinstance(part, _SPOKEN[context.kind]) for part in new):
        return UNSET
    body = patch_parts(old, before.parts(), conversation.source.body, (), context)
    if not isinstance(body, UnsetType):
        lose_rest(conversation, context, old, "a body is one exchange here")
    return body


_SPOKEN: dict[str, type[Part]] = {"request": Call, "response": Result}


def _newest(conversation: Conversation, context: EncodeContext) -> Call | Result | None:
    """The call to send: the last that is open, else the last; or the last result."""
    if context.kind == "response":
        results = conversation.results()
        return results[-1] if results else None
    calls = conversation.calls()
    answered = {id(pair.call) for pair in conversation.pairs() if pair.result is not None}
    calls = [call for call in calls if id(call) not in answered] or calls
    return calls[-1] if calls else None


def _write_part(part: Part, own: bool, conversation: Conversation, context: EncodeContext) -> JSON:
    """The body of one call or result: bare if it was, else in an envelope; None, reported, for
    anything else."""
    kept = (
        patch_block(part, context, part.raw)
        if own and part.spec in _ROWS and part.raw is not UNSET
        else UNSET
    )
    if isinstance(part, Call):
        key, held = "request", CALL.write(part, context) if isinstance(kept, UnsetType) else kept  # type: ignore[misc]
    elif isinstance(part, Result):
        key, held = "result", _write_result(part, context) if isinstance(kept, UnsetType) else kept
    else:
        context.report_loss(
            part, f"a tool protocol holds calls and results only: {describe(part)[:80]}"
        )
        return None
    bare = not isinstance(kept, UnsetType) and (
        part.spec is REFUSAL or not [step for step in part.path if isinstance(step, str)]
    )
    source = conversation.source.body if own else None
    head: Object = (
        {"$schema": VERSION}
        if not isinstance(source, dict)
        else {"$schema": source["$schema"]}
        if "$schema" in source
        else {}
    )
    return held if bare else {**head, key: held}


def _write_log(conversation: Conversation, context: EncodeContext, source: list[JSON]) -> JSON:
    before = read(list(source), context.kind)
    _fit_names(
        (
            part.name
            for part in conversation.parts()
            if isinstance(part, Call) and part.raw is UNSET
        ),
        context,
    )
    if not conversation.same_tools:
        for tool in conversation.tools:
            context.report_loss(tool, "tools of a log cannot be changed")
    return rewrite(
        conversation,
        context,
        source,
        before,
        lambda part, own: _write_part(part, own, conversation, context),
    )


def _write_list(conversation: Conversation, context: EncodeContext) -> JSON:
    """There is nothing to call and nothing to answer: what is left are the tools."""
    _fit_names(
        (tool.name for tool in conversation.tools if tool.spec not in (OFFER, RENAMED)), context
    )
    lose_rest(conversation, context, (), "a tool protocol holds calls and results only")
    tools = _write_tools(conversation.tools, context)
    source = conversation.source.body if conversation.wire == NAME else None
    if isinstance(source, list):
        return tools
    if isinstance(source, dict) and (
        key := next((key for key in ("items", "tools") if key in source), None)
    ):
        return {**source, key: tools}
    return {"$schema": VERSION, "items": tools}


def _fit_names(names: Iterable[str], context: EncodeContext) -> None:
    """Give the names that are no tool ids a kit, remembered for the way home as all changed names
    are."""
    sent = {name: context.name(name) for name in names if name}
    taken = {new for new in sent.values() if TOOL_ID.fullmatch(new)}
    made: dict[str, str] = {}
    for name, new in sorted(sent.items()):
        if new in taken:
            continue
        tool_id = KIT + fit(new, _WORD, {one.removeprefix(KIT) for one in taken})
        if tool_id in taken:
            tool_id = KIT + fit(f"{new}.", _WORD, {one.removeprefix(KIT) for one in taken})
        taken.add(tool_id)
        made[name] = tool_id
    if made:
        context.names = {**context.names, **made}


# --- telling it from others -----------------------------------------------------------------------


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies."""
    if isinstance(body, list):
        sure = [match_score(one) for one in body if not (isinstance(one, dict) and _refuses(one))]
        return min(sure, default=0)
    if not isinstance(body, dict) or "jsonrpc" in body:
        return 0
    if str(body.get("$schema", "")).startswith(("urn:oxp:", "otc://")):
        return 3
    for key, mark in (("request", "tool_id"), ("result", "success"), ("response", "success")):
        held = body.get(key)
        if isinstance(held, dict) and (mark in held or (key != "result" and match_score(held))):
            return 3
    if isinstance(body.get("tool_id"), str) or (
        isinstance(body.get("success"), bool) and "call_id" in body
    ):
        return 3
    tools = body.get("items", body.get("tools"))
    named = (
        isinstance(tools, list)
        and tools
        and all(isinstance(tool, dict) and {"id", "version"} <= tool.keys() for tool in tools)
    )
    return 3 if named and "messages" not in body else 0


WIRE = Wire(
    NAME, "Open eXecution Protocol", (CALL, VALUE, ERROR, REFUSAL), read, write, match_score
)
