"""A model over HTTP, on any wire: requests, retries, streamed and whole responses.

A request is sent again only if the server was overloaded or the connection broke, never if the
server understood and refused it: then the error explains the refusal. A response that breaks off
after some of its calls have run is returned incomplete. Keys appear in no error and no log.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from importlib import import_module
from types import ModuleType, TracebackType
from typing import Protocol, Self, runtime_checkable

from msgspec.structs import replace

from toolwire.agent.events import ModelError, ModelReply, Retry
from toolwire.agent.reply_reader import ReplyReader
from toolwire.codec import Encoded, decode, resolve
from toolwire.conversation.json import Object, dump
from toolwire.conversation.model import Usage
from toolwire.errors import InputError, UsageError, require_type
from toolwire.execution.redaction import Redactor
from toolwire.lint import check
from toolwire.lint.explain import explain
from toolwire.providers.api_errors import read_error_message
from toolwire.providers.endpoints import ModelEndpoint, find_endpoint
from toolwire.providers.http.errors import ConnectError
from toolwire.providers.http.policy import RETRY_POLICY, RetryPolicy, Timeouts, retry_after
from toolwire.providers.http.response import Response
from toolwire.providers.http.upstream import CONNECTION_ERRORS, Upstream
from toolwire.providers.http.url import parse_url
from toolwire.providers.table import Provider
from toolwire.streaming.accumulate import conversation_events
from toolwire.streaming.events import Event, StreamError

DEMO = "demo"
"""The provider name of the offline model: `demo:`, or `demo:anthropic` on that provider's wire."""
TIMEOUTS = Timeouts(connect=15.0)
RETRY_STATUS = frozenset({408, 429})
"""Status codes below 500 after which the same request may succeed."""
PERMANENT_STATUS = frozenset({501, 505})
"""Status codes from 500 on after which a retry cannot succeed."""
REFUSED_STATUS = frozenset({400, 413, 422})
"""Status codes of a request that the server understood and refused."""
_CLOSE_WITHIN = 0.25
"""Seconds for a server to end a finished stream, so that its connection can be used again."""
_TRANSIENT = (
    "overloaded",
    "rate_limit",
    "rate limit",
    "throttl",
    "timeout",
    "unavailable",
    "internal",
    "server_error",
)
"""Words in an error event, which has no status, that make a retry worthwhile."""
_SECRET_LENGTH = 12
"""Values of custom header fields count as secrets from this length on."""


@runtime_checkable
class _LocalServer(Protocol):
    """The server of the offline model, which is imported only if it is used."""

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    def base_url(self, provider: str) -> str: ...


