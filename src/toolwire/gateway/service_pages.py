"""Responses outside the client APIs: health, metrics, a page for browsers, and unknown paths."""

from __future__ import annotations

from html import escape

from toolwire.conversation.json import Object, dump
from toolwire.gateway.authenticate import authenticate_operator
from toolwire.gateway.client_apis.routes import RouteTable
from toolwire.gateway.errors import RequestRejected, raw_headers
from toolwire.gateway.observe.observer import Observer
from toolwire.gateway.request import GatewayState
from toolwire.server.asgi import RawHeaders, Request, Send, answer

_JSON: RawHeaders = ((b"content-type", b"application/json"),)
_METRICS: RawHeaders = ((b"content-type", b"text/plain; version=0.0.4; charset=utf-8"),)
_TEXT: RawHeaders = ((b"content-type", b"text/plain; charset=utf-8"), (b"vary", b"accept"))
_HTML: RawHeaders = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"vary", b"accept"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
    (b"x-content-type-options", b"nosniff"),
)
_OLLAMA = b"Ollama is running"
"""The text that clients of Ollama expect at the root, as a sign of a running server."""
_CLIENTS = (
    ("OpenAI chat completions, Responses", "/v1"),
    ("Anthropic, Gemini, Bedrock, Cohere, Ollama", ""),
    ("Mistral", "/mistral"),
    ("AI SDK useChat", "/ai-sdk/chat"),
)
"""The clients, and the path of the address that they are pointed at."""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>toolwire gateway</title><style>
body{{font:16px/1.5 system-ui,sans-serif;max-width:44em;margin:3em auto;padding:0 1em;color:#222}}
td{{padding:.2em 1em .2em 0}}code{{background:#f3f3f3;padding:.1em .3em}}
</style></head><body><h1>toolwire gateway</h1>
<p>One address in front of all models. Point a client at it:</p>
<table>{rows}</table>
<p><a href="/health">health</a> · <a href="/metrics">metrics</a> ·
<a href="/v1/models">models</a></p>
</body></html>
"""


class ServicePages:
    """The pages of one gateway."""

    def __init__(self, state: GatewayState, observer: Observer, routes: RouteTable) -> None:
        self._state = state
        self._observer = observer
        self._routes = routes
        self.draining = False
        """True if the gateway is stopping."""

    async def respond(self, http: Request, send: Send) -> None:
        """Answer a request that belongs to no client API."""
        is_read = http.method in ("GET", "HEAD")
        if http.path in ("/health", "/healthz"):
            status = "draining" if self.draining else "ok"
            code = 503 if self.draining else 200
            await answer(send, code, dump({"status": status}), _JSON)
        elif http.path == "/metrics" and http.method == "GET":
            await self._respond_metrics(http, send)
        elif http.path in ("", "/") and is_read:
            await _respond_root(http, send)
        else:
            methods = self._routes.methods(http.path)
            allow = [(b"allow", ", ".join(methods).encode())] if methods else []
            hint = (
                f"use {' or '.join(methods)}" if methods else "a browser shows the addresses at /"
            )
            message = f"{http.method} {http.path[:200]} is not served here; {hint}"
            error: Object = {"error": {"message": message, "type": "invalid_request_error"}}
            await answer(send, 405 if methods else 404, dump(error), [*_JSON, *allow])

    async def _respond_metrics(self, http: Request, send: Send) -> None:
        try:
            authenticate_operator(http, self._state)
        except RequestRejected as rejection:
            error: Object = {"error": {"message": rejection.message}}
            fields = raw_headers({"content-type": "application/json", **rejection.headers})
            await answer(send, rejection.status, dump(error), fields)
        else:
            await answer(send, 200, self._observer.render_metrics().encode(), _METRICS)


async def _respond_root(http: Request, send: Send) -> None:
    """A page for browsers; for all other clients the text that clients of Ollama expect."""
    if b"text/html" not in http.headers.get(b"accept", b""):
        await answer(send, 200, _OLLAMA, _TEXT)
        return
    host = escape(http.headers.get(b"host", b"localhost").decode("latin-1"))
    scheme = escape(str(http.scope.get("scheme", "http")))
    rows = "".join(
        f"<tr><td>{name}</td><td><code>{scheme}://{host}{path}</code></td></tr>"
        for name, path in _CLIENTS
    )
    await answer(send, 200, _PAGE.format(rows=rows).encode(), _HTML)
