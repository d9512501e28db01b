"""`why`: each line of a file with the iteration that added it, and known details."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sprintlog.projections.history.why import WhyAnswer, why
from sprintlog.projections.workspace import Workspace

from ...adapters.trees import git
from ..conftest import PLAN, Run

ITERATIONS = 50
Files = dict[str, list[str]]


@pytest.fixture
def loop(folder: Path, done: Run) -> Path:
    """Return a repository with a loop towards a goal, which has started."""
    git(folder, "init", "-q", "-b", "main")
    (folder / ".gitignore").write_text("PROGRESS.yaml\n.sprintlog/\n")
    done("init")
    done("sprint", "create", "loop", "--goal", "Write it")
    done("sprint", "start")
    return folder


@pytest.fixture
def ask(folder: Path) -> Callable[[str, int], WhyAnswer]:
    """Return a function that asks about a line of a file."""

    def answer(path: str, line: int) -> WhyAnswer:
        with Workspace.open(folder) as workspace:
            return why(workspace, "loop", folder / path, line)

    return answer


def change(files: Files, number: int, chance: Random) -> None:
    """Act like an agent: add, remove, and move unique lines to other files."""
    names = sorted(files)
    if not names or chance.random() < 0.15:
        files[f"made{number}.txt"] = [f"{number}: begun {n}" for n in range(6)]
        return
    name = chance.choice(names)
    lines = files[name]
    for n in range(chance.randint(1, 3)):
        lines.insert(chance.randint(0, len(lines)), f"{number}: written {n}")
    if len(lines) > 4 and chance.random() < 0.5:
        del lines[chance.randrange(len(lines))]
    if chance.random() < 0.2:
        files[f"named{number}.txt"] = files.pop(name)


def write(folder: Path, files: Files) -> None:
    """Replace the text files of a folder."""
    for path in folder.glob("*.txt"):
        path.unlink()
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))


def read(folder: Path) -> Files:
    """Return the text files of a folder."""
    return {path.name: path.read_text().splitlines() for path in folder.glob("*.txt")}


@pytest.mark.long
def test_every_line_has_the_iteration_that_wrote_it(
    loop: Path, done: Run, ask: Callable[[str, int], WhyAnswer]
) -> None:
    """Over fifty iterations with renames and rollbacks, each line has its iteration."""
    chance = Random(26)
    files: Files = {}
    for number in range(1, ITERATIONS + 1):
        done("iteration", "start")
        change(files, number, chance)
        write(loop, files)
        done("iteration", "end", "--summary", f"did {number}", "--snapshot")
        if number > 3 and chance.random() < 0.2:
            back = chance.randint(1, number - 1)
            done("rollback", f"iter:{back}", "--yes", "--reason", "it was better")
            files = read(loop)
    ended = {e["data"]["number"]: e["at"] for e in _events(done, "iteration-ended")}
    wrong, asked = [], 0
    for name, lines in sorted(read(loop).items()):
        for at, text in enumerate(lines, start=1):
            found, number = ask(name, at), int(text.split(":")[0])
            asked += 1
            if (found.iteration, found.ended_at) != (number, ended[number]):
                wrong.append((name, at, text, found))
            assert found.summary == f"did {number}"
    assert wrong == []
    assert asked > ITERATIONS / 2


def _events(done: Run, type_: str) -> list[Any]:
    return [one for one in done("log", "--json").lines if one["type"] == type_]


def test_without_snapshots_the_commits_are_asked(
    loop: Path, done: Run, ask: Callable[[str, int], WhyAnswer]
) -> None:
    """If each iteration commits, a line has the iteration whose commit git blames."""
    chance = Random(5)
    files: Files = {}
    made: dict[str, int] = {}
    for number in range(1, 13):
        done("iteration", "start")
        change(files, number, chance)
        write(loop, files)
        git(loop, "add", "-A")
        git(loop, "commit", "-q", "--allow-empty", "-m", f"work {number}")
        made[git(loop, "rev-parse", "HEAD").strip()] = number
        done("iteration", "end", "--summary", f"did {number}")
    for name, lines in read(loop).items():
        said = git(loop, "blame", "--line-porcelain", name)
        blamed = re.findall(r"^([0-9a-f]{40}) \d+ \d+", said, re.MULTILINE)
        assert len(blamed) == len(lines)
        for at, commit in enumerate(blamed, start=1):
            found = ask(name, at)
            assert (found.iteration, found.known_by) == (made[commit], "commit")
            assert found.commit == commit


@pytest.mark.parametrize("said", ["trailer", "note"])
def test_a_commit_may_say_it_itself(
    loop: Path, done: Run, ask: Callable[[str, int], WhyAnswer], said: str
) -> None:
    """For a commit unknown to the log, its trailer or note counts, marked as such."""
    done("iteration", "start")
    done("iteration", "end", "--summary", "nothing committed")
    (loop / "a.txt").write_text("one\n")
    git(loop, "add", "-A")
    message = "later\n\nSprintlog-Iteration: loop/1\n" if said == "trailer" else "later"
    git(loop, "commit", "-q", "-m", message)
    if said == "note":
        git(loop, "notes", "--ref", "sprintlog", "add", "-m", "Sprintlog-Iteration: 1")
    found = ask("a.txt", 1)
    assert (found.iteration, found.known_by) == (1, "said")
    assert "according to the commit itself" in done("why", "a.txt:1").out


def test_another_sprints_trailer_counts_for_nothing(
    loop: Path, ask: Callable[[str, int], WhyAnswer]
) -> None:
    """A trailer names the sprint; that of another sprint is ignored."""
    (loop / "a.txt").write_text("one\n")
    git(loop, "add", "-A")
    git(loop, "commit", "-q", "-m", "x\n\nSprintlog-Iteration: other/1\n")
    found = ask("a.txt", 1)
    assert (found.iteration, found.known_by) == (None, "before")


def test_what_nobody_recorded_is_said(
    loop: Path, done: Run, ask: Callable[[str, int], WhyAnswer]
) -> None:
    """A current line, a manual one after an iteration, and one of a discarded iteration."""
    (loop / "a.txt").write_text("one\n")
    done("iteration", "snapshot")
    done("iteration", "start")
    (loop / "a.txt").write_text("one\ntwo\n")
    done("iteration", "end", "--snapshot")
    with (loop / "a.txt").open("a") as file:
        file.write("by hand\n")
    assert ask("a.txt", 3).known_by == "now"
    assert "nobody recorded it yet" in done("why", "a.txt:3").out
    assert ask("a.txt", 1).known_by == "before"
    done("iteration", "snapshot")
    assert ask("a.txt", 3).is_between
    done("rollback", "start", "--plan", "--yes")
    found = ask("a.txt", 2)
    assert (found.iteration, found.is_taken_back) == (1, True)
    assert "which was discarded" in done("why", "a.txt:2").out


def test_says_phase_prompt_and_gate(folder: Path, done: Run, run: Run) -> None:
    """A line of a phase has its prompt, and its gate's runs up to the one that passed."""
    git(folder, "init", "-q")
    gate = "    gate:\n      script: test -e ok\n      on-fail-prompt: Repair it.\n"
    plan = PLAN.replace("    prompt: Make a branch\n", f"    prompt: Make a branch\n{gate}")
    (folder / "plan.yaml").write_text(plan)
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("sprint", "start")
    done("iteration", "start", "--phase", "setup")
    (folder / "a.txt").write_text("one\n")
    done("phase", "start", "setup")
    done("iteration", "end", "--snapshot")
    assert run("gate", "run", "--phase", "setup").code == 6
    (folder / "ok").touch()
    done("gate", "run", "--phase", "setup")
    answer = done("why", "a.txt:1", "--json").json
    assert (answer["phase"], answer["prompt"]) == ("setup", "Make a branch")
    assert [one["passed"] for one in answer["gates"]] == [False, True]
    assert answer["approvals"] == []


