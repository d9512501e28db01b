"""The sprint that a command refers to: that of its tree, unfinished before finished."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from sprintlog.cli.iterations.judgements import list_lines
from sprintlog.commands import CreateSprint, FailMeasurement, StartSprint, StartWrapped
from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.service import wrap
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.service.wrap import sprint_for
from sprintlog.engine.sprint.events import Place, SprintCompleted
from sprintlog.projections.page.document import page
from sprintlog.projections.text.summary_report import SummaryTexts, summary_markdown
from sprintlog.projections.views.iterations import listed, summary
from sprintlog.projections.views.work import work_tree, work_trees
from sprintlog.projections.workspace import Workspace

from ..adapters.trees import git

PLAN = {"phases": [{"id": "a", "prompt": "x"}]}
AT = "2026-01-15T09:00:00Z"


@pytest.fixture
def trees(tmp_path: Path) -> Iterator[dict[str, Workspace]]:
    """Provide the workspaces of a main work tree and two linked ones, on one log."""
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-qm", "i", "--allow-empty")
    Workspace.init(main).close()
    with ExitStack() as stack:
        found = {"main": stack.enter_context(Workspace.open(main))}
        for name in ("one", "two"):
            git(main, "worktree", "add", "-q", f"../{name}")
            found[name] = stack.enter_context(Workspace.open(tmp_path / name))
        yield found


def create(workspace: Workspace, name: str, *, folder: str = "") -> None:
    """Create a sprint, optionally with a file in a folder."""
    path = f"{folder}/PROGRESS.yaml" if folder else None
    place = Place(path, workspace.location.worktree) if path else None
    workspace.handle(CreateSprint(PLAN, place), sprint_id=name, at=AT)
    workspace.handle(StartSprint(), sprint_id=name, at=AT)


def finish(workspace: Workspace, name: str) -> None:
    """Finish a sprint."""
    workspace.handle_with(name, lambda sprint, at: [SprintCompleted()], at=AT)


def test_each_tree_has_its_own_sprint(trees: dict[str, Workspace]) -> None:
    """Without a name the unfinished sprint of the work tree is meant."""
    for name, workspace in trees.items():
        create(workspace, f"of-{name}")
    for name, workspace in trees.items():
        assert workspace.choose(None) == f"of-{name}"
        assert workspace.choose("of-main") == "of-main"


def test_latest_sprint_is_meant_when_all_are_finished(trees: dict[str, Workspace]) -> None:
    """If all sprints of a work tree are finished, the one with the latest event is used."""
    main, one, _ = trees.values()
    for name in ("b", "c", "a"):
        create(main, name)
        finish(main, name)
    create(one, "later")
    finish(one, "later")
    assert main.choose(None) == "a"
    create(main, "b-again")
    assert main.choose(None) == "b-again"


def test_tree_without_a_sprint_names_that_of_another(trees: dict[str, Workspace]) -> None:
    """A sprint of another tree requires its name, which the error contains."""
    main, one, _ = trees.values()
    create(main, "auth")
    with pytest.raises(
        NotFoundError, match=f"auth belongs to {main.location.root}"
    ) as told:
        one.choose(None)
    hint = "run `sprintlog sprint create ID` with --goal or --plan to create one here, or "
    assert told.value.hint == hint + "use that one with `--sprint auth`"
    assert one.choose("auth") == "auth"


def test_several_unfinished_ones_are_chosen_by_folder(trees: dict[str, Workspace]) -> None:
    """Of several sprints of a tree the nearest folder chooses; else they are listed."""
    main, one, _ = trees.values()
    create(main, "a", folder="x")
    create(main, "b", folder="y")
    create(one, "c", folder="x")
    with pytest.raises(RefusedError, match=r"more than one sprint is unfinished: a, b$"):
        main.choose(None)
    main.stands_in = main.location.root / "y" / "deep"
    assert main.choose(None) == "b"


def test_wrapped_command_never_continues_a_finished_sprint(
    trees: dict[str, Workspace],
) -> None:
    """If a tree's sprints are finished, a wrapped command starts a new one."""
    main = trees["main"]
    create(main, "done")
    finish(main, "done")
    new = sprint_for(main, None, place=None, actor="runtime", at=AT)
    assert new != "done"
    assert sprint_for(main, None, place=None, actor="runtime", at=AT) == new
    with pytest.raises(RefusedError, match="sprint done is completed"):
        sprint_for(main, "done", place=None, actor="runtime", at=AT)


