"""`make bench-peers`: compare the gateway with others under the same load and model server.

Each gateway is one process, configured as its documentation says for one Anthropic model, with no
option that it does not need. Most serve a chat client; a gateway that only forwards its own wire
serves an Anthropic client, and is compared with toolwire's gateway for such a client. Every request
is a new conversation. Before a gateway is measured, it must respond correctly, whole and streamed:
status 200, with the call of the model. A gateway that is not installed, does not start or responds
incorrectly is left out, and the page says why.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import sys
import tempfile
from asyncio import wait_for
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from secrets import token_hex
from time import monotonic, perf_counter, sleep

import uvloop
from gateway_cpu import CONNECTIONS, OURS
from load import Order, measure
from marks import least
from msgspec import Struct
from processes import Server, Turns, client, in_turns, process, server

ROOT = Path(__file__).parents[1]
PEERS = ROOT / ".peers"
PAGE = ROOT / "docs" / "reference" / "bench-peers.md"
START = 90.0
"""Seconds in which a peer must listen."""
KINDS = (("whole answers", "whole"), ("streams of 50 events, one by one", "stream"))
KEY = f"sk-{token_hex(24)}"
"""The key of litellm, which does not start without one unless an option allows that."""
OUR_REQUESTS = {"whole": 2400, "stream": 480}


_ADDRESS = re.compile(r"^http://127\.0\.0\.1:(\d+)/", re.MULTILINE)


class Absent(Exception):
    """Why a peer is left out."""


class Peer(Struct, frozen=True, kw_only=True):
    """Another gateway."""

    name: str
    limit: float
    """The minimum rate of toolwire's gateway, in multiples of the peer's."""
    requests: dict[str, int]
    """Requests per round; their number makes the round about as long as that of toolwire's
    gateway."""
    command: Callable[[str, int, Path], list[str]]
    """Returns the command for a model server, a port and a folder for settings. Raises Absent."""
    environment: dict[str, str]
    headers: Callable[[str], dict[str, str]]
    version: Callable[[], str]
    wire: str = "openai-chat"
    """The wire of the client; `anthropic` for a gateway that does not translate."""
    model: str = "m"
    prefix: str = ""
    """The start of the paths of its API."""
    chooses_port: bool = False
    """True if it chooses its port itself, and prints its address."""

    def order(self, kind: str, port: int, base: str, connections: int, requests: int) -> Order:
        """Requests of a client to this gateway, which is in front of the model at `base`."""
        return Order(
            kind,
            port,
            connections,
            requests,
            headers=self.headers(base),
            wire=self.wire,
            model=self.model,
            prefix=self.prefix,
        )


class PeerResults(Struct, frozen=True):
    """The measurements of all gateways."""

    turns: dict[str, Turns]
    """The measurements by the kind of request."""
    seconds: dict[str, float]
    """Seconds from the start of each peer to its first correct response."""
    megabytes: dict[str, float]
    absent: dict[str, str]


def _litellm(base: str, port: int, folder: Path) -> list[str]:
    command = PEERS / "litellm" / "bin" / "litellm"
    if not command.exists():
        raise Absent("not installed")
    settings = folder / "litellm.json"  # JSON is YAML
    model = {"model": "anthropic/claude-sonnet-4-5", "api_base": base, "api_key": "any"}
    models = [{"model_name": "m", "litellm_params": model}]
    settings.write_text(json.dumps({"model_list": models, "general_settings": {"master_key": KEY}}))
    return [
        str(command),
        "--config",
        str(settings),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--num_workers",
        "1",
    ]


def _package_version(folder: str, package: str) -> str:
    found = (PEERS / folder).glob(f"lib/*/site-packages/{package}-*.dist-info")
    return next((path.name.removesuffix(".dist-info").partition("-")[2] for path in found), "")


def _llm_rosetta(base: str, port: int, folder: Path) -> list[str]:
    command = PEERS / "llm-rosetta" / "bin" / "llm-rosetta-gateway"
    if not command.exists():
        raise Absent("not installed")
    settings = folder / "llm-rosetta.jsonc"
    anthropic = {"api_key": "any", "base_url": base}
    address = {"host": "127.0.0.1", "port": port, "open_on_no_keys": True}
    settings.write_text(
        json.dumps(
            {"providers": {"anthropic": anthropic}, "models": {"m": "anthropic"}, "server": address}
        )
    )
    data = ["--data-dir", str(folder / "llm-rosetta")]
    return [str(command), "--config", str(settings), "--no-banner", "--log-level", "error", *data]


def _smg(base: str, port: int, folder: Path) -> list[str]:
    command = PEERS / "smg" / "bin" / "smg"
    if not command.exists():
        raise Absent("not installed")
    address = ["--host", "127.0.0.1", "--port", str(port)]
    metrics = ["--prometheus-port", str(_free())]
    backend = ["--backend", "anthropic", "--worker-urls", base]
    return [str(command), "launch", *address, *metrics, *backend]


def _tensorzero(base: str, port: int, folder: Path) -> list[str]:
    python = PEERS / "tensorzero" / "bin" / "python"
    if not python.exists():
        raise Absent("not installed")
    settings = folder / "tensorzero.toml"
    settings.write_text(
        f"""
        [gateway]
        observability.enabled = false
        [models.m]
        routing = ["anthropic"]
        [models.m.providers.anthropic]
        type = "anthropic"
        model_name = "claude-sonnet-4-5"
        api_base = "{base}/v1"
        """
    )
    return [str(python), str(ROOT / "bench" / "tensorzero_gateway.py"), str(settings)]


_PORTKEY = PEERS / "portkey" / "node_modules" / "@portkey-ai" / "gateway"


def _portkey(base: str, port: int, folder: Path) -> list[str]:
    node, script = shutil.which("node"), _PORTKEY / "build" / "start-server.js"
    if node is None or not script.exists():
        raise Absent("not installed")
    return [node, str(script), f"--port={port}", "--headless"]


def _portkey_version() -> str:
    file = _PORTKEY / "package.json"
    return str(json.loads(file.read_text())["version"]) if file.exists() else ""


ALL = (
    Peer(
        name="litellm",
        limit=10.0,
        requests={"whole": 96, "stream": 32},
        command=_litellm,
        # Its prices come with it, and need not be fetched while it starts.
        environment={"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"},
        headers=lambda base: {"authorization": f"Bearer {KEY}"},
        version=lambda: _package_version("litellm", "litellm"),
    ),
    Peer(
        name="Portkey",
        limit=3.0,
        requests={"whole": 640, "stream": 160},
        command=_portkey,
        environment={"NODE_ENV": "production"},
        headers=lambda base: {
            "authorization": "Bearer any",
            "x-portkey-provider": "anthropic",
            "x-portkey-custom-host": f"{base}/v1",
        },
        version=_portkey_version,
    ),
    Peer(
        name="llm-rosetta",
        limit=1.0,
        requests={"whole": 160, "stream": 48},
        command=_llm_rosetta,
        environment={},
        headers=lambda base: {},
        version=lambda: _package_version("llm-rosetta", "llm_rosetta"),
    ),
    Peer(
        name="smg",
        limit=0.0,
        requests={"whole": 2400, "stream": 480},
        command=_smg,
        environment={},
        headers=lambda base: {"x-api-key": "any", "anthropic-version": "2023-06-01"},
        version=lambda: _package_version("smg", "smg"),
        wire="anthropic",
    ),
    Peer(
        name="tensorzero",
        limit=0.0,
        requests={"whole": 1600, "stream": 320},
        command=_tensorzero,
        environment={"ANTHROPIC_API_KEY": "any"},
        headers=lambda base: {},
        version=lambda: _package_version("tensorzero", "tensorzero"),
        model="tensorzero::model_name::m",
        prefix="/openai",
        chooses_port=True,
    ),
)
SAME_WIRE = f"{OURS}, same wire"
"""Toolwire's gateway for an Anthropic client, to compare with gateways that do not translate."""


