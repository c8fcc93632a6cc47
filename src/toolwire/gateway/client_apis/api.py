"""One client API: its paths, its streams, and where a continuation token fits.

Everything here is data and small functions over JSON. Whatever clients expect of a provider's
server beyond the conversation itself belongs into the `ClientApi` of its API.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.streaming.events import Chunk

Operation: TypeAlias = Literal[
    "generate",
    "stream",
    "count_tokens",
    "embed",
    "compact",
    "list_models",
    "get_model",
    "show_model",
    "get_version",
    "get_response",
    "delete_response",
    "list_input_items",
]

OF_STORED_RESPONSES: tuple[Operation, ...] = ("get_response", "delete_response", "list_input_items")
"""The operations on one stored response: they have no body and involve no model."""
WITHOUT_MODEL: frozenset[Operation] = frozenset(
    ("list_models", "get_model", "show_model", "get_version", *OF_STORED_RESPONSES)
)
"""Operations that involve no model."""


class ApiPath(Struct, frozen=True):
    """A method, a path as a regular expression, and the operation behind it.

    A group named `model` in the path is the name of the model, one named `response` the id of a
    stored response.
    """

    method: str
    pattern: str
    operation: Operation


def _wants_stream(body: Object) -> bool:
    return body.get("stream") is True


class ResponseState(Struct, frozen=True, kw_only=True):
    """How a request of an API continues an earlier response, which the server has stored."""

    previous_field: str
    """The field of a request that has the id of the response."""
    output_field: str
    """The field of a response that has its items."""
    input_items: Callable[[JSON], list[JSON]]
    """The input of a request as a list of items."""
    response_field: str
    """The field of the last event of a stream that has the response."""
    final_events: tuple[str, ...]
    """The types of that event."""
    event_field: str = "type"
    """The field of an event that has its type."""
    repeats_output: bool = True
    """True if the last event of a stream has the whole output; if not, the events are folded."""
    noun: str = "Response"
    """The API's word for a response, for messages."""
    not_found_code: str = "previous_response_not_found"
    """The error code for an id that a request continues and that is unknown."""
    deleted: Callable[[str], Object] = lambda response_id: {}
    """The response body for a deleted response."""


def whole_body_with(field: str) -> Callable[[Object], JsonPath | None]:
    """Return a finder for responses that are a whole body or event with a certain field."""
    return lambda body: () if field in body else None


class ResponseIdentity(Struct, frozen=True, kw_only=True):
    """The fields of a response that identify it; the name of a field that the API lacks is
    empty."""

    find: Callable[[Object], JsonPath | None]
    """The path of the response in a body or an event; None if it has none."""
    id: str = "id"
    id_prefix: str = ""
    model: str = "model"
    time: str = ""
    time_is_text: bool = False
    """True if the time is a text, not seconds."""
    content: str = ""
    """The list that is empty in an event that precedes the response; such an event may lack the
    id."""
    names: tuple[str, ...] = ()
    """The names of the fields that the API has."""

    def __post_init__(self) -> None:
        names = tuple(name for name in (self.id, self.model, self.time) if name)
        force_setattr(self, "names", names)


class ClientApi(Struct, frozen=True, kw_only=True):
    """One API that clients speak."""

    wire: str
    paths: tuple[ApiPath, ...]
    add_token: Callable[[Object, str], None]
    """Put a continuation token into a response body."""
    add_token_chunks: Callable[[list[Chunk], str, int], list[Chunk]]
    """Return the last chunks of a stream with a continuation token among them. The number is that
    of the blocks before it. Without chunks, return those of the token alone."""
    wants_stream: Callable[[Object], bool] = _wants_stream
    """True if a body asks for a stream, where the path does not decide."""
    sse_query: bytes = b""
    """The query parameter that asks for server-sent events; without it a stream is a JSON array."""
    identity: ResponseIdentity | None = None
    """The identity of a response; None if the API has none."""
    call_paths: Callable[[Object], list[JsonPath]] = lambda body: []
    """The paths of the calls in a response or a chunk, if a call may lack its `id`."""
    call_marks: tuple[bytes, ...] = ()
    """The bytes of every response with such calls contain one of these texts."""
    forwarded_headers: tuple[tuple[bytes, str], ...] = ()
    """Request headers that belong to the body and are forwarded with it to a model of the same
    wire: their names as received and as sent."""
    websocket: bool = False
    """True if clients may send requests as messages of a WebSocket."""
    state: ResponseState | None = None
    """How a request continues an earlier response by its id; None if it cannot."""
    signs_reasoning: bool = False
    """True if reasoning is signed. Clients of the API return reasoning only with a response that
    has an id and names the model that they asked for."""
    token_may_come_last: bool = True
    """True if a token may end a response that calls nothing. If not, such a response streams
    without one, and tokens stand between the responses of a tool loop."""
    shift_block: Callable[[Chunk, int], Chunk] = lambda chunk, count: chunk
    """Renumbers the block of a chunk that follows some tokens, if the API numbers blocks."""
    ping: Chunk | None = None
    """The event that keeps a stream alive, if the API has one; otherwise a comment does."""
    type_field: str = "type"
    """The field of a chunk that has its type."""
    counted_chunk: str = ""
    """The type of the chunk that opens a block, if blocks are counted, or that opens the response.
    Where chunks have a key instead of a type: the key of the chunk that closes a block."""
    edit_counted_chunk: Callable[[Chunk, Object], Chunk] = lambda chunk, body: chunk
    """Return a counted chunk as the request body asks for it."""
    edit_last_chunks: Callable[[list[Chunk], Object], list[Chunk]] = lambda chunks, body: chunks
    """Return the last chunks of a stream as the request body asks for them."""
    provider_only: Callable[[Object], str | None] = lambda body: None
    """Why only the provider's own server can answer a request; None if any server can."""
    token_count: Callable[[int], Object] = lambda count: {"input_tokens": count}
    """The response body of a token count."""
