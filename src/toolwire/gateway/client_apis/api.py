"""One client API: its paths, its streams, and where a continuation token fits.

Everything here is data and small functions over JSON. What clients expect of a provider's server
and is no part of a conversation belongs to the row of its API.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

from toolwire.conversation.json import Object
from toolwire.streaming.events import Chunk

Operation: TypeAlias = Literal[
    "generate", "stream", "count_tokens", "list_models", "get_model", "show_model"
]


class ApiPath(Struct, frozen=True):
    """A method, a path as a regular expression, and the operation behind it.

    A group named `model` in the path is the name of the model.
    """

    method: str
    pattern: str
    operation: Operation


def _wants_stream(body: Object) -> bool:
    return body.get("stream") is True


class ClientApi(Struct, frozen=True, kw_only=True):
    """One API that clients speak."""

    wire: str
    paths: tuple[ApiPath, ...]
    add_token: Callable[[Object, str], None]
    """Put a continuation token into a response body."""
    add_token_chunks: Callable[[list[Chunk], str, int], list[Chunk]]
    """The last chunks of a stream with a continuation token among them. The number counts the
    blocks before. Without chunks: those of the token alone."""
    wants_stream: Callable[[Object], bool] = _wants_stream
    """True if a body asks for a stream, where the path does not decide."""
    forwarded_headers: tuple[str, ...] = ()
    """Request headers that belong to the body, and go with it to a model of the same wire."""
    signs_reasoning: bool = False
    """True if reasoning is signed. Its clients return reasoning only with a response that has an id
    and names the model that they asked for."""
    id_prefix: str = ""
    """The prefix of the id of a response whose provider gave none; without one, none is made."""
    token_may_come_last: bool = True
    """True if a token may end a response that calls nothing. If not, such a response streams
    without one, and tokens stand between the responses of a tool loop."""
    shift_block: Callable[[Chunk, int], Chunk] = lambda chunk, count: chunk
    """A chunk whose block comes after so many tokens, where blocks are numbered."""
    counted_chunk: str = ""
    """The type of the chunk that opens a block, where blocks are counted, or the response."""
    edit_counted_chunk: Callable[[Chunk, Object], Chunk] = lambda chunk, body: chunk
    """That chunk as the request body wants it."""
    edit_last_chunks: Callable[[list[Chunk], Object], list[Chunk]] = lambda chunks, body: chunks
    """The last chunks of a stream as the request body wants them."""
    provider_only: Callable[[Object], str | None] = lambda body: None
    """Why only the provider's own server can answer a request; None if any can."""
    token_count: Callable[[int], Object] = lambda count: {"input_tokens": count}
    """The response body of a token count."""
