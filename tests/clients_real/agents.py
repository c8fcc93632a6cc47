"""Coding agents: how each is started without a terminal, and which of its own tools read a file.

An agent runs in a temporary folder that is also its home. Its model is the offline model of the
mock; directives in the question name the tools of the agent to call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from clients_real.harness import RUN_SECONDS, Cell, Client, ExpectedCall, Turn
from msgspec import Struct

from toolwire.conversation.json import JSON

KEY = "any-key"


class Start(Struct, frozen=True):
    """A command, its environment variables, and files that it reads, by their path."""

    command: list[str]
    env: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    given: str = ""
    """The text on its standard input."""


ToolCall = Callable[[Path], tuple[str, dict[str, str]]]
"""The name and the arguments of a call, for a file."""


class Question(Struct, frozen=True):
    """A turn of a cell: the address of the gateway, and the prompt."""

    cell: Cell
    url: str
    prompt: str
    resume: bool
    """True if it continues the last conversation of the agent."""
    tools: Sequence[str] = ()
    """The command of an MCP server that has tools for the agent."""


StartOf = Callable[[Question], Start]


class Agent(Struct, frozen=True):
    """A coding agent and its tool that reads files."""

    client: Client
    start: StartOf
    """Makes the command for a turn."""
    read: ToolCall | None = None
    """The call that reads a file; None if the model of the agent has no tools."""
    missing: str = ""
    """The agent's text about a missing file."""
    view: ToolCall | None = None
    """The call that shows an image to the model."""
    lost_images: Mapping[str, str] = {}
    """Upstreams whose model the agent sends no image to, without a gateway too, and why."""

    def turns(self, folder: Path, upstream: str) -> list[Turn]:
        """Two files at once, a file that is missing, and an image; then two other files."""
        if self.read is None:
            return [[], []]
        first = [
            [
                _expect(self.read(folder / "oslo.txt"), "4 degrees"),
                _expect(self.read(folder / "rome.txt"), "21 degrees"),
            ],
            [_expect(self.read(folder / "lima.txt"), self.missing)],
        ]
        if self.view is not None and upstream not in self.lost_images:
            first.append([_expect(self.view(folder / "blue.png"), image=True)])
        second = [
            [
                _expect(self.read(folder / "bern.txt"), "11 degrees"),
                _expect(self.read(folder / "kyiv.txt"), "17 degrees"),
            ]
        ]
        return [first, second]


def _expect(
    call: tuple[str, dict[str, str]], holds: str = "", *, image: bool = False
) -> ExpectedCall:
    tool, arguments = call
    return ExpectedCall(tool, dict(arguments), holds, image=image)


def _codex(question: Question) -> Start:
    cell = question.cell
    config = [
        f'model = "{cell.model}"',
        'model_provider = "toolwire"',
        "[model_providers.toolwire]",
        'name = "toolwire"',
        f'base_url = "{question.url}/v1"',
        'wire_api = "responses"',
        'env_key = "TOOLWIRE_KEY"',
    ]
    if question.tools:
        config += ["[mcp_servers.station]", *_toml_command(question.tools)]
        # Without these, it asks the model before the server has answered.
        config += ["required = true", f"startup_timeout_sec = {RUN_SECONDS}"]
    options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    command = ["exec", "resume", "--last"] if question.resume else ["exec"]
    return Start(
        command=[cell.client.program("codex"), *command, *options, question.prompt],
        env={"TOOLWIRE_KEY": KEY},
        files={".codex/config.toml": "\n".join(config)},
    )


def _toml_command(command: Sequence[str]) -> list[str]:
    return [f"command = {json.dumps(command[0])}", f"args = {json.dumps(command[1:])}"]


def _mcp_servers(command: Sequence[str]) -> dict[str, dict[str, JSON]]:
    """The MCP server of a question, as most agents have it in their settings."""
    return {"station": {"command": command[0], "args": [*command[1:]]}} if command else {}


