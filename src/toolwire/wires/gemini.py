"""Gemini generateContent.

- id-is-optional: an id is echoed if and only if the call had one; an invented one is never put on this wire.
- order-decides: without ids, responses stand in the order of their calls, all in one content, nothing else in it.
- name-is-required: a response names the function it answers.
- signature-on-the-part: `thoughtSignature` stands beside the call, not in it, and returns on the very same part.
- two-spellings: protobuf's JSON reads `functionCall` and `function_call` alike; what came is what goes back.
- output-or-error: by convention `response` holds `output`, or `error`; any other object is the result itself.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire._json import JSON, At, Json, Object, get, snake
from toolwire.identity import MINTED, is_minted, settle
from toolwire.model import Conversation, Format, Kind, Tool
from toolwire.parts import Call, Media, Message, Opaque, Output, Part, Reasoning, Result, Role, Text, label, output_text
from toolwire.wires._blocks import Blocks
from toolwire.wires._fields import read_fields, write_fields, write_stop
from toolwire.wires._gemini_settings import (
    CONFIG,
    MEANS,
    REQUEST,
    RESPONSE,
    SAYS,
    keys,
    pick,
    read_offers,
    write_tools,
)  # fmt: skip
from toolwire.wires._media import kind_by, mime_of
from toolwire.wires._page import Page
from toolwire.wires._wire import (
    BROKEN,
    Id,
    Row,
    Wire,
    blame,
    call_id,
    list_at,
    name_of,
    obj,
    object_at,
    own,
    result_id,
    rows_of,
    string,
    table,
    text_or_none,
    unknown,
)  # fmt: skip

NAME = "gemini"


def seal_of(block: Object) -> str | None:
    """The signature on a part."""
    return text_or_none(block.get("thoughtSignature") or block.get("thought_signature"))


# --- parts -------------------------------------------------------------------------------------------------------


def _read_media(block: Object, at: At, row: Row) -> Part:
    held = obj(pick(block, row.name))
    mime, name = text_or_none(pick(held, "mimeType")), text_or_none(pick(held, "displayName"))
    if row.name == "inlineData":
        return Media(kind_by(mime), mime, string(held["data"]), name=name, seal=seal_of(block), raw=block, at=at, row=row)
    return Media(
        kind_by(mime), mime, url=string(pick(held, "fileUri")), name=name, seal=seal_of(block), raw=block, at=at, row=row
    )


def _write_media(media: Media, page: Page) -> JSON:
    mime = mime_of(media)
    if media.data is not None:
        return {"inlineData": {"mimeType": mime or "application/octet-stream", "data": media.data}}
    if media.url is not None:
        return {"fileData": {"fileUri": media.url, **({"mimeType": mime} if mime else {})}}
    if media.text is not None:
        page.lose(media, "a text document is sent as text")
    else:
        page.lose(media, "a file id of another provider; it is named in text")
    return {"text": label(media)}


def _read_call(block: Object, at: At, row: Row) -> Part:
    call = obj(pick(block, "functionCall"))
    one, origin = call_id(call.get("id"))
    return Call(one, name_of(call.get("name")), _args(call), origin, seal=seal_of(block), raw=block, at=at, row=row)


def _args(call: Object) -> Json:
    given = call.get("args")
    return Json("") if given is None else Json(UNSET, given)


def _write_call(call: Call, page: Page) -> JSON:
    sent = page.wire_id(call)
    if sent is None:
        return {"functionCall": {"name": page.name(call.name), "args": page.object_of(call)}}
    return {"functionCall": {"id": sent, "name": page.name(call.name), "args": page.object_of(call)}}


def _read_response_part(block: Object, at: At, row: Row) -> Part:
    answer = obj(pick(block, "functionResponse"))
    one, origin = result_id(answer.get("id"))
    response = answer.get("response")
    output: Output = response
    error = False
    if isinstance(response, dict) and len(response) == 1 and ("output" in response or "error" in response):
        error = "error" in response
        output = response["error" if error else "output"]
    inside = answer.get("parts")
    if isinstance(inside, list) and inside:
        where = (*at, "functionResponse" if "functionResponse" in block else "function_response", "parts")
        media = tuple(read_part(part, where + (i,)) for i, part in enumerate(inside))
        output = (Text(output_text(output)), *media) if output not in (None, {}, "") else media
    return Result(one, "" if output is None else output, error, text_or_none(answer.get("name")), origin, seal=seal_of(block),
                  raw=block, at=at, row=row)  # fmt: skip


def _write_response_part(result: Result, page: Page) -> JSON:
    """The answer under its function's name, with the id only if its call has one."""
    name = page.called.get(result.call_id) or result.name or ""
    out: Object = {"name": page.name(name)}
    sent = page.result_id(result)
    if sent[:3] != MINTED or not is_minted(sent):
        out["id"] = sent
    output = result.output
    if page.plain and isinstance(output, str) and not result.error:
        out["response"] = {"output": output}
        return {"functionResponse": out}
    output = page.output(result)
    media = [part for part in output if isinstance(part, Media) and part.text is None] if isinstance(output, tuple) else []
    if isinstance(output, tuple):
        for part in output:
            if not isinstance(part, Text | Media):
                page.lose(part, f"a response cannot hold this here but as text: {label(part)[:80]}")
        output = "\n".join(label(part) for part in output if part not in media)
    failed = page.failed(result)
    if isinstance(output, dict) and not failed and not (len(output) == 1 and ("output" in output or "error" in output)):
        out["response"] = output
    else:
        out["response"] = {"error" if failed else "output": output}
    if media:
        out["parts"] = [_write_media(part, page) for part in media]
    return {"functionResponse": out}


