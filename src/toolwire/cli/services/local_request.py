"""Requests of commands to a server that was started nearby, with the proxy rule of the library."""

from __future__ import annotations

import urllib.request
from http.client import HTTPResponse
from urllib.parse import urlsplit

from toolwire.providers.http.url import is_loopback


def open_url(request: urllib.request.Request, timeout: float) -> HTTPResponse:
    """Send a request and return the response. A server on this machine is reached directly.

    Raises:
        OSError: There is no response, or one with an error status (`HTTPError`).
    """
    direct = is_loopback(urlsplit(request.full_url).hostname or "")
    proxies = urllib.request.ProxyHandler({} if direct else None)
    response = urllib.request.build_opener(proxies).open(request, timeout=timeout)
    assert isinstance(response, HTTPResponse)
    return response
