"""Failures behind the gateway: refusals, silence, garbage, truncation, and clients that disconnect."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from threading import Thread

import anthropic
import httpx
import openai
import pytest
from cases import DEEP
from gateway.bodies import (
    ANTHROPIC_STREAM,
    ASKED,
    CHAT,
    CHAT_STREAM,
    MESSAGE,
    event,
    message_stream,
    text_block,
)
from gateway.serving import gateway, row, serving
from gateway.upstreams import Answer, ScriptedUpstream, answers, scripted_gateway, streams
from ports import free_port

CHAT_PATH, CHAT_BODY = ASKED["openai-chat"]
BUSY = {"type": "error", "error": {"type": "rate_limit_error", "message": "too many"}}
LATE = 3.0


def until(seen: object, *, late: float = LATE) -> None:
    """Wait until a condition is true."""
    assert callable(seen)
    end = time.monotonic() + late
    while not seen():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)


SHAPES: dict[str, Callable[[dict[str, dict[str, str]]], tuple[object, str]]] = {
    "openai-chat": lambda body: (body["error"]["message"], body["error"]["code"]),
    "openai-responses": lambda body: (body["error"]["message"], body["error"]["code"]),
    "anthropic": lambda body: (body["error"]["message"], body["error"]["type"]),
    "gemini": lambda body: (body["error"]["message"], body["error"]["status"]),
    "ollama": lambda body: (body["error"], ""),
}
WORDS = {
    "openai-chat": "rate_limit_exceeded",
    "openai-responses": "rate_limit_exceeded",
    "anthropic": "rate_limit_error",
    "gemini": "RESOURCE_EXHAUSTED",
    "ollama": "",
}


@pytest.mark.parametrize("api", SHAPES)
def test_an_error_has_the_format_of_the_api_with_status_and_retry_after(api: str) -> None:
    path, body = ASKED[api]
    with scripted_gateway("cohere", answers({"message": "too many"}, 429, retry_after="17")) as gw:
        response = httpx.post(gw.url + path, json=body)
        assert response.status_code == 429 and response.headers["retry-after"] == "17"
        assert SHAPES[api](response.json()) == ("too many", WORDS[api])


def test_retry_after_is_not_invented_if_the_upstream_sends_none() -> None:
    with scripted_gateway("anthropic", answers(BUSY, 429)) as gw:
        assert "retry-after" not in httpx.post(gw.url + CHAT_PATH, json=CHAT_BODY).headers


def test_official_clients_raise_the_error_of_their_kind() -> None:
    with scripted_gateway(
        "gemini",
        answers(
            {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}, 429
        ),
    ) as gw:
        with (
            openai.OpenAI(base_url=gw.url + "/v1", api_key="k", max_retries=0) as client,
            pytest.raises(openai.RateLimitError),
        ):
            client.responses.create(model="m", input="hi")
        with (
            anthropic.Anthropic(base_url=gw.url, api_key="k", max_retries=0) as other,
            pytest.raises(anthropic.RateLimitError, match="slow down"),
        ):
            other.messages.create(
                model="m", max_tokens=1, messages=[{"role": "user", "content": "hi"}]
            )


def test_a_defect_of_the_history_is_explained() -> None:
    words = (
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after:"
        " toolu_1."
    )
    with scripted_gateway(
        "anthropic",
        answers(
            {"type": "error", "error": {"type": "invalid_request_error", "message": words}}, 400
        ),
    ) as gw:
        response = httpx.post(gw.url + CHAT_PATH, json=CHAT_BODY)
        assert response.status_code == 400 and response.headers["x-toolwire-explain"].isascii()
        assert (
            "missing-result" in response.headers["x-toolwire-explain"]
            and words in response.json()["error"]["message"]
        )


def test_an_error_that_is_not_about_tool_calls_passes_unchanged() -> None:
    words = "prompt is too long: 210000 tokens > 200000 maximum"
    error = {"type": "invalid_request_error", "message": words}
    with scripted_gateway("anthropic", answers({"type": "error", "error": error}, 400)) as gw:
        response = httpx.post(gw.url + CHAT_PATH, json=CHAT_BODY)
    assert (response.status_code, response.json()["error"]["message"]) == (400, words)
    assert "x-toolwire-explain" not in response.headers


@pytest.mark.parametrize("status", [401, 403])
def test_a_rejected_gateway_key_is_a_502_without_the_key(status: int) -> None:
    body = {"error": {"message": "Incorrect API key provided: a-key-of-the-gateway"}}
    with scripted_gateway("openai-chat", answers(body, status)) as gw:
        response = httpx.post(gw.url + CHAT_PATH, json=CHAT_BODY)
        assert response.status_code == 502 and "a-key-of" not in response.text


def test_a_key_that_an_upstream_echoes_is_redacted() -> None:
    body = {"error": {"message": "what is a-key-of-the-gateway?"}}
    with scripted_gateway("openai-chat", answers(body, 400)) as gw:
        response = httpx.post(gw.url + CHAT_PATH, json=CHAT_BODY)
        assert response.status_code == 400 and "a-key-of" not in response.text


def test_redirects_are_not_followed() -> None:
    with scripted_gateway(
        "openai-chat", Answer(307, {"location": "http://127.0.0.1:1/"}, b"")
    ) as gw:
        response = httpx.post(gw.url + CHAT_PATH, json=CHAT_BODY)
        assert (
            response.status_code == 502
            and "redirect (307), which is not followed" in response.json()["error"]["message"]
            and len(gw.up.got) == 1
        )


@pytest.mark.parametrize(
    "body", [b"<html>not json</html>", b"", b"[1, 2]", b'{"a": 1}', b"\xff\xfe", b"[" * 5000]
)
@pytest.mark.parametrize("status", [200, 500])
def test_garbage_is_an_error_of_the_gateway_and_nothing_worse(body: bytes, status: int) -> None:
    with scripted_gateway(
        "anthropic", Answer(status, {"content-type": "application/json"}, body)
    ) as gw:
        for stream in (False, True):
            response = httpx.post(gw.url + CHAT_PATH, json={**CHAT_BODY, "stream": stream})
            assert (
                response.status_code == (502 if status == 200 else 500)
                and response.json()["error"]["message"]
            )


def test_an_upstream_that_cannot_be_reached_is_a_502() -> None:
    with serving(gateway(row("anthropic", f"http://127.0.0.1:{free_port()}"))) as url:
        response = httpx.post(url + CHAT_PATH, json=CHAT_BODY)
        assert response.status_code == 502
        assert response.json()["error"]["message"] == (
            "anthropic could not be reached: nothing is listening there; start its server, or"
            ' correct base_url in [models."*"]'
        )


def test_the_error_of_an_upstream_that_does_not_exist_shows_no_address() -> None:
    with serving(gateway(row("vllm", "http://secret-host.invalid/v1", name="my/model"))) as url:
        response = httpx.post(url + CHAT_PATH, json={**CHAT_BODY, "model": "my/model"})
        message = response.json()["error"]["message"]
    assert message.startswith("vllm could not be reached: there is no host of this name; ")
    assert message.endswith('correct base_url in [models."my/model"]')
    assert "secret-host" not in message


def test_the_error_of_a_proxy_names_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(gateway(row("anthropic", "http://model.example"))) as url:
        response = httpx.post(url + CHAT_PATH, json=CHAT_BODY, trust_env=False)
    assert response.json()["error"]["message"] == (
        "anthropic could not be reached: the proxy of the environment failed: nothing is listening"
        " there; correct http_proxy, https_proxy or all_proxy in its environment"
    )


async def _silent() -> AsyncIterator[bytes]:
    await asyncio.sleep(30)
    yield b""


@pytest.mark.parametrize("stream", [False, True])
def test_a_silent_upstream_is_a_504(stream: bool) -> None:
    quiet = Answer(headers={"content-type": "text/event-stream"}, pieces=_silent)
    with scripted_gateway("anthropic", quiet, more={"idle_timeout": 0.2}) as gw:
        response = httpx.post(gw.url + CHAT_PATH, json={**CHAT_BODY, "stream": stream}, timeout=25)
        assert response.status_code == 504
        assert "the server sent nothing for 0.2 s; send the request again" in response.text
        until(lambda: gw.up.left == 1)


# --- in the middle of a stream ---


def events(text: str) -> list[dict[str, object]]:
    """The data of server-sent events, without the end mark."""
    return [
        json.loads(line[6:])
        for line in text.splitlines()
        if line.startswith("data: ") and line != "data: [DONE]"
    ]


PARTS = message_stream(*text_block("Hel", "lo"))[:4]


@pytest.mark.parametrize("how", ["cut", "silence", "error", "garbage"])
def test_a_stream_that_breaks_off_ends_with_the_error_event_of_the_api(how: str) -> None:
    bad = {
        "cut": streams(*PARTS, cut=True),
        "silence": streams(*PARTS, pause=0.3),
        "error": streams(
            *PARTS,
            event(
                {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, "error"
            ),
            pause=0.03,
        ),
        "garbage": streams(*PARTS, b"data: {{{\n\n", pause=0.03),
    }
    with scripted_gateway(
        "anthropic", bad[how], more={"idle_timeout": 0.1 if how == "silence" else 5}
    ) as gw:
        response = httpx.post(gw.url + CHAT_PATH, json={**CHAT_BODY, "stream": True})
        assert response.status_code == 200 and "[DONE]" not in response.text
        assert "error" in events(response.text)[-1] and events(response.text)[0]["choices"]
        with (
            openai.OpenAI(base_url=gw.url + "/v1", api_key="k", max_retries=0) as client,
            pytest.raises(openai.APIError),
        ):
            for _ in client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "hi"}], stream=True
            ):
                pass


def test_a_stream_of_the_same_wire_that_breaks_off_in_mid_line_ends_with_an_error_and_no_half_line() -> (
    None
):
    first = b"".join(CHAT_STREAM[:2])
    with scripted_gateway(
        "openai-chat", streams(first, b'data: {"id": "c1", "choi', pause=0.05, cut=True)
    ) as gw:
        response = httpx.post(gw.url + CHAT_PATH, json={**CHAT_BODY, "stream": True})
        assert (
            response.content.startswith(first)
            and "error" in events(response.text)[-1]
            and len(events(response.text)) == 3
        )


def test_an_error_before_the_first_byte_has_a_status() -> None:
    busy = event(
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error"
    )
    with scripted_gateway("anthropic", streams(busy)) as gw:
        response = httpx.post(gw.url + CHAT_PATH, json={**CHAT_BODY, "stream": True})
        assert response.status_code == 529 and "Overloaded" in response.json()["error"]["message"]


def test_a_whole_answer_to_a_request_for_a_stream_is_streamed() -> None:
    with scripted_gateway("anthropic", answers(MESSAGE)) as gw:
        response = httpx.post(gw.url + CHAT_PATH, json={**CHAT_BODY, "stream": True})
        assert response.headers["content-type"].startswith(
            "text/event-stream"
        ) and response.text.endswith("data: [DONE]\n\n")
        assert "Hi" in response.text


async def _endless() -> AsyncIterator[bytes]:
    yield b'data: {"type":"message_start","message":{"id":"m","content":[{"type":"text","text":"'
    while True:
        yield b"x" * 1_000_000
        await asyncio.sleep(0)


@pytest.mark.parametrize("stream", [False, True])
def test_an_endless_response_is_aborted(stream: bool) -> None:
    with scripted_gateway(
        "anthropic", Answer(pieces=_endless, headers={"content-type": "text/event-stream"})
    ) as gw:
        response = httpx.post(gw.url + CHAT_PATH, json={**CHAT_BODY, "stream": stream}, timeout=30)
        assert response.status_code == 502 and "more than" in response.json()["error"]["message"]
        until(lambda: gw.up.left == 1)


# --- clients that disconnect ---


@pytest.mark.parametrize("wire", ["anthropic", "openai-chat"])
def test_a_client_that_disconnects_during_a_stream_closes_the_upstream(wire: str) -> None:
    pieces = ANTHROPIC_STREAM[:3] if wire == "anthropic" else CHAT_STREAM[:2]

    async def slow() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece
        await asyncio.sleep(30)

    with scripted_gateway(
        wire, Answer(headers={"content-type": "text/event-stream"}, pieces=slow)
    ) as gw:
        with httpx.stream(
            "POST", gw.url + CHAT_PATH, json={**CHAT_BODY, "stream": True}
        ) as response:
            next(response.iter_raw())
        until(lambda: gw.up.left == 1)


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_disconnects_before_the_first_byte_closes_the_upstream(stream: bool) -> None:
    with scripted_gateway(
        "anthropic", Answer(headers={"content-type": "text/event-stream"}, pieces=_silent)
    ) as gw:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(gw.url + CHAT_PATH, json={**CHAT_BODY, "stream": stream}, timeout=0.3)
        until(lambda: gw.up.left == 1)
        assert "client_disconnects_total" in httpx.get(gw.url + "/metrics").text


def test_a_queued_request_of_a_disconnected_client_is_never_sent() -> None:
    quiet = Answer(headers={"content-type": "text/event-stream"}, pieces=_silent)
    with (
        scripted_gateway("anthropic", quiet, more={"concurrency": 1}) as gw,
        httpx.Client() as client,
    ):

        def leave(wait: float) -> None:
            with pytest.raises(httpx.ReadTimeout):
                client.post(gw.url + CHAT_PATH, json=CHAT_BODY, timeout=wait)

        first = Thread(target=leave, args=(1.0,))
        first.start()
        until(lambda: len(gw.up.got) == 1)
        leave(0.2)
        first.join()
        until(lambda: gw.up.left == 1)
        time.sleep(0.1)
        assert len(gw.up.got) == 1


# --- fallbacks ---


FAILS = {
    "busy": answers(BUSY, 529),
    "limited": answers(BUSY, 429, retry_after="5"),
    "broken": answers({"error": "x"}, 500),
    "not let in": answers({"error": "x"}, 401),
    "garbage": Answer(200, {"content-type": "application/json"}, b"nonsense"),
    "nothing": streams(),
    "cut at once": streams(cut=True),
    "error at once": streams(
        event({"type": "error", "error": {"type": "api_error", "message": "x"}}, "error")
    ),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ["openai-chat", "anthropic"] if DEEP else ["anthropic"])
@pytest.mark.parametrize("why", FAILS)
def test_another_model_answers_if_the_first_cannot_before_the_first_byte(
    why: str, api: str, stream: bool
) -> None:
    first, second = (
        ScriptedUpstream(FAILS[why]),
        ScriptedUpstream(streams(*CHAT_STREAM) if stream else answers(CHAT)),
    )
    with serving(first) as a, serving(second) as b:
        toml = row("anthropic", a, name="m", more={"fallbacks": ["other"]}) + row(
            "openai-chat", b, name="other", model="o"
        )
        with serving(gateway(toml)) as url:
            path, body = ASKED[api]
            response = httpx.post(url + path, json={**body, "stream": stream})
            assert response.status_code == 200 and ("lo" if stream else "Hi") in response.text
            assert len(second.got) == 1 and second.got[0].json["model"] == "o"


def test_no_other_model_is_tried_for_a_request_that_is_wrong() -> None:
    first, second = (
        ScriptedUpstream(answers({"error": {"message": "no"}}, 400)),
        ScriptedUpstream(answers(CHAT)),
    )
    with serving(first) as a, serving(second) as b:
        toml = row("anthropic", a, name="m", more={"fallbacks": ["other"]}) + row(
            "openai-chat", b, name="other"
        )
        with serving(gateway(toml)) as url:
            assert httpx.post(url + CHAT_PATH, json=CHAT_BODY).status_code == 400 and not second.got


def test_no_other_model_is_tried_after_the_first_byte() -> None:
    first, second = (
        ScriptedUpstream(streams(*PARTS, cut=True)),
        ScriptedUpstream(streams(*CHAT_STREAM)),
    )
    with serving(first) as a, serving(second) as b:
        toml = row("anthropic", a, name="m", more={"fallbacks": ["other"]}) + row(
            "openai-chat", b, name="other"
        )
        with serving(gateway(toml)) as url:
            response = httpx.post(url + CHAT_PATH, json={**CHAT_BODY, "stream": True})
            assert "error" in events(response.text)[-1] and not second.got


def test_the_last_error_is_returned_if_every_upstream_fails() -> None:
    first, second = (
        ScriptedUpstream(answers(BUSY, 529)),
        ScriptedUpstream(answers({"error": {"message": "me too"}}, 503, retry_after="9")),
    )
    with serving(first) as a, serving(second) as b:
        toml = row("anthropic", a, name="m", more={"fallbacks": ["other"]}) + row(
            "cohere", b, name="other"
        )
        with serving(gateway(toml)) as url:
            response = httpx.post(url + CHAT_PATH, json=CHAT_BODY)
            assert (response.status_code, response.headers["retry-after"]) == (503, "9")


def test_a_connection_is_used_again_after_a_stream() -> None:
    with scripted_gateway("anthropic", streams(*ANTHROPIC_STREAM)) as gw:
        for _ in range(3):
            assert httpx.post(gw.url + CHAT_PATH, json={**CHAT_BODY, "stream": True}).text.endswith(
                "data: [DONE]\n\n"
            )
        assert len({one.peer for one in gw.up.got}) == 1


def test_if_every_upstream_fails_the_error_lists_the_attempts_and_the_log_the_reasons(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("WARNING", "toolwire.gateway")
    with serving(ScriptedUpstream(answers(BUSY, 529))) as busy:
        toml = row("anthropic", busy, name="m", more={"fallbacks": ["other"]}) + row(
            "openai-chat", "http://127.0.0.1:1", name="other"
        )
        with serving(gateway(toml)) as url:
            response = httpx.post(url + CHAT_PATH, json={**CHAT_BODY, "model": "m"})
    message = response.json()["error"]["message"]
    assert response.status_code == 502
    assert message.startswith("All 2 upstreams failed. anthropic: too many (529); openai: ")
    assert "could not be reached" in message
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.endswith("fallback after anthropic: too many (529)")
