"""The house rules that a machine can check: layers, imports, names, the public surface, and a test
for every wire."""

from __future__ import annotations

import ast
import gc
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from msgspec import Struct
from mutants import MUTANTS
from rows import rows
from vocabulary import find_quaint_words, measure

import toolwire

TESTS = Path(__file__).parent
PROJECT = TESTS.parent
SOURCE = PROJECT / "src" / "toolwire"
MODULES = sorted(SOURCE.rglob("*.py"))

LAYERS = (
    ("errors", "extras", "lazy_imports", "atomic_write", "conversation"),
    ("streaming.events", "streaming.framing", "streaming.accumulate"),
    ("profiles", "wires"),
    ("codec", "streaming", "lint", "translate", "history"),
    ("providers", "tools"),
    ("execution",),
    ("agent", "server"),
    ("sessions",),
    ("oxp",),
    ("mcp",),
    ("tool_server",),
    ("mock",),
    ("gateway",),
    ("testing",),
    ("cli", "__init__", "__main__", "types"),
)
"""A module may import its own layer and lower ones. The longest name that fits decides."""
LAYER = {name: n for n, names in enumerate(LAYERS) for name in names}
DOES_IO = (
    "agent.agent",
    "agent.driver",
    "agent.http_model",
    "agent.session_store",
    "agent.tool_caller",
    "atomic_write",
    "cli",
    "execution.call_ids",
    "execution.call_runner",
    "execution.ledger_claims",
    "execution.executor",
    "execution.in_flight",
    "execution.ledger.memory",
    "execution.ledger.network_filesystem",
    "execution.ledger.postgres",
    "execution.ledger.sqlite",
    "execution.ledger.store_thread",
    "execution.local_runner",
    "execution.sync",
    "execution.temporal",
    "execution.thread_pool",
    "gateway.app",
    "gateway.balance",
    "gateway.cancel_on_disconnect",
    "gateway.config.files",
    "gateway.config.reload",
    "gateway.database",
    "gateway.forward",
    "gateway.keep_alive",
    "gateway.key_files",
    "gateway.keys",
    "gateway.mock_upstream",
    "gateway.observe.observer",
    "gateway.observe.recorder",
    "gateway.request",
    "gateway.respond",
    "gateway.responses_state.database",
    "gateway.responses_state.requests",
    "gateway.responses_state.store",
    "gateway.route",
    "gateway.service_pages",
    "gateway.threads",
    "gateway.tools.gateway_tools",
    "gateway.tools.tool_loop",
    "gateway.tools.tool_runs",
    "gateway.translate",
    "gateway.usage.meter",
    "gateway.usage.store",
    "gateway.websocket",
    "gateway.worker_metrics",
    "gateway.workers",
    "mcp.client",
    "mcp.server",
    "mcp.sessions",
    "mcp.stdio",
    "mock.demo_server",
    "mock.mock_server",
    "mock.server",
    "oxp.client",
    "oxp.server",
    "oxp.transport",
    "providers.http",
    "providers.sigv4",
    "server",
    "sessions.session",
    "tool_server",
)
"""Modules and folders that touch sockets, files, clocks, threads or randomness. All others are
pure: values in, values out."""
ONLY_IN_IO = {
    "aiohttp",
    "asyncio",
    "httptools",
    "psycopg",
    "random",
    "secrets",
    "selectors",
    "signal",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "threading",
    "time",
    "uuid",
    "uvicorn",
}
IMPORTED_ON_DEMAND = {
    "gateway.mock_upstream": ["toolwire.mock.demo_server.mock_server"],
    "gateway.database": [  # only for a store in PostgreSQL
        "psycopg",
        "toolwire.execution.ledger.postgres.connection.INVALID_ADDRESS",
    ],
}
"""Imports inside functions: what only a demo or an optional database needs."""
SHARED = {"engine", "families"}
WIRES = sorted(
    init.parent.name
    for init in (SOURCE / "wires").glob("[a-z]*/__init__.py")
    if init.parent.name not in SHARED
)
FAMILIES = sorted(
    init.parent.name for init in (SOURCE / "wires" / "families").glob("*/__init__.py")
)
VENDORS = re.compile(
    r"openai|anthropic|claude|gemini|google|vertex|bedrock|amazon|mistral|cohere|ollama|azure|foundry|genkit|vercel|kimi"
    r"|deepseek|groq|litellm",
    re.IGNORECASE,
)
MAY_NAME_VENDORS = {"profiles", "lint"}
"""Modules outside the wires that may name a provider: rows of data about them."""


