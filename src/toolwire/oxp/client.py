"""A client of OXP servers, and their tools as local ones.

    async with OxpClient("https://tools.example/v1", auth=Jwt(secret)) as client:
        total = await client.call("Calculator.Add", {"a": 10, "b": 5}) tools = Tools(*await
        client.tools())

Every call has a call id. It stays the same while the network is tried again, so that the tool runs
once, and is a new one when a tool that ran asks to be called again. A tool is sent what it declares
and nothing else.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, Self, TypeAlias

import aiohttp
from msgspec import Struct

from toolwire.conversation.json import JSON, Object, dump, require_json
from toolwire.execution.call_ids import uuid7
from toolwire.execution.tool_call import MissingRequirement
from toolwire.oxp.dialects import (
    CallResponse,
    RawResponse,
    ToolDefinition,
    again,
    answered,
    definitions,
    refused,
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
    Unauthenticated,
)
from toolwire.oxp.protocol import HEADER, PATHS, SCHEMA, VERSION, AuthChallenge
from toolwire.oxp.transport import ApiKey, Bearer, Credentials, Jwt, OxpRetryPolicy, OxpTransport
from toolwire.tools.errors import NoEffect, RetryableToolError, ToolError
from toolwire.tools.runnable import (
    Authorization,
    Requirements,
    Runnable,
    ToolContext,
    ToolId,
    Version,
)

__all__ = [
    "ApiKey",
    "AuthChallenge",
    "BadRequest",
    "Bearer",
    "CallResponse",
    "Credentials",
    "InvalidInput",
    "InvalidResponse",
    "Jwt",
    "MissingRequirements",
    "OxpClient",
    "OxpError",
    "OxpRetryPolicy",
    "ServerUnavailable",
    "ToolCallFailed",
    "ToolDefinition",
    "ToolNotFound",
    "Unauthenticated",
]

Found: TypeAlias = str | None | Awaitable[str | None]
Tokens: TypeAlias = Mapping[str, str] | Callable[[Authorization, str | None], Found]
"""Tokens by the id of what they authorize, or who knows them: asked with what the tool declares,
and the user."""
Secrets: TypeAlias = Mapping[str, str] | Callable[[str], Found]
Shape: TypeAlias = Literal["enveloped", "unnamed", "bare"]
"""How a request is wrapped: with the version's name, without it, or not at all."""
Runnables: TypeAlias = list[Runnable]
MIB = 1024 * 1024
_LONGEST_ID = 500


class _RemoteCall(Struct, frozen=True):
    """One call, whatever id it is sent under."""

    tool: str
    input: Object
    context: Object
    trace_id: str | None


