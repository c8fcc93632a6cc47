"""Handle OXP requests: list the tools, and run calls with a ToolExecutor."""

from __future__ import annotations

import hashlib
import inspect
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import TypeAlias

from toolwire.conversation.json import dump
from toolwire.execution.errors import MissingRequirements
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.telemetry import use_trace_context
from toolwire.execution.tool_call import ToolCall
from toolwire.oxp import protocol as oxp
from toolwire.oxp.protocol import AuthChallenge, OxpRejection, OxpRequest, OxpResponse
from toolwire.server.asgi import BodyLimits, BodyReader, RawHeaders, Request, is_json
from toolwire.server.auth import Auth
from toolwire.server.cors import CorsPolicy
from toolwire.tools.errors import InvalidInput, UnknownTool
from toolwire.tools.registry import Tools
from toolwire.tools.runnable import Authorization, Runnable

Challenges: TypeAlias = Callable[
    [ToolCall, Authorization], "AuthChallenge | None | Awaitable[AuthChallenge | None]"
]
"""A function that returns where a user can grant a missing authorization; None if nowhere."""
_log = logging.getLogger("toolwire.server")

VERSION_HEADER = (oxp.HEADER.lower().encode(), oxp.VERSION.encode())
JSON_HEADERS: RawHeaders = ((b"content-type", b"application/json"), VERSION_HEADER)
_LOGIN_HEADERS = ((b"www-authenticate", b'Bearer realm="toolwire"'),)
_TRACE_HEADERS = ("traceparent", "tracestate")


class EncodedResponse(OxpResponse, frozen=True):
    """A response whose body is already encoded."""

    content: bytes = b""