def _read_code(block: Object, at: At, row: Row) -> Part:
    code = obj(pick(block, "executableCode"))
    one, origin = call_id(code.get("id"))
    given: Object = {key: code[key] for key in ("language", "code") if key in code}
    return Call(one, "code_execution", Json(UNSET, given), origin, "code-execution", "provider", seal=seal_of(block),
                raw=block, at=at, row=row)  # fmt: skip


def _write_code(call: Call, page: Page) -> JSON:
    return {"executableCode": call.input}


def _read_code_result(block: Object, at: At, row: Row) -> Part:
    done = obj(pick(block, "codeExecutionResult"))
    one, origin = result_id(done.get("id"))
    outcome = done.get("outcome")
    failed = outcome is not None and outcome != "OUTCOME_OK"
    return Result(one, text_or_none(done.get("output")) or "", failed, "code_execution", origin, "code-execution", "provider",
                  seal=seal_of(block), raw=block, at=at, row=row)  # fmt: skip


def _write_code_result(result: Result, page: Page) -> JSON:
    outcome = "OUTCOME_FAILED" if result.error else "OUTCOME_OK"
    return {"codeExecutionResult": {"outcome": outcome, "output": result.text}}


def _read_tool_call(block: Object, at: At, row: Row) -> Part:
    call = obj(pick(block, "toolCall"))
    one, origin = call_id(call.get("id"))
    return Call(one, name_of(pick(call, "toolType")), _args(call), origin, "generic-server-tool", "provider",
                seal=seal_of(block), raw=block, at=at, row=row)  # fmt: skip


def _read_tool_response(block: Object, at: At, row: Row) -> Part:
    done = obj(pick(block, "toolResponse"))
    one, origin = result_id(done.get("id"))
    return Result(one, done.get("response"), False, name_of(pick(done, "toolType")), origin, "generic-server-tool", "provider",
                  seal=seal_of(block), raw=block, at=at, row=row)  # fmt: skip


_SEAL = ("thoughtSignature", "thought")
_ID = (Id("id", required=False, nullable=True),)


def _tool_row(name: str, part: type[Call] | type[Result], read: object, write: object, inner: frozenset[str],
              direction: str, family: str, executor: str) -> Row:  # fmt: skip
    both = ((name, inner), (snake(name), inner))
    return Row(name, part, read, write, keys(name, *_SEAL), both, {"part_field": name}, direction, family, executor, _ID)  # type: ignore[arg-type]


