"""The result of a request with a client of any API: a turn of the model, or an error."""

from __future__ import annotations

import base64

from msgspec import Struct

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
History = list[object]


class Turn(Struct):
    """The response of a model, and the client's own objects for it."""

    text: str
    thoughts: str
    calls: list[tuple[str, str, dict[str, object]]]
    """Id, name, arguments."""
    kept: list[object]


class RequestRefused(Exception):
    """The exception of a client: the status, and the message as the client shows it."""

    def __init__(self, status: int | None, words: str) -> None:
        super().__init__(f"{status}: {words}")
        self.status = status
        self.words = words