class OxpHandler:
    """Handles `GET /tools` and `POST /tools/call`.

    Args:
        tools: the tools to serve.
        executor: runs the calls.
        auth: authenticates callers.
        cors: the origins whose pages may call tools.
        limits: limits of request bodies and concurrent calls.
        challenges: finds the address where a user can grant a missing authorization.
        repeat_list_as_tools: list the tools under `tools`, too, as the first documentation did.
    """

    def __init__(
        self,
        tools: Tools,
        executor: ToolExecutor,
        *,
        auth: Auth,
        cors: CorsPolicy,
        limits: BodyLimits,
        challenges: Challenges | None = None,
        repeat_list_as_tools: bool = False,
    ) -> None:
        self._tools = tools
        self._executor = executor
        self._auth = auth
        self._cors = cors
        self._limits = limits
        self._reader = BodyReader(limits)
        self._challenges = challenges
        self._repeat_list_as_tools = repeat_list_as_tools
        self._cached_list: tuple[tuple[Runnable, ...], bytes, bytes] | None = None
        self.running = 0
        """Calls whose clients are waiting."""

    async def list_tools(self, request: Request) -> OxpResponse | None:
        """Respond with the tool list; None if the client disconnected."""
        if self._auth.principal(request.headers) is None:
            return reject_unauthorized()
        headers = request.headers
        body: bytes | str = b""
        # One client sends `{}` with its GET
        if b"content-length" in headers or b"transfer-encoding" in headers:
            body = await self._reader.read(request)
        if isinstance(body, str):
            return self._body_error(body)
        version = _text(headers.get(VERSION_HEADER[0]))
        if (rejection := oxp.check_list_request(body, version)) is not None:
            return rejection
        content, etag = self._encode_list()
        cache_headers = ((b"etag", etag), (b"cache-control", b"no-cache"))
        known = headers.get(b"if-none-match")
        if known is not None and _matches(known, etag):
            return EncodedResponse(304, {}, (VERSION_HEADER, *cache_headers))
        return EncodedResponse(200, {}, (*JSON_HEADERS, *cache_headers), content)

    def _encode_list(self) -> tuple[bytes, bytes]:
        """The tool list as bytes, and its ETag; encoded again after tools were added."""
        tools = tuple(self._tools)
        if self._cached_list is None or self._cached_list[0] != tools:
            body = oxp.tool_list(tools)
            if self._repeat_list_as_tools:
                body["tools"] = body["items"]
            content = dump(body)
            digest = hashlib.sha256(content).hexdigest()[:32].encode()
            self._cached_list = (tools, content, b'"%b"' % digest)
        return self._cached_list[1:]

    async def call_tool(self, request: Request) -> OxpResponse | None:
        """Run a call and respond with its result; None if the client disconnected."""
        headers = request.headers
        if not is_json(headers):
            return oxp.reject("media-type")
        if self._cors.refuses(request):
            return oxp.reject("foreign-origin")
        principal = self._auth.principal(headers)
        if principal is None:
            return reject_unauthorized()
        if self.running >= self._limits.calls:
            return oxp.reject("unavailable", "too many calls at once")
        body = await self._reader.read(request)
        if isinstance(body, str):
            return self._body_error(body)
        parsed = oxp.read_call(body, _text(headers.get(VERSION_HEADER[0])))
        if isinstance(parsed, OxpRejection):
            return parsed
        if parsed.ignored:
            _log.debug("unknown keys in a call: %r", parsed.ignored[:20])
        try:
            tool = self._tools.resolve(parsed.tool_id)
        except UnknownTool as error:
            return oxp.reject(
                "unknown-tool",
                error.developer_message,
                enveloped=parsed.enveloped,
                message=error.message,
            )
        self.running += 1
        try:
            if b"traceparent" not in headers:
                return await self._run(parsed, tool, principal)
            trace = {
                name: _text(headers[name.encode()]) or ""
                for name in _TRACE_HEADERS
                if name.encode() in headers
            }
            with use_trace_context(trace):
                return await self._run(parsed, tool, principal)
        finally:
            self.running -= 1

    async def _run(self, request: OxpRequest, tool: Runnable, principal: str) -> OxpResponse:
        enveloped = request.enveloped
        call = ToolCall(
            tool=tool,
            input=request.input,
            call_id=request.call_id,
            principal=principal,
            user_id=request.user_id,
            tokens=request.tokens,
            secrets=request.secrets,
            trace_id=request.trace_id,
        )
        try:
            return oxp.call_response(await self._executor.execute(call), enveloped=enveloped)
        except InvalidInput as error:
            return oxp.invalid_input(error.errors, enveloped=enveloped, call_id=request.call_id)
        except MissingRequirements as error:
            challenges = await self._find_challenges(call, error.missing.authorization)
            return oxp.missing_requirements(tool, error.missing, challenges, enveloped=enveloped)

    async def _find_challenges(
        self, call: ToolCall, missing: Collection[Authorization]
    ) -> list[AuthChallenge]:
        found: list[AuthChallenge] = []
        if self._challenges is None:
            return found
        for authorization in missing:
            try:
                challenge = self._challenges(call, authorization)
                if inspect.isawaitable(challenge):
                    challenge = await challenge
            except Exception:
                _log.exception("the challenge for the authorization %s failed", authorization.id)
                continue
            if challenge is not None:
                found.append(challenge)
        return found

    def _body_error(self, error: str) -> OxpResponse | None:
        if error == "gone":
            return None
        if error == "busy":
            return oxp.reject("unavailable", "too many bytes are arriving at once")
        # Closes the connection: the rest of the body is not read
        if error == "slow":
            return oxp.reject("timeout", headers=((b"connection", b"close"),))
        return oxp.reject("too-large", f"at most {self._limits.body} bytes")


def reject_unauthorized() -> OxpRejection:
    """The response to a request without valid credentials."""
    return oxp.reject("unauthorized", headers=_LOGIN_HEADERS)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


def _matches(if_none_match: bytes, etag: bytes) -> bool:
    tags = (tag.strip().removeprefix(b"W/") for tag in if_none_match.split(b","))
    return any(tag in (etag, b"*") for tag in tags)
