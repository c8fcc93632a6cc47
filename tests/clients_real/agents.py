"""Coding agents: how each is started without a terminal, and which of its own tools read a file.

An agent runs in a scratch folder that is also its home. Its model is the offline model of the mock,
which is told by directives which tools of the agent to call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from clients_real.harness import CLOSING, Cell, Client, ExpectedCall
from msgspec import Struct

KEY = "any-key"


class Start(Struct, frozen=True):
    """A command, its environment variables, and files that it reads, by their path."""

    command: list[str]
    env: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    given: str = ""
    """What it reads from its standard input."""


ToolCall = Callable[[Path], tuple[str, dict[str, str]]]
"""The name and the arguments of a call, for a file."""


class Agent(Struct, frozen=True):
    """A coding agent and its tool that reads files."""

    client: Client
    start: Callable[[Cell, str, str], Start]
    """Makes the command for a cell, the address of the gateway and the prompt."""
    read: ToolCall | None = None
    """The call that reads a file; None if the model of the agent has no tools."""
    missing: str = ""
    """What the agent says of a file that is not there."""
    view: ToolCall | None = None
    """The call that shows an image to the model."""
    lost_images: Mapping[str, str] = {}
    """Upstreams whose model the agent sends no image to, without a gateway too, and why."""

    closings: tuple[str, ...] = (CLOSING,)
    """What the model says in the end, one of them."""

    def steps(self, folder: Path, upstream: str) -> list[list[ExpectedCall]]:
        """Two files at once, a file that is missing, and an image."""
        if self.read is None:
            return []
        steps = [
            [
                _expect(self.read(folder / "oslo.txt"), "4 degrees"),
                _expect(self.read(folder / "rome.txt"), "21 degrees"),
            ],
            [_expect(self.read(folder / "lima.txt"), self.missing)],
        ]
        if self.view is not None and upstream not in self.lost_images:
            steps.append([_expect(self.view(folder / "blue.png"), image=True)])
        return steps


def _expect(
    call: tuple[str, dict[str, str]], holds: str = "", *, image: bool = False
) -> ExpectedCall:
    tool, arguments = call
    return ExpectedCall(tool, dict(arguments), holds, image=image)


def _codex(cell: Cell, url: str, prompt: str) -> Start:
    config = [
        f'model = "{cell.model}"',
        'model_provider = "toolwire"',
        "[model_providers.toolwire]",
        'name = "toolwire"',
        f'base_url = "{url}/v1"',
        'wire_api = "responses"',
        'env_key = "TOOLWIRE_KEY"',
    ]
    options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return Start(
        command=[cell.client.program("codex"), "exec", *options, prompt],
        env={"TOOLWIRE_KEY": KEY},
        files={".codex/config.toml": "\n".join(config)},
    )


def _gemini(cell: Cell, url: str, prompt: str) -> Start:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
    }
    options = ["--yolo", "--skip-trust", "--model", cell.model]
    return Start(
        command=[cell.client.program("gemini"), *options, "-p", prompt],
        env={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url},
        files={".gemini/settings.json": json.dumps(settings)},
    )


def _claude(cell: Cell, url: str, prompt: str) -> Start:
    bundled = "lib/*/site-packages/claude_agent_sdk/_bundled/claude"
    program = next(cell.client.folder.glob(bundled))
    return Start(
        command=[str(program), "-p", prompt, "--model", cell.model, "--allowedTools", "Read"],
        env={
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_AUTH_TOKEN": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    )


def _qwen(cell: Cell, url: str, prompt: str) -> Start:
    options = ["--yolo", "--auth-type", "openai", "--model", cell.model]
    return Start(
        command=[cell.client.program("qwen"), *options, "-p", prompt],
        env={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": cell.model},
    )


OPENCODE_PACKAGES = {
    "openai-chat": ("@ai-sdk/openai-compatible", "/v1"),
    "anthropic": ("@ai-sdk/anthropic", "/v1"),
    "gemini": ("@ai-sdk/google", "/v1beta"),
}


def _opencode(cell: Cell, url: str, prompt: str) -> Start:
    package, below = OPENCODE_PACKAGES[cell.api]
    model = f"gateway/{cell.model}"
    modalities = {"input": ["text", "image"], "output": ["text"]}
    provider = {
        "npm": package,
        "name": "gateway",
        "options": {"baseURL": url + below, "apiKey": KEY},
        "models": {cell.model: {"tool_call": True, "attachment": True, "modalities": modalities}},
    }
    config = {
        "provider": {"gateway": provider},
        "model": model,
        "small_model": model,
        "autoupdate": False,
        "permission": "allow",
    }
    return Start(
        command=[cell.client.program("opencode"), "run", "--model", model],
        files={"opencode.json": json.dumps(config)},
        given=prompt,
    )


LLM_TOOLS = '''
def read_file(path: str) -> str:
    """Read a file."""
    with open(path) as file:
        return file.read()
'''


def _llm(cell: Cell, url: str, prompt: str) -> Start:
    model = {
        "model_id": "gateway",
        "model_name": cell.model,
        "api_base": f"{url}/v1",
        "supports_tools": True,
    }
    options = ["--key", KEY, "--functions", "tools.py", "--chain-limit", "9"]
    form = [] if cell.stream else ["--no-stream"]
    return Start(
        command=[cell.client.program("llm"), "-m", "gateway", *options, *form, prompt],
        env={"LLM_USER_PATH": "settings"},
        files={"settings/extra-openai-models.yaml": json.dumps([model]), "tools.py": LLM_TOOLS},
    )


def _aider(cell: Cell, url: str, prompt: str) -> Start:
    options = "--yes-always --no-git --no-check-update --analytics-disable --no-pretty".split()
    form = "--stream" if cell.stream else "--no-stream"
    model = f"openai/{cell.model}"
    names = ["--model", model, "--weak-model", model, "--no-show-model-warnings"]
    return Start(
        command=[cell.client.program("aider"), *names, *options, form, "--message", prompt],
        env={"OPENAI_API_KEY": KEY, "OPENAI_API_BASE": f"{url}/v1"},
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
        Client("claude-code", "pypi", ("claude-agent-sdk",), ("anthropic",), streams=(True,)),
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
        # It sends images as a message of the user, where it believes that results hold text only.
        closings=(CLOSING, "You said: Attached media from tool result:"),
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
    ),
    Agent(Client("aider", "pypi", ("aider-chat",), ("openai-chat",)), start=_aider),
)