ROWS = table(
    Row("text", Text, lambda b, at, row: Text(string(b["text"]), seal=seal_of(b), raw=b, at=at, row=row),
        lambda p, _: {"text": p.text}, keys("text", *_SEAL)),
    Row("thought", Reasoning, lambda b, at, row: Reasoning(string(b.get("text", "")), seal=seal_of(b), raw=b, at=at, row=row),
        lambda p, _: {"text": p.text, "thought": True}, keys("text", *_SEAL)),
    Row("inlineData", Media, _read_media, _write_media, keys("inlineData", *_SEAL),
        (("inlineData", keys("mimeType", "data")), ("inline_data", keys("mimeType", "data")))),
    Row("fileData", Media, _read_media, _write_media, keys("fileData", *_SEAL),
        (("fileData", keys("mimeType", "fileUri")), ("file_data", keys("mimeType", "fileUri")))),
    _tool_row("functionCall", Call, _read_call, _write_call, keys("id", "name", "args"), "call", "function", "client"),
    _tool_row("functionResponse", Result, _read_response_part, _write_response_part, keys("id", "name", "response", "parts"),
              "output", "function", "client"),
    _tool_row("executableCode", Call, _read_code, _write_code, keys("id", "language", "code"),
              "call", "code-execution", "provider"),
    _tool_row("codeExecutionResult", Result, _read_code_result, _write_code_result, keys("id", "outcome", "output"),
              "output", "code-execution", "provider"),
    _tool_row("toolCall", Call, _read_tool_call, lambda c, _: {"toolCall": {"toolType": c.name, "args": c.input}},
              keys("id", "toolType", "args"), "call", "generic-server-tool", "provider"),
    _tool_row("toolResponse", Result, _read_tool_response,
              lambda r, _: {"toolResponse": {"toolType": r.name, "response": r.output}},
              keys("id", "toolType", "response"), "output", "generic-server-tool", "provider"),
)  # fmt: skip
_BY_KEY = {spelling: row for row in ROWS.values() for spelling in (row.name, snake(row.name))}
MESSAGE = Row("content", Message, keys=keys("role", "parts"))


def read_part(block: JSON, at: At) -> Part:
    """A part is told by the field it has; `thought` makes a text reasoning."""
    if not isinstance(block, dict):
        blame(NAME, at, "an object", block)
    thought = block.get("thought") is True
    for key in block:
        row = _BY_KEY.get(key)
        if row is not None and row.read is not None and (key == "thought" if thought else key != "thought"):
            try:
                return row.read(block, at, row)
            except BROKEN:
                break
    return unknown(next(iter(block), ""), block, at)


# --- contents ----------------------------------------------------------------------------------------------------

ROLES: dict[str, Role] = {"user": "user", "model": "assistant", "function": "user", "system": "system"}


def read_content(content: JSON, at: At, role: Role | None = None) -> Message:
    """One content. The system instruction is one too, and may be plain text."""
    if isinstance(content, str) and role is not None:
        return Message(role, (Text(content, raw=content, at=at, row=ROWS["text"]),), None, NAME, raw=content, at=at, row=MESSAGE)
    if not isinstance(content, dict):
        blame(NAME, at, "an object", content)
    said = content.get("role") or "user"
    if role is None:
        if not isinstance(said, str) or said not in ROLES:
            blame(NAME, at + ("role",), "user, model or function", said)
        role = ROLES[said]
    parts = content.get("parts")
    if parts is not None and not isinstance(parts, list):
        blame(NAME, at + ("parts",), "a list", parts)
    inside = tuple([read_part(part, at + ("parts", i)) for i, part in enumerate(parts or ())])
    return Message(role, inside, None, NAME, raw=content, at=at, row=MESSAGE)


def _write_text(part: Text, page: Page) -> JSON:
    if part.refusal:
        page.lose(part, "a refusal is sent as plain text")
    return {"text": part.text} if part.text else None


def _write_reasoning(part: Reasoning, page: Page) -> JSON:
    """Reasoning can be shown in an answer; in a history nobody else's is taken."""
    if page.kind == "response" and part.text:
        return {"text": part.text, "thought": True}
    page.lose(part, "reasoning of another provider is not taken back")
    return None


def _no_part(part: Part, page: Page) -> JSON:
    page.lose(part, f"no such part on this wire: {label(part)[:80]}")
    return None


FOREIGN: dict[type[Part], Callable[..., JSON]] = {
    Text: _write_text, Media: _write_media, Call: _write_call, Result: _write_response_part, Reasoning: _write_reasoning,
    Opaque: _no_part,
}  # fmt: skip
"""How a part of another wire is written; None if it cannot stand here."""


def _again(content: JSON, at: At) -> Message:
    return read_content(content, at, "system" if len(at) == 1 else None)


def _message(role: Role, parts: list[JSON]) -> JSON:
    return {"role": "model" if role == "assistant" else "user", "parts": parts}


def _text(role: Role, text: str) -> JSON:
    return {"role": "model" if role == "assistant" else "user", "parts": [{"text": text}]}


HISTORY = Blocks(NAME, _again, FOREIGN, _message, _text, alone=True)


# --- whole bodies ------------------------------------------------------------------------------------------------


def read(body: JSON, kind: Kind) -> Conversation:
    """A request or a response as a conversation."""
    if not isinstance(body, dict):
        blame(NAME, (), "an object", body)
    return _read_response(body) if kind == "response" else _read_request(body)