def test_an_approved_request_names_who_let_it_in(sprint: Path, done: Run) -> None:
    """The line of a phase that a request brought in has the decision and its reason."""
    git(sprint, "init", "-q")
    done("queue", "add", "Broken", "--type", "bug", "--priority", "high")
    approve = ("queue", "approve", "req-1", "--reasoning", "users see it", "--json")
    answers = done(*approve, "--actor", "operator:ana").json
    (address,) = next(one["addresses"] for one in answers if "addresses" in one)
    done("iteration", "start", "--phase", address)
    (sprint / "a.txt").write_text("one\n")
    done("iteration", "end", "--snapshot")
    answer = done("why", "a.txt:1", "--json").json
    (approval,) = answer["approvals"]
    assert (approval["by"], approval["request"]) == ("operator:ana", "req-1")
    assert approval["why"] == "users see it"


@pytest.mark.parametrize(
    ("place", "code", "words"),
    [
        ("a.txt", 2, "specify only FILE:LINE"),
        ("a.txt:0", 1, "has 1 lines"),
        ("a.txt:2", 1, "has 1 lines"),
        ("none.txt:1", 3, "is not a file"),
        ("link.txt:1", 3, "is not a file"),
        ("/etc/hostname:1", 1, "not in the work tree"),
    ],
)
def test_refuses_what_is_no_line_of_a_file(
    loop: Path, run: Run, place: str, code: int, words: str
) -> None:
    """A missing line, and a file that is outside, missing or a link, are clear errors."""
    (loop / "a.txt").write_text("one\n")
    (loop / "link.txt").symlink_to("/etc/hostname")
    found = run("why", place)
    assert found.code == code
    assert words in found.err


