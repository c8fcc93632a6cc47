"""Why a client cannot connect to an MCP server, as one error that says what to do.

The SDK wraps the reason in groups of its tasks and in the errors of its HTTP client.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from toolwire.errors import describe_os_error
from toolwire.providers.http.errors import ConnectError, connect_error
from toolwire.providers.http.url import parse_url


def mcp_connect_error(error: BaseException, server: str | Sequence[str]) -> ConnectError:
    """Return the error for a server that is an address or a command."""
    reason = _reason(error)
    if isinstance(server, str):
        return _address_error(reason, server)
    return _command_error(reason, server[0])


def _reason(error: BaseException) -> BaseException:
    """The error of the operating system if there is one, else the error of the protocol."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        return error
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError) or (isinstance(cause, OSError) and cause.errno):
            return cause
        cause = cause.__cause__ or cause.__context__
    return error


def _address_error(reason: BaseException, address: str) -> ConnectError:
    url = parse_url(address)
    if isinstance(reason, OSError):
        found = connect_error(reason, url.origin)
    else:
        found = ConnectError(f"{url.origin}: {reason}")
    text = str(found)
    if found.refused:
        text += "; start the MCP server, or correct the address"
    if url.path == "/":
        text += "; most MCP servers have a path, such as /mcp"
    return ConnectError(text, reason=found.reason, refused=found.refused, permanent=found.permanent)


def _command_error(reason: BaseException, program: str) -> ConnectError:
    if isinstance(reason, OSError):
        why = describe_os_error(reason)
        return ConnectError(f"cannot start {program}: {why}", permanent=True)
    if isinstance(reason, MCPError) and reason.code == CONNECTION_CLOSED:
        return ConnectError(f"{program} ended before it answered; does it speak MCP over stdio?")
    return ConnectError(f"{program}: {reason}")
