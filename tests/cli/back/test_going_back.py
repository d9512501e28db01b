"""Every in-place change is undone by `undo`, and repeated by `redo`."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from ...adapters.trees import put
from ..conftest import Run
from ..restores import STATE, files

STEPS = 6
"""How many changes a history has; each is undone and redone."""
Seen = tuple[str, dict[str, bytes]]


class Life:
    """A sprint with files that advances and rolls back at random."""

    def __init__(self, tree: Path, run: Run, seed: int) -> None:
        self.tree, self.run, self.chance = tree, run, Random(seed)
        self.made = 0

    def seen(self) -> Seen:
        """Return plan and files."""
        own = {n: c for n, c in files(self.tree).items() if not n.startswith("beside")}
        return self.run("show", "progress").out, own

    def work(self) -> None:
        """Change files in a new iteration, which are saved."""
        self.run("iteration", "start")
        name = self.chance.choice(("src/login", "src/new", "README"))
        put(self.tree / name, self.text().encode())
        self.run("iteration", "end", "--snapshot")

    def text(self) -> str:
        """Return a text that was never there before."""
        self.made += 1
        return f"text {self.made}"

    def point(self) -> str:
        """Return an iteration with a snapshot."""
        return f"iter:{self.chance.choice((0, 1, 2))}"

    def adopt(self) -> str:
        """Edit the state file by hand, and adopt the edit."""
        file = self.tree / STATE
        edited = file.read_text().replace("prompt: Read it all", f"prompt: {self.text()}")
        file.write_text(edited)
        return "adopt"

    def decide(self) -> str:
        """Decide something."""
        self.made += 1
        return f"phase inject --id more-{self.made} --prompt x"

    def fork(self) -> None:
        """Create another sprint, which changes nothing here."""
        before = self.seen()
        self.made += 1
        assert self.run("fork", f"beside-{self.made}", "--from", self.point()).code == 0
        assert self.seen() == before

    def changes(self) -> list[Callable[[], str]]:
        """Return a command that changes something in place."""
        return [
            lambda: f"rollback {self.point()} --yes",
            lambda: f"rollback {self.point()} --plan",
            lambda: f"rollback {self.point()} --files --yes",
            lambda: f"rollback {self.point()} src --yes",
            lambda: f"restore {self.point()} --apply --yes",
            self.adopt,
            self.decide,
        ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(6))
def test_every_change_in_place_is_undone(
    tree: Path, run: Run, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """`undo` restores plan and files from before, `redo` those from after."""
    monkeypatch.setenv("SPRINTLOG_SPRINT", "auth")
    life = Life(tree, run, seed)
    for _ in range(STEPS):
        life.chance.choice((life.work, life.fork, life.work))()
        before, words = life.seen(), life.chance.choice(life.changes())().split()
        result = run(*words, "--json")
        assert result.code == 0, (words, result)
        recorded = result.json if isinstance(result.json, list) else [result.json]
        if recorded[0].get("events") == []:
            continue
        after = life.seen()
        for _ in range(life.chance.choice((1, 2))):
            assert run("undo", "--yes").code == 0, words
            assert life.seen() == before, words
            assert run("redo", "--yes").code == 0, words
            assert life.seen() == after, words
        if life.chance.random() < 0.5:
            assert run("undo", "--yes").code == 0
            assert life.seen() == before, words


DRY = (
    *("rollback iter:1", "rollback best --files", "rollback iter:1 src", "undo", "redo"),
    *("restore iter:1 --into ../new", "restore iter:1 --branch new"),
    *("restore iter:1 --apply", "fork two --from iter:1", "iteration select --apply"),
)


def test_a_dry_run_changes_nothing(tree: Path, done: Run) -> None:
    """A dry run prints the result in one format, and records and writes nothing."""
    for number, passed in ((1, "9"), (2, "7")):
        metrics = ("--metric", "test_count=9", "--metric", f"tests_passed={passed}")
        done("iteration", "measure", "--number", number, *metrics)
    done("phase", "inject", "--id", "more", "--prompt", "x")
    done("rollback", "iter:0", "--yes")
    done("undo", "--yes")
    log, before = done("log", "--json").out, files(tree)
    for words in DRY:
        answer = done(*words.split(), "--dry-run", "--json").json
        assert (answer["done"], answer["events"], answer["undo"]) == (False, [], None)
        assert done(*words.split(), "--dry-run").out
    assert (done("log", "--json").out, files(tree)) == (log, before)
    assert not (tree.parent / "new").exists()


def test_a_dry_run_of_an_adoption(sprint: Path, done: Run, run: Run) -> None:
    """Future events are listed; an edit that is not recorded yet is reported."""
    file = sprint / STATE
    file.write_text(file.read_text().replace("prompt: Read it all", "prompt: Read it"))
    result = run("adopt", "--dry-run")
    assert (result.code, "`sprintlog rebuild`" in result.err) == (1, True)
    done("rebuild")
    log = done("log", "--json").out
    answer = done("adopt", "--dry-run", "--json").json
    assert (answer["done"], answer["adopted"]) == (False, ["review/prompt"])
    *fields, last = done("adopt", "--dry-run").out.splitlines()
    assert fields == ["would set phases[review].prompt: Read it all → Read it"]
    assert last.endswith("edit-adopted; nothing was changed")
    assert done("log", "--json").out == log


@pytest.mark.parametrize("said", ["y", "n"])
def test_a_person_is_asked(
    tree: Path, run: Run, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """On a terminal, the plan is shown and carried out only after confirmation."""
    asked = []

    def confirm(text: str, **given: object) -> bool:
        asked.append(text)
        return said == "y"

    monkeypatch.setattr("click.confirm", confirm)
    monkeypatch.setattr("sprintlog.cli.back.agreement.on_terminal", lambda: True)
    before = files(tree)
    result = run("rollback", "iter:1")
    assert "plan  returns to version" in result.out
    assert "replace  src/login" in result.out
    assert (result.code, len(asked)) == (0 if said == "y" else 1, 1)
    assert (files(tree) == before) is (said == "n")
    assert run("rollback", "iter:0", "--plan", "--yes").code == 0
    assert len(asked) == 1


def test_the_sibling_is_named(tree: Path, done: Run) -> None:
    """After a rollback of the plan alone, the command for the files is printed."""
    said = done("rollback", "iter:1", "--plan").err
    assert (
        said == "hint: use `sprintlog rollback iter:1 --files` to restore the files too\n"
    )
    done("rollback", "iter:1", "--files", "--yes")
    assert files(tree)["src/login"] == b"good\n"


def test_why_files_went_back_is_kept(folder: Path, done: Run) -> None:
    """`--reason` of a rollback of files only is recorded, as for a plan."""
    done("init", "--here")
    done("sprint", "create", "s", "--goal", "Win")
    done("sprint", "start")
    (folder / "a").write_text("one")
    done("iteration", "start")
    done("iteration", "end", "--snapshot")
    (folder / "a").write_text("two")
    done("rollback", "iter:1", "--files", "--yes", "--reason", "two is worse")
    (event,) = done("log", "--type", "restore-started", "--json").lines
    assert event["data"]["reason"] == "two is worse"
    assert (folder / "a").read_text() == "one"
