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
        refused: True if the host answered that nothing listens on this port.
        permanent: True if another try will fail in the same way.
    """

    def __init__(self, message: str, *, refused: bool = False, permanent: bool = False) -> None:
        super().__init__(message)
        self.refused = refused
        self.permanent = permanent


class ConnectTimeout(ConnectError, TimeoutError):
    """A server that did not accept a connection in time. The request was not sent."""


def connect_error(error: BaseException, origin: str) -> ConnectError:
    """Describe why there is no connection to an origin, without any secret."""
    if isinstance(error, ConnectError):
        return error
    if isinstance(error, TimeoutError):
        return ConnectTimeout(f"{origin} did not accept a connection in time")
    if isinstance(error, ConnectionRefusedError):
        return ConnectError(f"nothing is listening at {origin}", refused=True)
    if isinstance(error, gaierror):
        return ConnectError(f"{origin}: there is no host of this name")
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message
        return ConnectError(f"the certificate of {origin} is not trusted: {why}", permanent=True)
    if isinstance(error, ssl.SSLError):
        return ConnectError(f"{origin} does not speak TLS: {error.reason}", permanent=True)
    reason = error.strerror if isinstance(error, OSError) else None
    return ConnectError(f"no connection to {origin}: {reason or type(error).__name__}")