class OxpClient:
    """One OXP server.

    `auth` is a key, or an object that makes the headers of each request (`ApiKey`, `Bearer`,
    `Jwt`). `tokens` and `secrets` give what tools declare. `repeats` is how often a tool that asks
    for it is called again. With `envelope="auto"` a server that does not understand the published
    shape is asked in the older ones, once, and remembered. `on_challenge` is shown where a user can
    grant what is missing; the call then waits for it.
    """

    def __init__(
        self,
        base_url: str,
        *,
        auth: Credentials | str | None = None,
        tokens: Tokens | None = None,
        secrets: Secrets | None = None,
        user_id: str | None = None,
        patience: OxpRetryPolicy | None = None,
        repeats: int = 0,
        envelope: Literal["auto"] | Shape = "auto",
        on_challenge: Callable[[AuthChallenge], Awaitable[None] | None] | None = None,
        kit: str = "Remote",
        limit: int = 64 * MIB,
        session: aiohttp.ClientSession | None = None,
    ) -> None:
        self._patience = patience or OxpRetryPolicy()
        self._http = OxpTransport(
            base_url,
            ApiKey(auth) if isinstance(auth, str) else auth,
            self._patience,
            limit=limit,
            session=session,
        )
        self._tokens, self._secrets, self._user_id = tokens, secrets, user_id
        self._repeats, self._on_challenge, self._kit = repeats, on_challenge, kit
        self._shapes: tuple[Shape, ...] = (
            ("enveloped", "unnamed", "bare") if envelope == "auto" else (envelope,)
        )
        self._listed: dict[str, ToolDefinition] | None = None

    def __repr__(self) -> str:
        return f"OxpClient({str(self._http.base)!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    # --- what there is ----------------------------------------------------------------------------

    async def health(self) -> bool:
        """Whether the server takes calls. False as well if it does not answer."""
        try:
            raw = await self._http.peek(f"{str(self._http.base).rstrip('/')}{PATHS['health']}")
        except (ServerUnavailable, InvalidResponse):
            return False
        return 200 <= raw.status < 300

    async def list(self) -> tuple[ToolDefinition, ...]:
        """The server's tools, asked anew."""
        raw = await self._http.send("GET", PATHS["list"], headers=_HEADERS)
        if raw.status != 200:
            raise refused(raw)
        found = definitions(raw, self._kit)
        self._listed = {one.called: one for one in found}
        return found

    def _definition(self, tool_id: str) -> ToolDefinition | None:
        """The definition that a tool id means, if it has been listed: the newest one for an id
        without a version."""
        listed = self._listed or {}
        if tool_id in listed:
            return listed[tool_id]
        wanted = ToolId.read(tool_id) if len(tool_id) <= _LONGEST_ID else None
        found = [
            one for one in listed.values() if wanted is not None and one.id.plain == wanted.plain
        ]
        if wanted is not None and wanted.version is not None:
            found = [one for one in found if one.id.version == wanted.version]
        return max(found, key=lambda one: one.id.version or Version(0), default=None)

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
        """What the tool gives.

        Raises ToolCallFailed, MissingRequirements, InvalidInput, ToolNotFound, Unauthenticated,
        ServerUnavailable: all OxpErrors.
        """
        reply = await self.ask(
            tool_id,
            input,
            call_id=call_id,
            user_id=user_id,
            tokens=tokens,
            secrets=secrets,
            trace_id=trace_id,
        )
        return reply.value

    async def ask(
        self,
        tool_id: str,
        input: Mapping[str, JSON] | None = None,
        *,
        call_id: str | None = None,
        user_id: str | None = None,
        tokens: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        trace_id: str | None = None,
        repeats: int | None = None,
    ) -> CallResponse:
        """As `call`, with the call id it ran under and whether the answer is a recorded one."""
        call_id = call_id or uuid7()
        left = self._repeats if repeats is None else repeats
        challenged = False
        while True:
            context = await self._context(tool_id, user_id, tokens, secrets)
            try:
                return await self._sent(
                    _RemoteCall(tool_id, dict(input or {}), context, trace_id), call_id
                )
            except ToolCallFailed as failed:
                wait = (failed.retry_after_ms or 0) / 1000
                if not failed.can_retry or left <= 0 or wait > self._patience.longest:
                    raise
                left -= 1
                await asyncio.sleep(wait)
                call_id = uuid7()  # it ran: the next time is another call
            except MissingRequirements as lacking:
                if challenged or self._on_challenge is None or not lacking.challenges:
                    raise
                challenged = True
                if not all([await self._granted(one) for one in lacking.challenges]):
                    raise

    async def _sent(self, call: _RemoteCall, call_id: str) -> CallResponse:
        """The answer to a call, in the first shape that the server understands."""
        first: RawResponse | None = None
        for shape in self._shapes:
            raw = await self._http.send(
                "POST", PATHS["call"], dump(_body(call, call_id, shape)), _HEADERS
            )
            if raw.status == 200:
                self._shapes = (shape,)
                return answered(raw, call_id)
            first = first or raw
            if not _misread(raw):
                break
        assert first is not None
        error = refused(first)
        if isinstance(error, ServerUnavailable | ToolNotFound) or type(error) is not BadRequest:
            raise error
        if await self._unknown(call.tool):
            raise ToolNotFound(
                error.message, developer_message=error.developer_message, status=error.status
            )
        raise error

    async def _unknown(self, tool_id: str) -> bool:
        """Whether the server has no such tool: the protocol has one status for this and for
        everything else."""
        try:
            await self.list()
        except OxpError:
            return False
        return self._definition(tool_id) is None

    # --- what a tool needs ------------------------------------------------------------------------

    async def _context(
        self,
        tool_id: str,
        user_id: str | None,
        tokens: Mapping[str, str] | None,
        secrets: Mapping[str, str] | None,
    ) -> Object:
        """What goes along with a call: of all that is there, what the tool declares."""
        user_id = user_id or self._user_id
        if not (user_id or tokens or secrets or self._tokens or self._secrets):
            return {}
        if self._listed is None:
            try:
                await self.list()
            except BadRequest:
                self._listed = {}
        found = self._definition(tool_id)
        if found is None:  # what was given for this very call is meant for it
            return _context(tokens or {}, secrets or {}, user_id)
        needs = found.needs
        held = {
            one.id: (tokens or {}).get(one.id) or await self._token(one, user_id)
            for one in needs.authorization
        }
        kept = {one: (secrets or {}).get(one) or await self._secret(one) for one in needs.secrets}
        lacks = MissingRequirement(
            (), tuple(id for id, value in kept.items() if not value), needs.user_id and not user_id
        )
        if lacks:  # a missing token is not among them: the server may know where to get it
            raise MissingRequirements(f"{tool_id} needs {_words(lacks)}", lacks)
        return _context(
            {id: token for id, token in held.items() if token},
            {id: value for id, value in kept.items() if value},
            user_id if needs.user_id else None,
        )

    async def _token(self, one: Authorization, user_id: str | None) -> str | None:
        if self._tokens is None or isinstance(self._tokens, Mapping):
            return (self._tokens or {}).get(one.id)
        return await _now(self._tokens(one, user_id))

    async def _secret(self, id: str) -> str | None:
        if self._secrets is None or isinstance(self._secrets, Mapping):
            return (self._secrets or {}).get(id)
        return await _now(self._secrets(id))

    async def _granted(self, challenge: AuthChallenge) -> bool:
        shown = self._on_challenge(challenge) if self._on_challenge is not None else None
        if shown is not None:
            await shown
        return await self.settled(challenge)

    async def settled(self, challenge: AuthChallenge, *, timeout: float = 300.0) -> bool:
        """Whether a user granted what a challenge asks for, once that is known. False if they did
        not within `timeout`.

        A challenge without a `check_url` cannot be asked about and counts as granted: the server
        will say.
        """
        if challenge.check_url is None:
            return True
        try:
            async with asyncio.timeout(timeout):
                while True:
                    if (known := await self._state(challenge.check_url)) is not None:
                        return known
                    await asyncio.sleep(self._patience.poll)
        except TimeoutError:
            return False

    async def _state(self, check_url: str) -> bool | None:
        """Whether a challenge was met; None while nobody knows."""
        try:
            raw = await self._http.peek(check_url)
        except ServerUnavailable:
            return None
        body = raw.json()
        status = body.get("status") if isinstance(body, dict) else None
        if raw.status == 200 and isinstance(status, str) and status in _GRANTED:
            return _GRANTED[status]
        if again(raw):
            return None
        raise InvalidResponse("the state of a challenge is unknown", status=raw.status)

    # --- its tools as local ones ------------------------------------------------------------------

    async def tools(self) -> Runnables:
        """The server's tools. Each forwards the call id, the user, and those tokens and secrets
        that it declares."""
        return [self._runnable(one) for one in await self.list()]

    def _runnable(self, found: ToolDefinition) -> Runnable:
        async def body(arguments: Mapping[str, object], context: ToolContext) -> JSON:
            return await self._forward(found, arguments, context)

        return Runnable(
            id=found.id,
            description=found.description,
            input_schema=found.input_schema,
            output_schema=found.output_schema,
            body=body,
            takes=lambda input: (
                input
            ),  # the server that knows the tool checks them, and says so before it runs
            gives=lambda value: require_json(value, "oxp"),
            needs=self._still_needed(found.needs),
            timeout=None,  # every try has its own
            on_crash="retry",  # the same call id: it is there that it runs once
            read_only=found.read_only,
            idempotent=found.idempotent,
            deprecated=found.deprecated,
            remote=True,
        )

    def _still_needed(self, needs: Requirements) -> Requirements:
        """What a caller has to bring: all but what this client has itself."""
        tokens, secrets = self._tokens, self._secrets
        return Requirements(
            tuple(
                one
                for one in needs.authorization
                if not (callable(tokens) or one.id in (tokens or {}))
            ),
            tuple(
                one for one in needs.secrets if not (callable(secrets) or one in (secrets or {}))
            ),
            needs.user_id and not self._user_id,
        )

    async def _forward(
        self, found: ToolDefinition, arguments: Mapping[str, object], context: ToolContext
    ) -> JSON:
        input = require_json(arguments, "oxp")
        assert isinstance(input, dict)
        try:
            reply = await self.ask(
                found.called,
                input,
                call_id=context.call_id,
                user_id=context.user_id,
                tokens=context.tokens,
                secrets=context.secrets,
                trace_id=context.trace_id,
                repeats=0,  # whoever called decides whether to call again
            )
        except OxpError as error:
            raise _raised(error) from error
        return reply.value


