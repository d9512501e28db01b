"""`--fields`: selected fields of an answer, by name."""

from pathlib import Path

import click
import pytest

from sprintlog.cli.screen.fields import chosen, read
from sprintlog.engine.errors import InvalidInputError
from tests.docs.generate import commands

from ...conftest import Run


def test_every_command_that_answers_json_takes_fields() -> None:
    """Every command with `--json` has `--fields`."""
    for path, command in commands():
        names = {o for p in command.params if isinstance(p, click.Option) for o in p.opts}
        assert ("--json" in names) == ("--fields" in names), path


@pytest.mark.parametrize(
    ("line", "fields", "answer"),
    [
        (["status"], "sprint,version", {"sprint": "auth", "version": 2}),
        (["status"], "version, sprint", {"version": 2, "sprint": "auth"}),
        (["best"], "best.score", {"best": None}),
        (["sprint", "list"], "status", [{"status": "in-progress"}]),
        (["show", "progress"], "current.phase", {"current": {"phase": 0}}),
        (["query", "SELECT count(*) AS n, 7 AS m FROM v_sprints"], "m", {"m": 7}),
        (["note", "hello"], "version,addresses", {"version": 3, "addresses": None}),
        (["log", "--last", "1"], "data.nothing,type", {"data": {"nothing": None},
                                                         "type": "sprint-started"}),
    ],
)  # fmt: skip
def test_only_what_was_asked_for(
    sprint: Path, done: Run, line: list[str], fields: str, answer: object
) -> None:
    """The answer keeps its structure, in the requested order; missing fields are null."""
    result = done(*line, "--json", "--fields", fields)
    assert result.json == answer
    if isinstance(answer, dict):
        assert [*result.json] == [*answer]


@pytest.mark.parametrize(
    ("line", "fields", "told"),
    [
        (["log"], "actr", "did you mean actor?"),
        (["best"], "best.scor", "did you mean score?"),
        (["audit"], "decisions.what", "it has position,"),
        (["status"], "version,,sprint", "names such as a,b.c"),
        (["status"], "version.number", "it has none"),
    ],
)
def test_an_unknown_field_is_refused(
    sprint: Path, run: Run, line: list[str], fields: str, told: str
) -> None:
    """The error lists the known fields, before anything is done."""
    result = run(*line, "--json", "--fields", fields)
    assert result.code == 1
    assert result.out == ""
    assert told in result.err


def test_nothing_is_recorded_for_an_unknown_field(
    sprint: Path, run: Run, done: Run
) -> None:
    """After a misspelled field the command can be typed again."""
    assert run("note", "hello", "--json", "--fields", "versoin").code == 1
    assert done("status", "--json").json["version"] == 2


def test_fields_go_with_json(sprint: Path, run: Run) -> None:
    """Without `--json`, `--fields` is refused."""
    assert run("status", "--fields", "version").code == 2


def test_a_whole_field_holds_its_parts() -> None:
    """A field together with one of its parts is the complete field."""
    tree = read("iteration best", "best.score,best")
    assert chosen({"best": {"score": 1, "at": ""}}, tree) == {
        "best": {"score": 1, "at": ""}
    }


def test_there_is_a_bound() -> None:
    """There is a maximum number of names."""
    with pytest.raises(InvalidInputError):
        read("status", ",".join(["version"] * 101))
