"""Help, schema and completion: every command explains itself."""

import re
from collections.abc import Iterator
from typing import Any

import click
import pytest

from sprintlog.cli.help.help import FOOTER, SECTIONS
from sprintlog.cli.main import cli


def commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its full name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{prefix}{name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix}{name} ")


def is_leaf(command: click.Command) -> bool:
    """Return whether a command does something when typed without a subcommand."""
    return not isinstance(command, click.Group) or command.invoke_without_command


ALL = dict(commands(cli))


SERVING = ("mcp", "rpc", "extensions notify")
"""Commands with a special form of answer."""


@pytest.mark.parametrize("name", ALL)
def test_every_command_explains_itself(name: str) -> None:
    """Every command has a sentence, and every leaf an example."""
    command = ALL[name]
    assert command.help
    if is_leaf(command):
        assert command.epilog
        assert "sprintlog " in command.epilog


@pytest.mark.parametrize("name", [n for n, c in ALL.items() if is_leaf(c)])
def test_every_option_explains_itself(name: str) -> None:
    """Every option has a help text; every command except a few has --json."""
    options = [p for p in ALL[name].params if isinstance(p, click.Option)]
    assert all(option.help for option in options), name
    if name not in ("demo", "schema", "completion", "help", "hook", "wrap", *SERVING):
        assert any("--json" in option.opts for option in options), name


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_fits_on_one_screen(done: Any, flag: str) -> None:
    """The first screen has a separate line for each common command, by section."""
    lines = done(flag).out.splitlines()
    assert (len(lines) <= 40, max(map(len, lines)) <= 80) == (True, True)
    named = [
        found for line in lines if (found := re.match(r"([a-z ]{7})  ([a-z]+)  ", line))
    ]
    expected = [
        ("" if number else section.replace("-", " "), name)
        for section, found in SECTIONS.items()
        for number, name in enumerate(found.first)
    ]
    assert [(row[1].strip(), row[2]) for row in named] == expected
    assert FOOTER in lines


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completes_in_every_shell(done: Any, shell: str) -> None:
    """There is a completion script for each of the three shells."""
    assert "_SPRINTLOG_COMPLETE" in done("completion", shell).out


@pytest.mark.parametrize(
    "name", ["schema", "completion", *(n for n, c in ALL.items() if not is_leaf(c))]
)
def test_a_command_typed_alone_prints_its_help(run: Any, name: str) -> None:
    """A command that requires arguments prints its help, and exits with 2."""
    result = run(*name.split())
    assert (result.code, result.err) == (2, "")
    assert result.out == run(*name.split(), "--help").out
    assert result.out.count("\n") > 4


def test_a_usage_error_is_one_line(run: Any) -> None:
    """A multi-line message is printed on one line, without escapes."""
    result = run("schema", "--", "nonsense")
    assert result.code == 2
    assert len(result.err.splitlines()) == 2
    assert "\\x0a" not in run("phase", "--json").err + result.err


def test_usage_errors_end_with_2(run: Any) -> None:
    """An invalid command line exits with 2, one line and a hint."""
    result = run("phase", "strat")
    assert result.code == 2
    assert result.err.startswith("error: ")


def test_publishes_json_schemas(done: Any) -> None:
    """The schemas of files that people write, of events and commands, are 2020-12."""
    for what in ("progress", "plan", "sprint", "workflow", "events", "commands"):
        assert "2020-12" in done("schema", what).json["$schema"]
    assert "phase-completed" in done("schema", "events").json["properties"]
    commands = done("schema", "commands").json
    assert commands["properties"]["complete-phase"] == {"$ref": "#/$defs/CompletePhase"}
    assert "summary" in commands["$defs"]["CompletePhase"]["properties"]
