"""An empty text is refused if a text is required, by every way to record."""

import json
from pathlib import Path

import pytest

from sprintlog.cli.begin.sprint import hook_from
from sprintlog.engine.command import decided
from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.phases.leaves import FailPhase
from sprintlog.engine.sprint.phases.lifecycle import BlockSprint
from sprintlog.engine.sprint.state.sprint import Sprint

from ..conftest import Run

EMPTY = ("", "  ", " \t\n", "\N{NO-BREAK SPACE}")
"""Texts without a visible character."""


@pytest.mark.parametrize("text", EMPTY)
@pytest.mark.parametrize(
    "line",
    [
        ("phase", "fail", "--error="),
        ("sprint", "block", "--reason="),
        ("journal", "entry", "record", "a", "--status", "failed", "--file="),
        ("note", "x", "--correlation-id="),
        ("iteration", "rules", "set", "--measure="),
        *(
            (command, option, "--", "true")
            for command, option in (
                *(("wrap", "--measure="), ("wrap", "--sprint="), ("run", "--fallback=")),
                *(("run", "--hook-command="), ("run", "--notify="), ("run", "--measure=")),
            )
        ),
    ],
)
def test_an_empty_option_is_a_usage_error(
    sprint: Path, run: Run, done: Run, line: tuple[str, ...], text: str
) -> None:
    """The option is named, and nothing is recorded; blank text also counts as empty."""
    before = done("log", "--all", "--json").lines
    option = next(word for word in line if word.endswith("="))
    refused = run(*(word + text * (word is option) for word in line))
    message = f"'{option[:-1]}': the value must not be empty"
    assert (refused.code, message in refused.err) == (2, True), refused.err
    assert done("log", "--all", "--json").lines == before


@pytest.mark.parametrize("text", EMPTY)
@pytest.mark.parametrize(
    "line",
    [
        ("note",),
        ("sprint", "create", "--goal", "x"),
        ("goal", "set"),
        ("queue", "add", "--type", "bug", "--priority", "low"),
        ("journal", "learning", "add", "--type", "tool-usage", "--prd", "auth"),
        ("journal", "search", "word"),
    ],
)
def test_an_empty_argument_is_a_usage_error(
    folder: Path, run: Run, line: tuple[str, ...], text: str
) -> None:
    """It is refused before a log or a sprint is created."""
    refused = run(*line, text)
    assert (refused.code, "the value must not be empty" in refused.err) == (2, True)
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("text", EMPTY)
@pytest.mark.parametrize("key", ["fallback", "hook-command", "command"])
def test_an_empty_setting_is_refused(sprint: Path, run: Run, key: str, text: str) -> None:
    """An empty text in sprintlog.toml is also refused, with its key."""
    value = json.dumps([text] if key == "command" else text)
    Path("sprintlog.toml").write_text(f"[agent]\n{key} = {value}\n")
    refused = run("config", "--trust")
    assert refused.code != 0
    assert f"agent.{key}: " in refused.err
    assert "the value must not be empty" in refused.err


def test_a_summary_may_be_empty(sprint: Path, done: Run) -> None:
    """An agent without output has an empty summary; its phase is completed."""
    done("phase", "start")
    assert "phase-completed" in done("phase", "complete", "--summary", "").out


@pytest.mark.parametrize("text", ["", " \n"])
@pytest.mark.parametrize("command", [FailPhase, BlockSprint])
def test_a_command_without_its_reason_is_refused(command: type, text: str) -> None:
    """The library, rpc and MCP are refused by the same rule as the command line."""
    field = "error" if command is FailPhase else "reason"
    with pytest.raises(InvalidInputError, match="is empty") as caught:
        decided(command(**{field: text}), Sprint("s"), "2026-01-15T09:00:00Z")
    assert caught.value.fields["field"] == field


@pytest.mark.parametrize(
    ("text", "command", "is_parallel"),
    [
        ("id=x,command=echo a,parallel=true", "echo a", True),
        ("id=x,parallel=true,command=echo a, b=c, d", "echo a, b=c, d", True),
        ("command=echo a,b,id=x", "echo a,b", False),
    ],
)
def test_a_hooks_command_ends_before_the_next_key(
    text: str, command: str, is_parallel: bool
) -> None:
    """A comma belongs to the command unless a key of a hook and `=` follow it."""
    hook = hook_from(text)
    assert (hook["id"], hook["command"], hook["parallel"]) == ("x", command, is_parallel)