class HttpModel:
    """A model of any provider, over HTTP.

    Args:
        model: `PROVIDER:MODEL`, as in `anthropic:claude-opus-5`; `URL#PROVIDER:MODEL` for your own
            server; `demo:` for the offline model. With `provider`, only the model's name.
        api_key: The key; by default from the environment.
        base_url: The address; by default that of the provider.
        provider: A provider that toolwire does not know.
        env: Environment variables, instead of those of the process.
        stream: True to request streams.
        native_tools: True if the model has a tool API; False describes tools in text.
        timeouts: How long to wait.
        retry: How often to send a failed request again.
        headers: Further header fields of every request.

    Raises:
        UsageError: There is no such provider, or no key; the message names the variable to set.
    """

    def __init__(
        self,
        model: str | ModelEndpoint,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        provider: Provider | None = None,
        env: Mapping[str, str] | None = None,
        stream: bool = True,
        native_tools: bool | None = None,
        timeouts: Timeouts = TIMEOUTS,
        retry: RetryPolicy = RETRY_POLICY,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        require_type(model, str | ModelEndpoint, "the name of a model, such as openai:gpt-5")
        require_type(provider, Provider | None, "a Provider as provider=")
        require_type(api_key, str | None, "text as api_key=")
        require_type(base_url, str | None, "text as base_url=")
        require_type(headers, Mapping | None, "a dict as headers=")
        require_type(timeouts, Timeouts, "Timeouts(...) as timeouts=")
        require_type(retry, RetryPolicy, "RetryPolicy(...) as retry=")
        self._demo: _LocalServer | None = None
        self._demo_wire: str | None = None
        if isinstance(model, str):
            name, _, rest = model.partition(":")
            if name == DEMO and provider is None:
                self._demo_wire = rest or "openai"
                _demo_module()
                model = _demo_endpoint(self._demo_wire, "http://127.0.0.1")
            else:
                variables = os.environ if env is None else env
                model = find_endpoint(
                    model, variables, base_url=base_url, api_key=api_key, provider=provider
                )
        try:
            parse_url(model.base_url)
        except ValueError as error:  # without the address, which may contain a password
            name = f"{model.provider.name}:{model.model}"
            raise UsageError(f"{name}: the address is {error}, such as https://host/v1") from None
        self.endpoint = model
        self.stream = stream
        self.native_tools = model.provider.native_tools if native_tools is None else native_tools
        self.timeouts = timeouts
        self.retry = retry
        self._headers = dict(headers or {})
        self._wire = resolve(model.provider.profile)[0].name
        secrets = (value for value in self._headers.values() if len(value) >= _SECRET_LENGTH)
        self._redact = Redactor([*model.secrets(), *secrets])
        self._upstream = Upstream()

    @property
    def name(self) -> str:
        """The name of the model in requests."""
        return self.endpoint.model

    @property
    def target(self) -> str:
        """The profile that requests are written for."""
        return self.endpoint.provider.profile

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. The model can still be used."""
        await self._upstream.close()
        demo, self._demo = self._demo, None
        if demo is not None:
            await demo.close()

    # --- requests ---

    async def ask(self, request: Encoded) -> AsyncIterator[Event | Retry | ModelReply]:
        """Yield the response as it arrives; the reply is the last item.

        Raises:
            ModelError: The model gave no response.
        """
        if not isinstance(request.body, dict):
            raise ModelError("a request is a JSON object")
        if self._demo_wire is not None and self._demo is None:
            await self._start_demo(self._demo_wire)
        body = self.endpoint.body(request.body, stream=self.stream)
        attempt = 1
        while True:
            try:
                async with aclosing(self._ask_once(body)) as response:
                    async for event in response:
                        yield event
                return
            except ModelError as error:
                wait = self.retry.delay(attempt, error.retry_after) if error.transient else None
                if wait is None:
                    raise
                yield Retry(error.message, wait)
            await asyncio.sleep(wait)
            attempt += 1

    async def _start_demo(self, wire: str) -> None:
        server: object = _demo_module().DemoServer()
        assert isinstance(server, _LocalServer)
        self._demo = server
        await server.open()
        self.endpoint = _demo_endpoint(wire, server.base_url(wire))

    async def _ask_once(self, body: Object) -> AsyncGenerator[Event | ModelReply]:
        response: Response | None = None
        try:
            response = await self._upstream.post(
                self.endpoint,
                dump(body),
                stream=self.stream,
                headers=self._headers,
                timeouts=self.timeouts,
            )
            if response.status >= 300:
                raise self._status_error(response, await response.read_all(), body)
            media_type = response.headers.get("content-type", "")
            if self.stream and "application/json" not in media_type:
                async with aclosing(self._read_stream(response)) as events:
                    async for event in events:
                        yield event
                return
            for event in self._read_whole(await response.read_all()):
                yield event
        except CONNECTION_ERRORS as error:
            raise self._connection_error(error) from None
        except ValueError as error:  # the URL, a header field, or the size of the response
            raise ModelError(f"{self.endpoint.provider.name}: {self._redact(str(error))}") from None
        finally:
            if response is not None:
                response.close()

    # --- responses ---

    def _read_whole(self, data: bytes) -> list[Event | ModelReply]:
        name = self.endpoint.provider.name
        message = self._redact(read_error_message(data))
        try:
            read = decode(data, self._wire, "response")
        except InputError as error:  # some servers report errors with the status of success
            raise ModelError(
                f"{name}: not a response: {self._redact(str(error))}: {message}",
                transient=_is_transient(message),
            ) from None
        if not read.messages:
            raise ModelError(
                f"{name}: a response without a message: {message}", transient=_is_transient(message)
            )
        usage = read.settings.get("usage")
        reply = ModelReply(read.messages[0], usage if isinstance(usage, Usage) else None)
        return [*conversation_events(read), reply]

    async def _read_stream(self, response: Response) -> AsyncGenerator[Event | ModelReply]:
        reader = ReplyReader(self._wire)
        broken: str | None = None
        try:
            while data := await response.read():
                for event in reader.feed(data):
                    yield self._redact_event(event)
                if reader.over:
                    response.drain(_CLOSE_WITHIN)
                    break
        except CONNECTION_ERRORS as failure:
            broken = self._redact(str(failure)) or type(failure).__name__
        for event in reader.end():
            yield self._redact_event(event)
        name, error = self.endpoint.provider.name, reader.error
        if not reader.calls and error is not None:
            transient = error.cut or _is_transient(f"{error.code or ''} {error.message}")
            raise ModelError(
                f"{name}: {broken or self._redact(error.message)}", transient=transient
            )
        if not reader.calls and broken is not None and not reader.stop:
            raise ModelError(f"{name}: the stream broke off: {broken}", transient=True)
        yield reader.reply()

    def _redact_event(self, event: Event) -> Event:
        if not isinstance(event, StreamError):
            return event
        return replace(event, message=self._redact(event.message))

    # --- errors ---

    def _connection_error(self, error: OSError) -> ModelError:
        provider = self.endpoint.provider
        text = self._redact(str(error)) or type(error).__name__
        if not isinstance(error, ConnectError):
            return ModelError(f"{provider.name}: {text}", transient=True)
        if error.refused:
            start = provider.start_command.replace("MODEL", self.name)
            text += f"; start the server with `{start}`" if start else "; start the server"
            text += ", or set another base URL"
        return ModelError(f"{provider.name}: {text}", transient=not error.permanent)

    def _status_error(self, response: Response, data: bytes, request: Object) -> ModelError:
        """The error of a status other than success."""
        text = self._redact(read_error_message(data))
        status, provider = response.status, self.endpoint.provider
        message = f"{provider.name} returned status {status}: {text}"
        if status < 400:
            return ModelError(
                f"{provider.name} returned status {status}: redirects are not followed, because"
                " they would get the key; set base_url to the new address",
                status=status,
            )
        if status in (401, 403):
            keys = " or ".join(provider.key_envs) or "the key"
            return ModelError(f"{message} (check {keys})", status=status)
        explanations = explain(text, request, self.target) if status in REFUSED_STATUS else []
        meaning = [explanation for explanation in explanations if explanation.likely]
        defect = status in REFUSED_STATUS and (
            bool(meaning)
            or any(finding.severity == "error" for finding in check(request, self.target))
        )
        return ModelError(
            message,
            status=status,
            defect=defect,
            transient=status in RETRY_STATUS or (status >= 500 and status not in PERMANENT_STATUS),
            retry_after=retry_after(response.headers),
            meaning=tuple(map(str, meaning)),
        )


def _demo_module() -> ModuleType:
    """Import the offline model. Raises UsageError if a package that it needs is missing."""
    try:
        return import_module("toolwire.mock.demo_server")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{DEMO}: needs the package {error.name}: run pip install 'toolwire[server]'"
        ) from None


def _demo_endpoint(wire: str, base_url: str) -> ModelEndpoint:
    return find_endpoint(f"{wire}:{DEMO}", {}, base_url=base_url, api_key=DEMO)


def _is_transient(text: str) -> bool:
    """True if a retry may succeed after an error without a status."""
    folded = text.lower()
    return any(word in folded for word in _TRANSIENT)
