"""The route that a page shows: a real client sends a request, a real server of the model's wire
answers, both over loopback."""

from __future__ import annotations

import json
from types import CodeType

import pytest
from pages import ROOT, blocks
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streams.loopback import serve

from toolwire import decode, fold
from toolwire.conversation.json import JSON, get

PAGE = ROOT / "docs" / "how-to" / "usechat.md"
CHUNKS: tuple[JSON, ...] = (
    {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "One "}]}}],
        "responseId": "r1",
    },
    {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "moment."}]}}],
        "responseId": "r1",
    },
    {
        "candidates": [
            {
                "index": 0,
                "finishReason": "STOP",
                "content": {
                    "role": "model",
                    "parts": [
                        {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}},
                        {"functionCall": {"id": "c2", "name": "weather", "args": {"city": "Rome"}}},
                    ],
                },
            }
        ],
        "responseId": "r1",
    },
)
CHAT_REQUEST: JSON = {
    "id": "chat",
    "trigger": "submit-message",
    "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "Oslo or Rome?"}]}],
}


def route() -> CodeType:
    (code,) = (block.text for block in blocks(PAGE) if block.title == "gemini_sdk_server.py")
    return compile(code, str(PAGE), "exec")


@pytest.mark.filterwarnings("default")  # the client of the model warns of its own ways
def test_the_route_of_the_page_streams_a_models_answer_to_a_chat_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in CHUNKS]
    with serve(sent, "text/event-stream") as server:
        monkeypatch.setenv("GEMINI_API_KEY", "none")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        names: dict[str, object] = {}
        exec(route(), names)
        app = names["app"]
        assert isinstance(app, Starlette)
        with TestClient(app) as page:
            answer = page.post("/api/chat", json=CHAT_REQUEST)
    sent_body = server.requests[0].json
    assert get(sent_body, ("contents",)) == [{"parts": [{"text": "Oslo or Rome?"}], "role": "user"}]
    declaration = ("tools", 0, "functionDeclarations", 0, "name")
    assert get(sent_body, declaration) == "weather"
    assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.endswith("data: [DONE]\n\n")
    calls = decode(fold(answer.content, "ai-sdk"), "ai-sdk", "response").calls()
    assert [(call.id, call.name, call.input) for call in calls] == [
        ("c1", "weather", {"city": "Oslo"}),
        ("c2", "weather", {"city": "Rome"}),
    ]
    assert '"delta":"moment."' in answer.text