def _gemini(question: Question) -> Start:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "mcpServers": _mcp_servers(question.tools),
    }
    options = ["--yolo", "--skip-trust", "--model", question.cell.model]
    options += ["--resume", "latest"] if question.resume else []
    return Start(
        command=[question.cell.client.program("gemini"), *options, "-p", question.prompt],
        env={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": question.url},
        files={".gemini/settings.json": json.dumps(settings)},
    )


def _claude(question: Question) -> Start:
    program = question.cell.client.program("claude")
    options = ["--model", question.cell.model, "--allowedTools", "Read,mcp__station"]
    options += ["--mcp-config", json.dumps({"mcpServers": _mcp_servers(question.tools)})]
    options += ["--continue"] if question.resume else []
    return Start(
        command=[program, "-p", question.prompt, *options],
        env={
            "ANTHROPIC_BASE_URL": question.url,
            "ANTHROPIC_AUTH_TOKEN": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # Without these, it asks the model before its MCP servers have answered.
            "MCP_CONNECTION_NONBLOCKING": "0",
            "MCP_TIMEOUT": str(RUN_SECONDS * 1000),
            "ENABLE_TOOL_SEARCH": "false",
        },
    )


def _qwen(question: Question) -> Start:
    model = question.cell.model
    options = ["--yolo", "--auth-type", "openai", "--model", model]
    options += ["--continue"] if question.resume else []
    settings = {
        "mcpServers": _mcp_servers(question.tools),
        # Otherwise the model has to search for the tools of a server before it can call one.
        "tools": {"toolSearch": {"enabled": False}},
    }
    return Start(
        command=[question.cell.client.program("qwen"), *options, "-p", question.prompt],
        env={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{question.url}/v1", "OPENAI_MODEL": model},
        files={".qwen/settings.json": json.dumps(settings)},
    )


OPENCODE_PACKAGES = {
    "openai-chat": ("@ai-sdk/openai-compatible", "/v1"),
    "anthropic": ("@ai-sdk/anthropic", "/v1"),
    "gemini": ("@ai-sdk/google", "/v1beta"),
}


def _opencode(question: Question) -> Start:
    cell = question.cell
    package, below = OPENCODE_PACKAGES[cell.api]
    model = f"gateway/{cell.model}"
    modalities = {"input": ["text", "image"], "output": ["text"]}
    provider = {
        "npm": package,
        "name": "gateway",
        "options": {"baseURL": question.url + below, "apiKey": KEY},
        "models": {cell.model: {"tool_call": True, "attachment": True, "modalities": modalities}},
    }
    servers = {"station": {"type": "local", "command": [*question.tools], "enabled": True}}
    config = {
        "provider": {"gateway": provider},
        "model": model,
        "small_model": model,
        "autoupdate": False,
        "permission": "allow",
        "mcp": servers if question.tools else {},
    }
    options = ["--continue"] if question.resume else []
    return Start(
        command=[cell.client.program("opencode"), "run", "--model", model, *options],
        files={"opencode.json": json.dumps(config)},
        given=question.prompt,
    )


LLM_TOOLS = '''
import llm


def read_file(path: str) -> str:
    """Read a file."""
    with open(path) as file:
        return file.read()


def view_image(path: str) -> llm.ToolOutput:
    """Show an image."""
    return llm.ToolOutput(output="shown", attachments=[llm.Attachment(path=path)])
'''


def _llm(question: Question) -> Start:
    model = {
        "model_id": "gateway",
        "model_name": question.cell.model,
        "api_base": f"{question.url}/v1",
        "supports_tools": True,
        "vision": True,
    }
    options = ["--key", KEY, "--functions", "tools.py", "--chain-limit", "9"]
    options += [] if question.cell.stream else ["--no-stream"]
    options += ["--continue"] if question.resume else []
    program = question.cell.client.program("llm")
    return Start(
        command=[program, "-m", "gateway", *options, question.prompt],
        env={"LLM_USER_PATH": "settings"},
        files={"settings/extra-openai-models.yaml": json.dumps([model]), "tools.py": LLM_TOOLS},
    )


def _aider(question: Question) -> Start:
    options = "--yes-always --no-git --no-check-update --analytics-disable --no-pretty".split()
    options.append("--stream" if question.cell.stream else "--no-stream")
    options += ["--restore-chat-history"] if question.resume else []
    model = f"openai/{question.cell.model}"
    names = ["--model", model, "--weak-model", model, "--no-show-model-warnings"]
    program = question.cell.client.program("aider")
    return Start(
        command=[program, *names, *options, "--message", question.prompt],
        env={"OPENAI_API_KEY": KEY, "OPENAI_API_BASE": f"{question.url}/v1"},
    )


def _file_path(tool: str, field: str) -> ToolCall:
    return lambda path: (tool, {field: str(path)})


AGENTS = (
    Agent(
        Client("codex", "npm", ("@openai/codex",), ("openai-responses",), streams=(True,)),
        start=_codex,
        read=lambda path: ("exec_command", {"cmd": f"cat {path}"}),
        missing="No such file",
        view=_file_path("view_image", "path"),
    ),
    Agent(
        Client("gemini-cli", "npm", ("@google/gemini-cli",), ("gemini",), streams=(True,)),
        start=_gemini,
        read=_file_path("read_file", "file_path"),
        missing="not found",
        view=_file_path("read_file", "file_path"),
        lost_images={"gemini": "it does not send the image that a tool returned to gemini-3-pro"},
    ),
    Agent(
        Client(
            "claude-code", "npm", ("@anthropic-ai/claude-code",), ("anthropic",), streams=(True,)
        ),
        start=_claude,
        read=_file_path("Read", "file_path"),
        missing="does not exist",
        view=_file_path("Read", "file_path"),
    ),
    Agent(
        Client(
            name="opencode",
            registry="npm",
            packages=("opencode-ai",),
            apis=("openai-chat", "anthropic", "gemini"),
            streams=(True,),
        ),
        start=_opencode,
        read=_file_path("read", "filePath"),
        missing="not found",
        view=_file_path("read", "filePath"),
    ),
    Agent(
        Client("qwen-code", "npm", ("@qwen-code/qwen-code",), ("openai-chat",), streams=(True,)),
        start=_qwen,
        read=_file_path("read_file", "file_path"),
        missing="not found",
    ),
    Agent(
        Client("llm", "pypi", ("llm",), ("openai-chat",)),
        start=_llm,
        read=_file_path("read_file", "path"),
        missing="No such file",
        view=_file_path("view_image", "path"),
    ),
    Agent(Client("aider", "pypi", ("aider-chat",), ("openai-chat",)), start=_aider),
)
