"""The files in deploy/, the workflows and the hooks: valid by their schemas, and the layout of the
Compose file run as processes."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import urllib.request
from contextlib import ExitStack, closing
from pathlib import Path

import postgres
import psycopg
import pytest
from cases import DEEP
from cli.shell import PROGRAM, environment
from gateway_ops.proxy import NGINX, nginx
from pages import PageRun

from toolwire.cli.framework.group import commands

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROGRAMS = Path(sys.executable).parent
SCHEMAS = {
    "vendor.compose-spec": ["deploy/compose.yaml"],
    "vendor.github-workflows": [".github/workflows/tests.yml", ".github/workflows/release.yml"],
    "vendor.github-actions": ["action.yml"],
    "vendor.github-issue-forms": [
        ".github/ISSUE_TEMPLATE/bug.yml",
        ".github/ISSUE_TEMPLATE/provider.yml",
    ],
}
"""The files by their schema, as check-jsonschema names it."""


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], cwd=ROOT, capture_output=True, text=True, timeout=600
    )


@pytest.mark.skipif(
    not (PROGRAMS / "check-jsonschema").exists(), reason="needs the dependency group `release`"
)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_file_is_valid_by_its_schema(schema: str) -> None:
    done = run(PROGRAMS / "check-jsonschema", "--builtin-schema", schema, *SCHEMAS[schema])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(
    not (PROGRAMS / "kubernetes-validate").exists(), reason="needs the dependency group `release`"
)
def test_the_manifests_are_valid_by_the_schema_of_kubernetes() -> None:
    done = run(PROGRAMS / "kubernetes-validate", "--strict", "deploy/kubernetes.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_container_runs_without_root_and_on_a_root_that_is_read_only() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert re.search(r"^USER 10001$", dockerfile, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK ", dockerfile, re.MULTILINE)
    assert re.search(r"^FROM python:3\.\d+-slim$", dockerfile, re.MULTILINE)
    compose, pod = (DEPLOY / "compose.yaml").read_text(), (DEPLOY / "kubernetes.yaml").read_text()
    assert compose.count("read_only: true") == 2
    assert "readOnlyRootFilesystem: true" in pod and "runAsNonRoot: true" in pod


def test_the_proxy_of_the_compose_file_has_the_configuration_of_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "gateway.md").read_text()
    (documented,) = re.findall(r"```nginx\n(.*?)```", page, re.DOTALL)
    names = {"127.0.0.1:8081": "gateway1:8080", "127.0.0.1:8082": "gateway2:8080"}
    for address, name in names.items():
        documented = documented.replace(address, name)
    assert (DEPLOY / "nginx.conf").read_text().split("\n", 1)[1] == documented


@pytest.mark.parametrize("file", ["Dockerfile", "deploy/kubernetes.yaml", "action.yml"])
def test_the_commands_of_a_file_are_commands_of_the_program(file: str) -> None:
    text = (ROOT / file).read_text()
    lines = re.findall(r'CMD \[("gateway".*?)\]|args: \[(gateway.*?)\]|toolwire (check .*)', text)
    (line,) = (next(filter(None, groups)) for groups in lines)
    words = [word for word in re.split(r"[,\s]+", line.replace('"', "")) if word]
    words = words[: words.index(">")] if ">" in words else words
    command = commands.get_command(
        commands.make_context("toolwire", ["--help"], resilient_parsing=True), words[0]
    )
    assert command is not None
    command.make_context(words[0], words[1:])


def test_the_hook_runs_the_check_on_files() -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text()
    (entry,) = re.findall(r"^  entry: toolwire (.+)$", hook, re.MULTILINE)
    done = run(*PROGRAM, *shlex.split(entry), "examples/weather.json", "examples/stuck.json")
    assert done.returncode == 1
    assert "examples/stuck.json:9:9: TW023" in done.stdout


@pytest.mark.skipif(not DEEP, reason="starts PostgreSQL, nginx and two gateways (make deep)")
def test_the_layout_of_the_compose_file_works_as_processes(tmp_path: Path) -> None:
    """Two gateways with the configuration of deploy/, on one ledger, and nginx if there is one."""
    known = psycopg.conninfo.conninfo_to_dict(postgres.database())
    url = "postgresql:///{dbname}?user={user}&host={host}".format(**known)
    config = (DEPLOY / "gateway.toml").read_text()
    (tmp_path / "gateway.toml").write_text(
        config.replace("postgresql://toolwire@postgres/toolwire", url)
    )
    (tmp_path / "tools.py").write_text((DEPLOY / "tools.py").read_text())
    key = run(*PROGRAM, "keys", "add", "alice", tmp_path / "keys.toml").stdout.split()[0]
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ toolwire gateway gateway.toml --port 8081 &\n"
        "$ toolwire gateway gateway.toml --port 8082 &\n```\n"
    )
    with ExitStack() as stack:
        servers = stack.enter_context(closing(PageRun(page, tmp_path)))
        servers.start()
        urls = [f"http://127.0.0.1:{servers.port(port)}" for port in ("8081", "8082")]
        if NGINX is not None:
            urls.append(stack.enter_context(nginx(tmp_path, urls)))
        for url in urls:
            with urllib.request.urlopen(f"{url}/health", timeout=30) as response:
                assert response.status == 200
            probe = subprocess.run(
                [*PROGRAM, "probe", url],
                env=environment(TOOLWIRE_KEY=key, PATH=os.environ["PATH"]),
                capture_output=True,
                text=True,
                timeout=600,
            )
            assert probe.returncode == 0, probe.stdout + probe.stderr
