"""`why --file`: who set a field of progress.json, or of the best iteration's data."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.sprint.state.patch import MISSING, find
from sprintlog.engine.sprint.state.patch import Path as FieldPath
from sprintlog.projections import Workspace
from sprintlog.projections.history.blame import token
from sprintlog.projections.history.blame_files import STATE_FILES, blame_best, blame_journal

from ..conftest import Run


@pytest.fixture
def learned(journal: Path, done: Run) -> Path:
    """Return the file of a journal in which things changed after they were recorded."""
    done("journal learning add", "then wait", "--type", "error-workaround", "--prd", "pay")
    done("journal learning use", "learning-0002", "--prd", "auth", "--actor", "agent:coder")
    done("journal pattern add", "layers", "--type", "file-structure")
    done("journal learning retire", "learning-0001", "--reason", "no longer")
    return journal


@pytest.fixture
def measured(sprint: Path, done: Run) -> Path:
    """Return a folder whose sprint was measured, rolled back to its best, and continued."""
    done("iteration", "baseline", "--metric", "test_count=8", "--metric", "tests_passed=5")
    for passed in (6, 8, 7):
        done("iteration", "start")
        done("phase", "start", "setup")
        done("iteration", "end", "--metric", "test_count=8", "--metric",
             f"tests_passed={passed}")  # fmt: skip
        done("iteration decide")
    done("rollback", "best", "--plan", "--reason", "worse")
    done("note", "back again")
    return sprint


def paths(value: Any, so_far: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield the path of every field of a document, by ids if items have them."""
    if isinstance(value, dict):
        items: list[tuple[str | int, Any]] = list(value.items())
    elif isinstance(value, list):
        items = [
            (item["id"] if isinstance(item, dict) and "id" in item else index, item)
            for index, item in enumerate(value)
        ]
    else:
        return
    for step, inside in items:
        yield (*so_far, step)
        yield from paths(inside, (*so_far, step))


def check_against_every_version(
    file: str, versions: int, ask: Callable[[str], list[Any]], workspace: Workspace
) -> int:
    """Compare the blame with the document at every version; return the number of fields."""
    read = STATE_FILES[file].read
    documents: list[Any] = [{}] + [
        read(workspace, None, f"version:{version}").document
        for version in range(1, versions + 1)
    ]
    every = {path for document in documents for path in paths(document)}
    for path in every:
        pointer = "".join(
            "/" + str(step).replace("~", "~0").replace("/", "~1") for step in path
        )
        values = [token(find(document, path)) for document in documents]
        (found,) = ask(pointer)
        apart = [at for at in range(1, versions + 1) if values[at] != values[at - 1]]
        assert found.event.version == apart[-1], path
        value = find(documents[-1], path)
        assert (found.value is MISSING) == (value is MISSING)
        assert value is MISSING or found.value == value
        before = find(documents[apart[-1] - 1], path)
        # An empty list is equivalent to a missing one.
        assert (MISSING if before == [] else before) == found.before, path
    return len(every)


def test_is_exact_for_every_field_of_a_journal(learned: Path) -> None:
    """Each field is blamed on the last version at which it differs from the one before."""
    with Workspace.open(Path()) as workspace:
        ask: Any = lambda field: list(blame_journal(workspace, [field]))  # noqa: E731
        assert check_against_every_version("journal", 8, ask, workspace) > 40


@pytest.mark.long
def test_is_exact_for_every_field_of_the_best(measured: Path) -> None:
    """The blame of iterations' data is also exact across a rollback."""
    with Workspace.open(Path()) as workspace:
        head = workspace.sprint("auth").version
        ask: Any = lambda field: list(blame_best(workspace, "auth", [field]))  # noqa: E731
        assert check_against_every_version("best", head, ask, workspace) > 40


def test_tells_who_and_why(learned: Path, done: Run, run: Run) -> None:
    """Actor, reason and time are the event's; at a point, the answer is as of then."""
    field = "learnings[learning-0001].still_valid"
    found = done("why", "--file", "journal", field, "--json").json
    assert (found["value"], found["reason"]) == (False, "no longer")
    assert found["event"]["type"] == "learning-retired"
    used = "learnings[learning-0002].times_referenced"
    said = done("why", "--file", "journal", used).out.splitlines()[1]
    assert said.endswith("agent:coder")
    then = done("why", "--file", "journal", field, "--at", "version:7", "--json").json
    assert then["event"]["type"] == "learning-added"
    missing = run("why", "--file", "journal", "learnings[learning-0009].content")
    assert missing.code == 3
    assert "never had" in missing.err
    assert run("why", "--file", "journal", "--all").code == 2


def test_tells_what_a_rollback_brought_back(measured: Path, done: Run) -> None:
    """For a value restored by a rollback, its original event is named."""
    field = "iteration_metrics.testing.tests_passed"
    found = done("why", "--file", "best", field, "--json").json
    assert (found["value"], found["event"]["type"]) == (8, "rolled-back")
    assert found["brought_back"]["type"] == "iteration-measured"


def test_compares_journals(learned: Path, done: Run) -> None:
    """`diff --file journal` shows each field that differs from the point."""
    lines = done("diff", "version:7", "--file", "journal").out.splitlines()
    assert lines == ["learnings[learning-0001].still_valid: true → false"]
