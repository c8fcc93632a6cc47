"""Look for bytes that break a server: requests to the gateway, the tool server and the mock.

    python scripts/fuzz_http.py                  # a minute, every server
    python scripts/fuzz_http.py --seconds 600 --server gateway --seed 7

A request has a path that the server knows, headers, and the body of a case, mutated as in
`scripts/fuzz.py`. Its framing may be broken: wrong lengths, chunks, several requests at once, an end
in the middle. Some connections stay open and send nothing more. No response may be an internal error
(5xx other than 503), no exception may be logged, no connection may hang, and memory stays bounded.
Finds are saved in tests/finds/http, where tests/server/test_http_finds.py replays them. Exits 1 if
something was found.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import socket
import sys
import time
from collections import deque
from pathlib import Path

from fuzz import FINDS, ROOT, Mutator

sys.path.insert(0, str(ROOT / "tests"))

from http_probe import LIMITS, SERVERS, Probe, probing  # after the path

from toolwire.conversation.json import JSON, Object

HTTP_FINDS = FINDS / "http"
MAX_GROWTH = 300 * 1024 * 1024
"""Bytes by which this process, which runs the servers, may grow."""
PATHS: dict[str, dict[str, tuple[str, ...]]] = {
    "gateway": {
        "openai-chat": ("/v1/chat/completions", "/chat/completions"),
        "openai-responses": ("/v1/responses", "/v1/responses/compact"),
        "anthropic": ("/v1/messages", "/v1/messages/count_tokens"),
        "gemini": (
            "/v1beta/models/demo:generateContent",
            "/v1beta/models/demo:streamGenerateContent?alt=sse",
            "/v1beta/models/demo:countTokens",
        ),
        "gemini-interactions": ("/v1beta/interactions",),
        "bedrock": ("/model/demo/converse", "/model/demo/converse-stream"),
        "cohere": ("/v2/chat",),
        "ollama": ("/api/chat",),
        "ai-sdk": ("/ai-sdk/chat",),
        "mistral": (
            "/mistral/v1/chat/completions",
            "/v1/embeddings",
            "/v1/models",
            "/api/tags",
            "/",
            "/health",
            "/metrics",
        ),
    },
    "tools": {"oxp": ("/tools/call", "/call", "/tools"), "mcp": ("/mcp", "/health", "/metrics")},
    "mock-openai-chat": {"openai-chat": ("/v1/chat/completions", "/v1/models")},
    "mock-anthropic": {"anthropic": ("/v1/messages", "/v1/messages/count_tokens")},
    "mock-gemini": {"gemini": ("/v1beta/models/gemini-3-pro:generateContent",)},
}
METHODS = (b"POST",) * 12 + (
    b"GET",
    b"PUT",
    b"DELETE",
    b"OPTIONS",
    b"HEAD",
    b"PATCH",
    b"post",
    b"X",
)
HEADERS: tuple[bytes, ...] = (
    b"Authorization: Bearer k",
    b"x-api-key: k",
    b"x-goog-api-key: k",
    b"anthropic-version: 2023-06-01",
    b"Accept: text/event-stream, application/json",
    b"Accept: */*",
    b"Content-Type: text/plain",
    b"Content-Encoding: gzip",
    b"Expect: 100-continue",
    b"Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13",
    b"Mcp-Session-Id: 1",
    b"MCP-Protocol-Version: 2025-11-25",
    b"MCP-Protocol-Version: 2026-07-28",
    b"Last-Event-ID: 1",
    b"Idempotency-Key: \xff\xfe",
    b"traceparent: 00-x",
    b"Origin: http://evil.example",
    b"Host: evil.example",
    b"X-Long: " + b"x" * 5000,
    b"X-Empty:",
    b"Cookie: a=b",
)


MCP_METHODS = (
    *("prompts/list", "prompts/get", "resources/list", "resources/templates/list"),
    *("resources/read", "completion/complete", "resources/subscribe"),
)
TEXTS = ("", "x", "1", "%2e%2e", "%ff%00", "\ud800", "9" * 5000, "[" * 5000, "{}", "é" * 1000)
"""Arguments of prompts and resources."""


class RequestMaker:
    """Makes requests to one server."""

    def __init__(self, server: str, chance: random.Random) -> None:
        self._chance = chance
        self._paths = PATHS[server]
        self._mutators = {wire: Mutator(wire, chance) for wire in self._paths}

    def draw(self) -> bytes:
        """One or several requests on one connection."""
        count = self._chance.choice((1, 1, 1, 1, 2, 5))
        raw = b"".join(self._request() for _ in range(count))
        if self._chance.random() < 0.1:
            raw = raw[: self._chance.randrange(len(raw))]
        if self._chance.random() < 0.05:
            place = self._chance.randrange(len(raw))
            raw = raw[:place] + self._chance.randbytes(3) + raw[place + 3 :]
        return raw

    def _request(self) -> bytes:
        chance = self._chance
        wire = chance.choice(list(self._paths))
        path = chance.choice(self._paths[wire])
        if chance.random() < 0.05:
            path += chance.choice(("/", "/..", "?x=%ff", "%00", "é", "/" + "x" * 3000, "#a"))
        head = [chance.choice(METHODS) + b" " + path.encode() + b" HTTP/1.1", b"Host: localhost"]
        if chance.random() < 0.9:
            head.append(b"Content-Type: application/json")
        head += chance.sample(HEADERS, chance.choice((0, 0, 1, 1, 2, 4)))
        return self._frame(head, self._body(wire))

    def _mcp_request(self) -> Object:
        """The method of a request; for prompts, resources and completions also its parameters."""
        chance = self._chance
        if chance.random() < 0.7:
            return {"method": "tools/call"}
        text = chance.choice(TEXTS)
        argument: Object = {"name": chance.choice(("text", "times", text)), "value": text}
        references: tuple[Object, ...] = (
            {"type": "ref/prompt", "name": "quote"},
            {"type": "ref/resource", "uri": "echo://{text}/{number}"},
            {"type": text},
        )
        inputs: tuple[JSON, ...] = ({"text": text}, {"text": "x", "times": text}, text)
        params: Object = {
            "name": chance.choice(("quote", text)),
            "arguments": chance.choice(inputs),
            "uri": chance.choice((f"echo://{text}/1", f"echo://x/{text}", text)),
            "ref": chance.choice(references),
            "argument": argument,
        }
        return {"method": chance.choice(MCP_METHODS), "params": params}

    def _body(self, wire: str) -> bytes:
        chance = self._chance
        body = self._mutators[wire].draw()[0].body
        if isinstance(body, dict):
            if chance.random() < 0.9:
                body["model"] = "demo"
            if chance.random() < 0.4:
                body["stream"] = chance.choice((True, True, False, None, "yes"))
            if wire == "mcp":
                body = {"jsonrpc": "2.0", "id": 1, **self._mcp_request(), **body}
        raw = json.dumps(body).encode()
        match chance.randrange(30):
            case 0:
                return raw[: len(raw) // 2]
            case 1:
                return b"\xef\xbb\xbf" + raw
            case 2:
                return json.dumps(body).encode("utf-16")
            case 3:
                return b"[" * 100_000
            case 4:
                return raw.replace(b"1", b"9" * 5000, 1)
            case 5:
                return chance.randbytes(100)
            case 6:
                return b""
        return raw

    def _frame(self, head: list[bytes], body: bytes) -> bytes:
        """A request with its length, in chunks, or with a wrong length."""
        chance = self._chance
        length = b"Content-Length: %d" % len(body)
        match chance.randrange(16):
            case 0 | 1 | 2:
                size = chance.choice((1, 7, 1000))
                parts = [body[at : at + size] for at in range(0, min(len(body), 400 * size), size)]
                body = (
                    b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
                )
                length = b"Transfer-Encoding: chunked"
            case 3:
                length = b"Content-Length: %d" % (len(body) + chance.choice((-1, 1, 100)))
            case 4:
                length = chance.choice(
                    (
                        b"Content-Length: -1",
                        b"Content-Length: 99999999999999999999",
                        b"Content-Length: 1\r\nContent-Length: 2",
                        b"Transfer-Encoding: chunked\r\nContent-Length: 5",
                        b"Transfer-Encoding: gzip",
                        b"X: no length",
                    )
                )
        return b"\r\n".join([*head, length, b"", body])


def fuzz(name: str, seconds: float, seed: int) -> int:
    """Send requests to a server for some time. Returns the number of different finds."""
    maker = RequestMaker(name, random.Random(seed))
    known: set[str] = set()
    count, base = 0, 0
    silent: deque[socket.socket] = deque()
    with probing(name) as probe:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            raw = maker.draw()
            count += 1
            problem = probe.problem(raw)
            if problem is None and count % 20 == 0:
                _open_silent(silent, probe, raw)
            if count % 200 == 0:
                base = base or _memory()
                if _memory() > base + MAX_GROWTH:
                    problem = "memory"
                elif not probe.is_healthy():
                    problem = "not healthy"
            if problem is not None and problem not in known:
                known.add(problem)
                save(name, raw, problem)
        for connection in silent:
            connection.close()
        growth = (_memory() - base) >> 20 if base else 0
    print(f"{name}: {count} connections, {len(known)} finds, {growth} MiB more, seed {seed}")
    return len(known)


def _open_silent(silent: deque[socket.socket], probe: Probe, raw: bytes) -> None:
    """Open a connection that sends the start of a request and nothing more."""
    connection = socket.create_connection(probe.server.address, timeout=5)
    silent.append(connection)
    connection.send(raw[: len(raw) // 3])
    if len(silent) > LIMITS.connections // 2:
        silent.popleft().close()


def _memory() -> int:
    """Bytes that this process uses."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


def save(name: str, raw: bytes, problem: str) -> None:
    """Write a find for the tests to replay."""
    HTTP_FINDS.mkdir(parents=True, exist_ok=True)
    digest = hashlib.blake2b(raw, digest_size=4).hexdigest()
    file = HTTP_FINDS / f"{name}-{digest}.bin"
    file.write_bytes(raw)
    print(f"{name}: {problem}\n  {file.relative_to(ROOT)}", flush=True)


def main() -> int:
    """Parse the command line and run. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Look for bytes that break a server.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--server", action="append", choices=SERVERS, help="only this server")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    names = options.server or SERVERS
    return 1 if sum(fuzz(name, options.seconds / len(names), seed) for name in names) else 0


if __name__ == "__main__":
    sys.exit(main())