def rows(rounds: int = 5) -> PeerResults:
    """Measure the gateway and every peer that is installed."""
    seconds: dict[str, float] = {}
    absent: dict[str, str] = {}
    peers: list[Peer] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolwire-bench-")))
        model = stack.enter_context(server("model_server.py"))
        start = perf_counter()
        servers = {OURS: stack.enter_context(server("gateway_servers.py", OURS, model.url))}
        seconds[OURS] = perf_counter() - start
        for peer in ALL:
            start = perf_counter()
            try:
                servers[peer.name] = stack.enter_context(_start_peer(peer, model.url, folder))
                seconds[peer.name] = perf_counter() - start
                peers.append(peer)
            except Absent as why:
                absent[peer.name] = str(why)
        wires = {OURS: "openai-chat"}
        if any(peer.wire == "anthropic" for peer in peers):
            servers[SAME_WIRE], wires[SAME_WIRE] = servers[OURS], "anthropic"
        load = stack.enter_context(client())

        def orders(kind: str, share: int = 1) -> dict[str, Order]:
            count, port = OUR_REQUESTS[kind] // share, servers[OURS].port
            ours = {
                name: Order(kind, port, CONNECTIONS, count, wire=wire)
                for name, wire in wires.items()
            }
            theirs = {
                peer.name: peer.order(
                    kind,
                    servers[peer.name].port,
                    model.url,
                    CONNECTIONS,
                    peer.requests[kind] // share,
                )
                for peer in peers
            }
            return {name: (ours | theirs)[name] for name in servers}

        turns = {}
        for what, kind in KINDS:
            in_turns(load, servers, orders(kind, 2), 1)
            turns[what] = in_turns(load, servers, orders(kind), rounds)
        return PeerResults(
            turns, seconds, {name: one.megabytes() for name, one in servers.items()}, absent
        )


