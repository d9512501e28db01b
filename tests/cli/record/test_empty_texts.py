"""An empty text is refused where a text is required, through every way to record."""

from pathlib import Path

import pytest

from sprintlog.cli.begin.sprint import hook_from
from sprintlog.engine.command import decided
from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.phases.leaves import FailPhase
from sprintlog.engine.sprint.phases.lifecycle import BlockSprint
from sprintlog.engine.sprint.state.sprint import Sprint

from ..conftest import Run


@pytest.mark.parametrize(
    "line",
    [
        ("phase", "fail", "--error", ""),
        ("sprint", "block", "--reason="),
        ("entry", "record", "a", "--status", "failed", "--file", ""),
        ("note", "x", "--correlation-id", ""),
        ("wrap", "--measure", "", "--", "true"),
        ("wrap", "--sprint=", "--", "true"),
        ("rules", "set", "--measure", ""),
    ],
)
def test_an_empty_option_is_a_usage_error(
    sprint: Path, run: Run, done: Run, line: tuple[str, ...]
) -> None:
    """The option is named, and nothing is recorded."""
    before = done("log", "--all", "--json").lines
    refused = run(*line)
    assert (refused.code, "an empty text is not a value" in refused.err) == (2, True)
    assert done("log", "--all", "--json").lines == before


def test_a_summary_may_be_empty(sprint: Path, done: Run) -> None:
    """An agent that printed nothing has an empty summary; its phase is completed."""
    done("phase", "start")
    done("phase", "complete", "--summary", "")


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
