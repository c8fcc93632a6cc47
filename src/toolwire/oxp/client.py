"""A client for OXP servers, which can also expose their tools as local tools.

    async with OxpClient("https://tools.example/v1", auth=Jwt(secret)) as client:
        total = await client.call("Calculator.Add", {"a": 10, "b": 5})
        tools = Tools(*await client.tools())

Every call has a call id. Retries of a request reuse the call id, so that the tool runs once. A
retry that the tool itself asks for is a new call with a new call id. A tool receives the tokens,
secrets and user id that it declares, and no others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, Self, TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, Object, dump
from toolwire.errors import require_type
from toolwire.execution.call_ids import uuid7
from toolwire.oxp.call_context import ContextBuilder, Secrets, Tokens
from toolwire.oxp.dialects import (
    CallResponse,
    RawResponse,
    ToolDefinition,
    read_call_response,
    read_error,
    read_tool_list,
    should_retry,
)
from toolwire.oxp.errors import (
    BadRequest,
    InvalidInput,
    InvalidResponse,
    MissingRequirements,
    OxpError,
    ServerUnavailable,
    ToolCallFailed,
    ToolNotFound,
)
from toolwire.oxp.protocol import HEADER, PATHS, SCHEMA, VERSION, AuthChallenge
from toolwire.oxp.remote_tools import remote_tool
from toolwire.oxp.transport import RETRY_POLICY, TIMEOUTS, ApiKey, Credentials, OxpTransport
from toolwire.providers.http.policy import RetryPolicy, Timeouts
from toolwire.tools.runnable import Runnable, ToolContext, ToolId, Version

RequestFormat: TypeAlias = Literal["enveloped", "without-schema", "bare"]
"""`{"$schema": ..., "request": {...}}`, the same without `$schema`, or the request alone."""
Runnables: TypeAlias = list[Runnable]
"""`OxpClient.list` hides the builtin inside the class."""
MIB = 1024 * 1024
_MAX_ID_LENGTH = 500


class _RemoteCall(Struct, frozen=True):
    """A call without its call id."""

    tool: str
    input: Object
    context: Object
    trace_id: str | None


class OxpClient:
    """A client for one OXP server.

    Args:
        base_url: the address of the server, without credentials.
        auth: an API key, or an object that makes the headers of each request (`ApiKey`, `Bearer`,
            `Jwt`).
        tokens: tokens for the authorizations that tools declare.
        secrets: values of the secrets that tools declare.
        user_id: the user on whose behalf calls are made, unless a call names one.
        timeouts: how long a request waits.
        retry: how often a failed request is sent again.
        poll_interval: seconds between two requests about a challenge.
        tool_retries: how often a call is repeated when the tool fails and allows a retry.
        request_format: `auto` tries the published format first, then the older ones, and keeps
            the first that the server accepts.
        on_challenge: called with the address where a user can grant a missing authorization. The
            call waits until the user has granted it.
        default_toolkit: the toolkit of tools whose ids name none.
        max_response_bytes: larger responses raise InvalidResponse.
    """

    def __init__(
        self,
        base_url: str,
        *,
        auth: Credentials | str | None = None,
        tokens: Tokens | None = None,
        secrets: Secrets | None = None,
        user_id: str | None = None,
        timeouts: Timeouts = TIMEOUTS,
        retry: RetryPolicy = RETRY_POLICY,
        poll_interval: float = 1.0,
        tool_retries: int = 0,
        request_format: Literal["auto"] | RequestFormat = "auto",
        on_challenge: Callable[[AuthChallenge], Awaitable[None] | None] | None = None,
        default_toolkit: str = "Remote",
        max_response_bytes: int = 64 * MIB,
    ) -> None:
        require_type(base_url, str, "an address as text")
        require_type(timeouts, Timeouts, "Timeouts(...) as timeouts=")
        require_type(retry, RetryPolicy, "RetryPolicy(...) as retry=")
        self._retry, self._poll_interval = retry, poll_interval
        self._http = OxpTransport(
            base_url,
            ApiKey(auth) if isinstance(auth, str) else auth,
            timeouts=timeouts,
            retry=retry,
            largest=max_response_bytes,
        )
        self._contexts = ContextBuilder(tokens, secrets, user_id=user_id)
        self._tool_retries = tool_retries
        self._on_challenge = on_challenge
        self._default_toolkit = default_toolkit
        self._formats: tuple[RequestFormat, ...] = (
            ("enveloped", "without-schema", "bare")
            if request_format == "auto"
            else (request_format,)
        )
        self._definitions: dict[str, ToolDefinition] | None = None

    def __repr__(self) -> str:
        return f"OxpClient({self._http.base_url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    # --- health and tool list ---------------------------------------------------------------------

    async def health(self) -> bool:
        """True if the server accepts calls; False if it does not, or does not respond."""
        try:
            response = await self._http.get(f"{self._http.base_url}{PATHS['health']}")
        except (ServerUnavailable, InvalidResponse):
            return False
        return 200 <= response.status < 300

    async def list(self) -> tuple[ToolDefinition, ...]:
        """Request the tool list from the server."""
        response = await self._http.send("GET", PATHS["list"], headers=_HEADERS)
        if response.status != 200:
            raise read_error(response)
        definitions = read_tool_list(response, self._default_toolkit)
        self._definitions = {definition.server_id: definition for definition in definitions}
        return definitions

    def _definition(self, tool_id: str) -> ToolDefinition | None:
        """Find a tool in the last tool list. An id without a version means the newest version."""
        known = self._definitions or {}
        if tool_id in known:
            return known[tool_id]
        if len(tool_id) > _MAX_ID_LENGTH or (wanted := ToolId.read(tool_id)) is None:
            return None
        matches = [tool for tool in known.values() if tool.id.plain == wanted.plain]
        if wanted.version is not None:
            matches = [tool for tool in matches if tool.id.version == wanted.version]
        return max(matches, key=lambda tool: tool.id.version or Version(0), default=None)

    # --- calls ------------------------------------------------------------------------------------

    async def call(
        self,
        tool_id: str,
        input: Mapping[str, JSON] | None = None,
        *,
        call_id: str | None = None,
        user_id: str | None = None,
        tokens: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        trace_id: str | None = None,
    ) -> JSON:
        """Call a tool and return its value.

        Raises:
            ToolCallFailed: the tool ran and failed.
            MissingRequirements: the tool needs a token, a secret or a user id.
            InvalidInput: the arguments do not match the input schema.
            ToolNotFound: the server has no such tool.
            AuthenticationError: the server rejects the credentials.
            ServerUnavailable: no response after all retries.
            InvalidResponse: the response is not an OXP response.
        """
        response = await self.send_call(
            tool_id,
            input,
            call_id=call_id,
            user_id=user_id,
            tokens=tokens,
            secrets=secrets,
            trace_id=trace_id,
        )
        return response.value

    async def send_call(
        self,
        tool_id: str,
        input: Mapping[str, JSON] | None = None,
        *,
        call_id: str | None = None,
        user_id: str | None = None,
        tokens: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        trace_id: str | None = None,
        tool_retries: int | None = None,
    ) -> CallResponse:
        """Call a tool like `call`; return the value with its call id and `replayed` flag."""
        require_type(tool_id, str, "the id of a tool as text")
        require_type(input, Mapping | None, "the input of a tool as a dict of its arguments")
        call_id = call_id or uuid7()
        retries = self._tool_retries if tool_retries is None else tool_retries
        challenged = False
        while True:
            context = await self._context(tool_id, user_id, tokens, secrets)
            try:
                return await self._send(
                    _RemoteCall(tool_id, dict(input or {}), context, trace_id), call_id
                )
            except ToolCallFailed as error:
                delay = (error.retry_after_ms or 0) / 1000
                if not error.can_retry or retries <= 0 or delay > self._retry.max_retry_after:
                    raise
                retries -= 1
                await asyncio.sleep(delay)
                call_id = uuid7()  # the tool ran: a repetition is another call
            except MissingRequirements as error:
                if challenged or self._on_challenge is None or not error.challenges:
                    raise
                challenged = True
                granted = [await self._request_grant(challenge) for challenge in error.challenges]
                if not all(granted):
                    raise

    async def _send(self, call: _RemoteCall, call_id: str) -> CallResponse:
        """Send a call in the first request format that the server accepts."""
        first: RawResponse | None = None
        for request_format in self._formats:
            response = await self._http.send(
                "POST", PATHS["call"], dump(_request_body(call, call_id, request_format)), _HEADERS
            )
            if response.status == 200:
                self._formats = (request_format,)
                return read_call_response(response, call_id)
            first = first or response
            if not _may_need_another_format(response):
                break
        assert first is not None
        error = read_error(first)
        if type(error) is BadRequest and await self._lacks_tool(call.tool):
            raise ToolNotFound(
                error.message, developer_message=error.developer_message, status=error.status
            )
        raise error

    async def _lacks_tool(self, tool_id: str) -> bool:
        """True if the tool list lacks the tool. OXP reports most errors with the same status."""
        try:
            await self.list()
        except OxpError:
            return False
        return self._definition(tool_id) is None

    async def _context(
        self,
        tool_id: str,
        user_id: str | None,
        tokens: Mapping[str, str] | None,
        secrets: Mapping[str, str] | None,
    ) -> Object:
        """Build the `context` of a call. Without any credentials, no tool list is needed for it."""
        if not (user_id or tokens or secrets or self._contexts.has_credentials):
            return {}
        if self._definitions is None:
            try:
                await self.list()
            except BadRequest:
                self._definitions = {}
        return await self._contexts.build(
            tool_id,
            self._definition(tool_id),
            user_id=user_id,
            tokens=tokens or {},
            secrets=secrets or {},
        )

    # --- challenges -------------------------------------------------------------------------------

    async def _request_grant(self, challenge: AuthChallenge) -> bool:
        if self._on_challenge is not None:
            shown = self._on_challenge(challenge)
            if shown is not None:
                await shown
        return await self.wait_for_grant(challenge)

    async def wait_for_grant(self, challenge: AuthChallenge, *, timeout: float = 300.0) -> bool:
        """Wait until the user grants or denies a challenge; False after `timeout` seconds.

        A challenge without a `check_url` has no status to ask for and counts as granted. The
        server decides when the call is repeated.
        """
        if challenge.check_url is None:
            return True
        try:
            async with asyncio.timeout(timeout):
                while True:
                    if (granted := await self._grant_status(challenge.check_url)) is not None:
                        return granted
                    await asyncio.sleep(self._poll_interval)
        except TimeoutError:
            return False

    async def _grant_status(self, check_url: str) -> bool | None:
        """True if granted, False if denied, None while pending."""
        try:
            response = await self._http.get(check_url)
        except ServerUnavailable:
            return None
        body = response.json()
        status = body.get("status") if isinstance(body, dict) else None
        if response.status == 200 and isinstance(status, str) and status in _GRANTED:
            return _GRANTED[status]
        if should_retry(response):
            return None
        raise InvalidResponse("the status of a challenge is unknown", status=response.status)

    # --- remote tools as local ones ---------------------------------------------------------------

    async def tools(self) -> Runnables:
        """Return the server's tools as local tools.

        Each forwards the call id, the user id, and the tokens and secrets that it declares.
        """
        return [
            remote_tool(definition, self._forward, needs=self._contexts.unmet(definition.needs))
            for definition in await self.list()
        ]

    async def _forward(
        self, definition: ToolDefinition, input: Object, context: ToolContext
    ) -> JSON:
        """Send a call of a local tool. The caller of that tool decides about retries."""
        response = await self.send_call(
            definition.server_id,
            input,
            call_id=context.call_id,
            user_id=context.user_id,
            tokens=context.tokens,
            secrets=context.secrets,
            trace_id=context.trace_id,
            tool_retries=0,
        )
        return response.value


_GRANTED: dict[str, bool | None] = {"pending": None, "completed": True, "failed": False}
_HEADERS = {HEADER: VERSION, "Accept": "application/json", "Content-Type": "application/json"}


def _request_body(call: _RemoteCall, call_id: str, request_format: RequestFormat) -> Object:
    request: Object = {"tool_id": call.tool, "call_id": call_id, "input": call.input}
    if call.trace_id:
        request["trace_id"] = call.trace_id
    if call.context:
        request["context"] = call.context
    if request_format == "bare":
        return request
    if request_format == "without-schema":
        return {"request": request}
    return {"$schema": SCHEMA, "request": request}


def _may_need_another_format(response: RawResponse) -> bool:
    """True if the error names neither parameters nor requirements: the server may expect another
    request format."""
    if response.status not in (400, 422) or should_retry(response):
        return False
    error = read_error(response)
    return type(error) is BadRequest or (
        isinstance(error, InvalidInput) and not error.parameter_errors
    )
