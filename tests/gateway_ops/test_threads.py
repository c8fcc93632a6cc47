"""Large requests are translated in threads, with a limit of threads and of time."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from gateway_ops.running import get, model, post, serve_gateway
from mock.hosting import serve_mock

from toolwire.gateway import Gateway
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.parser import read_config
from toolwire.gateway.errors import RequestRejected
from toolwire.gateway.threads import MIN_BYTES, TranslationThreads
from toolwire.gateway.translation.translator import Translator
from toolwire.gateway.translation.upstream_request import UpstreamRequest
from toolwire.lint.explain import Explanation


def test_other_requests_are_answered_while_a_large_one_is_translated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, release = threading.Event(), threading.Event()
    translate = Translator.request

    def wait_and_translate(translator: Translator, raw: bytes) -> UpstreamRequest:
        started.set()
        assert release.wait(20)
        return translate(translator, raw)

    monkeypatch.setattr(Translator, "request", wait_and_translate)
    with serve_mock("anthropic") as mock, ThreadPoolExecutor(1) as pool:
        models = ModelTable(read_config(model("anthropic", mock.url)), {"K": "k" * 20})
        with serve_gateway(Gateway(models)) as url:
            question = {"role": "user", "content": "x" * MIN_BYTES}
            body = {"model": "anthropic", "messages": [question]}
            large = pool.submit(post, f"{url}/v1/chat/completions", body)
            assert started.wait(20)
            assert get(f"{url}/health").status == 200
            assert not large.done()
            release.set()
            assert large.result(20).status == 200


def test_other_requests_are_answered_while_the_refusal_of_a_large_one_is_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, release = threading.Event(), threading.Event()

    def wait(text: str, body: object, wire: str) -> list[Explanation]:
        started.set()
        assert release.wait(20)
        return []

    monkeypatch.setattr("toolwire.gateway.forward.explain", wait)
    with serve_mock("openai-chat") as mock, ThreadPoolExecutor(1) as pool:
        models = ModelTable(read_config(model("openai-chat", mock.url)), {"K": "k" * 20})
        with serve_gateway(Gateway(models)) as url:
            body = {
                "model": "openai-chat",
                "messages": [{"role": "user", "content": "x" * MIN_BYTES}],
                "no_such_field": 1,
            }
            refused = pool.submit(post, f"{url}/v1/chat/completions", body)
            assert started.wait(20)
            assert get(f"{url}/health").status == 200
            release.set()
            assert refused.result(20).status == 400


def test_a_large_compaction_is_prepared_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[str] = set()
    translate = Translator.request

    def note_thread(translator: Translator, raw: bytes) -> UpstreamRequest:
        threads.add(threading.current_thread().name)
        return translate(translator, raw)

    monkeypatch.setattr(Translator, "request", note_thread)
    with serve_mock("anthropic") as mock:
        models = ModelTable(read_config(model("anthropic", mock.url)), {"K": "k" * 20})
        with serve_gateway(Gateway(models)) as url:
            question = {"role": "user", "content": "x" * MIN_BYTES}
            body = {"model": "anthropic", "input": [question]}
            assert post(f"{url}/v1/responses/compact", body).status == 200
    assert len(threads) == 1 and next(iter(threads)).startswith("toolwire-translate")


def test_a_translation_that_takes_too_long_is_rejected_and_keeps_its_slot_until_it_ends() -> None:
    release = threading.Event()

    async def run() -> None:
        threads = TranslationThreads(threads=1, seconds=0.05)
        with pytest.raises(RequestRejected) as error:
            await threads.run(lambda: release.wait(20))
        assert error.value.status == 413 and "Shorten its history" in error.value.message
        with pytest.raises(RequestRejected):
            await threads.run(lambda: "no slot")
        release.set()
        value = None
        while value is None:
            try:
                value = await threads.run(lambda: "free again")
            except RequestRejected:
                await asyncio.sleep(0.01)
        assert value == "free again"

    asyncio.run(run())


def test_an_error_of_a_translation_reaches_its_request() -> None:
    def fail() -> None:
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        asyncio.run(TranslationThreads().run(fail))
