"""`audit`: the decisions of a sprint, in every format."""

import re
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.history.audit import markdown_table
from sprintlog.projections.exports.tables import csv_text
from sprintlog.projections.markdown import code

EVIL = "=1+1 `x` | <b>@ana</b> [l](http://e) \\| \\\\| end\\"


@pytest.fixture
def decided(sprint: Path, done: Any) -> Path:
    """Return a folder whose sprint has decisions of several kinds."""
    done("phase", "start")
    done("phase", "fail", "--error", "boom", "--actor", "agent:coder")
    done("sprint", "resume", "--by", "ana", "--why", EVIL, "--actor", "operator:ana")
    done("phase", "skip", "setup", "--reason", "not needed", "--actor", "operator:ana")
    done("rollback", "version:2", "--reason", "anew")
    return sprint


def test_tells_who_when_on_what_and_what_followed(decided: Path, done: Any) -> None:
    """Each decision has its actor, its evidence and its consequence."""
    answer = done("audit", "--json").json
    assert (answer["sprint"], answer["version"]) == ("auth", 8)
    skip = next(d for d in answer["decisions"] if d["kind"] == "skip")
    assert (skip["actor"], skip["said"], skip["version"]) == (
        "operator:ana",
        "not needed",
        7,
    )
    assert skip["evidence"] == "version 4: phase-failed setup by agent:coder: boom"
    assert (skip["in_force"], skip["followed"]) == (False, "discarded at version 8")
    lines = done("audit").out.splitlines()
    assert lines[-1] == "auth: 5 decisions up to version 8"
    assert "[discarded]" in "".join(lines)


def test_as_of_any_point_and_kind(decided: Path, done: Any) -> None:
    """With --at the decisions are those of that time, with --kind some of them."""
    before = done("audit", "--at", "version:7", "--json").json["decisions"]
    assert [d["in_force"] for d in before] == [True] * 4
    some = done("audit", "--kind", "skip", "--kind", "rollback", "--json").json
    assert [d["kind"] for d in some["decisions"]] == ["skip", "rollback"]


def test_one_form_at_a_time(decided: Path, run: Any) -> None:
    """Markdown, CSV and JSON exclude each other."""
    assert run("audit", "--markdown", "--csv").code == 2
    assert run("audit", "--kind", "mood").code == 2


def test_csv_has_a_row_for_each(decided: Path, done: Any) -> None:
    """The header comes first; a formula is preceded by an apostrophe."""
    lines = done("audit", "--csv").out.splitlines()
    assert lines[0].startswith('"version","at","actor"')
    assert len(lines) == 6


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\t=1", " =1", "|x", "%x"])
def test_no_text_is_a_formula(text: str) -> None:
    """Everything that a spreadsheet would execute starts with an apostrophe."""
    assert csv_text(text) == f"'{text}"
    assert csv_text(f"x{text}") == f"x{text}"


def spans(line: str) -> list[str]:
    """Return the cells of a table's line as GitHub splits and reads them."""
    cells = re.findall(r"((?:\\.|[^|\\])*)\|", line)[1:]
    return [cell.replace("\\|", "|").strip() for cell in cells]


@pytest.mark.parametrize(
    "text",
    [EVIL, "`", "``` a `` b", " x ", "|", "\\|", "a\\\\\\|b", "\n", "<!-- -->", "x`"],
)
def test_text_stays_text_in_markdown(text: str) -> None:
    """Each text is one cell and is completely code, whatever it contains."""
    (*_, line) = markdown_table(["a", "b"], [[text, 7]])
    first, second = spans(line)
    assert second == "7"
    marks = re.match("`+", first)
    assert marks is not None
    assert first.endswith(marks[0])
    inside = first[len(marks[0]) : -len(marks[0])]
    assert marks[0] not in re.findall("`+", inside)


def test_code_of_nothing_special() -> None:
    """Plain text has plain marks."""
    assert code("plain") == "`plain`"
    assert code("a`b") == "``a`b``"


def test_markdown_is_one_table(decided: Path, done: Any) -> None:
    """The page has a title and a table with a line for each decision."""
    title, empty, *lines = done("audit", "--markdown").out.splitlines()
    assert (title, empty) == ("# Decisions of `auth`, up to version 8", "")
    assert {len(spans(line)) for line in lines} == {9}
    assert len(lines) == 2 + 5
