"""The observability of a gateway: logs, metrics, traces, records."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest
from gateway_ops.running import HttpAnswer, get, model, post, serve_gateway
from mock.hosting import serve_mock
from opentelemetry import propagate
from opentelemetry.context import Context
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Sampler, SamplingResult

from toolwire.cli.framework.group import commands
from toolwire.conversation.json import Object
from toolwire.gateway.app import Gateway
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.parser import read_config
from toolwire.gateway.observe.metrics import GatewayMetrics
from toolwire.gateway.observe.observer import Observer, RecentRequests
from toolwire.gateway.observe.recorder import Recorder
from toolwire.gateway.observe.request_record import RequestRecord

SECRET = "sk-upstream-secret-0123456789"
CHAT: dict[str, object] = {"model": "anthropic", "messages": [{"role": "user", "content": "hello"}]}


def ask_gateway(
    observer: Observer, *bodies: dict[str, object], headers: dict[str, str] | None = None
) -> tuple[list[HttpAnswer], str]:
    """The responses of a gateway in front of a strict mock, and its metrics."""
    with serve_mock("anthropic") as mock:
        models = ModelTable(read_config(model("anthropic", mock.url)), {"K": SECRET})
        observer.hide_secrets(models.secrets())
        with serve_gateway(Gateway(models, observer=observer)) as url:
            responses = [post(f"{url}/v1/chat/completions", body, headers) for body in bodies]
            return responses, get(f"{url}/metrics").text


def test_a_request_is_logged_as_one_line_of_json_without_bodies(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "toolwire.gateway")
    ask_gateway(Observer(json_log=True), CHAT, {**CHAT, "stream": True}, {**CHAT, "model": "none"})
    lines = [
        json.loads(one.getMessage()) for one in caplog.records if one.name == "toolwire.gateway"
    ]
    assert [(one["status"], one.get("upstream"), one.get("stream")) for one in lines] == [
        (200, "anthropic", False),
        (200, "anthropic", True),
        (404, None, False),
    ]
    first = lines[0]
    assert (first["api"], first["model"], first["finish_reason"]) == (
        "openai-chat",
        "anthropic",
        "stop",
    )
    assert (
        first["input_tokens"] > 0 and first["output_tokens"] > 0 and lines[1]["output_tokens"] > 0
    )
    assert "hello" not in caplog.text


def test_bodies_are_logged_only_on_request_and_without_keys(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "toolwire.gateway")
    ask_gateway(
        Observer(log_bodies=True),
        {**CHAT, "messages": [{"role": "user", "content": f"my key is {SECRET}, say hello"}]},
    )
    assert "say hello" in caplog.text and SECRET not in caplog.text


def test_metrics_are_in_the_format_of_prometheus() -> None:
    _, text = ask_gateway(Observer(), CHAT, {**CHAT, "stream": True}, {**CHAT, "model": "none"})
    for line in (
        'toolwire_gateway_requests_total{api="openai-chat",upstream="anthropic",status="200"} 2',
        'toolwire_gateway_rejected_total{status="404"} 1',
        "toolwire_gateway_in_flight 0",
        'toolwire_gateway_first_byte_seconds_count{api="openai-chat",upstream="anthropic"} 2',
        'toolwire_gateway_seconds_bucket{api="openai-chat",upstream="anthropic",le="+Inf"} 2',
    ):
        assert line in text.splitlines(), line
    assert re.search(r'tokens_total\{upstream="anthropic",direction="output"\} [1-9]', text)
    sample = re.compile(r'[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)*\})? -?[0-9.e+-]+')
    assert [
        line
        for line in text.splitlines()
        if not line.startswith("#") and not sample.fullmatch(line)
    ] == []


def test_labels_are_bounded_and_never_chosen_by_a_client() -> None:
    counts = GatewayMetrics(max_label_values=3)
    for n in range(10):
        counts.add("repairs_total", f"rule-{n}", "x")
    text = counts.render()
    assert (
        'rule="rule-2"' in text
        and 'rule="rule-3"' not in text
        and 'repairs_total{rule="other",upstream="x"} 7' in text
    )
    observer = Observer()
    for n in range(3):
        seen = observer.begin("openai-chat", {})
        seen.model, seen.losses = (
            f"chosen-{n}",
            (f"/tools/{n}: no place for `chosen-{n}` and 'chosen {n}'",),
        )
        observer.end(seen)
    assert "chosen" not in observer.render_metrics()
    assert (
        'losses_total{reason="no place for … and …",upstream="none"} 3' in observer.render_metrics()
    )


def test_metrics_of_all_processes_are_summed_and_gauges_of_dead_ones_dropped(
    tmp_path: Path,
) -> None:
    alive, dead = (
        Observer(metrics_folder=tmp_path, process="1"),
        Observer(metrics_folder=tmp_path, process="2"),
    )
    for observer in (alive, dead):
        observer.end(observer.begin("gemini", {}))
        observer.begin("gemini", {})
        observer.share_metrics()
    third = Observer(metrics_folder=tmp_path, process="3", is_alive=lambda process: process == "1")
    text = third.render_metrics()
    assert 'requests_total{api="gemini",upstream="none",status="0"} 2' in text
    assert "toolwire_gateway_in_flight 1\n" in text


def test_a_span_follows_the_conventions_for_generative_ai_and_joins_the_clients_trace() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    ask_gateway(
        Observer(tracer_provider=provider),
        CHAT,
        {**CHAT, "model": "none"},
        headers={"traceparent": parent},
    )
    good, bad = exporter.get_finished_spans()
    attributes = dict(good.attributes or {})
    assert good.name == "chat anthropic"
    assert (
        attributes["gen_ai.operation.name"] == "chat"
        and attributes["gen_ai.provider.name"] == "anthropic"
    )
    assert attributes["gen_ai.request.model"] == "anthropic" and attributes[
        "gen_ai.response.finish_reasons"
    ] == ("stop",)
    assert isinstance(attributes["gen_ai.usage.input_tokens"], int) and isinstance(
        attributes["gen_ai.usage.output_tokens"], int
    )
    assert (bad.attributes or {})["error.type"] == "404"
    assert _trace(good) == "0af7651916cd43dd8448eb211c80319c"


def _trace(span: ReadableSpan) -> str:
    context = span.get_span_context()
    assert context is not None
    return f"{context.trace_id:032x}"


class Raises(Sampler, SpanProcessor, TextMapPropagator):
    """A sampler, propagator and span processor that raise exceptions."""

    @property
    def fields(self) -> set[str]:
        return set()

    def extract(self, *given: object, **more: object) -> Context:
        raise KeyError("extract")

    def inject(self, *given: object, **more: object) -> None:
        raise KeyError("inject")

    def should_sample(self, *given: object, **more: object) -> SamplingResult:
        raise KeyError("sample")

    def on_end(self, span: ReadableSpan) -> None:
        raise KeyError("end")

    def get_description(self) -> str:
        return "raises"


@pytest.mark.parametrize("what", ("sampler", "propagator", "processor"))
def test_a_trace_that_cannot_be_made_harms_no_request(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raises = Raises()
    provider = TracerProvider(sampler=raises) if what == "sampler" else TracerProvider()
    if what == "processor":
        provider.add_span_processor(raises)
    elif what == "propagator":
        monkeypatch.setattr(propagate, "get_global_textmap", lambda: raises)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    observer = Observer(tracer_provider=provider)
    responses, numbers = ask_gateway(
        observer, CHAT, {**CHAT, "stream": True}, headers={"traceparent": parent}
    )
    assert [one.status for one in responses] == [200, 200] and len(observer.recent.since()) == 2
    assert "toolwire_gateway_in_flight 0\n" in numbers
    if what != "processor":
        assert Observer(tracer_provider=provider).begin(
            "gemini", {b"traceparent": parent.encode()}
        ).trace_headers == {"traceparent": parent}


def test_the_trace_is_passed_on_to_the_models_server() -> None:
    parent = {b"traceparent": b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    assert Observer().begin("gemini", parent).trace_headers == {
        "traceparent": parent[b"traceparent"].decode()
    }
    seen = Observer(tracer_provider=TracerProvider()).begin("gemini", parent)
    assert seen.trace_headers["traceparent"].startswith("00-0af7651916cd43dd8448eb211c80319c-")
    assert "b7ad6b7169203331" not in seen.trace_headers["traceparent"], "by the gateway's own span"


def test_a_record_is_complete_and_its_stream_can_be_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = Recorder(tmp_path)
    recorder.hide_secrets([SECRET])
    question = {**CHAT, "messages": [{"role": "user", "content": f"{SECRET} hello"}]}
    responses, _ = ask_gateway(Observer(recorder=recorder), question, {**CHAT, "stream": True})
    (file,) = tmp_path.glob("requests-*.jsonl")
    text = file.read_text()
    assert SECRET not in text
    whole, streamed = map(json.loads, text.splitlines())
    assert whole["request"]["messages"][0]["content"] == "[removed] hello"
    assert (
        whole["upstream_requests"][0]["messages"][0]["role"] == "user"
        and whole["upstream_response"]["type"] == "message"
    )
    assert whole["response"]["object"] == "chat.completion"
    stream = tmp_path / streamed["stream_file"]
    assert stream.name.endswith(".anthropic.txt") and "event: message_start" in stream.read_text()
    with pytest.raises(SystemExit) as left:
        commands(
            ["stream", str(stream), "--from", "anthropic", "--to", "openai-chat", "-q"],
            prog_name="toolwire",
        )
    assert left.value.code in (0, 1)
    events = [
        json.loads(line[6:])
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("data: {")
    ]
    words = "".join(
        one["choices"][0]["delta"].get("content") or "" for one in events if one["choices"]
    )
    assert "hello" in words and words in "".join(
        re.findall(r'"content":"([^"]*)"', responses[1].text)
    )


def record_body(folder: Path, request: bytes) -> Object:
    record = Observer(recorder=Recorder(folder)).begin("openai-chat", {})
    record.capture_request(request)
    record.capture_response(b'{"object":"chat.completion"}')
    recorder = Recorder(folder)
    recorder.hide_secrets([SECRET])
    recorder(record)
    (file,) = folder.glob("requests-*.jsonl")
    written: Object = json.loads(file.read_text())
    return written


def test_a_body_that_is_not_compact_is_recorded_byte_for_byte(tmp_path: Path) -> None:
    request = b'{"model": "m",\r\n\t"temperature": 1.0e0, "user": "a", "user": "\\u00e9"}\n'
    written = record_body(tmp_path, request)
    assert written["request"] == json.loads(request)
    assert written["verbatim"] == {"/request": request.decode()}, "the compact response needs none"


def test_a_secret_is_removed_from_a_body_recorded_byte_for_byte(tmp_path: Path) -> None:
    written = record_body(tmp_path, b'{"user": "%s"}' % SECRET.encode())
    assert written["verbatim"] == {"/request": '{"user": "[removed]"}'}


def test_a_body_with_a_credential_field_is_recorded_only_without_it(tmp_path: Path) -> None:
    written = record_body(tmp_path, b'{"tools": [{"headers": {"Authorization": "short"}}]}')
    assert written["request"] == {"tools": [{"headers": {"Authorization": "[removed]"}}]}
    assert written["verbatim"] == {}


def test_recent_requests_are_kept_under_increasing_numbers() -> None:
    feed = RecentRequests(2)
    for name in "abc":
        feed.add(RequestRecord(name))
    assert [(n, record["api"]) for n, record in feed.since()] == [(2, "b"), (3, "c")]
    assert [n for n, _ in feed.since(2)] == [3]


def test_bodies_are_kept_only_if_they_are_logged_or_recorded() -> None:
    record = Observer().begin("gemini", {})
    record.capture_request(b"request")
    record.capture_response(b"response")
    assert record.capture is None


def test_the_bodies_of_one_request_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.gateway.observe.request_record.MAX_CAPTURE_BYTES", 100)
    record = Observer(log_bodies=True).begin("gemini", {})
    for _ in range(50):
        record.capture_upstream_response(b"x" * 30)
    assert record.capture is not None and record.capture.truncated
    assert sum(map(len, record.capture.upstream_response)) <= 100


@pytest.mark.parametrize("json_log", [False, True], ids=["text", "json"])
def test_a_model_name_cannot_inject_a_line_into_the_log(
    json_log: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "toolwire.gateway")
    name = "m\n2026 openai-chat m -> x: 200\x1b[2K\x9b31m\u2028end"
    ask_gateway(Observer(json_log=json_log), {**CHAT, "model": name})
    lines = [record.getMessage() for record in caplog.records if record.name == "toolwire.gateway"]
    assert len(lines) == 1
    assert not any(mark in lines[0] for mark in ("\n", "\x1b", "\x9b", "\u2028"))


def test_usage_is_not_read_from_tool_arguments() -> None:
    arguments = '{"usage": {"input_tokens": 5, "output_tokens": 9000000}}'
    question = {
        **CHAT,
        "messages": [{"role": "user", "content": f"[[call report {arguments}]]"}],
        "tools": [{"type": "function", "function": {"name": "report", "parameters": {}}}],
    }
    anthropic = {
        "model": "anthropic",
        "max_tokens": 500,
        "messages": question["messages"],
        "tools": [{"name": "report", "input_schema": {"type": "object"}}],
    }
    for body, path in ((question, "/v1/chat/completions"), (anthropic, "/v1/messages")):
        for stream in (False, True):
            observer = Observer()
            with serve_mock("anthropic") as mock:
                models = ModelTable(read_config(model("anthropic", mock.url)), {"K": SECRET})
                with serve_gateway(Gateway(models, observer=observer)) as url:
                    response = post(url + path, {**body, "stream": stream})
                    while observer.metrics.in_flight:
                        pass
            assert "9000000" in response.text, "the call is in the response"
            ((_, record),) = observer.recent.since()
            tokens = record["output_tokens"]
            assert isinstance(tokens, int) and 0 < tokens < 1000, (path, stream, record)


def test_a_short_key_is_not_removed_from_records(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.hide_secrets(["none", SECRET])
    ask_gateway(Observer(recorder=recorder), {**CHAT, "tool_choice": "none", "user": f"x {SECRET}"})
    (file,) = tmp_path.glob("requests-*.jsonl")
    request = json.loads(file.read_text())["request"]
    assert request["tool_choice"] == "none" and request["user"] == "x [removed]"


def test_fields_that_hold_credentials_are_removed_from_records(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    server = {"type": "url", "url": "https://x", "name": "x", "authorization_token": "abc"}
    ask_gateway(Observer(recorder=recorder), {**CHAT, "mcp_servers": [server], "api_key": "abc"})
    (file,) = tmp_path.glob("requests-*.jsonl")
    request = json.loads(file.read_text())["request"]
    assert request["api_key"] == "[removed]"
    assert request["mcp_servers"][0]["authorization_token"] == "[removed]"
    assert request["messages"] == CHAT["messages"]


def test_a_record_that_cannot_be_written_fails_no_request(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder(tmp_path)
    (tmp_path / "streams").rmdir()
    responses, _ = ask_gateway(Observer(recorder=recorder), {**CHAT, "stream": True}, CHAT)
    assert [response.status for response in responses] == [200, 200]
    assert "a request was not recorded: No such file or directory" in caplog.text
    (file,) = tmp_path.glob("requests-*.jsonl")
    assert len(file.read_text().splitlines()) == 1, "the next one is written"


def test_only_the_owner_can_read_records(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "new")
    ask_gateway(Observer(recorder=recorder), {**CHAT, "stream": True})
    found = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert len(found) == 4
    assert [path for path in found if path.stat().st_mode & 0o077] == []


def test_records_in_a_folder_that_everybody_can_read_are_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    ask_gateway(Observer(recorder=Recorder(tmp_path)), {**CHAT, "stream": True})
    found = list(tmp_path.rglob("*"))
    assert len(found) == 3 and [path for path in found if path.stat().st_mode & 0o077] == []
