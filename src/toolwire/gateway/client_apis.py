"""The wires that clients speak to a gateway: one row each, with its paths, how a stream is asked
for, and where a parcel fits.

A row is data and a few small functions over JSON. Whatever the clients of a provider expect of its
server and that is no part of a history stands here. Opens no connection.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct
from msgspec.structs import replace

from toolwire.conversation.ids import digest
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Message, Opaque, Part, Reasoning, Source, Text
from toolwire.gateway.continuation_tokens import PREFIX
from toolwire.streaming.events import Chunk

Does: TypeAlias = Literal["answer", "stream", "count", "models", "model", "show"]
FIELD = "reasoning_details"
DATA = "data-toolwire"
_CODED = b64encode(PREFIX.encode()).decode()[:5]
"""How a parcel begins where the wire wants base64."""
_MARK, _CODED_MARK = PREFIX.encode(), _CODED.encode()
_WRITTEN = re.compile(rf"\s*({re.escape(PREFIX)}[\w=-]+)\s*\Z", re.ASCII)
"""A parcel at the end of a text."""


_UNSIGNED = re.compile(rb'"signature"\s*:\s*""')


class ApiPath(Struct, frozen=True):
    """A method and a path, and what is done there. `model` in the path is a group."""

    method: str
    pattern: str
    does: Does


class ClientApi(Struct, frozen=True, kw_only=True):
    """One wire that clients speak."""

    wire: str
    paths: tuple[ApiPath, ...]
    streams: Callable[[Object], bool] = lambda body: body.get("stream") is True
    """Whether a body asks for a stream, where the path does not say."""
    put: Callable[[Object, str], None]
    """Put a parcel into an answer."""
    chunks: Callable[[list[Chunk], str, int], list[Chunk]]
    """The last events of a stream with a parcel among them, or the parcel alone. The number is that
    of the blocks before."""
    passes: tuple[str, ...] = ()
    """Header fields that belong to the body, and go with it to a model of the same wire: without
    them fields are refused."""
    signs: bool = False
    """Whether thoughts are signed: clients return them only with an answer that has an id and names
    the model that they asked for, and its provider takes no others."""
    ends: bool = True
    """Whether a parcel may stand at the end of an answer that calls nothing. Where it may not, a
    stream of such goes without, and what happened between two answers of the model is told between
    them."""
    moved: Callable[[Chunk, int], Chunk] = lambda chunk, many: chunk
    """An event that comes after so many parcels, where blocks are numbered."""
    opens: str = ""
    """The type of the event that opens a block, where blocks are counted, or the whole answer."""
    opening: Callable[[Chunk, Object], Chunk] = lambda chunk, asked: chunk
    """Such an event, as it answers the request."""
    closing: Callable[[list[Chunk], Object], list[Chunk]] = lambda last, asked: last
    """The last events of a stream, as far as the request asked for them."""
    needs: Callable[[Object], str | None] = lambda body: None
    """Why a request can only be answered by the provider's own server; None if it can be by any."""
    counted: Callable[[int], Object] = lambda many: {"input_tokens": many}
    """How the number of tokens is told."""


# --- where a parcel fits --------------------------------------------------------------------------


def _message(body: Object) -> Object:
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else {}


def _detail(parcel: str) -> list[JSON]:
    return [{"type": "reasoning.encrypted", "format": "toolwire", "index": 0, "data": parcel}]


def _put_chat(body: Object, parcel: str) -> None:
    _message(body)[FIELD] = _detail(parcel)


def _chat_chunks(last: list[Chunk], parcel: str, blocks: int) -> list[Chunk]:
    """In a piece of its own before the one that gives the reason."""
    at = next((n for n, one in enumerate(last) if _finished(one)), len(last))
    like = last[at] if at < len(last) else {}
    told: Chunk = {
        **like,
        "choices": [{"index": 0, "delta": {FIELD: _detail(parcel)}, "finish_reason": None}],
    }
    told.pop("usage", None)
    return [*last[:at], told, *last[at:]]


def _chat_closing(last: list[Chunk], asked: Object) -> list[Chunk]:
    """Without the piece that has usage and no choice: clients that did not ask for it look for a
    choice in every piece."""
    options = asked.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage") is True:
        return last
    return [one for one in last if one.get("choices") != []]


def _finished(chunk: Chunk) -> bool:
    choices = chunk.get("choices")
    return isinstance(choices, list) and any(
        isinstance(one, dict) and one.get("finish_reason") for one in choices
    )


def _block(parcel: str) -> Object:
    return {"type": "redacted_thinking", "data": parcel}


