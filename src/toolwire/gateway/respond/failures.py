"""Responses of an upstream that cannot be used."""

from __future__ import annotations

from toolwire.errors import InputError
from toolwire.gateway.errors import UpstreamFailed
from toolwire.gateway.forward import SEND_AGAIN, connection_failure
from toolwire.providers.http.upstream import CONNECTION_ERRORS
from toolwire.streaming.events import StreamError
from toolwire.wires.engine.stream import STREAM_CUT

UNREADABLE = (*CONNECTION_ERRORS, InputError, ValueError)
"""The exceptions for a response that breaks off, is not valid on its wire, or is too large."""
_STATUS_BY_CODE = {
    "overloaded_error": 529,
    "overloaded": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "resource_exhausted": 429,
    "throttlingexception": 429,
    "serviceunavailableexception": 503,
    "unavailable": 503,
    "timeout_error": 504,
    "timeout": 504,
    "modeltimeoutexception": 504,
    "deadline_exceeded": 504,
}
"""The status of an error event that starts a stream, by its code in lower case."""


_CHECK_ADDRESS = "check the base_url of the model"


def broken_response(error: BaseException, provider: str) -> UpstreamFailed:
    """A response that breaks off."""
    failure = connection_failure(error, f"the response of {provider} broke off")
    return UpstreamFailed(f"{failure.message}; {SEND_AGAIN}", failure.status)


def unreadable_response(error: Exception, provider: str) -> UpstreamFailed:
    """A response that breaks off or cannot be read."""
    if isinstance(error, CONNECTION_ERRORS):
        return broken_response(error, provider)
    if isinstance(error, InputError):
        return UpstreamFailed(f"the response of {provider} is invalid: {error}", 502)
    return UpstreamFailed(str(error), 502)


def is_page(data: bytes) -> bool:
    """True for HTML, which proxies and login pages send instead of an API response."""
    return data.lstrip()[:1] == b"<"


def wrong_content(data: bytes, provider: str, *, expected: str) -> UpstreamFailed:
    """A response with status 200 that is not a JSON object, or not a stream."""
    if is_page(data):
        found, advice = "HTML", _CHECK_ADDRESS
    elif not data.strip():
        found, advice = "an empty body", f"{SEND_AGAIN}, or {_CHECK_ADDRESS}"
    else:
        found, advice = "something else", _CHECK_ADDRESS
    return UpstreamFailed(
        f"{provider} returned {found} instead of {expected} (status 200); {advice}", 502
    )


def cut_message(provider: str) -> str:
    """The error of a stream that ends before its last event."""
    return f"{provider}: {STREAM_CUT}; {SEND_AGAIN}"


def stream_failure(fault: StreamError, provider: str) -> UpstreamFailed:
    """An error event as the failure of an upstream. Its code decides the status, not its text."""
    if fault.cut:
        return UpstreamFailed(cut_message(provider), 502)
    code = fault.code or ""
    if code.isascii() and code.isdigit() and 400 <= int(code[:9]) < 600:
        status = int(code)
    else:
        status = _STATUS_BY_CODE.get(code.lower(), 502)
    return UpstreamFailed(fault.message, status)