def test_two_trees_have_the_same_place(trees: dict[str, Workspace]) -> None:
    """The same path in another work tree is a different state file."""
    main, one, _ = trees.values()
    create(main, "a", folder="x")
    create(one, "b", folder="x")
    with pytest.raises(RefusedError, match="belongs to sprint b"):
        create(one, "c", folder="x")


def test_iteration_names_the_tree_it_began_in(trees: dict[str, Workspace]) -> None:
    """An iteration in another tree than the sprint's records that tree."""
    main, one, _ = trees.values()
    create(main, "auth")
    for workspace in (main, one):
        workspace.handle(StartWrapped(), sprint_id="auth", at=AT)
    knowledge = main.sprint("auth").knowledge
    assert knowledge.own_tree.work_tree == knowledge.first_tree == main.tree.id
    assert knowledge.elsewhere == {2: one.tree.id}


def test_status_shows_the_tree_if_there_are_several(trees: dict[str, Workspace]) -> None:
    """The path of the sprint's work tree is shown if the log has more than one."""
    main, one, _ = trees.values()
    create(main, "auth")
    assert work_tree(main, main.sprint("auth")) is UNSET
    assert work_tree(one, one.sprint("auth")) == str(main.location.root)
    create(one, "other")
    assert work_tree(main, main.sprint("auth")) == str(main.location.root)
    assert work_tree(main, main.sprint("other")) == str(one.location.root)


def test_views_show_the_tree_of_each_iteration(trees: dict[str, Workspace]) -> None:
    """If the log has several trees, lists, report and page name each iteration's tree."""
    main, one, _ = trees.values()
    create(main, "auth")
    for workspace in (main, one):
        workspace.handle(StartWrapped(), sprint_id="auth", at=AT)
        workspace.handle(FailMeasurement("no tests"), sprint_id="auth", at=AT)
    paths = [str(tree.location.root) for tree in (main, one)]
    judged = evaluate(main.log, main.sprint("auth"))
    found = summary(main, judged)
    assert found.work_tree == paths[0]
    assert [row.work_tree for row in found.iterations] == paths
    told = SummaryTexts(tree=paths[0])
    assert f"- **Work tree**: `{paths[0]}`" in summary_markdown(judged, told)
    text = page(main, "auth")
    assert f"in {paths[0]}, as of" in text
    assert f">{paths[1]}</td>" in text
    where = work_trees(main, main.sprint("auth"))
    lines = list_lines(judged, listed(judged, where))
    assert [paths[0] in lines[1], paths[1] in lines[2]] == [True, True]


def test_views_of_one_tree_name_none(trees: dict[str, Workspace]) -> None:
    """A log with a single work tree is shown without its path."""
    main = trees["main"]
    create(main, "auth")
    main.handle(StartWrapped(), sprint_id="auth", at=AT)
    assert work_trees(main, main.sprint("auth")) == {}
    assert "work tree" not in page(main, "auth").partition("<main>")[2]


def test_loops_that_begin_together_share_a_sprint(
    trees: dict[str, Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sprint that another process creates between the search and the name is used."""
    main = trees["main"]
    free_name: Any = vars(wrap)["_free_name"]

    def overtaken(workspace: Workspace) -> Any:
        monkeypatch.undo()
        with Workspace.open(main.location.root) as other:
            sprint_for(other, None, place=None, actor="runtime", at=AT)
        return free_name(workspace)

    monkeypatch.setattr(wrap, "_free_name", overtaken)
    sprint_for(main, None, place=None, actor="runtime", at=AT)
    assert len(main.sprints()) == 1