def name_of(path: Path) -> str:
    """`wires/engine/media.py` as `wires.engine.media`, `wires/gemini/__init__.py` as `wires.gemini`."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def name_of_folder(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).parts) or "toolwire"


def top(name: str) -> str:
    return name.split(".")[0]


def layer(name: str) -> int | None:
    """The layer of a module: that of the longest known prefix of its name."""
    steps = name.split(".")
    for n in range(len(steps), 0, -1):
        if ".".join(steps[:n]) in LAYER:
            return LAYER[".".join(steps[:n])]
    return None


@cache
def parse(module: Path) -> ast.Module:
    """The syntax tree of a module of the package."""
    text = module.read_text(encoding="utf-8")
    gc.disable()  # a tree has no cycles: searching it for garbage takes longer than parsing
    try:
        return ast.parse(text)
    finally:
        gc.enable()


@pytest.fixture(scope="module", autouse=True)
def forget_trees() -> Iterator[None]:
    """Free the syntax trees when the tests of this file are done."""
    yield
    imports.cache_clear()
    parse.cache_clear()


@cache
def imports(path: Path) -> list[tuple[ast.stmt, str]]:
    """Every import of a module, also inside functions, with the full name of the target."""
    targets: list[tuple[ast.stmt, str]] = []
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            targets += ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            targets += ((node, f"{node.module}.{alias.name}") for alias in node.names)
    return targets


def inside(target: str) -> str | None:
    """The module of this package an import leads to, without the package's name."""
    package, _, rest = target.partition(".")
    if package != "toolwire":
        return None
    return rest if rest and layer(rest) is not None else "__init__"


def wire_of(name: str) -> str | None:
    """The wire whose package a module belongs to."""
    steps = name.split(".")
    return steps[1] if steps[0] == "wires" and len(steps) > 1 and steps[1] in WIRES else None


@rows("path", MODULES, ids=name_of)
def test_a_module_belongs_to_a_layer_and_imports_only_its_own_or_a_lower_one(path: Path) -> None:
    own_layer = layer(name_of(path))
    assert own_layer is not None, "a module outside the layers"
    higher = [
        target
        for _, target in imports(path)
        if (module := inside(target)) and (layer(module) or 0) > own_layer
    ]
    assert higher == []


def test_no_two_modules_import_each_other() -> None:
    files = {name_of(path): path for path in MODULES}
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        targets = {
            target.removeprefix("toolwire.")
            for node, target in imports(path)
            if node in parse(path).body
        }
        modules = {target if target in files else target.rpartition(".")[0] for target in targets}
        graph[name] = {module for module in modules if module in files and module != name}
    visited: set[str] = set()
    cycles: list[list[str]] = []

    def walk(name: str, trail: list[str]) -> None:
        if name in trail:
            cycles.append([*trail[trail.index(name) :], name])
        elif name not in visited:
            for module in sorted(graph[name]):
                walk(module, [*trail, name])
            visited.add(name)

    for name in sorted(graph):
        walk(name, [])
    assert cycles == []


@rows("path", MODULES, ids=name_of)
def test_imports_are_at_the_top_of_the_file(path: Path) -> None:
    body = parse(path).body
    top_level = {*body}
    for block in body:
        if isinstance(block, ast.If):  # TYPE_CHECKING
            top_level |= {*block.body}
    lazy = [target for node, target in imports(path) if node not in top_level]
    allowed = top(name_of(path)) == "cli" or lazy == IMPORTED_ON_DEMAND.get(name_of(path))
    assert not lazy or allowed, f"imported inside a function: {lazy}"