def _put_anthropic(body: Object, parcel: str) -> None:
    """Before the last block: clients take that one for the answer, and drop thoughts that a
    conversation ends with."""
    content = body.get("content")
    blocks = content if isinstance(content, list) else []
    body["content"] = [*blocks[:-1], _block(parcel), *blocks[-1:]]


def _anthropic_chunks(last: list[Chunk], parcel: str, blocks: int) -> list[Chunk]:
    at = next((n for n, one in enumerate(last) if one.get("type") == "message_delta"), len(last))
    told: list[Chunk] = [
        {"type": "content_block_start", "index": blocks, "content_block": _block(parcel)},
        {"type": "content_block_stop", "index": blocks},
    ]
    return [*last[:at], *told, *last[at:]]


def _anthropic_moved(chunk: Chunk, many: int) -> Chunk:
    index = chunk.get("index")
    return {**chunk, "index": index + many} if isinstance(index, int) else chunk


def _item(parcel: str) -> Object:
    return {
        "type": "reasoning",
        "id": f"rs_{digest(parcel)}",
        "summary": [],
        "encrypted_content": parcel,
    }


def _put_responses(body: Object, parcel: str) -> None:
    output = body.get("output")
    body["output"] = [*(output if isinstance(output, list) else []), _item(parcel)]


def _responses_chunks(last: list[Chunk], parcel: str, blocks: int) -> list[Chunk]:
    """As one more item, also in the whole answer that ends the stream."""
    ends = ("response.completed", "response.incomplete")
    at = next((n for n, one in enumerate(last) if one.get("type") in ends), None)
    if at is None:
        return last
    end = dict(last[at])
    whole = end.get("response")
    response: Object = dict(whole) if isinstance(whole, dict) else {}
    output = response.get("output")
    place = len(output) if isinstance(output, list) else blocks
    _put_responses(response, parcel)
    number = end.get("sequence_number")
    count = number if isinstance(number, int) else 0
    told: list[Chunk] = [
        {"type": kind, "output_index": place, "item": _item(parcel), "sequence_number": count + n}
        for n, kind in enumerate(("response.output_item.added", "response.output_item.done"))
    ]
    return [
        *last[:at],
        *told,
        {**end, "response": response, "sequence_number": count + 2},
        *last[at + 1 :],
    ]


_STORED = {
    "previous_response_id": (
        "an answer that is stored with the provider; send the whole conversation as `input`"
    ),
    "conversation": "a conversation that is stored with the provider; send it as `input`",
    "prompt": "a prompt that is stored with the provider; send it as `instructions` and `input`",
    "background": "an answer that is stored with the provider; ask without `background`",
}
"""Fields that ask for what no other server has."""


def _stored(body: Object) -> str | None:
    found = next((key for key in _STORED if body.get(key)), None)
    return None if found is None else f"`{found}` needs {_STORED[found]}"


def _signed(parcel: str) -> Object:
    return {"text": "", "thoughtSignature": b64encode(parcel.encode()).decode()}


def _put_gemini(body: Object, parcel: str) -> None:
    found = body.get("candidates")
    first = found[0] if isinstance(found, list) and found else None
    content = first.get("content") if isinstance(first, dict) else None
    if isinstance(content, dict):
        parts = content.get("parts")
        content["parts"] = [*(parts if isinstance(parts, list) else []), _signed(parcel)]


def _gemini_chunks(last: list[Chunk], parcel: str, blocks: int) -> list[Chunk]:
    """In the piece that gives the reason."""
    at = next((n for n, one in enumerate(last) if "candidates" in one), None)
    if at is None:
        return [
            *last,
            {
                "candidates": [
                    {"index": 0, "content": {"role": "model", "parts": [_signed(parcel)]}}
                ]
            },
        ]
    end: Object = {**last[at]}
    found = end["candidates"]
    first = found[0] if isinstance(found, list) and found else None
    if isinstance(first, dict) and isinstance(found, list):
        end["candidates"] = [
            {**first, "content": {"role": "model", "parts": [_signed(parcel)]}},
            *found[1:],
        ]
    return [*last[:at], end, *last[at + 1 :]]


def _put_ollama(body: Object, parcel: str) -> None:
    """After the thoughts: the official client drops every field that it does not know."""
    message = body.get("message")
    if isinstance(message, dict):
        thoughts = message.get("thinking")
        message["thinking"] = f"{thoughts if isinstance(thoughts, str) else ''}\n{parcel}"


def _ollama_chunks(last: list[Chunk], parcel: str, blocks: int) -> list[Chunk]:
    out = [dict(one) for one in last]
    for one in out:
        message = one.get("message")
        if one.get("done") is True and isinstance(message, dict):
            one["message"] = {**message, "thinking": f"\n{parcel}"}
    return out


