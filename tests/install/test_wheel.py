"""Installation: the wheel and the source distribution, each extra in an empty environment.

Installing takes minutes and needs a package index, so only a deep run does it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from cases import DEEP

import toolwire

ROOT = Path(__file__).parents[2]
UVX = Path(sys.executable).with_name("uvx")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
EXTRA_HINTS = {"": "pip install 'toolwire[server]'", "[server]": "", "[all]": ""}
"""The message of `toolwire serve` in an installation with an extra; empty if it serves."""
PLUGIN_TEST = """\
from urllib.request import Request, urlopen


def test_a_mock_answers(toolwire_mock):
    server = toolwire_mock("anthropic")
    headers = {"x-api-key": server.api_key, "anthropic-version": "2023-06-01"}
    with urlopen(Request(f"{server.base_url}/v1/models", headers=headers)) as response:
        assert response.status == 200
"""
pytestmark = pytest.mark.skipif(not DEEP, reason="installs packages (make deep)")


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """The output of a command, which must succeed."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if CERTIFICATES.is_file():  # uv brings certificates of its own; the system's count too
        env.setdefault("SSL_CERT_FILE", str(CERTIFICATES))
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution of this checkout."""
    pytest.importorskip("build", reason="the dependency group `release` is not installed")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


def install(folder: Path, *requirements: str) -> Path:
    """The folder with the programs of a new environment."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", "--no-compile", *requirements)
    return programs


def test_both_distributions_pass_twine(dist: Path) -> None:
    files = sorted(dist.iterdir())
    assert [path.suffix for path in files] == [".whl", ".gz"]
    output = run(sys.executable, "-m", "twine", "check", "--strict", *files)
    assert output.count("PASSED") == 2


def test_the_wheel_of_the_source_distribution_knows_its_commit(dist: Path, tmp_path: Path) -> None:
    (source,) = dist.glob("*.tar.gz")
    version = run(install(tmp_path / "venv", str(source)) / "toolwire", "--version")
    assert re.fullmatch(rf"toolwire {toolwire.__version__} \(commit [0-9a-f]{{12}}\)\n", version)


@pytest.mark.parametrize("extra", EXTRA_HINTS)
def test_an_extra_gives_what_it_promises(extra: str, wheel: Path, tmp_path: Path) -> None:
    programs = install(tmp_path / "venv", f"{wheel}{extra}")
    (tmp_path / "history.json").write_text((ROOT / "examples" / "weather.json").read_text())
    command = ("translate", "history.json", "--to", "anthropic", "--strict", "--quiet")
    done = subprocess.run([programs / "toolwire", *command], cwd=tmp_path, capture_output=True)
    assert done.returncode == 1, "the history has a loss"
    serve = subprocess.run(
        [programs / "toolwire", "serve", str(ROOT / "examples" / "tools.py"), "--stdio"],
        cwd=tmp_path,
        input=b"",
        capture_output=True,
        timeout=600,
    )
    hint = EXTRA_HINTS[extra]
    assert serve.returncode == (2 if hint else 0), serve.stderr
    assert hint in serve.stderr.decode()
    has_postgres = "import psycopg" if extra == "[all]" else "import toolwire"
    run(programs / "python", "-c", has_postgres)


def test_pytest_finds_the_plugin_of_the_wheel(wheel: Path, tmp_path: Path) -> None:
    programs = install(tmp_path / "venv", f"{wheel}[server]", "pytest>=9")
    (tmp_path / "test_it.py").write_text(PLUGIN_TEST)
    output = run(programs / "python", "-m", "pytest", "-q", "test_it.py", cwd=tmp_path)
    assert "1 passed" in output


@pytest.mark.skipif(not UVX.exists(), reason="uv is not installed")
def test_uvx_runs_the_wheel(wheel: Path) -> None:
    output = run(UVX, "--from", wheel, "toolwire", "--version")
    assert f"toolwire {toolwire.__version__} (commit " in output