def _read_request(body: Object) -> Conversation:
    messages: list[Message] = []
    for key in ("systemInstruction", "system_instruction"):
        if body.get(key) is not None:
            messages.append(read_content(body[key], (key,), "system"))
    messages += [read_content(content, ("contents", i)) for i, content in enumerate(list_at(NAME, body, ("contents",)))]
    tools: list[Tool] = []
    for i, tool in enumerate(list_at(NAME, body, ("tools",)) if body.get("tools") is not None else []):
        tools += read_offers(tool, ("tools", i))
    settings = read_fields(REQUEST, body, keys("contents", "systemInstruction", "tools"))
    return Conversation(settle(tuple(messages), seed="", ordered=True), tuple(tools), settings.values, NAME, "request", body,
                        unknown=settings.unknown, places=settings.places, ordered=True)  # fmt: skip


def _read_response(body: Object) -> Conversation:
    settings = read_fields(RESPONSE, body, keys("candidates"))
    messages: list[Message] = []
    extra = list(settings.unknown)
    found = list_at(NAME, body, ("candidates",)) if body.get("candidates") is not None else []
    if not found and "promptFeedback" not in body and "usageMetadata" not in body:
        blame(NAME, ("candidates",), "a list", body.get("candidates", UNSET))
    for i, candidate in enumerate(found):
        at: At = ("candidates", i)
        content = object_at(NAME, body, at).get("content")
        message = read_content({} if content is None else content, (*at, "content"), "assistant")
        reason = pick(object_at(NAME, body, at), "finishReason")
        stop = MEANS.get(reason, reason.lower()) if isinstance(reason, str) else None
        called = any(isinstance(part, Call) and part.executor == "client" for part in message.parts)
        messages.append(replace(message, stop="tool" if stop == "stop" and called else stop))
        extra += [(*at, key) for key, value in obj(candidate).items()
                  if key not in keys("content", "finishReason", "index") and value is not None]  # fmt: skip
    return Conversation(settle(tuple(messages), seed=str(settings.values.get("id", "")), ordered=True), (), settings.values, NAME,
                        "response", body, unknown=tuple(extra), places=settings.places, ordered=True)  # fmt: skip


def write(conversation: Conversation, page: Page) -> JSON:
    """A conversation as a request or a response."""
    if page.kind == "response":
        return _write_response(conversation, page)
    body = write_fields(REQUEST, conversation, page)
    form = conversation.settings.get("format")
    config = body.get(CONFIG)
    if conversation.wire != NAME and isinstance(form, Format) and form.schema is not None and isinstance(config, dict):
        config["responseJsonSchema"] = form.schema
    written = HISTORY.write(conversation, page)
    key = "system_instruction" if "system_instruction" in body else "systemInstruction"
    if not isinstance(written.whole, UnsetType):
        body[key] = written.whole
    elif written.system:
        body[key] = {"parts": written.system}
    body["contents"] = written.messages
    if conversation.tools and (conversation.wire != NAME or conversation.tools is not conversation.was[1]):
        body["tools"] = write_tools(conversation.tools, page)
    return body


def _write_response(conversation: Conversation, page: Page) -> JSON:
    body = write_fields(RESPONSE, conversation, page)
    seed = conversation.settings.get("id")
    page.seed = seed if isinstance(seed, str) else ""
    candidates: list[JSON] = []
    for i, message in enumerate(conversation.messages):
        kept = own(message, page, lambda raw, at: read_content(raw, at, "assistant"))
        old = get(conversation.source, message.at[:-1]) if conversation.wire == NAME else UNSET
        if isinstance(kept, UnsetType):
            blocks = [FOREIGN[type(part)](part, page) for part in message.parts]
            kept = {"role": "model", "parts": [block for block in blocks if block is not None]}
        called = message.stop == "tool" and any(isinstance(part, Call) for part in message.parts)
        stop = "STOP" if called else write_stop(message, SAYS, MEANS, page)
        frame: Object = {**old} if isinstance(old, dict) else {"index": i, "finishReason": stop}
        candidates.append({**frame, "content": kept})
    return {**body, "candidates": candidates}


# --- telling it from others --------------------------------------------------------------------------------------


def looks(body: JSON) -> int:
    """How sure it is that this is one of its bodies."""
    if not isinstance(body, dict):
        return 0
    if isinstance(body.get("candidates"), list):
        return 3
    contents = body.get("contents")
    return 3 if isinstance(contents, list) and all(isinstance(c, dict) and "parts" in c for c in contents) else 0


WIRE = Wire(NAME, "Gemini generateContent", rows_of(ROWS), read, write, looks)