_GRANTED: dict[str, bool | None] = {"pending": None, "completed": True, "failed": False}
_HEADERS = {HEADER: VERSION, "Accept": "application/json", "Content-Type": "application/json"}


def _body(call: _RemoteCall, call_id: str, shape: Shape) -> Object:
    request: Object = {"tool_id": call.tool, "call_id": call_id, "input": call.input}
    if call.trace_id:
        request["trace_id"] = call.trace_id
    if call.context:
        request["context"] = call.context
    if shape == "bare":
        return request
    return {"$schema": SCHEMA, "request": request} if shape == "enveloped" else {"request": request}


def _misread(raw: RawResponse) -> bool:
    """Whether another shape of the same request is worth a try: refused without a word on arguments
    or requirements."""
    if raw.status not in (400, 422) or again(raw):
        return False
    error = refused(raw)
    return type(error) is BadRequest or (
        isinstance(error, InvalidInput) and not error.parameter_errors
    )


def _context(tokens: Mapping[str, str], secrets: Mapping[str, str], user_id: str | None) -> Object:
    made: Object = {}
    if tokens:
        made["authorization"] = [{"id": id, "token": token} for id, token in tokens.items()]
    if secrets:
        made["secrets"] = [{"id": id, "value": value} for id, value in secrets.items()]
    if user_id:
        made["user_id"] = user_id
    return made


