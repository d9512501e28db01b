"""The author of a line: an iteration's agent, someone outside, or one of several."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintlog.projections.history.why import WhyAnswer, why
from sprintlog.projections.workspace import Workspace

from ...adapters.trees import git
from ..conftest import Run
from .loop_of_authors import History, Loop

Ask = Callable[..., WhyAnswer]


@pytest.fixture
def loop(folder: Path, done: Run) -> Loop:
    """Return a loop that has started, with an existing file."""
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text("PROGRESS.yaml\n.sprintlog/\n")
    (folder / "old.txt").write_text("before\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "begin")
    done("init")
    done("sprint", "create", "loop", "--goal", "Write it")
    done("sprint", "start")
    return Loop(folder, done)


@pytest.fixture
def ask(folder: Path) -> Ask:
    """Return a function that returns the author of a line, and its iterations."""

    def answer(path: str, line: int = 1, sprint: str = "loop") -> WhyAnswer:
        with Workspace.open(folder) as workspace:
            return why(workspace, sprint, folder / path, line)

    return answer


def test_a_restore_hides_no_commit_and_adds_none(loop: Loop, done: Run) -> None:
    """The commits before an iteration are those since the last known one, not all."""
    loop.iterate(a="one")
    loop.iterate(a="two")
    done("rollback", "iter:1", "--files", "--yes")
    loop.append(b="by a person")
    loop.iterate(a="three")
    assert loop.changed(3)["commits"] == []
    done("rollback", "iter:1", "--files", "--yes")
    git(loop.folder, "add", "-A")
    git(loop.folder, "commit", "-qm", "mine")
    done("undo", "--yes")
    loop.append(b="again")
    loop.iterate(a="four")
    assert loop.changed(4)["commits"] == ["mine"]


def test_what_was_done_between_two_iterations_is_of_neither(loop: Loop, ask: Ask) -> None:
    """A commit, an uncommitted edit, a switch of branches and a stash are outside."""
    folder = loop.folder
    loop.iterate(a="one")
    loop.append(h="by hand")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "mine")
    loop.append(h="not committed")
    git(folder, "stash", "-q")
    git(folder, "checkout", "-q", "-b", "other")
    loop.append(b="of the branch")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "theirs")
    git(folder, "stash", "pop", "-q")
    loop.iterate(a="two", h="agent")
    found = ask("h.txt", 1)
    assert (found.written_by, found.iterations, found.is_between) == ("outside", (), True)
    assert found.committed is not None
    assert found.committed.subject == "mine"
    assert ask("h.txt", 2).written_by == ask("b.txt").written_by == "outside"
    assert (ask("h.txt", 3).written_by, ask("h.txt", 3).iteration) == ("agent", 2)
    assert [ask("a.txt", n).iterations for n in (1, 2)] == [("1",), ("2",)]
    assert loop.changed(2) == {
        "own": {"a.txt": "changed by agent", "h.txt": "changed by agent"},
        "outside": {"b.txt": "added", "h.txt": "added"},
        "back": {},
        "commits": ["theirs", "mine"],
    }
    text = loop.done("why", "h.txt:1").out
    assert "written outside of any iteration, after 1 had ended" in text
    assert ">: mine\n" in text


def test_what_stood_there_before_is_of_no_iteration(loop: Loop, ask: Ask) -> None:
    """Files that existed before the first iteration are older, committed or not."""
    loop.append(dirty="not committed")
    loop.iterate(a="one", old="added")
    assert ask("dirty.txt").known_by == ask("old.txt").known_by == "before"
    assert ask("old.txt", 2).iterations == ("1",)
    assert loop.changed(1)["own"] == {
        "a.txt": "added by agent",
        "old.txt": "changed by agent",
    }


def test_what_changed_since_the_last_iteration_is_outside(loop: Loop, ask: Ask) -> None:
    """A line in no snapshot yet is from outside, unless an iteration is in progress."""
    loop.iterate(a="one")
    loop.append(a="by hand")
    found = ask("a.txt", 2)
    assert (found.known_by, found.written_by) == ("now", "outside")
    loop.done("iteration", "start", "--snapshot")
    loop.append(a="agent")
    assert ask("a.txt", 2).written_by == "outside"
    found = ask("a.txt", 3)
    assert (found.written_by, found.iterations) == ("agent-or-outside", ("2",))


def test_a_file_that_was_renamed_outside_keeps_its_writers(loop: Loop, ask: Ask) -> None:
    """Its lines have the iteration that wrote them under the name before."""
    loop.iterate(a="\n".join(f"line {n}" for n in range(9)))
    (loop.folder / "a.txt").rename(loop.folder / "c.txt")
    loop.iterate(c="more")
    assert ask("c.txt", 1).iterations == ("1",)
    assert ask("c.txt", 10).iterations == ("2",)


def test_who_did_not_keep_the_files_before_does_not_know(loop: Loop, ask: Ask) -> None:
    """Without a snapshot at its start, an iteration's lines may be someone else's."""
    loop.iterate(a="one")
    loop.iterate(start=(), a="two")
    found = ask("a.txt", 2)
    assert (found.written_by, found.iteration) == ("agent-or-outside", 2)
    assert loop.changed(2)["own"] == {"a.txt": "changed by agent-or-outside"}
    assert "2, or written outside of it" in loop.done("why", "a.txt:2").out
    assert "(agent or outside)" in loop.done("report", "2").out


def test_files_that_are_the_same_are_not_kept_again(loop: Loop) -> None:
    """A start records no snapshot if the last one, or a restored one, is still current."""
    loop.iterate(a="one")
    loop.iterate(a="two")
    loop.done("rollback", "iter:1", "--files", "--reason", "worse", "--yes")
    loop.done("iteration", "start", "--snapshot")
    events = loop.done("log", "--json", "--all").lines
    taken = [e["data"].get("purpose", "iteration") for e in events if "taken" in e["type"]]
    assert taken == ["iteration", "iteration", "iteration", "before-restore"]
    kept = [e["data"]["snapshot"] for e in events if e["type"] == "snapshot-taken"]
    begun = [e["data"]["before"] for e in events if e["type"] == "iteration-started"]
    assert begun == [kept[0], kept[1], kept[1]]


def test_a_rollback_within_an_iteration_is_not_its_agents(loop: Loop, ask: Ask) -> None:
    """Removed and restored lines are shown separately; a line written again is new."""
    loop.iterate(a="one")
    loop.iterate(a="two", b="other")
    loop.done("iteration", "start", "--snapshot")
    loop.append(c="draft")
    loop.done("rollback", "iter:1", "--files", "--reason", "worse", "--yes", "--force")
    loop.append(a="two")
    loop.done("iteration", "end", "--snapshot")
    assert loop.changed(3) == {
        "own": {"c.txt": "added by agent", "a.txt": "changed by agent"},
        "outside": {},
        "back": {"a.txt": "changed", "b.txt": "removed", "c.txt": "removed"},
        "commits": [],
    }
    assert [ask("a.txt", n).iterations for n in (1, 2)] == [("1",), ("3",)]
    assert "by a rollback while it was under way:" in loop.done("report", "3").out


def test_a_line_that_is_written_again_has_a_new_author(loop: Loop, ask: Ask) -> None:
    """The same files as before a rollback, written again, are a new state."""
    for number in (1, 2):
        loop.iterate(a=f"line {number}")
    loop.done("rollback", "iter:1", "--files", "--reason", "worse", "--yes")
    loop.append(a="line 2")
    loop.iterate(b="three")
    assert ask("a.txt", 2).written_by == "outside"


def test_paths_that_come_back_alone_leave_the_others(loop: Loop, ask: Ask) -> None:
    """After a restore of one path, and after its undo, each line has its own author."""
    loop.iterate(a="one", b="one")
    loop.iterate(a="two", b="two")
    loop.done("rollback", "iter:1", "--files", "a.txt", "--reason", "worse", "--yes")
    loop.append(a="by hand")
    loop.iterate(b="three")
    assert [ask("a.txt", n).written_by for n in (1, 2)] == ["agent", "outside"]
    assert [ask("b.txt", n).iterations for n in (1, 2, 3)] == [("1",), ("2",), ("3",)]
    loop.done("rollback", "iter:2", "--files", "--reason", "better", "--yes")
    loop.done("undo", "--yes")
    assert [ask("b.txt", n).iterations for n in (1, 2, 3)] == [("1",), ("2",), ("3",)]


def test_a_file_that_a_snapshot_omits_was_not_deleted(loop: Loop, ask: Ask) -> None:
    """A file too large for one snapshot is neither removed nor added by an agent."""
    (loop.folder / "sprintlog.toml").write_text("[snapshot]\nfile-max = 1\n")
    loop.iterate(a="one")
    loop.iterate(a="x" * (2 << 20))
    loop.iterate(b="three")
    (loop.folder / "a.txt").write_text("one\nshort\n")
    loop.iterate(b="four")
    assert loop.changed(2)["own"] == {"a.txt": "omitted by agent"}
    assert "a.txt" not in loop.changed(3)["own"]
    assert ask("a.txt", 1).iterations == ("1",)
    assert ask("a.txt", 2).written_by == "one-of-or-outside"


def test_what_was_pruned_is_not_guessed(loop: Loop, ask: Ask) -> None:
    """Without the snapshot between them, a person's lines and the next agent's are one."""
    loop.iterate(a="one")
    loop.append(a="by hand")
    for n in range(2, 6):
        loop.iterate(a=f"line {n}")
    assert ask("a.txt", 2).written_by == "outside"
    loop.done("store", "prune", "--keep", "1")
    assert iterations_or_outside(ask("a.txt", 2)) == {"1", "2", "3", "4", "5"}


def iterations_or_outside(found: WhyAnswer) -> set[str]:
    """Return the iterations that may have written a line, if not someone outside."""
    assert str(found.written_by).endswith("-or-outside")
    return {*found.iterations}


def test_sprints_of_one_tree_know_of_each_other(loop: Loop, ask: Ask) -> None:
    """A line written by another sprint's iteration in this tree is attributed to it."""
    loop.iterate(a="one")
    loop.done("goal", "complete", "--summary", "done")
    loop.done("sprint", "create", "next", "--goal", "More")
    loop.done("sprint", "start", "--sprint", "next")
    loop.done("iteration", "start", "--snapshot", "--sprint", "next")
    loop.append(a="two")
    loop.done("iteration", "end", "--snapshot", "--sprint", "next")
    found = ask("a.txt", 1, "next")
    assert (found.written_by, found.iterations) == ("agent", ("loop:1",))
    assert ask("a.txt", 2, "next").iterations == ("1",)
    loop.done("fork", "copy", "--from", "iter:1", "--sprint", "loop")
    assert ask("a.txt", 1, "copy").iterations == ("1",)


