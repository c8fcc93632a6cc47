"""The client of an MCP request, for the tool that the request runs.

Texts of the tool are sent without lone surrogates, which the SDK cannot write: the session would
end.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar, get_args

from mcp.server.connection import allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
)
from pydantic import ValidationError

from toolwire.conversation.json import JSON, Object, replace_lone_surrogates, require_json
from toolwire.tools.client import ClientUnsupported, Elicitation, LogLevel
from toolwire.tools.errors import ToolError

_LEVELS: tuple[LogLevel, ...] = get_args(LogLevel)
_MAX_SESSIONS = 10_000
_log = logging.getLogger("toolwire.server")
ResultT = TypeVar("ResultT", ElicitResult, CreateMessageResult)


class LogLevels:
    """The log level that each session asked for with `logging/setLevel`.

    Later versions of MCP ask for a level in each request instead.
    """

    def __init__(self) -> None:
        self._by_session: OrderedDict[str, LogLevel] = OrderedDict()

    def set(self, session_id: str, level: LogLevel) -> None:
        """Send a session only messages of this level and above."""
        self._by_session[session_id] = level
        self._by_session.move_to_end(session_id)
        if len(self._by_session) > _MAX_SESSIONS:
            self._by_session.popitem(last=False)

    def allows(self, session_id: str, level: LogLevel) -> bool:
        """True if a session gets messages of this level."""
        least = self._by_session.get(session_id, "debug")
        return _LEVELS.index(level) >= _LEVELS.index(least)


class McpCallingClient:
    """Sends notifications and requests to the client of one `tools/call` request.

    Notifications to a client that has disconnected are dropped silently.
    """

    def __init__(
        self,
        ctx: ServerRequestContext[dict[str, object]],
        levels: LogLevels,
        *,
        session_id: str | None,
    ) -> None:
        self._ctx = ctx
        self._levels = levels
        self._session_id = session_id

    async def report_progress(
        self, progress: float, total: float | None, message: str | None
    ) -> None:
        text = replace_lone_surrogates(message)
        assert text is None or isinstance(text, str)
        with suppress(MCPError):
            await self._ctx.session.report_progress(progress, total, text)

    async def log(self, level: LogLevel, data: JSON, logger: str | None) -> None:
        ctx = self._ctx
        if level not in allowed_log_levels(ctx.protocol_version, ctx.meta):
            return
        if self._session_id is not None and not self._levels.allows(self._session_id, level):
            return
        params = LoggingMessageNotificationParams.model_validate(
            replace_lone_surrogates({"level": level, "data": data, "logger": logger})
        )
        with suppress(MCPError):
            await ctx.session.send_notification(
                LoggingMessageNotification(params=params), ctx.request_id
            )

    async def elicit(self, message: str, schema: Object) -> Elicitation:
        capabilities = self._ctx.session.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            raise ClientUnsupported("The client cannot ask the user for the input of this tool.")
        request = ElicitRequest(
            params=ElicitRequestFormParams.model_validate(
                replace_lone_surrogates({"message": message, "requestedSchema": schema})
            )
        )
        result = await self._request(request, ElicitResult)
        content = require_json(result.content or {}, "mcp")
        assert isinstance(content, dict)
        return Elicitation(result.action, content)

    async def sample(self, messages: Sequence[Object], max_tokens: int, options: Object) -> Object:
        capabilities = self._ctx.session.client_capabilities
        if capabilities is None or capabilities.sampling is None:
            raise ClientUnsupported("The client has no model that this tool could ask.")
        params = CreateMessageRequestParams.model_validate(
            replace_lone_surrogates(
                {**options, "messages": list(messages), "maxTokens": max_tokens}
            )
        )
        result = await self._request(CreateMessageRequest(params=params), CreateMessageResult)
        value = require_json(
            result.model_dump(mode="json", by_alias=True, exclude_none=True), "mcp"
        )
        assert isinstance(value, dict)
        return value

    async def _request(
        self, request: ElicitRequest | CreateMessageRequest, result_type: type[ResultT]
    ) -> ResultT:
        ctx = self._ctx
        related = ServerMessageMetadata(related_request_id=ctx.request_id)
        try:
            return await ctx.session.send_request(request, result_type, metadata=related)
        except NoBackChannelError:
            raise ClientUnsupported(
                "This tool asks the client a question, which this connection cannot carry."
            ) from None
        except MCPError as error:
            raise ToolError(
                "The client did not respond to a request of this tool.",
                developer_message=error.message,
                kind="client_error",
            ) from error
        except ValidationError as error:
            _log.warning("invalid response to %s", request.method, exc_info=error)
            raise ToolError(
                "The client sent an invalid response to this tool.", kind="client_error"
            ) from error
