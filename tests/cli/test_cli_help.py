"""`toolwire --help`, `help` and `--version`: nothing is cut off, and every example is valid."""

from __future__ import annotations

import re
import shlex
import subprocess

import click
import pytest
from cli.shell import ROOT
from click.testing import CliRunner

import toolwire
from toolwire.cli.framework.group import commands
from toolwire.cli.framework.sections import EXAMPLES, SECTIONS


def invoke(*words: str) -> str:
    result = CliRunner().invoke(commands, words, prog_name="toolwire", terminal_width=80)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_command_is_in_one_section() -> None:
    listed = [name for examples in SECTIONS.values() for name in examples]
    assert sorted(listed) == commands.list_commands(click.Context(commands))
    assert list(SECTIONS) == ["Sessions", "Translate", "Serve", "Debug"]


def test_no_summary_is_cut_off_and_every_section_has_an_example() -> None:
    text = invoke("--help")
    assert "..." not in text.replace("[ARGS]...", "")
    assert max(map(len, text.splitlines())) <= 80
    for examples in SECTIONS.values():
        assert f"\n  $ {next(iter(examples.values()))}\n" in text


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_help_of_a_command_ends_with_an_example_that_it_understands(name: str) -> None:
    example = EXAMPLES[name]
    assert invoke(name, "--help").endswith(f"Example:\n    $ {example}\n")
    program, word, *arguments = shlex.split(example)
    assert (program, word) == ("toolwire", name)
    command = commands.get_command(click.Context(commands), name)
    assert command is not None
    command.make_context(name, arguments)


@pytest.mark.parametrize("name", ["add", "limit", "list", "revoke"])
def test_the_help_of_a_command_for_keys_ends_with_an_example_that_it_understands(name: str) -> None:
    text = invoke("keys", name, "--help")
    example = text.rpartition("Example:\n    $ ")[2]
    program, group, word, *arguments = shlex.split(example)
    assert (program, group, word) == ("toolwire", "keys", name)
    keys = commands.get_command(click.Context(commands), "keys")
    assert isinstance(keys, click.Group)
    keys.commands[name].make_context(name, arguments)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_help_of_a_command_has_one_example_and_fits_into_80_columns(name: str) -> None:
    text = invoke(name, "--help")
    assert text.count("Example:") == 1
    assert max(map(len, text.splitlines())) <= 80


def test_help_of_a_command_is_its_help() -> None:
    assert invoke("help", "cut") == invoke("cut", "--help")
    assert invoke("help", "keys", "add") == invoke("keys", "add", "--help")
    assert invoke("help") == invoke("--help")


def test_a_group_without_a_command_shows_its_help() -> None:
    result = CliRunner().invoke(commands, ["keys"], prog_name="toolwire")
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: toolwire keys [OPTIONS] COMMAND [ARGS]...\n\n")


def test_help_of_an_unknown_command_is_an_error() -> None:
    result = CliRunner().invoke(commands, ["help", "chekc"], prog_name="toolwire")
    assert result.exit_code == 2
    assert "Did you mean 'check'?" in result.stderr


def test_the_version_names_the_commit_of_a_checkout() -> None:
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    commit = rf" \(commit {head[:12]}\)" if head else ""
    for option in ("-V", "--version"):
        assert re.fullmatch(rf"toolwire {toolwire.__version__}{commit}\n", invoke(option))
