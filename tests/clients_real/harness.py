"""The test of every real client: its own environment, a gateway over strict mocks, and the checks.

A client is installed by its package name into a folder of `.clients`, once. It uses the gateway as
its users do; only the address is changed. The checks look at the requests that reached the upstream:
each call with the result that belongs to it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest
from gateway.serving import Gateways
from msgspec import Struct

from toolwire import decode
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Media, Result, Text
from toolwire.mock.server import MockRequest

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = ROOT / ".clients"
RESULTS = CLIENTS / "results"
UPSTREAMS = ("openai-chat", "anthropic", "gemini")
MODELS = {"openai-chat": "gpt-4.1", "anthropic": "claude-opus-5", "gemini": "gemini-3-pro"}
"""A model of each upstream. The one of Gemini takes images in results."""
SYSTEM_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
NODE = "node@24"
"""The program that npm packages run on. With an older one, npm installs older clients."""
INSTALL_SECONDS = 900
RUN_SECONDS = 600


class Client(Struct, frozen=True):
    """A client: where it comes from, and the client API of the gateway that it uses."""

    name: str
    registry: str
    """`pypi` or `npm`."""
    packages: tuple[str, ...]
    """The packages to install; the version of the first one is shown."""
    apis: tuple[str, ...]
    streams: tuple[bool, ...] = (False, True)
    """Whether it can request whole responses (False) and streamed ones (True)."""

    @property
    def folder(self) -> Path:
        """The folder of its environment."""
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
    tools: str = ""
    """Where the tools come from, if they are not those of the client."""

    def __str__(self) -> str:
        return f"{self.client.name}-{self.api}-{self.upstream}-{self.form}"

    @property
    def form(self) -> str:
        """How it gets its responses, or where its tools come from."""
        return self.tools or ("streamed" if self.stream else "whole")

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


NODE_PROGRAM = Client("node", "npm", (NODE,), ())


def path_of(client: Client) -> str:
    """The folders of programs: those of the system, and Node for a client of npm."""
    folders = os.environ["PATH"]
    if client.registry != "npm" or client is NODE_PROGRAM:
        return folders
    return f"{Path(NODE_PROGRAM.program('node')).parent}{os.pathsep}{folders}"


def environment(client: Client) -> dict[str, str]:
    """The environment variables of an installation: Node trusts the certificates of the system."""
    more = {}
    if SYSTEM_CERTIFICATES.exists():
        more["NODE_EXTRA_CA_CERTS"] = str(SYSTEM_CERTIFICATES)
    return {**more, **os.environ, "PATH": path_of(client)}


def install(client: Client) -> None:
    """Install a client into its folder, once; skip the test with the reason if that fails."""
    CLIENTS.mkdir(exist_ok=True)
    if client.registry == "npm" and client is not NODE_PROGRAM:
        install(NODE_PROGRAM)
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
                command,
                capture_output=True,
                text=True,
                timeout=INSTALL_SECONDS,
                env=environment(client),
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
    return package_version(client, re.split(r"\[|(?<!^)@", client.packages[0])[0])


def package_version(client: Client, package: str) -> str:
    """The version of a package in the environment of a client."""
    if client.registry == "npm":
        manifest = client.folder / "node_modules" / package / "package.json"
        return str(json.loads(manifest.read_bytes())["version"])
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([client.python, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


# --- conversations --------------------------------------------------------------------------------


class ClientRun(Struct, frozen=True):
    """The output of a program, and the requests that it sent to the upstream."""

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
    gateways: Gateways,
    cell: Cell,
    command: Sequence[str],
    *,
    folder: Path,
    env: Mapping[str, str],
    given: str = "",
) -> ClientRun:
    """Run a program of a client in a folder that is also its home, and collect its requests."""
    mock = gateways.mocks[cell.upstream]
    mock.requests.clear()
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    kept |= {"PATH": path_of(cell.client), "HOME": str(folder), "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        list(command),
        cwd=folder,
        env={**kept, **env},
        input=given,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )
    return ClientRun(done.stdout, done.stderr, list(mock.requests))


def join(first: ClientRun, second: ClientRun) -> ClientRun:
    """Two runs of a client as one: the second shows the answer."""
    requests = [*first.requests, *second.requests]
    return ClientRun(second.output, first.errors + second.errors, requests)


class ExpectedCall(Struct, frozen=True):
    """A call, and a text that its result must contain."""

    tool: str
    arguments: Object
    holds: str
    image: bool = False


Turn: TypeAlias = Sequence[Sequence[ExpectedCall]]
"""The calls between a question and its answer: steps, each with calls that are made at once."""


def closing(number: int) -> str:
    """The text of the model at the end of a turn."""
    return f"Answer {number} is complete."


def scripts(turns: Sequence[Turn]) -> list[list[str]]:
    """The directives that make the model call the tools of each turn, and answer."""
    return [
        [*map(_directives, turn), f"[[text {closing(number)}]]"]
        for number, turn in enumerate(turns)
    ]


def _directives(step: Sequence[ExpectedCall]) -> str:
    return " ".join(f"[[call {call.tool} {json.dumps(call.arguments)}]]" for call in step)


def prompts(turns: Sequence[Turn]) -> list[str]:
    """The question of each turn."""
    return [" [[then]] ".join(script) for script in scripts(turns)]


def check(cell: Cell, finished: ClientRun, turns: Sequence[Turn]) -> None:
    """Assert that each call of the turns returned to the upstream with its own result."""
    check_answers(finished, turns)
    history = finished.conversation(cell.upstream)
    pairs = history.pairs()
    for call in (call for turn in turns for step in turn for call in step):
        found = [
            pair.result
            for pair in pairs
            if pair.call is not None and _is_call(call, pair.call.name, pair.call.input)
        ]
        assert len(found) == 1, (call, [pair.call for pair in pairs], finished.errors[-2000:])
        assert found[0] is not None, f"{call.tool} {call.arguments} has no result"
        _check_result(call, found[0], history)


def check_texts(cell: Cell, finished: ClientRun, turns: Sequence[Turn]) -> None:
    """Assert that the upstream got the results as text, from a client that sends them as text."""
    check_answers(finished, turns)
    texts = [
        part.text
        for request in finished.requests
        if isinstance(request.body, dict)
        for message in decode(request.body, cell.upstream).messages
        if message.role == "user"
        for part in message.parts
        if isinstance(part, Text)
    ]
    for call in (call for turn in turns for step in turn for call in step):
        assert any(call.holds in text for text in texts), (call, texts[-1:])


def check_answers(finished: ClientRun, turns: Sequence[Turn]) -> None:
    """Assert that no request was refused, and that the client shows the last answer."""
    refused = [(one.path, one.status, one.rule) for one in finished.refusals()]
    assert not refused, refused
    output = finished.output[-2000:]
    shown = closing(len(turns) - 1) in output
    assert shown, f"the last answer is not shown\n{output}{finished.errors[-2000:]}"


def _is_call(expected: ExpectedCall, name: str, arguments: JSON) -> bool:
    """True if a call is the expected one. Clients may add arguments, and prefixes to names."""
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
    row |= {"form": cell.form, "problem": ""}
    row["version"] = version_of(cell.client)
    try:
        yield
    except subprocess.TimeoutExpired as error:
        row["problem"] = f"not finished after {error.timeout:.0f} seconds"
        raise
    except BaseException as error:
        row["problem"] = (str(error) or type(error).__name__).splitlines()[0][:300]
        raise
    finally:
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f"{cell}.json").write_text(json.dumps(row))