def test_the_page_shows_authors_apart(loop: Loop) -> None:
    """An iteration's row counts its own files, and those that others changed."""
    loop.iterate(a="one")
    loop.append(h="by hand")
    loop.iterate(a="two")
    loop.done("report", "--html", "page.html")
    text = (loop.folder / "page.html").read_text(encoding="utf-8")
    assert "1: a.txt; 1 outside, before it: h.txt" in text


def test_what_was_done_between_two_runs_of_a_loop_is_outside(
    loop: Loop, run: Run, ask: Ask
) -> None:
    """`run --snapshot` also saves the files before each iteration."""
    script = "cat > /dev/null; echo agent >> a.txt; echo worked"
    order = ("run", "--snapshot", "--budget-iterations", "1", "--rest", "0", "--")
    for _ in range(2):
        assert run(*order, "sh", "-c", script).code == 20
        loop.append(a="by hand")
    assert [ask("a.txt", n).written_by for n in (1, 2, 3, 4)] == ["agent", "outside"] * 2
    assert [ask("a.txt", n).iterations for n in (1, 3)] == [("1",), ("2",)]
    assert loop.changed(2)["outside"] == {"a.txt": "changed"}


def test_what_was_done_while_a_limit_was_waited_for_is_not_guessed(
    loop: Loop, run: Run, ask: Ask
) -> None:
    """Until the next attempt a line may be from outside; later ones are the agent's."""
    script = (
        "cat > /dev/null; echo agent >> a.txt; test -e again && echo worked && exit; "
        'echo "Claude AI usage limit reached|$(($(date +%s) + 2))"; touch again; exit 1'
    )
    order = ("run", "--snapshot", "--budget-iterations", "1", "--rest", "0")
    run(*order, "--no-wait", "--", "sh", "-c", script)
    loop.append(a="by hand")
    assert run(*order, "--", "sh", "-c", script).code == 20
    assert [ask("a.txt", n).iterations for n in (1, 2, 3)] == [("1",)] * 3
    told = [ask("a.txt", n).written_by for n in (1, 2, 3)]
    assert told == ["agent-or-outside", "agent-or-outside", "agent"]


