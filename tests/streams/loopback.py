"""A real HTTP server on loopback that answers every request with one stream, in the given pieces.

    with serve(restream(events, "anthropic", "openai-chat"), "text/event-stream") as server:
        client = OpenAI(base_url=server.url + "/v1", api_key="none")

`server.requests` has the requests of clients. Knows no wire.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import create_connection
from threading import Event, Thread

from msgspec import Struct

from toolwire.conversation.json import JSON


class Request(Struct, frozen=True):
    """The request of a client."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> JSON:
        """The body, parsed."""
        value: JSON = json.loads(self.body)
        return value


class Server(Struct, frozen=True):
    """The URL without a slash at the end, and the requests so far."""

    url: str
    requests: list[Request]


@contextmanager
def serve(
    pieces: Iterable[bytes],
    content_type: str = "text/event-stream",
    *,
    headers: Mapping[str, str] | None = None,
    status: int = 200,
    cut: bool = False,
) -> Iterator[Server]:
    """A server whose response to any request, under any path, is these pieces, each sent separately.

    With `cut`, the socket closes after the last piece, and the response does not end.
    """
    sent = list(pieces)
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            requests.append(
                Request(
                    self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body
                )
            )
            self.send_response(status)
            response_headers = {
                "content-type": content_type,
                **{k.lower(): v for k, v in (headers or {}).items()},
            }
            for name, value in {
                **response_headers,
                "transfer-encoding": "chunked",
                "connection": "close",
            }.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(ConnectionError):  # a client may leave early
                for piece in sent:
                    if piece:
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                        self.wfile.flush()
                if not cut:
                    self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True

        do_GET = do_POST = do_PUT = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    where = ("127.0.0.1", server.server_address[1])
    over = Event()

    def listen() -> (
        None
    ):  # without looking up every few milliseconds, as `serve_forever` does: there may be hundreds
        while not over.is_set():
            server.handle_request()

    thread = Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{where[1]}", requests)
    finally:
        over.set()
        create_connection(where).close()
        thread.join()
        server.server_close()
