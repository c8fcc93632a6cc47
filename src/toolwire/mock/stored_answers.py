"""The APIs that store responses, which a later request continues by id."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import JSON
from toolwire.mock.error_bodies import ErrorResponse


class AnswerState(Struct, frozen=True, kw_only=True):
    """The fields of an API that stores responses."""

    previous_field: str
    output_field: str
    items: Callable[[JSON], list[JSON]]
    """The input of a request as items."""
    noun: str
    code: str

    def not_found(self, answer_id: str) -> ErrorResponse:
        """The refusal of a request that continues an unknown response."""
        message = f"Previous {self.noun.lower()} with id '{answer_id}' not found."
        return ErrorResponse(message, 400, self.previous_field, self.code)


def _items(given: JSON) -> list[JSON]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return given if isinstance(given, list) else []


_CONTENT = ("text", "image", "audio", "video", "document")


def _steps(given: JSON) -> list[JSON]:
    if isinstance(given, str):
        given = {"type": "text", "text": given}
    content: list[JSON] = given if isinstance(given, list) else [given]
    if content and all(
        isinstance(block, dict) and block.get("type") in _CONTENT for block in content
    ):
        return [{"type": "user_input", "content": content}]
    return given if isinstance(given, list) else []


_RESPONSES = AnswerState(
    previous_field="previous_response_id",
    output_field="output",
    items=_items,
    noun="Response",
    code="previous_response_not_found",
)
STATES = {
    "openai-responses": _RESPONSES,
    "azure-foundry": _RESPONSES,
    "gemini-interactions": AnswerState(
        previous_field="previous_interaction_id",
        output_field="steps",
        items=_steps,
        noun="Interaction",
        code="not_found",
    ),
}
