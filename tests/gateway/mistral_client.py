"""The official client of Mistral; see `clients.py`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache

from gateway.turns import History, RequestRefused, Turn
from mistralai.client import Mistral
from mistralai.client.errors import MistralError
from mistralai.client.models import AssistantMessage, CompletionEvent, TextChunk, ThinkChunk
from mock.tools import functions


@contextmanager
def _map_errors() -> Iterator[None]:
    try:
        yield
    except MistralError as error:
        body = json.loads(error.body)
        raise RequestRefused(error.status_code, str(body["message"])) from None


@cache
def mistral_of(url: str) -> Mistral:
    """A client; making one takes longer than a whole conversation."""
    return Mistral(api_key="any", server_url=f"{url}/mistral", timeout_ms=600_000)


class MistralChat:
    """`mistralai`, chat completions."""

    def begin(self, text: str, image: bytes | None = None) -> History:
        shown = f"data:image/png;base64,{base64.b64encode(image or b'').decode()}"
        seen = [{"type": "image_url", "image_url": shown}] if image else []
        return [
            {"role": "user", "content": [*seen, {"type": "text", "text": text}] if image else text}
        ]

    def ask(
        self, url: str, model: str, history: History, stream: bool, *, thinks: bool = False
    ) -> Turn:
        asked = {"model": model, "messages": history, "tools": functions()}
        asked |= {"reasoning_effort": "high"} if thinks else {}
        client = mistral_of(url)
        with _map_errors():
            if stream:
                with client.chat.stream(**asked) as events:  # type: ignore[arg-type]
                    message = _join_message(events)
            else:
                whole = client.chat.complete(**asked)  # type: ignore[arg-type]
                assert whole.choices[0].message is not None
                message = whole.choices[0].message
        content = message.content or ""
        turn = Turn(content if isinstance(content, str) else "", "", [], [message])
        for chunk in content if isinstance(content, list) else ():
            if isinstance(chunk, TextChunk):
                turn.text += chunk.text
            elif isinstance(chunk, ThinkChunk):
                turn.thoughts += "".join(getattr(piece, "text", "") for piece in chunk.thinking)
        for call in message.tool_calls or ():
            given = call.function.arguments
            arguments = json.loads(given) if isinstance(given, str) else given
            turn.calls.append((call.id or "", call.function.name, arguments))
        return turn

    def go_on(self, history: History, turn: Turn, outputs: list[str]) -> History:
        tool_results = [
            {"role": "tool", "tool_call_id": call[0], "name": call[1], "content": out}
            for call, out in zip(turn.calls, outputs, strict=True)
        ]
        return [*history, *turn.kept, *tool_results]


def _join_message(events: Iterable[CompletionEvent]) -> AssistantMessage:
    """The message of a stream, as programs put it together."""
    message = AssistantMessage(content=[], tool_calls=[])
    assert isinstance(message.content, list) and isinstance(message.tool_calls, list)
    for event in events:
        delta = event.data.choices[0].delta
        if isinstance(delta.content, str) and delta.content:
            message.content.append(TextChunk(text=delta.content))
        elif isinstance(delta.content, list):
            message.content += delta.content
        message.tool_calls += delta.tool_calls or []
    message.tool_calls = message.tool_calls or None
    return message
