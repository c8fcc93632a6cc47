"""A command whose packages are not installed names the extra to install."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from cli.server_process import EXAMPLES
from cli.shell import ROOT, environment

from toolwire.extras import INDIRECT, MODULES, Extra

EVERYTHING = [*(module for modules in MODULES.values() for module in modules), *INDIRECT]
"""The modules that a plain `pip install toolwire` lacks."""
WITHOUT = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Finder())
sys.argv[1:] = {line!r}.split()
from toolwire.cli import main
main()
"""


def run_without(modules: list[str], line: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process that cannot import some modules."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT.format(modules=modules, line=line)],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
        timeout=600,
        cwd=ROOT,
    )


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        (f"serve {EXAMPLES} --ledger memory:", "server"),
        ("gateway", "server"),
        ("gateway --check", "server"),
        ("mock --wire anthropic", "server"),
        (f"up {EXAMPLES}", "server"),
        ("run hello --model openai:gpt-5", "tools"),
        (f"call Calculator.Add a=1 b=2 --tools {EXAMPLES}", "tools"),
        (f"tools {EXAMPLES}", "tools"),
    ],
)
def test_without_any_extra_a_command_names_the_one_it_needs(line: str, extra: str) -> None:
    done = run_without(EVERYTHING, line)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("toolwire: this command needs the package ")
    assert done.stderr.endswith(f": run pip install 'toolwire[{extra}]'\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("module", "line", "extra"),
    [
        ("uvicorn", f"serve {EXAMPLES} --ledger memory:", "server"),
        ("jsonschema_rs", f"serve {EXAMPLES} --ledger memory:", "server"),
        ("mcp", f"serve {EXAMPLES} --ledger memory:", "server"),
        ("uvicorn", "run hello --model demo:", "server"),
        ("mcp", "tools mcp:some-server", "server"),
        ("psycopg", f"serve {EXAMPLES} --ledger postgresql://127.0.0.1/db", "postgres"),
        ("httptools", "tools http://127.0.0.1:1", "tools"),
        ("opentelemetry", f"call Calculator.Add a=1 b=2 --tools {EXAMPLES}", "tools"),
    ],
)
def test_a_missing_package_is_named_with_the_extra_that_installs_it(
    module: str, line: str, extra: str
) -> None:
    done = run_without([module], line)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert module in done.stderr
    assert done.stderr.endswith(f"pip install 'toolwire[{extra}]'\n")


@pytest.mark.parametrize(
    "line",
    [
        "--help",
        "gateway --help",
        "run --help",
        "wires openai-chat",
        "check examples/weather.json",
        "translate examples/weather.json --to gemini -q",
        "repair examples/weather.json -q",
        "explain nonsense",
        "tour",
    ],
)
def test_without_any_extra_the_codec_commands_and_every_help_work(line: str) -> None:
    done = run_without(EVERYTHING, line)
    assert done.returncode in (0, 1) and done.stdout + done.stderr
    assert "toolwire[" not in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [
        ("toolwire", "Gateway", "server"),
        ("toolwire", "ToolServer", "server"),
        ("toolwire", "McpClient", "server"),
        ("toolwire", "Agent", "tools"),
        ("toolwire", "PostgresLedger", "postgres"),
        ("toolwire.gateway", "Gateway", "server"),
        ("toolwire.testing", "MockServer", "server"),
        ("toolwire.server", "Auth", "server"),
        ("toolwire.agent", "HttpModel", "tools"),
        ("toolwire.oxp", "OxpClient", "tools"),
        ("toolwire.types", "Auth", "server"),
        ("toolwire.execution.temporal", "TemporalRunner", "temporal"),
    ],
)
def test_a_name_that_needs_a_missing_package_names_the_extra(
    package: str, name: str, extra: str
) -> None:
    program = WITHOUT.replace(
        "from toolwire.cli import main\nmain()", f"from {package} import {name}"
    )
    modules = {"postgres": ["psycopg"], "temporal": ["temporalio"]}.get(extra, EVERYTHING)
    done = subprocess.run(
        [sys.executable, "-c", program.format(modules=modules, line="")],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
        timeout=600,
        cwd=ROOT,
    )
    assert f"{package}.{name} needs the package " in done.stderr
    assert done.stderr.endswith(f": run pip install 'toolwire[{extra}]'\n")


def test_the_modules_of_an_extra_are_those_that_pyproject_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    distributions = packages_distributions()
    for extra, modules in MODULES.items():
        listed = {_name(line) for line in project["optional-dependencies"][extra]} - {"toolwire"}
        installed_by = [{*map(_name, distributions.get(module, [module]))} for module in modules]
        assert listed <= set().union(*installed_by), f"{extra}: a package is not in MODULES"
        assert all(names & listed for names in installed_by), f"{extra}: a module is not installed"


def _name(requirement: str) -> str:
    """The name of a distribution in a requirement, in its normal form."""
    name = requirement.split(";")[0]
    for sign in "[<>=~ ":
        name = name.split(sign)[0]
    return name.lower().replace("_", "-")


def test_an_extra_is_installed_by_its_name_in_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras: set[Extra] = {*MODULES, *INDIRECT.values()}
    assert extras <= set(project["optional-dependencies"])