def _put_ai_sdk(body: Object, parcel: str) -> None:
    parts = body.get("parts")
    body["parts"] = [
        *(parts if isinstance(parts, list) else []),
        {"type": DATA, "data": {"parcel": parcel}},
    ]


def _ai_sdk_opening(chunk: Chunk, asked: Object) -> Chunk:
    """A page that goes on with its last message after tools ran knows the answer by the id of that
    message."""
    messages = asked.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    if (
        not isinstance(last, dict)
        or last.get("role") != "assistant"
        or not isinstance(last.get("id"), str)
    ):
        return chunk
    return {**chunk, "messageId": last["id"]}


def _ai_sdk_chunks(last: list[Chunk], parcel: str, blocks: int) -> list[Chunk]:
    at = next(
        (n for n, one in enumerate(last) if one.get("type") in ("finish-step", "finish")), len(last)
    )
    return [*last[:at], {"type": DATA, "data": {"parcel": parcel}}, *last[at:]]


# --- how a parcel comes back ----------------------------------------------------------------------


def taken(message: Message) -> tuple[Message, list[tuple[int, str]]]:
    """An assistant's message without its parcels, and the parcels, each with the number of parts
    that stand before it."""
    found: list[tuple[int, str]] = []
    parts: list[Part] = []
    for part in message.parts:
        held, rest = _held(part)
        parts += rest
        if held is not None:
            found.append((len(parts), held))
    raw = message.raw
    if isinstance(raw, dict) and (inside := _listed(raw.get(FIELD))) is not None:
        kept = {key: value for key, value in raw.items() if key != FIELD}
        return replace(message, parts=tuple(parts), source=replace(message.source, raw=kept)), [
            *found,
            (len(parts), inside),
        ]
    return (replace(message, parts=tuple(parts)), found) if found else (message, found)


def _held(part: Part) -> tuple[str | None, tuple[Part, ...]]:
    """The parcel in a part, and what is left of the part."""
    if isinstance(part, Opaque) and isinstance(part.value, dict) and part.type == DATA:
        data = part.value.get("data")
        parcel = data.get("parcel") if isinstance(data, dict) else None
        return (parcel, ()) if isinstance(parcel, str) else (None, (part,))
    text = (part.hidden if isinstance(part, Reasoning) else None) or part.signature or ""
    if text.startswith(PREFIX):
        return text, _unsealed(part)
    if text.startswith(_CODED):
        try:
            plain = b64decode(text).decode()
        except ValueError:
            return None, (part,)
        return (plain, _unsealed(part)) if plain.startswith(PREFIX) else (None, (part,))
    if (
        isinstance(part, Reasoning)
        and PREFIX in part.text
        and (written := _WRITTEN.search(part.text)) is not None
    ):
        rest = part.text[: written.start()]
        return written[1], (
            replace(part, text=rest, source=replace(part.source, original=part.original or part)),
        ) if rest else ()
    return None, (part,)


def _unsealed(part: Part) -> tuple[Part, ...]:
    """What is left of a part without its parcel: some clients move a seal from an empty part to the
    one before it."""
    if isinstance(part, Text | Reasoning) and (not part.text or part.signature is None):
        return ()
    raw = (
        {key: value for key, value in part.raw.items() if value != part.signature}
        if isinstance(part.raw, dict)
        else part.raw
    )
    return (
        replace(part, signature=None, source=replace(part.source, raw=raw, path=())),
    )  # it stands nowhere: its message is written anew


def _listed(details: JSON) -> str | None:
    for one in details if isinstance(details, list) else ():
        if (
            isinstance(one, dict)
            and isinstance(data := one.get("data"), str)
            and data.startswith(PREFIX)
        ):
            return data
    return None


def foreign(message: Message) -> Message:
    """A message whose thoughts without a signature are none of its wire: a gateway showed them, and
    no provider takes them."""
    if message.role != "assistant" or not any(map(_unsigned, message.parts)):
        return message
    parts = [
        replace(one, source=Source(UNSET, message.path, None)) if _unsigned(one) else one
        for one in message.parts
    ]
    return replace(message, parts=tuple(parts))


def _unsigned(part: Part) -> bool:
    return isinstance(part, Reasoning) and part.signature is None and part.hidden is None


def may_hold(raw: bytes) -> bool:
    """Whether there could be a parcel in a body."""
    return _MARK in raw or _CODED_MARK in raw


def may_be_foreign(raw: bytes) -> bool:
    """Whether there could be thoughts in a body that a gateway showed without a signature."""
    return _UNSIGNED.search(raw) is not None