def test_an_iteration_that_was_killed_may_have_ceased_at_any_time(
    loop: Loop, ask: Ask
) -> None:
    """Its lines may be from outside; the next iteration's lines are not also its own."""
    loop.iterate(a="one")
    loop.done("iteration", "start", "--snapshot")
    loop.append(a="killed")
    loop.iterate(a="three")
    told = [(ask("a.txt", n).written_by, ask("a.txt", n).iterations) for n in (2, 3)]
    assert told == [("agent-or-outside", ("2",)), ("agent", ("3",))]


def test_a_run_goes_on_although_another_iteration_has_begun(
    loop: Loop, run: Run, ask: Ask
) -> None:
    """An agent's run that ended later was in progress until then."""
    loop.done("iteration", "start", "--snapshot")
    loop.append(a="one")
    loop.done("iteration", "start", "--snapshot")
    loop.append(a="one or two")
    loop.done("iteration", "end", "--snapshot")
    recorded = {"phase": "", "status": "completed", "iteration": 1}
    loop.done("append", "agent-ran", "--data", json.dumps(recorded))
    loop.append(a="by hand")
    told = [(ask("a.txt", n).written_by, ask("a.txt", n).iterations) for n in (1, 2)]
    assert told == [("agent-or-outside", ("1",)), ("one-of-or-outside", ("1", "2"))]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_every_line_has_its_writer(loop: Loop, run: Run, ask: Ask, seed: int) -> None:
    """Over random histories of an agent, a person and restores, no line is wrong."""
    history, asked = History(loop, run, seed), 0
    for _ in range(14):
        history.go_on()
    for path in sorted(loop.folder.glob("*.txt")):
        for at, text in enumerate(path.read_text().splitlines(), start=1):
            found, who = ask(path.name, at), text.split(":")[0]
            told = found.iterations if found.written_by == "agent" else ("P",)
            asked += 1
            if found.known_by == "before":
                told = ("before",) if who == "before" else ("P",)
            wrong = (path.name, at, text, found)
            assert found.written_by in ("agent", "outside"), wrong
            assert told == (who,), wrong
    assert asked