def test_nothing_of_a_hostile_repository_is_run(loop: Path, done: Run) -> None:
    """Filters, hooks, monitors and converters named in a repository are not run."""
    (loop / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    (loop / "a.txt").write_text("one\n")
    git(loop, "add", "-A")
    git(loop, "commit", "-q", "-m", "x")
    touch = f"touch {loop / 'ran'}"
    for name in ("filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv"):
        git(loop, "config", name, f"{touch}; cat")
    for name in ("core.fsmonitor", "core.pager", "diff.external", "blame.ignoreRevsFile"):
        git(loop, "config", name, f"{touch}; false")
    done("iteration", "start")
    (loop / "a.txt").write_text("one\ntwo\n")
    done("iteration", "end", "--snapshot")
    done("why", "a.txt:1")
    done("why", "a.txt:2")
    assert not (loop / "ran").exists()


def test_what_is_older_than_the_loop_is_of_no_iteration(
    loop: Path, done: Run, ask: Callable[[str, int], WhyAnswer]
) -> None:
    """A commit from before the first iteration is not of it; one after a snapshot is."""
    (loop / "a.txt").write_text("old\n")
    git(loop, "add", "-A")
    call = (
        "git",
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.org",
        "commit",
        "-qm",
        "old",
    )
    old = {**os.environ, "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
    subprocess.run(call, cwd=loop, env=old, check=True)
    done("iteration", "start")
    done("iteration", "end", "--snapshot")
    done("iteration", "start")
    (loop / "a.txt").write_text("old\nnew\n")
    git(loop, "commit", "-q", "-a", "-m", "new")
    done("iteration", "end")
    assert ask("a.txt", 2).iteration == 2
    assert ask("a.txt", 1).iteration != 2
    shutil.rmtree(loop / ".git" / "sprintlog" / "snapshots")
    assert (ask("a.txt", 1).iteration, ask("a.txt", 2).iteration) == (None, 2)


def test_an_iteration_is_no_line(loop: Path, run: Run) -> None:
    """The question about an iteration's judgement leads to the command that explains it."""
    refused = run("why", "iter:4")
    assert (refused.code, "`sprintlog report iter:4`" in refused.err) == (1, True)