def test_type_checkers_see_no_names_that_a_package_does_not_have() -> None:
    """With a `__getattr__` in sight, mypy accepts every name of a module."""
    for path in MODULES:
        for node in parse(path).body:
            names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
            is_function = isinstance(node, ast.FunctionDef) and node.name == "__getattr__"
            hidden = isinstance(node, ast.If) and ast.unparse(node.test).startswith("not ")
            assert not is_function and ("__getattr__" not in names or hidden), path


def test_every_mutant_changes_one_place_of_the_code_and_has_its_test_file() -> None:
    for mutant in MUTANTS:
        assert (SOURCE / mutant.file).read_text().count(mutant.old) == 1, mutant
        assert (TESTS / mutant.test).is_file(), mutant


@rows("path", MODULES, ids=name_of)
def test_only_the_mock_upstream_and_the_command_line_import_the_mock(path: Path) -> None:
    name = name_of(path)
    targets = [target for _, target in imports(path) if target.startswith("toolwire.mock")]
    allowed = top(name) in ("mock", "cli", "testing") or name == "gateway.mock_upstream"
    assert not targets or allowed, targets


@rows("path", [p for p in MODULES if name_of(p).startswith("wires.")], ids=name_of)
def test_wires_do_not_import_each_other(path: Path) -> None:
    own_wire = wire_of(name_of(path))
    others = {
        wire
        for _, target in imports(path)
        if (module := inside(target)) and (wire := wire_of(module)) and wire != own_wire
    }
    assert others == set()


def does_io(name: str) -> bool:
    return any(f"{name}.".startswith(f"{listed}.") for listed in DOES_IO)


def test_every_module_that_is_listed_for_io_exists() -> None:
    names = [name_of(path) for path in MODULES]
    missing = [
        listed
        for listed in DOES_IO
        if not any(f"{name}.".startswith(f"{listed}.") for name in names)
    ]
    assert missing == []


@rows("path", [p for p in MODULES if not does_io(name_of(p))], ids=name_of)
def test_only_listed_modules_touch_sockets_files_clocks_threads_or_randomness(path: Path) -> None:
    assert [target for _, target in imports(path) if top(target) in ONLY_IN_IO] == []
    text = path.read_text()
    assert "urandom" not in text
    assert re.search(r"\bdatetime\.now\b|(?<!def )\bopen\(", text) is None


def is_shared(name: str) -> bool:
    return wire_of(name) is None and not name.startswith(tuple(MAY_NAME_VENDORS))


