"""The official client of Gemini Interactions; see `clients.py`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache

from gateway.turns import History, RequestRefused, Turn
from google import genai
from google.genai import types
from google.genai._interactions import APIError, APIStatusError
from mock.tools import TOOLS

Step = dict[str, object]


@contextmanager
def _map_errors() -> Iterator[None]:
    try:
        yield
    except APIStatusError as error:
        body = error.body
        fields = body.get("error") if isinstance(body, dict) else None
        words = fields.get("message") if isinstance(fields, dict) else error.message
        raise RequestRefused(error.status_code, str(words)) from None
    except APIError as error:
        raise RequestRefused(None, str(error)) from None


@cache
def interactions_of(url: str) -> genai.Client:
    """A client; making one takes longer than a whole conversation."""
    once = types.HttpRetryOptions(attempts=1)
    return genai.Client(
        api_key="any", http_options=types.HttpOptions(base_url=url, retry_options=once)
    )


class GoogleInteractions:
    """`google-genai`, interactions, with the whole history in each request."""

    def begin(self, text: str, image: bytes | None = None) -> History:
        data = base64.b64encode(image or b"").decode()
        seen = [{"type": "image", "mime_type": "image/png", "data": data}] if image else []
        return [{"type": "user_input", "content": [*seen, {"type": "text", "text": text}]}]

    def ask(
        self, url: str, model: str, history: History, stream: bool, *, thinks: bool = False
    ) -> Turn:
        tools = [
            {"type": "function", "name": name, "description": about, "parameters": schema}
            for name, (about, schema) in TOOLS.items()
        ]
        asked: dict[str, object] = {
            "model": model,
            "input": history,
            "tools": tools,
            "store": False,
        }
        if thinks:
            asked["generation_config"] = {"thinking_level": "low", "thinking_summaries": "auto"}
        client = interactions_of(url)
        with _map_errors():
            if stream:
                events = client.interactions.create(**asked, stream=True)  # type: ignore[call-overload]
                steps = fold_events(events)
            else:
                answer = client.interactions.create(**asked)  # type: ignore[call-overload]
                steps = [step.model_dump(mode="json", exclude_none=True) for step in answer.steps]
        return turn_of(steps)

    def go_on(self, history: History, turn: Turn, outputs: list[str]) -> History:
        tool_results = [
            {"type": "function_result", "call_id": call[0], "name": call[1], "result": out}
            for call, out in zip(turn.calls, outputs, strict=True)
        ]
        return [*history, *turn.kept, *tool_results]


def turn_of(steps: list[Step]) -> Turn:
    turn = Turn("", "", [], list(steps))
    for step in steps:
        match step:
            case {"type": "model_output", "content": list(content)}:
                turn.text += "".join(block.get("text", "") for block in content)
            case {"type": "thought", "summary": list(summary)}:
                turn.thoughts += "".join(block["text"] for block in summary)
            case {"type": "function_call", "id": str(one), "name": str(name)}:
                given = step["arguments"]
                assert isinstance(given, dict)
                turn.calls.append((one, name, given))
    return turn


def fold_events(events: Iterable[object]) -> list[Step]:
    """The steps of a stream, as programs put them together."""
    steps: dict[int, Step] = {}
    arguments: dict[int, str] = {}
    completed = False
    for event in events:
        fields = event.model_dump(mode="json", exclude_none=True)  # type: ignore[attr-defined]
        match fields:
            case {"event_type": "step.start", "index": int(index), "step": dict(step)}:
                steps[index] = step
            case {"event_type": "step.delta", "index": int(index), "delta": dict(delta)}:
                _grow(steps[index], delta, arguments, index)
            case {"event_type": "error", "error": {"message": message}}:
                raise RequestRefused(None, str(message))
            case {"event_type": "interaction.completed"}:
                completed = True
    assert completed, "the stream has no end"
    for index, text in arguments.items():
        steps[index]["arguments"] = json.loads(text)
    return [steps[index] for index in sorted(steps)]


def _grow(step: Step, delta: Step, arguments: dict[int, str], index: int) -> None:
    match delta:
        case {"type": "text", "text": str(text)}:
            content = step.setdefault("content", [{"type": "text", "text": ""}])
            assert isinstance(content, list)
            content[-1]["text"] += text
        case {"type": "thought_summary", "content": dict(block)}:
            summary = step.setdefault("summary", [])
            assert isinstance(summary, list)
            summary.append(block)
        case {"type": "thought_signature", "signature": str(signature)}:
            step["signature"] = signature
        case {"type": "arguments_delta", "arguments": str(text)}:
            arguments[index] = arguments.get(index, "") + text
        case _:
            raise AssertionError(delta)
