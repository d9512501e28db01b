"""The facts about an iteration, as its view on the page shows them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sprintlog.facts import IterationDetails, IterationFacts, sprint_facts
from sprintlog.projections.facts.iteration_facts import patches_of
from sprintlog.projections.workspace import Workspace

from ..conftest import Run
from ..record.loops.judged_loops import MEASURES, RUN, prepare

ODD = "a b/x/\N{LATIN SMALL LETTER E WITH ACUTE}.txt"
CASES = f"2) echo 3 > tests; mkdir -p 'a b/x'; echo new > '{ODD}' ;;"
WITH_FILES = ("--snapshot", "--on-regression", "continue")


@pytest.fixture
def view(folder: Path, run: Run, done: Run) -> Iterator[IterationDetails]:
    """Return the iterations of a loop whose second one removes a test."""
    tree = prepare(done, folder, CASES)
    run("run", *MEASURES, *WITH_FILES, "--budget-iterations", 2, *RUN)
    (tree / "by-hand").write_text("a person's line\n")
    run("run", *MEASURES, *WITH_FILES, *RUN)
    with Workspace.open(tree) as workspace:
        yield IterationDetails(sprint_facts(workspace, workspace.choose(None)))


def of(view: IterationDetails, number: int) -> IterationFacts:
    """Return an iteration that exists."""
    found = view.of(number)
    assert found is not None
    return found


def test_the_prompt_is_the_one_that_the_agent_received(
    view: IterationDetails, folder: Path
) -> None:
    """It is rebuilt from the log, and shown only if its digest is the recorded one."""
    for number in (1, 2, 3):
        prompt = of(view, number).prompt
        assert prompt is not None
        assert prompt.text == (folder / "told" / str(number)).read_text()
        answer = of(view, number).answer
        assert answer is not None
        assert answer.text.strip() == f"did {number}"


def test_tests_are_named_from_the_kept_reports(view: IterationDetails) -> None:
    """Added, removed and changed tests are those that differ from the previous one."""
    assert [x.name for x in of(view, 2).test_changes] == ["c.t3"]
    assert of(view, 2).test_changes[0].after is None
    assert {x.before for x in of(view, 3).test_changes} == {None}


def test_files_have_lines_and_authors(view: IterationDetails) -> None:
    """Lines of the agent are shown; files changed outside are only named."""
    second, third = (of(view, n).patched for n in (2, 3))
    found = [(x.path, x.by, x.counts) for x in second if x.path != "junit.xml"]
    assert found == [
        (ODD, "agent", (1, 0)),
        ("tests", "agent", (1, 1)),
        ("work", "agent", (1, 1)),
    ]
    assert third[-1][:3] == ("by-hand", "added", "outside")


def test_every_way_is_a_command(view: IterationDetails, done: Run) -> None:
    """Each command shown for an iteration is accepted."""
    for line, _ in of(view, 1).ways:
        _, *words = line.split()
        if words[0] in ("rollback", "fork"):
            words.append("--dry-run")
        assert done(*words).code == 0, line


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_patch_is_split_by_files(count: int) -> None:
    """Lines that look like headers, inside a hunk, belong to the hunk."""
    one = "diff --git f{0} f{0}\nindex 1..2\n--- f{0}\n+++ f{0}\n@@ -1 +1 @@\n--- x\n+y\n"
    whole = "".join(one.format(n) for n in range(count))
    lines = ["@@ -1 +1 @@", "--- x", "+y"]
    assert [*patches_of(whole)] == [(f"f{n}", lines) for n in range(count)]
