"""The official client of the Responses API over WebSocket: one connection for each request."""

from __future__ import annotations

import json

import openai
from gateway.clients import OpenAIResponses
from gateway.turns import History, RequestRefused, Turn
from mock.tools import TOOLS
from openai.types.responses import Response

NAME = "openai-responses over WebSocket"
_LAST_EVENTS = ("response.completed", "response.incomplete")


class ResponsesOverWebSocket(OpenAIResponses):
    """`openai`, responses, over WebSocket."""

    def ask(
        self, url: str, model: str, history: History, stream: bool, *, thinks: bool = False
    ) -> Turn:
        tools = [
            {"type": "function", "name": name, "parameters": schema, "strict": False}
            for name, (_, schema) in TOOLS.items()
        ]
        thinking = {"reasoning": {"effort": "low", "summary": "auto"}} if thinks else {}
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)
        with client, client.responses.connect() as connection:
            connection.response.create(
                model=model,
                input=history,  # type: ignore[arg-type]
                tools=tools,  # type: ignore[arg-type]
                store=False,
                include=["reasoning.encrypted_content"],
                **thinking,  # type: ignore[arg-type]
            )
            for event in connection:
                if event.type in ("error", "response.failed"):
                    fields = event.to_dict()
                    status = fields.get("status")
                    raise RequestRefused(status if isinstance(status, int) else None, str(fields))
                if event.type in _LAST_EVENTS:
                    return _turn(event.response)  # type: ignore[union-attr]
        raise RequestRefused(None, "the connection was closed")


def _turn(answer: Response) -> Turn:
    calls = [
        (item.call_id, item.name, json.loads(item.arguments))
        for item in answer.output
        if item.type == "function_call"
    ]
    thoughts = "".join(
        part.text for item in answer.output if item.type == "reasoning" for part in item.summary
    )
    kept: list[object] = [
        {key: value for key, value in item.to_dict().items() if key != "status"}
        for item in answer.output
    ]
    return Turn(answer.output_text, thoughts, calls, kept)