@contextmanager
def _start_peer(peer: Peer, base: str, folder: Path) -> Iterator[Server]:
    """Start a peer, and wait until it has responded correctly."""
    free, words = _free(), folder / f"{peer.name}.txt"
    with process(peer.command(base, free, folder), more=peer.environment, quiet=words) as started:
        until = monotonic() + START
        port = None if peer.chooses_port else free
        while port is None or not _listens(port):
            if started.poll() is not None or monotonic() > until:
                raise Absent(f"did not start: {_last(words)}")
            sleep(0.2)
            if port is None and (printed := _ADDRESS.search(words.read_text())):
                port = int(printed[1])
        for (_, kind), connections in product(KINDS, (1, CONNECTIONS)):
            order = peer.order(kind, port, base, connections, 4 * connections)
            try:
                uvloop.run(wait_for(measure(order), START))
            except (AssertionError, OSError) as error:
                reason = str(error)[:300] or type(error).__name__
                raise Absent(f"failed at four requests per connection: {reason}") from error
        yield Server(f"http://127.0.0.1:{port}", started.pid)


def _free() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        found = listener.getsockname()[1]
        assert isinstance(found, int)
        return found


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def _last(words: Path) -> str:
    return (words.read_text().strip().splitlines() or ["it said nothing"])[-1][:300]


def page(found: PeerResults) -> list[str]:
    """The page, line by line."""
    versions = {peer.name: peer.version() for peer in ALL}
    lines = [
        "# Compared with other gateways",
        "",
        "For people who compare gateways.",
        "",
        "Written by `make bench-peers`. One process per gateway, the same model server, the same",
        f"client with {CONNECTIONS} connections that send the next request as soon as they have a",
        "response. Every request is a new conversation of six messages with tools, so no gateway can",
        "answer from a cache. A chat client uses an Anthropic model; gateways that do not translate",
        "(smg) serve an Anthropic client, and so does our gateway in that row. × is our requests per",
        "second divided by theirs, the median of all rounds. Compare the ratios: the times depend on the",
        "machine.",
        "",
        "litellm requires a key of its clients by default. Portkey runs with `@hono/node-server` 1.13.8:",
        "with the newest version that it allows, its streams fail. tensorzero is the gateway that its",
        "Python package embeds, with its observability switched off: that needs a database.",
        "",
        "| | gateway | requests/s | × | CPU µs per request | median ms | at least |",
        "|---|---|---|---|---|---|---|",
    ]
    limits = {peer.name: peer.limit for peer in ALL}
    same_wire = {peer.name for peer in ALL if peer.wire == "anthropic"}
    for what, turns in found.turns.items():
        for name in turns.rates:
            ratio = turns.ratio(SAME_WIRE if name in same_wire else OURS, name)
            times = f"{ratio:.1f}" if name in limits else ""
            limit = least(ratio, limits[name]) if limits.get(name) else ""
            figures = (
                f"{turns.rate(name):.0f} | {times} | {turns.cpu[name]:.0f} |"
                f" {turns.median_ms(name):.1f} | {limit}"
            )
            lines.append(f"| {what} | {_display_name(name, versions)} | {figures} |")
    lines += [
        "",
        "| gateway | seconds to the first response | MB of memory at the end |",
        "|---|---|---|",
    ]
    for name, seconds in found.seconds.items():
        lines.append(
            f"| {_display_name(name, versions)} | {seconds:.1f} | {found.megabytes[name]:.0f} |"
        )
    lines += [
        line
        for name, why in found.absent.items()
        for line in ("", f"{name} is not measured: {why}.")
    ]
    return lines


def _display_name(name: str, versions: dict[str, str]) -> str:
    return f"{name} {versions[name]}" if name in versions else name.replace(OURS, "toolwire")


if __name__ == "__main__":
    text = "\n".join(page(rows(int(sys.argv[1]) if len(sys.argv) > 1 else 5)))
    print(text)
    PAGE.write_text(text + "\n")