def _words(lacks: MissingRequirement) -> str:
    return ", ".join(
        [*(f"the secret {one}" for one in lacks.secrets), *(["a user id"] if lacks.user_id else [])]
    )


async def _now(found: Found) -> str | None:
    return await found if inspect.isawaitable(found) else found


def _raised(error: OxpError) -> ToolError:
    """What a local tool raises for what the server said."""
    if not isinstance(error, ToolCallFailed):
        kind, extra = _KINDS.get(type(error), "server_unavailable"), _extra(error)
        if isinstance(error, InvalidResponse):
            return ToolError(
                error.message, developer_message=error.developer_message, kind=kind, extra=extra
            )
        # It did not run; or if it did, the same id asks the server for its record: either way the
        # same id may come again
        return NoEffect(
            error.message, developer_message=error.developer_message, kind=kind, extra=extra
        )
    if not error.can_retry:
        return ToolError(
            error.message,
            developer_message=error.developer_message,
            kind=error.kind,
            extra=error.extra,
        )
    return RetryableToolError(
        error.message,
        developer_message=error.developer_message,
        additional_prompt_content=error.additional_prompt_content,
        retry_after_ms=error.retry_after_ms,
        kind=error.kind,
        extra=error.extra,
    )


_KINDS: dict[type[OxpError], str] = {
    BadRequest: "bad_request",
    InvalidResponse: "broken_answer",
    InvalidInput: "invalid_input",
    MissingRequirements: "missing_requirements",
    ToolNotFound: "tool_not_found",
    Unauthenticated: "unauthenticated",
}


def _extra(error: OxpError) -> Object:
    if isinstance(error, InvalidInput):
        return {"parameter_errors": dict(error.parameter_errors)}
    if isinstance(error, MissingRequirements):
        return {"challenges": [one.json() for one in error.challenges]}
    return {}
