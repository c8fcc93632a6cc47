"""`toolwire serve`: the official clients of both protocols, authentication, what survives a crash,
and what is refused at the start."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import jwt
import oxp
import pytest
from cli.server_process import EXAMPLES, ServerProcess, ToolServerAddress, door, serve_command
from cli.shell import PROGRAM, ROOT, environment, run_with_pipes
from click.testing import CliRunner, Result
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import RequestParamsMeta

from toolwire.cli.framework.group import commands
from toolwire.conversation.json import JSON

KEY = "a key for tests that is long enough"
SECRET = "a secret for tests that is long enough"


def serve(*arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(
        commands, ["serve", *arguments], env={"TOOLWIRE_LEDGER": "memory:", **(env or {})}
    )


def send_request(url: str, body: JSON = None, **headers: str) -> tuple[int, JSON]:
    """Send a request; return the status and the body of the response."""
    sent = None if body is None else json.dumps(body).encode()
    kept = {
        "Content-Type": "application/json",
        **{key.replace("_", "-"): value for key, value in headers.items()},
    }
    try:
        with urllib.request.urlopen(urllib.request.Request(url, sent, kept), timeout=600) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            status, text = error.code, error.read()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text.decode()


def ring(url: str, n: int, call_id: str, **more: JSON) -> JSON:
    body: JSON = {
        "request": {"tool_id": "Door.Ring", "call_id": call_id, "input": {"n": n, **more}}
    }
    found = send_request(f"{url}/tools/call", body)[1]
    assert isinstance(found, dict) and isinstance(found["result"], dict)
    return {key: value for key, value in found["result"].items() if key != "duration"}


@pytest.fixture(scope="module")
def rung(tmp_path_factory: pytest.TempPathFactory) -> ToolServerAddress:
    return door(tmp_path_factory.mktemp("door"))


@pytest.fixture(scope="module")
def server(rung: ToolServerAddress) -> Iterator[ServerProcess]:
    ledger = f"sqlite:///{rung.counts.with_name('calls.db')}"
    with serve_command(
        "serve",
        EXAMPLES,
        rung.file,
        "--port",
        "0",
        "--ledger",
        ledger,
        lines=5,
        RINGS=str(rung.counts),
    ) as found:
        yield found


def test_the_server_prints_its_address_and_its_protocols(
    server: ServerProcess, rung: ToolServerAddress
) -> None:
    url = server.url
    assert server.said.splitlines() == [
        "loading the door",
        f"9 tools at {url}; calls are recorded in sqlite:///{rung.counts.with_name('calls.db')}",
        f"  OXP  {url}/tools and {url}/tools/call",
        f"  MCP  {url}/mcp",
        f"  also {url}/health and {url}/metrics; Ctrl-C stops it",
    ]


def test_the_official_client_of_oxp_calls_a_tool(server: ServerProcess) -> None:
    with oxp.Oxp(
        base_url=server.url, bearer_token="ignored", _strict_response_validation=True
    ) as client:
        assert len(client.tools.list().items) == 9
        found = client.tools.call(
            request={"tool_id": "Calculator.Add", "input": {"a": 10, "b": 5}}, schema="urn:oxp:1.0"
        )
    assert found.result.value == 15  # type: ignore[union-attr]


def test_the_official_client_of_mcp_calls_a_tool(server: ServerProcess) -> None:
    async def act() -> None:
        async with Client(f"{server.url}/mcp") as client:
            assert "Calculator_Add" in [tool.name for tool in (await client.list_tools()).tools]
            found = await client.call_tool("Calculator_Add", {"a": 10, "b": 5})
            assert [block.text for block in found.content if block.type == "text"] == ["15"]

    asyncio.run(act())


def test_a_call_id_over_both_protocols_is_one_call(
    server: ServerProcess, rung: ToolServerAddress
) -> None:
    assert ring(server.url, 71, "both") == {**_success("both"), "value": "rung 71"}

    async def act() -> None:
        async with Client(f"{server.url}/mcp") as client:
            found = await client.call_tool("Door_Ring", {"n": 71}, meta=meta_with_call_id("both"))
            assert found.meta is not None and found.meta["toolwire/replayed"] is True

    asyncio.run(act())
    assert rung.rings.count("71") == 1


def meta_with_call_id(call_id: str) -> RequestParamsMeta:
    """The `_meta` of an MCP request with a call id."""
    return {"toolwire/call_id": call_id}  # type: ignore[typeddict-unknown-key]


def _success(call_id: str) -> dict[str, JSON]:
    return {"call_id": call_id, "success": True}


def test_health_and_metrics_are_there(server: ServerProcess) -> None:
    assert send_request(f"{server.url}/health") == (200, {"status": "ok", "tool_count": 9})
    status, text = send_request(f"{server.url}/metrics")
    assert status == 200 and "toolwire_calls_total" in str(text)


def test_with_oxp_only_there_is_no_mcp_and_ctrl_c_ends_it_well() -> None:
    with serve_command(
        "serve", EXAMPLES, "--oxp", "--port", "0", "--ledger", "memory:", lines=3
    ) as found:
        assert send_request(f"{found.url}/mcp", {})[0] == 404
        assert send_request(f"{found.url}/tools")[0] == 200
        assert "recorded in memory only" in found.said
        assert found.end(signal.SIGINT) == (0, "", "")


def test_with_mcp_only_there_is_no_oxp() -> None:
    with serve_command(
        "serve", EXAMPLES, "--mcp", "--port", "0", "--ledger", "memory:", lines=3
    ) as found:
        assert [
            send_request(f"{found.url}{path}", body)[0]
            for path, body in (("/tools", None), ("/tools/call", {}), ("/call", {}))
        ] == ([404] * 3)

        async def act() -> None:
            async with Client(f"{found.url}/mcp") as client:
                assert len((await client.list_tools()).tools) == 5

        asyncio.run(act())


def test_over_stdio_the_official_client_calls_a_tool_and_what_a_file_prints_is_not_in_its_way(
    tmp_path: Path,
) -> None:
    there = door(tmp_path)
    args = [
        *PROGRAM[1:],
        "serve",
        there.file,
        "--stdio",
        "--ledger",
        f"sqlite:///{tmp_path / 'calls.db'}",
    ]
    program = StdioServerParameters(command=PROGRAM[0], args=args, env={"RINGS": str(there.counts)})

    async def act() -> None:
        for replayed in (None, True):  # the second is another process with the same ledger
            async with Client(program) as client:
                found = await client.call_tool("Door_Ring", {"n": 1}, meta=meta_with_call_id("c1"))
                assert [block.text for block in found.content if block.type == "text"] == ["rung 1"]
                assert (found.meta or {}).get("toolwire/replayed") is replayed

    asyncio.run(act())
    assert there.rings == ["1"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_over_stdio_a_signal_lets_a_call_under_way_finish(
    number: signal.Signals, tmp_path: Path
) -> None:
    there = door(tmp_path)
    line = [
        *PROGRAM,
        "serve",
        there.file,
        "--stdio",
        "--ledger",
        f"sqlite:///{tmp_path / 'calls.db'}",
    ]
    call: JSON = {
        "name": "Door_Ring",
        "arguments": {"n": 1, "seconds": 0.5},
        "_meta": {"toolwire/call_id": "c1"},
    }
    begin: JSON = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    with subprocess.Popen(
        line,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(RINGS=str(there.counts)),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert (
            process.stdin is not None and process.stdout is not None and process.stderr is not None
        )
        for n, (method, params) in enumerate((("initialize", begin), ("tools/call", call))):
            process.stdin.write(
                json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params}) + "\n"
            )
            process.stdin.flush()
            if n == 0:
                process.stdout.readline()
                process.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        while not there.rings:
            time.sleep(0.01)
        process.send_signal(number)
        assert "rung 1" in process.stdout.readline()
        assert process.wait(timeout=600) == 0  # its stdin is still open
        assert process.stderr.read() == "loading the door\n"


def test_with_auth_a_caller_shows_a_key_or_a_token() -> None:
    auth = ("--auth", "key", "--auth", "jwt", "--audience", "here")
    with serve_command(
        "serve",
        EXAMPLES,
        *auth,
        "--port",
        "0",
        "--ledger",
        "memory:",
        TOOLWIRE_API_KEYS=f"ann={KEY}",
        TOOLWIRE_JWT_SECRET=SECRET,
    ) as found:
        token = jwt.encode({"exp": time.time() + 300, "aud": "here"}, SECRET, "HS256")
        other = jwt.encode({"exp": time.time() + 300, "aud": "there"}, SECRET, "HS256")
        tries: list[dict[str, str]] = [
            {},
            {"OXP_API_Key": KEY},
            {"Authorization": f"Bearer {KEY}"},
            {"Authorization": f"Bearer {token}"},
            {"Authorization": f"Bearer {other}"},
            {"OXP_API_Key": SECRET},
        ]
        assert [send_request(f"{found.url}/tools", **headers)[0] for headers in tries] == [
            401,
            200,
            200,
            200,
            401,
            401,
        ]
        assert send_request(f"{found.url}/mcp", {})[0] == 401
        assert run_with_pipes("tools", found.url, TOOLWIRE_API_KEY=KEY).returncode == 0
        assert run_with_pipes("tools", f"mcp+{found.url}/mcp", TOOLWIRE_TOKEN=token).returncode == 0
        refused = run_with_pipes("tools", found.url, TOOLWIRE_API_KEY="x" * 40)
        assert (refused.returncode, refused.stderr.decode()) == (
            2,
            f"toolwire: {found.url}: Authentication is required.\n",
        )
        assert found.end() == (0, "", "")
        assert KEY not in found.said and SECRET not in found.said


def test_a_ledger_in_a_file_survives_kill_9(tmp_path: Path) -> None:
    there = door(tmp_path)
    command = (
        "serve",
        there.file,
        "--oxp",
        "--port",
        "0",
        "--ledger",
        f"sqlite:///{tmp_path / 'calls.db'}",
    )
    with serve_command(*command, RINGS=str(there.counts), DIE="3") as found:
        assert ring(found.url, 1, "c1") == {**_success("c1"), "value": "rung 1"}
        with pytest.raises(OSError):
            ring(found.url, 3, "c3")
        assert found.end()[0] == -signal.SIGKILL
    with serve_command(*command, RINGS=str(there.counts)) as found:
        assert ring(found.url, 1, "c1") == {**_success("c1"), "value": "rung 1"}
        lost = ring(found.url, 3, "c3")
        assert isinstance(lost, dict) and lost["success"] is False
        assert isinstance(lost["error"], dict) and lost["error"]["can_retry"] is False
        assert ring(found.url, 2, "c2") == {**_success("c2"), "value": "rung 2"}
    assert there.rings == ["1", "3", "2"]


def test_sigterm_lets_a_call_under_way_finish(tmp_path: Path) -> None:
    there = door(tmp_path)
    ledger = f"sqlite:///{tmp_path / 'calls.db'}"
    with serve_command(
        "serve", there.file, "--oxp", "--port", "0", "--ledger", ledger, RINGS=str(there.counts)
    ) as found:
        answers: list[JSON] = []
        caller = threading.Thread(
            target=lambda: answers.append(ring(found.url, 1, "slow", seconds=0.8))
        )
        caller.start()
        while not there.rings:
            time.sleep(0.01)
        assert found.end() == (0, "", "")
        caller.join(60)
    assert answers == [{**_success("slow"), "value": "rung 1"}]


# --- what is refused ------------------------------------------------------------------------------


def refusal(result: Result) -> str:
    """The only line of output of a refused command."""
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.startswith("toolwire: ") and result.stderr.count("\n") == 1, result.stderr
    return result.stderr.removeprefix("toolwire: ").rstrip()


BROKEN = {
    "x = 1\n\ndef f():\n    return 1 / 0\n\nf()\n": (
        "{file} line 4: ZeroDivisionError: division by zero"
    ),
    "def f(:\n": "{file}: invalid syntax (line 1)",
    "import no_such_thing\n": "{file} line 1: it imports no_such_thing, which is not installed",
    "import sys\nsys.exit(3)\n": "{file} line 2: SystemExit: 3",
    "raise KeyError\n": "{file} line 1: KeyError",
    "x = 1\n": "{file}: it has no tools; decorate a function with @tool",
    "from toolwire.tools import tool\n\n@tool(id='A.B@1.0.0')\ndef f(x): ...\n": (
        "{file} line 3: A.B@1.0.0: the parameter x has no type: annotate it (`object` for any"
        " value)"
    ),
}


@pytest.mark.parametrize("code", BROKEN)
def test_a_file_that_cannot_be_loaded_is_named_with_the_line(code: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(code)
    assert refusal(serve(str(file), "--port", "0")) == BROKEN[code].format(file=file)


def test_the_line_is_that_of_a_file_beside_it_if_that_is_where_it_broke(tmp_path: Path) -> None:
    beside = tmp_path / "beside_the_tools.py"
    beside.write_text("\nraise ValueError('no')\n")
    (tmp_path / "mine.py").write_text("import beside_the_tools\n")
    assert refusal(serve(str(tmp_path / "mine.py"))) == f"{beside} line 2: ValueError: no"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nowhere.py", "nowhere.py: no such file"),
        ("no_such_package", "no_such_package: no such file, and no such package"),
        ("toolwire.nothing", "toolwire.nothing: no such file, and no such package"),
        ("./docs", "./docs: it is a folder; name a file in it"),
        ("json", "json: it has no tools; decorate a function with @tool"),
        (
            "http://127.0.0.1:1",
            "http://127.0.0.1:1: expected a file, a package, http://…, mcp+http://… or mcp:COMMAND",
        ),
    ],
)
def test_what_is_no_file_and_no_package_is_reported(name: str, says: str) -> None:
    assert refusal(serve(name)) == says


def test_a_file_named_like_a_module_of_python_is_only_itself(tmp_path: Path) -> None:
    (tmp_path / "email.py").write_text(
        "from toolwire.tools import tool\n\n@tool\ndef send(to: str) -> str:\n"
        '    """Send it.\n\n    Args:\n        to: Who.\n    """\n    return to\n'
    )
    done = run_with_pipes("call", "Email.Send", "to=me", "--tools", str(tmp_path / "email.py"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b'"me"\n', b"")


def test_a_package_is_found_from_where_one_stands(tmp_path: Path) -> None:
    package = tmp_path / "my_kit_of_tools"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from toolwire.tools import tool\n\n@tool\ndef f() -> int:\n    'One.'\n    return 1\n"
    )
    done = subprocess.run(
        [*PROGRAM, "call", "MyKitOfTools.F", "--tools", "my_kit_of_tools"],
        cwd=tmp_path,
        capture_output=True,
        env=environment(),
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1\n", b"")


LEDGERS = "expected sqlite:///FILE, postgresql://HOST/DATABASE or memory:"
ANYONE = (
    "and this server does not authenticate its clients: set keys or secrets, listen on 127.0.0.1,"
    " or allow anyone"
)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "--host 0.0.0.0",
            (
                f"other machines can reach 0.0.0.0, {ANYONE} (--auth key, --auth jwt,"
                " --allow-anyone)"
            ),
        ),
        (
            "--port 99999",
            (
                "Invalid value for '--port': 99999 is not in the range 0<=x<=65535 (see toolwire"
                " serve --help)"
            ),
        ),
        ("--host no-such-name.invalid --allow-anyone", "--host no-such-name.invalid: no such host"),
        ("--auth key", "--auth key: set the environment variable TOOLWIRE_API_KEYS to name=key"),
        ("--auth jwt", "--auth jwt: set the environment variable TOOLWIRE_JWT_SECRET"),
        ("--audience me", "--auth: audiences work only with secrets"),
        ("--stdio --auth key --port 1", "--stdio does not listen, so it takes no --port, --auth"),
        ("--ledger redis://me:hunter2@there/0", f"redis://…@there/0: {LEDGERS}"),
        ("--ledger sqlite://calls.db", "sqlite://calls.db: name a file, as in sqlite:///calls.db"),
        ("--ledger sqlite:////proc/no/calls.db", "/proc/no/calls.db: No such file or directory"),
    ],
)
def test_misuse_is_one_line(line: str, says: str) -> None:
    assert refusal(serve(EXAMPLES, *line.split())) == says


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("ann=short", "--auth: the key ann is 5 bytes long; at least 32 are required"),
        (f"ann={KEY},ann={SECRET}", "--auth key: TOOLWIRE_API_KEYS has the name ann twice"),
        (f"ann={KEY},bob={KEY}", "--auth: two names have the same key"),
    ],
)
def test_keys_that_must_not_be_used_are_refused_and_not_shown(keys: str, says: str) -> None:
    assert refusal(serve(EXAMPLES, "--auth", "key", env={"TOOLWIRE_API_KEYS": keys})) == says


def test_a_port_that_is_taken_is_reported_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert (
            refusal(serve(EXAMPLES, "--port", str(port)))
            == f"127.0.0.1:{port}: address already in use; choose another port with --port (0: any)"
        )


def test_a_database_that_is_away_is_reported_in_one_line_without_its_password() -> None:
    done = run_with_pipes(
        "serve",
        EXAMPLES,
        "--port",
        "0",
        TOOLWIRE_LEDGER="postgresql://me:hunter2@127.0.0.1:1/db?sslpassword=hunter2",
    )
    line = done.stderr.decode()
    assert (done.returncode, done.stdout, line.count("\n")) == (2, b"", 1)
    assert line.startswith(
        "toolwire: --ledger postgresql://…@127.0.0.1:1/db?sslpassword=…: the database cannot be"
        " reached: "
    )
    assert "hunter2" not in line


def test_a_file_that_is_no_ledger_is_reported_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no database\n" * 100)
    done = run_with_pipes("serve", EXAMPLES, "--port", "0", "--ledger", f"sqlite:///{file}")
    line = done.stderr.decode()
    assert (done.returncode, done.stdout, line.count("\n")) == (2, b"", 1)
    assert line.startswith(f"toolwire: {file}: ")


def test_a_tool_that_this_ledger_cannot_serve_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from toolwire.tools import ToolContext, tool\n\n@tool(id='A.B@1.0.0',"
        " on_crash='transactional')\nasync def f(context: ToolContext) -> None:\n    'Do it.'\n"
    )
    says = (
        "A.B@1.0.0: on_crash is transactional, but a MemoryLedger has no transactions (--ledger"
        " memory:)"
    )
    for more in ((), ("--stdio",)):
        assert refusal(serve(str(tmp_path / "mine.py"), *more)) == says


def test_a_server_whose_output_is_closed_ends_as_any_command_does() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [*PROGRAM, "serve", EXAMPLES, "--port", "0", "--ledger", "memory:"],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment(),
        check=False,
        timeout=600,
        cwd=ROOT,
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")
