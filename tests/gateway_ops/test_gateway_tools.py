"""Tools that the gateway runs: every model can call them, beside those of the client, and they run
once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from threading import Event
from time import monotonic, sleep
from typing import NamedTuple

import pytest
from gateway_ops.client_requests import ADD, FRONTS, Row, answer_of
from gateway_ops.running import UPSTREAMS, gateway_tools, get, model, post, serve_gateway
from mock.hosting import ServedMock, serve_mock

from toolwire import Usage, decode
from toolwire.conversation.json import Object, dump
from toolwire.conversation.parts import Call, Text
from toolwire.gateway.app import Gateway
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.parser import read_config
from toolwire.gateway.config.schema import ToolsConfig
from toolwire.mock.server import MockProvider, _MockReply
from toolwire.server.asgi import Request
from toolwire.tools import tool

RINGS: Counter[str] = Counter()
"""How often each doorbell was rung."""


@tool(id="Doorbell.Ring@0.1.0")
def ring(doorbell: str) -> str:
    """Ring a doorbell.

    Args:
        doorbell: Which one.
    """
    RINGS[doorbell] += 1
    return f"{doorbell} rang {RINGS[doorbell]} times"


class ServedGateway(NamedTuple):
    url: str
    mocks: dict[str, ServedMock]
    gateway: Gateway


@pytest.fixture(scope="module")
def served() -> Iterator[ServedGateway]:
    with ExitStack() as stack:
        mocks = {wire: stack.enter_context(serve_mock(wire)) for wire in UPSTREAMS}
        toml = "".join(model(wire, one.url) for wire, one in mocks.items())
        gateway = Gateway(ModelTable(read_config(toml), {"K": "k" * 20}), tools=gateway_tools(ring))
        yield ServedGateway(stack.enter_context(serve_gateway(gateway)), mocks, gateway)


class GatewayAnswer(NamedTuple):
    body: Object
    text: str
    calls: list[Call]


def ask_gateway(
    served: ServedGateway, api: Row, body: Object, upstream: str, *, stream: bool, key: str = ""
) -> GatewayAnswer:
    """Send a request; return the response as its client reads it."""
    got = post(
        served.url + api.path(upstream, stream),
        body,
        {"anthropic-version": "2023-06-01", "idempotency-key": key},
    )
    assert got.status == 200, got.text[:500]
    answer = answer_of(got.text, api.wire, stream=stream)
    parts = [part for one in decode(answer, api.wire, "response").messages for part in one.parts]
    calls = [part for part in parts if isinstance(part, Call) and part.executor == "client"]
    return GatewayAnswer(
        answer, "".join(part.text for part in parts if isinstance(part, Text)), calls
    )


CELLS = [(api, stream) for api in FRONTS for stream in (True, False) if stream or api.whole]
IDS = [f"{api.wire}-{'stream' if stream else 'whole'}" for api, stream in CELLS]


@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize(("api", "stream"), CELLS, ids=IDS)
def test_calls_of_client_and_gateway_in_one_turn_each_find_their_results(
    served: ServedGateway, api: Row, stream: bool, upstream: str
) -> None:
    bell = f"{api.wire}.{upstream}.{stream}"
    body = api.begin(
        f'ring the doorbell "{bell}", and add 1 and 2, and add 3 and 4', upstream, stream
    )
    first = ask_gateway(served, api, body, upstream, stream=stream)
    assert [(call.name, call.input) for call in first.calls] == [
        ("add", {"a": 1, "b": 2}),
        ("add", {"a": 3, "b": 4}),
    ]
    assert RINGS[bell] == 1
    results = [(call.id, call.name, f"sum {n}") for n, call in enumerate(first.calls)]
    second = ask_gateway(served, api, api.go_on(body, first.body, results), upstream, stream=stream)
    assert not second.calls
    assert f"{bell} rang 1 times" in second.text, (
        "the gateway's result came back although no server stored it"
    )
    results_by_call = dict(
        line.split(" gave: ", 1) for line in second.text.splitlines() if " gave: " in line
    )
    assert (
        "sum 0" in results_by_call["add(a=1, b=2)"] and "sum 1" in results_by_call["add(a=3, b=4)"]
    )
    assert RINGS[bell] == 1
    sent = served.mocks[upstream].mock.requests[-1]
    assert sent.status == 200, "the strict server took the history"


@pytest.mark.parametrize("upstream", ["openai-chat", "anthropic", "gemini"])
@pytest.mark.parametrize(("api", "stream"), CELLS, ids=IDS)
def test_the_tool_loop_continues_until_the_model_answers(
    served: ServedGateway, api: Row, stream: bool, upstream: str
) -> None:
    bell = f"only.{api.wire}.{upstream}.{stream}"
    body = api.begin(
        f'ring the doorbell "{bell}", then ring the doorbell "{bell}2"', upstream, stream
    )
    got = ask_gateway(served, api, body, upstream, stream=stream)
    assert not got.calls
    if not stream:
        used = decode(got.body, api.wire, "response").settings.get("usage")
        assert isinstance(used, Usage) and used.output, "what all answers together took"
    assert f"{bell}2 rang 1 times" in got.text
    assert (RINGS[bell], RINGS[f"{bell}2"]) == (1, 1)


@pytest.mark.parametrize("stream", [True, False])
def test_a_request_that_is_sent_again_runs_nothing_again(
    served: ServedGateway, stream: bool
) -> None:
    api, bell = FRONTS[0], f"again.{stream}"
    body = api.begin(
        f'ring the doorbell "{bell}" and ring the doorbell "{bell}"', "anthropic", stream
    )
    for upstream in ("anthropic", "anthropic", "openai-chat"):
        ask_gateway(served, api, {**body, "model": upstream}, upstream, stream=stream)
    assert RINGS[bell] == 2, "twice, as was asked, and not six times"
    ask_gateway(served, api, body, "anthropic", stream=stream, key="another")
    assert RINGS[bell] == 4, "a client can say that it means another request"


def test_the_same_request_much_later_is_another_one() -> None:
    with serve_mock("anthropic") as mock:
        models = ModelTable(read_config(model("anthropic", mock.url)), {"K": "k" * 20})
        gateway = Gateway(
            models, tools=gateway_tools(ring, row=ToolsConfig(idempotency_window=0.0))
        )
        with serve_gateway(gateway) as url:
            at = ServedGateway(url, {"anthropic": mock}, gateway)
            for _ in range(3):
                ask_gateway(
                    at,
                    FRONTS[0],
                    FRONTS[0].begin('ring the doorbell "late"', "anthropic", False),
                    "anthropic",
                    stream=False,
                )
    assert RINGS["late"] == 3


def test_a_business_key_applies_to_later_requests() -> None:
    once = tool(id="Doorbell.RingOnce@0.1.0", key=["doorbell"])(ring.function)
    with serve_mock("anthropic") as mock:
        models = ModelTable(read_config(model("anthropic", mock.url)), {"K": "k" * 20})
        gateway = Gateway(
            models, tools=gateway_tools(once, row=ToolsConfig(idempotency_window=0.0))
        )
        with serve_gateway(gateway) as url:
            at = ServedGateway(url, {"anthropic": mock}, gateway)
            for text in ("", "", "please "):
                question = f'{text}[[call Doorbell_RingOnce {{"doorbell": "once"}}]]'
                body = FRONTS[0].begin(question, "anthropic", False)
                got = ask_gateway(at, FRONTS[0], body, "anthropic", stream=False)
                assert "once rang 1 times" in got.text
    assert RINGS["once"] == 1


def test_a_tool_of_the_client_keeps_its_name_and_the_gateways_gets_another(
    served: ServedGateway,
) -> None:
    api, upstream = FRONTS[0], "anthropic"
    question = (
        '[[call Doorbell_Ring {"a": 1, "b": 2}]] [[call gateway_Doorbell_Ring {"doorbell":'
        ' "clash"}]]'
    )
    body = api.begin(question, upstream, False)
    theirs: Object = {"name": "Doorbell_Ring", "description": "Theirs.", "parameters": ADD}
    body["tools"] = [{"type": "function", "function": theirs}]
    got = ask_gateway(served, api, body, upstream, stream=False)
    assert [call.name for call in got.calls] == ["Doorbell_Ring"]
    assert RINGS["clash"] == 1
    after = ask_gateway(
        served,
        api,
        api.go_on(body, got.body, [(got.calls[0].id, "", "theirs")]),
        upstream,
        stream=False,
    )
    assert "clash rang 1 times" in after.text and "theirs" in after.text


def test_a_client_that_demands_a_call_is_not_offered_tools_of_the_gateway(
    served: ServedGateway,
) -> None:
    api = FRONTS[0]
    body = {**api.begin("add 1 and 2", "openai-chat", False), "tool_choice": "required"}
    got = ask_gateway(served, api, body, "openai-chat", stream=False)
    assert [call.name for call in got.calls] == ["add"]
    sent = served.mocks["openai-chat"].mock.requests[-1].body
    assert isinstance(sent, dict) and isinstance(sent["tools"], list) and len(sent["tools"]) == 1


def test_hidden_calls_of_the_gateway_are_counted() -> None:
    with serve_mock("openai-chat") as mock:
        models = ModelTable(read_config(model("openai-chat", mock.url)), {"K": "k" * 20})
        gateway = Gateway(
            models, tools=gateway_tools(ring, row=ToolsConfig(show_tool_calls="none"))
        )
        with serve_gateway(gateway) as url:
            at = ServedGateway(url, {"openai-chat": mock}, gateway)
            body = FRONTS[0].begin('ring the doorbell "hush"', "openai-chat", False)
            got = ask_gateway(at, FRONTS[0], body, "openai-chat", stream=False)
            numbers = get(f"{url}/metrics").text
    assert "was called with" not in got.text and "hush rang 1 times" in got.text
    assert 'toolwire_gateway_tool_calls_total{tool="Doorbell.Ring@0.1.0",state="done"} 1' in numbers


def test_a_model_that_never_stops_calling_is_stopped() -> None:
    with serve_mock("openai-chat") as mock:
        models = ModelTable(read_config(model("openai-chat", mock.url)), {"K": "k" * 20})
        gateway = Gateway(models, tools=gateway_tools(ring, row=ToolsConfig(max_turns=2)))
        with serve_gateway(gateway) as url:
            at = ServedGateway(url, {"openai-chat": mock}, gateway)
            body = FRONTS[0].begin(
                '[[call Doorbell_Ring {"doorbell": "stop"}]] [[never-stop]]', "openai-chat", False
            )
            ask_gateway(at, FRONTS[0], body, "openai-chat", stream=False)
    assert RINGS["stop"] == 3, "two turns, and one that was told not to call"


# --- during a response ----------------------------------------------------------------------------

GATE = Event()
WAITED: Counter[str] = Counter()


@tool(id="Door.Wait@1.0.0")
def wait(door: str) -> str:
    """Wait at a door.

    Args:
        door: Which one.
    """
    WAITED[door] += 1
    GATE.wait(60)
    return f"{door} is open"


WAITS = '[[text QQ]] [[call Door_Wait {"door": "%s"}]] [[then]] [[text ZZ]]'


@contextmanager
def waiting(api: Row, body: Object) -> Iterator[tuple[ServedGateway, HTTPConnection]]:
    """A gateway whose tool waits, and the connection with the request."""
    GATE.clear()
    with serve_mock("anthropic") as mock:
        gateway = Gateway(
            ModelTable(read_config(model("anthropic", mock.url)), {"K": "k" * 20}),
            tools=gateway_tools(wait),
        )
        with serve_gateway(gateway) as url:
            asks = HTTPConnection(url.removeprefix("http://"), timeout=600)
            asks.request(
                "POST",
                api.path("anthropic", True),
                dump(body),
                {"content-type": "application/json"},
            )
            try:
                yield ServedGateway(url, {"anthropic": mock}, gateway), asks
            finally:
                GATE.set()
                asks.close()


@pytest.mark.parametrize("api", FRONTS, ids=lambda api: api.wire)
def test_text_before_a_call_arrives_before_the_tool_ends(api: Row) -> None:
    with waiting(api, api.begin(WAITS % "a", "anthropic", True)) as (_, asks):
        answer = asks.getresponse()
        received = b""
        while b'"Q' not in received and (more := answer.read1()):
            received += more
        assert b'"Q' in received, received[-500:]
        assert b'"Z' not in received and not GATE.is_set()
        GATE.set()
        rest = answer.read()
        assert b'"Z' in rest


def test_a_disconnect_stops_the_tool_loop_and_a_retry_gets_the_same_call() -> None:
    api = FRONTS[0]
    body = api.begin(WAITS % "b", "anthropic", True)
    with waiting(api, body) as (served, asks):
        asks.getresponse().read1()
        late = monotonic() + 60
        while not WAITED["b"] and monotonic() < late:
            sleep(0.01)
        asks.close()
        while (
            (own_tools := served.gateway.tools) is not None
            and own_tools.in_progress
            and monotonic() < late
        ):
            sleep(0.01)
        assert own_tools is not None and own_tools.in_progress == 0, (
            "no request waits for it any more"
        )
        assert len(served.mocks["anthropic"].mock.requests) == 1
        GATE.set()
        again = ask_gateway(served, api, body, "anthropic", stream=True)
        assert "b is open" in again.text and WAITED["b"] == 1


def test_a_fallback_before_the_first_byte_runs_no_tool_again() -> None:
    with serve_mock("openai-chat") as first, serve_mock("anthropic") as second:
        toml = model("openai-chat", first.url).replace(
            "key_env", 'fallbacks = ["anthropic"]\nkey_env'
        ) + model("anthropic", second.url)
        gateway = Gateway(ModelTable(read_config(toml), {"K": "k" * 20}), tools=gateway_tools(ring))
        _breaks(first.mock, 1)
        with serve_gateway(gateway) as url:
            body = FRONTS[0].begin('ring the doorbell "over"', "openai-chat", False)
            got = ask_gateway(
                ServedGateway(url, {}, gateway), FRONTS[0], body, "openai-chat", stream=False
            )
    assert "over rang 1 times" in got.text and RINGS["over"] == 1
    assert len(second.mock.requests) == 2


@pytest.mark.parametrize("api", FRONTS, ids=lambda api: api.wire)
def test_a_failure_in_a_later_turn_is_an_error_event_in_the_stream(api: Row) -> None:
    with serve_mock("anthropic") as mock:
        gateway = Gateway(
            ModelTable(read_config(model("anthropic", mock.url)), {"K": "k" * 20}),
            tools=gateway_tools(ring),
        )
        _breaks(mock.mock, 1)
        with serve_gateway(gateway) as url:
            body = api.begin(
                '[[text QQ]] [[call Doorbell_Ring {"doorbell": "torn"}]]', "anthropic", True
            )
            got = post(url + api.path("anthropic", True), body)
    assert got.status == 200 and '"Q' in got.text and "error" in got.text.lower()


def _breaks(mock: MockProvider, after: int) -> None:
    """Make a server fail after a number of requests."""
    answers = mock._reply
    count = [0]

    def reply(request: Request, raw: bytes | None) -> _MockReply:
        count[0] += 1
        if count[0] > after:
            return _MockReply(
                500, b'{"error": {"message": "broken"}}', {"content-type": "application/json"}
            )
        return answers(request, raw)

    mock._reply = reply  # type: ignore[method-assign]
