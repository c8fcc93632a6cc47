"""Errors between a client and a server. All of these are OSErrors."""

from __future__ import annotations

import ssl
from socket import gaierror

from toolwire.errors import ToolwireError


class ProtocolError(ToolwireError, ConnectionError):
    """A connection that broke, or a server that does not speak HTTP."""


class StaleConnection(ProtocolError):
    """A reused connection that the server had probably closed before it read the request."""


class ConnectError(ProtocolError):
    """No connection to a server. The request was not sent.

    Attributes:
        reason: Why, without the address of the server.
        refused: True if the host answered that nothing listens on this port.
        permanent: True if another try will fail in the same way.
        is_proxy: True if the server is a proxy that the environment names.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str = "there is no connection",
        refused: bool = False,
        permanent: bool = False,
        is_proxy: bool = False,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.refused = refused
        self.permanent = permanent
        self.is_proxy = is_proxy


class ConnectTimeout(ConnectError, TimeoutError):
    """A server that did not accept a connection in time. The request was not sent."""


def connect_error(error: BaseException, origin: str, *, is_proxy: bool = False) -> ConnectError:
    """The reason why there is no connection to an origin, without any secret.

    With `is_proxy`, the origin is a proxy that the environment names.
    """
    if isinstance(error, ConnectError):
        return error
    found = _connect_error(error, origin)
    if not is_proxy:
        return found
    text = f"{found}; the environment names this proxy (http_proxy, https_proxy, all_proxy)"
    reason = f"the proxy of the environment failed: {found.reason}"
    return type(found)(text, reason=reason, permanent=found.permanent, is_proxy=True)


def _connect_error(error: BaseException, origin: str) -> ConnectError:
    if isinstance(error, TimeoutError):
        reason = "no connection was accepted in time"
        return ConnectTimeout(f"{origin} did not accept a connection in time", reason=reason)
    if isinstance(error, ConnectionRefusedError):
        reason = "nothing is listening there"
        return ConnectError(f"nothing is listening at {origin}", reason=reason, refused=True)
    if isinstance(error, gaierror):
        reason = "there is no host of this name"
        return ConnectError(f"{origin}: {reason}", reason=reason)
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message
        return ConnectError(
            f"the certificate of {origin} is not trusted: {why}",
            reason=f"its certificate is not trusted: {why}",
            permanent=True,
        )
    if isinstance(error, ssl.SSLError):
        reason = f"it does not speak TLS: {error.reason}"
        return ConnectError(
            f"{origin} does not speak TLS: {error.reason}", reason=reason, permanent=True
        )
    name = error.strerror if isinstance(error, OSError) else None
    reason = f"no connection: {name or type(error).__name__}"
    return ConnectError(f"no connection to {origin}: {name or type(error).__name__}", reason=reason)