@rows(
    "path",
    [p for p in MODULES if is_shared(name_of(p)) and (layer(name_of(p)) or 0) <= LAYER["lint"]],
    ids=name_of,
)
def test_shared_code_names_no_vendor(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert [f"{n}: {line.strip()}" for n, line in enumerate(lines, 1) if VENDORS.search(line)] == []


@rows("path", MODULES, ids=name_of)
def test_a_module_opens_with_a_docstring(path: Path) -> None:
    assert ast.get_docstring(parse(path))


@rows("path", MODULES, ids=name_of)
def test_a_docstring_describes_arguments_that_the_function_has(path: Path) -> None:
    functions = [
        node
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    unknown = {
        f"{function.lineno} {function.name}": names
        for function in functions
        if (names := documented_arguments(function) - {a.arg for a in all_arguments(function)})
    }
    assert unknown == {}


def documented_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names in the section `Args` of a docstring."""
    section = re.search(r"^Args:\n((?: .*\n?|\n)+)", ast.get_docstring(function) or "", re.M)
    return set(re.findall(r"^    \*{0,2}(\w+):", section[1], re.M)) if section else set()


def all_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    """The arguments of a function, of all kinds."""
    found = function.args
    rest = [argument for argument in (found.vararg, found.kwarg) if argument is not None]
    return [*found.posonlyargs, *found.args, *found.kwonlyargs, *rest]


def test_all_is_sorted_and_is_what_is_there() -> None:
    assert list(toolwire.__all__) == sorted(toolwire.__all__)
    for name in toolwire.__all__:  # some are imported only now
        getattr(toolwire, name)
    defined = {
        name
        for name, value in vars(toolwire).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert defined == set(toolwire.__all__)


# --- the public surface ---------------------------------------------------------------------------


def signature(name: str, value: object) -> str:
    """A name with its parameters; those of a struct are its fields, as written in the
    code."""
    if isinstance(value, type) and issubclass(value, Struct):
        hints = {
            key: hint
            for base in reversed(value.__mro__)
            for key, hint in vars(base).get("__annotations__", {}).items()
        }
        fields = [f"{field}: {hints[field]}" for field in value.__struct_fields__]
        return f"{name}({', '.join(fields)})"
    if value is toolwire.ToolwireError:  # which takes what every exception takes
        return f"{name}(*args: 'object')"
    return f"{name}{inspect.signature(value)}" if callable(value) else f"{name} = {value!r}"


def surface() -> list[str]:
    """One line for each public name, and for each public member of a class."""
    lines: list[str] = []
    for name in toolwire.__all__:
        value = getattr(toolwire, name)
        lines.append(signature(name, value))
        if isinstance(value, type):
            for member, attribute in sorted(vars(value).items()):
                if isinstance(attribute, property):
                    lines.append(f"{name}.{member}")
                elif not member.startswith("_") and inspect.isroutine(getattr(value, member)):
                    lines.append(signature(f"{name}.{member}", getattr(value, member)))
    return [re.sub(r" at 0x[0-9a-f]+", "", line) for line in lines]


def test_the_public_names_and_signatures_are_those_of_api_txt() -> None:
    """A change of the public surface is a visible diff: write the file again with
    TOOLWIRE_API=write."""
    file = TESTS / "api.txt"
    if os.environ.get("TOOLWIRE_API") == "write":
        file.write_text("\n".join(surface()) + "\n")
    assert surface() == file.read_text().splitlines()


def test_importing_the_package_stays_light() -> None:
    heavy = (
        "click rich openai anthropic google mcp boto3 botocore mistralai cohere ollama httpx"
        " pydantic starlette uvicorn asyncio toolwire.streaming.restream"
    )
    code = (
        f"import sys, toolwire; print([name for name in {heavy.split()!r} if name in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert process.stdout.strip() == "[]"


# --- words ----------------------------------------------------------------------------------------

TREES = ("src/toolwire", "pytest_plugin", "tests", "bench", "scripts", "examples")
"""What is measured: everything in Python."""
PROSE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md", "changes/*.md")
VOCABULARY_LIMITS = {
    # what starlette, uvicorn, mcp, dbos and llm have at most
    "functions named by a participle, percent": 2.0,
    "classes named by a participle, percent": 1.5,
    "class names used more than twice": 0,
    "imports of another folder's private module": 0,
    "quaint words per 1,000 lines": 0.5,
}
MODULES_PER_FOLDER = 25
"""How many modules a folder holds at most; one for each rule in `lint/rules`."""


def modules_of(tree: str) -> list[Path]:
    """The modules of a tree of the project."""
    return [path for path in files_of(tree) if path.suffix == ".py"]


def files_of(tree: str) -> list[Path]:
    """The files of a tree of the project, without those that npm installed."""
    found: list[Path] = []
    for folder, subfolders, names in os.walk(PROJECT / tree):
        subfolders[:] = [name for name in subfolders if name != "node_modules"]
        found += (Path(folder, name) for name in names)
    return sorted(found)


@pytest.mark.parametrize("tree", TREES)
def test_names_and_comments_use_the_words_of_the_field(tree: str) -> None:
    vocabulary = measure(PROJECT / tree, modules_of(tree))
    figures = vocabulary.figures()
    above = [figure for figure, limit in VOCABULARY_LIMITS.items() if figures[figure] > limit]
    assert {figure: vocabulary.findings(figure) for figure in above} == {}


def test_pages_use_the_words_of_the_field() -> None:
    pages = [page for pattern in PROSE for page in sorted(PROJECT.glob(pattern))]
    assert len(pages) > 50
    found = [
        line
        for page in pages
        for line in find_quaint_words(
            page.read_text(encoding="utf-8"), str(page.relative_to(PROJECT))
        )
    ]
    assert found == []


def test_the_measure_finds_what_it_counts(tmp_path: Path) -> None:
    package = tmp_path / "sample"
    (package / "inner").mkdir(parents=True)
    (package / "inner" / "_private.py").write_text('"""Somebody mended it."""\n')
    (package / "outer.py").write_text(
        "from sample.inner import _private\n"
        "class Told: ...\n"
        "class _Told: ...\n"
        "class ToldLater:\n"
        "    class Told: ...\n"
        "    @property\n"
        "    def named(self): ...\n"
        "def _asked(): ...\n"
        "def feed(): ...\n"
    )
    found = measure(package, sorted(package.rglob("*.py")))
    assert (found.lines, found.functions, found.classes) == (10, 2, 4)
    assert found.participle_functions == ["outer.py:8 _asked"]
    assert [line.split()[-1] for line in found.participle_classes] == ["Told", "_Told", "Told"]
    assert found.repeated_classes == ["Told: outer.py:2, outer.py:3, outer.py:5"]
    assert found.private_imports == ["outer.py:1 sample.inner._private"]
    assert [line.split()[-1] for line in found.quaint_words] == ["Somebody", "mended"]
    assert list(found.figures()) == list(VOCABULARY_LIMITS)


@rows("folder", sorted({path.parent for path in MODULES}), ids=name_of_folder)
def test_a_folder_is_not_crowded(folder: Path) -> None:
    modules = [path.name for path in folder.glob("*.py")]
    assert folder.name == "rules" or len(modules) <= MODULES_PER_FOLDER, modules


# --- sizes ----------------------------------------------------------------------------------------

MODULE_LINES = 450
FUNCTION_LINES = 60
"""Without docstrings."""
COMPLEXITY = 15
LONG_FUNCTIONS = {"conversation.observations observe"}
"""Functions above the limits of lines and of branches: every translation makes this one pass over
its history, and a call per message would cost more than all the rest of the pass."""
BUILTIN_IDS = {"conversation.part_map"}
"""The module that may use the builtin `id`: `PartMap` and `PartSet` find a part by identity."""


@rows("path", MODULES, ids=name_of)
def test_a_module_fits_its_limit(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MODULE_LINES


@rows("path", MODULES, ids=name_of)
def test_a_function_fits_on_a_screen(path: Path) -> None:
    long = {
        node.name: lines
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and f"{name_of(path)} {node.name}" not in LONG_FUNCTIONS
        and (lines := lines_of(node)) > FUNCTION_LINES
    }
    assert long == {}


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without its docstring and those of the attributes that it sets."""
    docstrings = [
        node
        for node in function.body
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return _span(function) - sum(map(_span, docstrings))


def _span(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def test_a_function_has_few_branches() -> None:
    """Ruff's measure of complexity."""
    limit = f"lint.mccabe.max-complexity={COMPLEXITY}"
    options = ("--isolated", "--select=C901", "--output-format=json", f"--config={limit}")
    process = subprocess.run(
        [sys.executable, "-m", "ruff", "check", *options, str(SOURCE)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    complexity = {
        f"{name_of(Path(finding['filename']))} {match[1]}": int(match[2])
        for finding in json.loads(process.stdout)
        if (match := re.match(r"`(\w+)` is too complex \((\d+)", finding["message"]))
    }
    assert complexity.keys() == LONG_FUNCTIONS, complexity


@rows("path", [p for p in MODULES if name_of(p) not in BUILTIN_IDS], ids=name_of)
def test_the_builtin_id_is_no_key(path: Path) -> None:
    lines = [
        node.lineno
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "id"
    ]
    assert lines == []


# --- wires ----------------------------------------------------------------------------------------


REPORTED_BY_HAND = {
    "families": {"blocks": 0, "chat": 6, "contents": 4, "items": 6, "rpc_log": 6, "turns": 0},
    "wires": {
        "adk": 3,
        "ai_sdk": 27,
        "anthropic": 1,
        "azure_foundry": 0,
        "bedrock": 8,
        "cohere": 5,
        "gemini": 0,
        "genkit": 1,
        "mcp": 9,
        "meai": 0,
        "mistral": 1,
        "ollama": 10,
        "openai_chat": 3,
        "openai_responses": 0,
        "oxp": 5,
        "text": 9,
    },
}
"""How many losses the writers of a family or wire report themselves. Lowering reports all others
from the capabilities of the wire, so a figure may only fall."""
REPORTED_BY_A_NEW_WIRE = 5


def losses_reported_by_hand(folder: Path) -> list[str]:
    """Where the modules of a folder use `report_loss`."""
    return [
        f"{name_of(path)}:{node.lineno}"
        for path in sorted(folder.rglob("*.py"))
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Attribute) and node.attr == "report_loss"
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_reports_no_more_losses_by_hand_than_before(family: str) -> None:
    found = losses_reported_by_hand(SOURCE / "wires" / "families" / family)
    assert len(found) <= REPORTED_BY_HAND["families"].get(family, 0), found


@pytest.mark.parametrize("wire", WIRES)
def test_a_wire_reports_no_more_losses_by_hand_than_before(wire: str) -> None:
    found = losses_reported_by_hand(SOURCE / "wires" / wire)
    limit = REPORTED_BY_HAND["wires"].get(wire, REPORTED_BY_A_NEW_WIRE)
    assert len(found) <= limit, found


@pytest.mark.parametrize("wire", WIRES)
def test_every_wire_has_a_test_file_and_a_folder_of_cases(wire: str) -> None:
    assert (TESTS / "wires" / f"test_{wire}.py").is_file()
    folder = TESTS / "cases" / wire.replace("_", "-")
    assert [
        case
        for case in folder.glob("*/")
        if any((case / f"{kind}.json").is_file() for kind in ("request", "response"))
    ]


def test_every_folder_of_cases_belongs_to_a_wire() -> None:
    found = {folder.name for folder in (TESTS / "cases").glob("*/")}
    assert found - {wire.replace("_", "-") for wire in WIRES} == set()


@rows(
    "folder",
    sorted((TESTS / "cases").glob("*/*/")),
    ids=lambda path: f"{path.parent.name}-{path.name}",
)
def test_a_case_folder_holds_bodies_and_pairs_and_is_named_after_a_behaviour(folder: Path) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", folder.name)
    names = {file.name for file in folder.iterdir()}
    known = {"request.json", "response.json", "stream.txt", "stream.json", "pairs.json", "notes.md"}
    assert names <= known, f"not part of a case: {names - known}"
    assert names - {"pairs.json", "notes.md"}


_CONFLICT_MARK = re.compile(rb"^(?:<{7}|>{7}) ", re.MULTILINE)


def test_no_file_holds_the_marks_of_a_merge() -> None:
    folders = ("src", "docs", "tests", "scripts", "bench", "examples", "changes")
    found = [
        str(path.relative_to(PROJECT))
        for folder in folders
        for path in files_of(folder)
        if path.suffix in (".py", ".md", ".json", ".jsonl", ".toml")
        and _CONFLICT_MARK.search(path.read_bytes())
    ]
    assert found == []