# --- the rows -------------------------------------------------------------------------------------

_GEMINI = r"(?:/gemini)?/v1(?:beta|alpha)?\d?/(?:models|tunedModels)/(?P<model>.+)"
FRONTS: tuple[ClientApi, ...] = (
    ClientApi(
        wire="openai-chat",
        put=_put_chat,
        chunks=_chat_chunks,
        closing=_chat_closing,
        paths=(
            ApiPath("POST", r"(?:/v1|/openai/v1)?/chat/completions", "answer"),
            ApiPath("POST", r"/openai/deployments/(?P<model>[^/]+)/chat/completions", "answer"),
            ApiPath("GET", r"(?:/openai)?/v1/models", "models"),
            ApiPath("GET", r"(?:/openai)?/v1/models/(?P<model>.+)", "model"),
        ),
    ),
    ClientApi(
        wire="openai-responses",
        put=_put_responses,
        chunks=_responses_chunks,
        needs=_stored,
        counted=lambda many: {"object": "response.input_tokens", "input_tokens": many},
        paths=(
            ApiPath("POST", r"(?:/v1|/openai/v1)?/responses", "answer"),
            ApiPath("POST", r"(?:/v1|/openai/v1)?/responses/input_tokens", "count"),
        ),
    ),
    ClientApi(
        wire="anthropic",
        put=_put_anthropic,
        chunks=_anthropic_chunks,
        moved=_anthropic_moved,
        ends=False,
        signs=True,
        passes=("anthropic-beta",),
        opens="content_block_start",
        paths=(
            ApiPath("POST", r"(?:/anthropic)?/v1/messages", "answer"),
            ApiPath("POST", r"(?:/anthropic)?/v1/messages/count_tokens", "count"),
            ApiPath("GET", r"/anthropic/v1/models", "models"),
            ApiPath("GET", r"/anthropic/v1/models/(?P<model>.+)", "model"),
        ),
    ),
    ClientApi(
        wire="gemini",
        put=_put_gemini,
        chunks=_gemini_chunks,
        streams=lambda body: False,
        counted=lambda many: {"totalTokens": many},
        paths=(
            ApiPath("POST", rf"{_GEMINI}:generateContent", "answer"),
            ApiPath("POST", rf"{_GEMINI}:streamGenerateContent", "stream"),
            ApiPath("POST", rf"{_GEMINI}:countTokens", "count"),
            ApiPath("GET", r"(?:/gemini)?/v1(?:beta|alpha)\d?/models", "models"),
            ApiPath("GET", r"(?:/gemini)?/v1(?:beta|alpha)\d?/models/(?P<model>.+)", "model"),
        ),
    ),
    ClientApi(
        wire="ollama",
        put=_put_ollama,
        chunks=_ollama_chunks,
        streams=lambda body: body.get("stream") is not False,
        paths=(
            ApiPath("POST", r"/api/chat", "answer"),
            ApiPath("GET", r"/api/tags", "models"),
            ApiPath("POST", r"/api/show", "show"),
        ),
    ),
    ClientApi(
        wire="ai-sdk",
        put=_put_ai_sdk,
        chunks=_ai_sdk_chunks,
        streams=lambda body: True,
        opens="start",
        opening=_ai_sdk_opening,
        paths=(ApiPath("POST", r"/ai-sdk/chat", "answer"),),
    ),
)
BY_WIRE = {front.wire: front for front in FRONTS}


class RouteMatch(Struct, frozen=True):
    """Whose path it is, and what it names."""

    front: ClientApi
    does: Does
    model: str | None = None


class RouteTable:
    """Finds the row of a path. The paths without a model in them are looked up at once."""

    def __init__(self, fronts: Sequence[ClientApi] = FRONTS) -> None:
        self._rows = [
            (re.compile(path.pattern), path, front) for front in fronts for path in front.paths
        ]
        self._known: dict[tuple[str, str], RouteMatch] = {}

    def find(self, method: str, path: str) -> RouteMatch | None:
        """The row of a path; None if there is none."""
        known = self._known.get((method, path))
        if known is not None:
            return known
        plain = path.rstrip("/") or "/"
        for pattern, row, front in self._rows:
            match = pattern.fullmatch(plain) if row.method == method else None
            if match is None:
                continue
            model = match.groupdict().get("model")
            routed = RouteMatch(front, row.does, model)
            if model is None and plain == path:
                self._known[method, path] = routed
            return routed
        return None

    def methods(self, path: str) -> list[str]:
        """The methods under which a path is known."""
        plain = path.rstrip("/") or "/"
        return sorted({row.method for pattern, row, _ in self._rows if pattern.fullmatch(plain)})
