"""What every real client goes through: its own environment, a gateway over strict mocks, and the proof.

A client is installed by its package name into a folder of `.clients`, once. It talks to the gateway
as its users do; nothing of it is changed but the address. What counts is what the upstream got in
the end: each call with the result that belongs to it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from gateway.serving import Doors
from msgspec import Struct

from toolwire import decode
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Media, Result
from toolwire.mock.server import MockRequest

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = ROOT / ".clients"
RESULTS = CLIENTS / "results"
UPSTREAMS = ("openai-chat", "anthropic", "gemini")
MODELS = {"openai-chat": "gpt-4.1", "anthropic": "claude-opus-5", "gemini": "gemini-3-pro"}
"""A model of each upstream. The one of Gemini takes images in results."""
SYSTEM_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
CLOSING = "All is done."
INSTALL_SECONDS = 900
RUN_SECONDS = 120


class Client(Struct, frozen=True):
    """A client: where it comes from, and the client API of the gateway that it uses."""

    name: str
    registry: str
    """`pypi` or `npm`."""
    packages: tuple[str, ...]
    """What is installed; the version of the first one is shown."""
    apis: tuple[str, ...]
    streams: tuple[bool, ...] = (False, True)
    """Whether it can be told to ask for whole answers, and for streamed ones."""

    @property
    def folder(self) -> Path:
        """Its environment."""
        return CLIENTS / self.name

    def program(self, name: str) -> str:
        """The path of a program of its environment."""
        below = "bin" if self.registry == "pypi" else "node_modules/.bin"
        return str(self.folder / below / name)

    @property
    def python(self) -> str:
        """The interpreter of its environment."""
        return self.program("python")


class Cell(Struct, frozen=True):
    """A conversation that a client has."""

    client: Client
    api: str
    upstream: str
    stream: bool

    def __str__(self) -> str:
        form = "streamed" if self.stream else "whole"
        return f"{self.client.name}-{self.api}-{self.upstream}-{form}"

    @property
    def model(self) -> str:
        """The name of the model it asks for."""
        return MODELS[self.upstream]


def cells(clients: Sequence[Client]) -> list[Cell]:
    """Every client with every API it has, every upstream, whole and streamed."""
    return [
        Cell(client, api, upstream, stream)
        for client in clients
        for api in client.apis
        for upstream in UPSTREAMS
        for stream in client.streams
    ]


# --- environments ---------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    """The environment variables of an installation: Node trusts the certificates of the system."""
    more = {}
    if SYSTEM_CERTIFICATES.exists():
        more["NODE_EXTRA_CA_CERTS"] = str(SYSTEM_CERTIFICATES)
    return {**more, **os.environ}


def install(client: Client) -> None:
    """Install a client into its folder, once; skip the test with the reason if that fails."""
    CLIENTS.mkdir(exist_ok=True)
    with (CLIENTS / f"{client.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (client.folder / "ready").exists():
            reason = _try_install(client)
            (CLIENTS / f"{client.name}.reason").write_text(reason)
            if not reason:
                (client.folder / "ready").touch()
    if not (client.folder / "ready").exists():
        reason = (CLIENTS / f"{client.name}.reason").read_text()
        pytest.skip(f"{client.name} cannot be installed: {reason}")


@cache
def _try_install(client: Client) -> str:
    """Why a client cannot be installed; empty if it is."""
    if client.registry == "npm" and shutil.which("npm") is None:
        return "no npm"
    try:
        for command in _install_commands(client):
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=INSTALL_SECONDS, env=environment()
            )
            if done.returncode:
                return (done.stderr.strip() or done.stdout.strip())[-300:]
    except subprocess.TimeoutExpired:
        return f"not finished after {INSTALL_SECONDS} seconds"
    return ""


def _install_commands(client: Client) -> list[list[str]]:
    folder = str(client.folder)
    if client.registry == "npm":
        options = ["--no-package-lock", "--no-audit", "--no-fund", "--loglevel", "error"]
        return [["npm", "install", "--prefix", folder, *options, *client.packages]]
    pip = [client.python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    return [[sys.executable, "-m", "venv", folder], [*pip, *client.packages]]


def version_of(client: Client) -> str:
    """The version of the first package of a client."""
    package = client.packages[0].partition("[")[0]
    if client.registry == "npm":
        manifest = client.folder / "node_modules" / package / "package.json"
        return str(json.loads(manifest.read_bytes())["version"])
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([client.python, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


# --- conversations --------------------------------------------------------------------------------


class ClientRun(Struct, frozen=True):
    """What a program printed, and the requests that the upstream got from it."""

    output: str
    errors: str
    requests: list[MockRequest]

    def conversation(self, upstream: str) -> Conversation:
        """The longest history that the upstream got."""
        bodies = [request.body for request in self.requests if isinstance(request.body, dict)]
        assert bodies, f"no request came\n{self.output[-2000:]}\n{self.errors[-2000:]}"
        return max(
            (decode(body, upstream) for body in bodies), key=lambda history: len(history.calls())
        )

    def refusals(self) -> list[MockRequest]:
        """Requests that the upstream refused."""
        return [request for request in self.requests if request.status >= 400]


def run(
    door: Doors,
    cell: Cell,
    command: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    given: str = "",
) -> ClientRun:
    """Run a program of a client in a folder that is also its home, and collect its requests."""
    mock = door.mocks[cell.upstream]
    mock.requests.clear()
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    done = subprocess.run(
        list(command),
        cwd=folder,
        env={**kept, "HOME": str(folder), "NO_PROXY": "127.0.0.1", **env},
        input=given,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )
    return ClientRun(done.stdout, done.stderr, list(mock.requests))


class ExpectedCall(Struct, frozen=True):
    """A call that is made, and what its result must hold."""

    tool: str
    arguments: Object
    holds: str
    image: bool = False


def directives(*steps: Sequence[ExpectedCall]) -> str:
    """The prompt that makes the model call these tools, step after step."""
    calls = [
        " ".join(f"[[call {call.tool} {json.dumps(call.arguments)}]]" for call in step)
        for step in steps
    ]
    return " [[then]] ".join([*calls, f"[[text {CLOSING}]]"])


def check(
    cell: Cell,
    finished: ClientRun,
    *steps: Sequence[ExpectedCall],
    closings: tuple[str, ...] = (CLOSING,),
) -> None:
    """Each call of the steps reached the upstream again, with the result that belongs to it."""
    refused = [(one.path, one.status, one.rule) for one in finished.refusals()]
    assert not refused, refused
    history = finished.conversation(cell.upstream)
    pairs = history.pairs()
    for call in (call for step in steps for call in step):
        found = [
            pair.result
            for pair in pairs
            if pair.call is not None and _is_call(call, pair.call.name, pair.call.input)
        ]
        assert len(found) == 1, (call, [pair.call for pair in pairs], finished.errors[-2000:])
        assert found[0] is not None, f"{call.tool} {call.arguments} has no result"
        _check_result(call, found[0], history)
    assert any(closing in finished.output for closing in closings), (
        finished.output[-2000:] + finished.errors[-2000:]
    )


def _is_call(expected: ExpectedCall, name: str, arguments: JSON) -> bool:
    """Clients may add arguments of their own, and prefixes to names."""
    return (
        name.endswith(expected.tool)
        and isinstance(arguments, dict)
        and expected.arguments.items() <= arguments.items()
    )


def _check_result(expected: ExpectedCall, result: Result, history: Conversation) -> None:
    assert expected.holds in result.text, (expected, result.text[:500])
    if expected.image:
        images = [part for message in history.messages for part in message.parts]
        parts = result.output if isinstance(result.output, tuple) else ()
        assert any(isinstance(part, Media) for part in (*images, *parts)), result


@contextmanager
def record_cell(cell: Cell) -> Iterator[None]:
    """Record the outcome of a cell, for the page."""
    row: dict[str, str] = {"client": cell.client.name, "api": cell.api, "upstream": cell.upstream}
    row |= {"form": "streamed" if cell.stream else "whole", "problem": ""}
    row["version"] = version_of(cell.client)
    try:
        yield
    except BaseException as error:
        row["problem"] = (str(error) or type(error).__name__).splitlines()[0][:300]
        raise
    finally:
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f"{cell}.json").write_text(json.dumps(row))
