"""A folder with a log, and the command line called as by a user.

Some modules also run with a log on a server, which then serves every command. With
`SPRINTLOG_TEST_STORE=postgresql-18` all modules do.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sprintlog.cli.main import main
from sprintlog.projections.state_files.yaml.reader import load

from ..adapters.trees import git, put
from ..copies import copy_tree
from ..log_stores import EVERYWHERE, SQLITE
from ..postgres.server import IN_LONG, unsafe_url
from . import goals, scripted
from .answers import check_answers

PLAN = """\
phases:
  - id: setup
    prompt: Make a branch
  - id: build
    steps:
      - id: login
        prompt: Let people log in
        phases:
          - id: implement
            prompt: Write it
          - id: check
            prompt: Try it
  - id: review
    prompt: Read it all
"""

GATED_PLAN = """\
phases:
  - id: build
    gate:
      script: |
        {script}
      on-fail-prompt: Repair the build.
      max-retries: {retries}
    steps:
      - id: one
        prompt: Do one
  - id: ship
    prompt: Ship it
"""


class Result(NamedTuple):
    """The output of a command, and its exit status."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return the answer of `--json`."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Return the answers of `--json`, one per line."""
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Result]
Gated = Callable[..., None]
Made = Callable[[str, Callable[[], object]], None]


ON_A_SERVER = ("injecting", "iteration_files", "damaged_snapshots", "work_trees")
"""Which modules are tried on a server, too: those that ask most of a log, and of doctor."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run some modules twice: with a log in the folder, and with one on a server."""
    module = metafunc.module.__name__.rpartition(".test_")[2]
    if "log_store" in metafunc.fixturenames and (EVERYWHERE or module in ON_A_SERVER):
        tried = [EVERYWHERE] if EVERYWHERE else [SQLITE, IN_LONG]
        metafunc.parametrize("log_store", tried, indirect=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_store: str) -> Path:
    """Return an empty folder in which commands run, free of the caller's settings."""
    for name in [n for n in os.environ if n.startswith(("GIT_", "SPRINTLOG_"))]:
        monkeypatch.delenv(name)
    # Do not use the list of safe folders of the user who runs the tests.
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path.with_name("no-settings")))
    # Tests must not find or remove that user's installed files either.
    monkeypatch.setenv("HOME", str(tmp_path.with_name("no-home")))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("SPRINTLOG_DEBUG", "1")
    if log_store != SQLITE:
        monkeypatch.setenv("SPRINTLOG_LOG", unsafe_url(log_store))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """Return a function that runs one command line in this process.

    The first argument may contain several words, such as `iteration rules set`.
    """

    def call(*given: object) -> Result:
        arguments = (*str(given[0]).split(), *given[1:]) if given else ()
        monkeypatch.setattr(sys, "argv", ["sprintlog", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        out, err = capfd.readouterr()
        check_answers(arguments, code, out)
        return Result(code, out, err)

    return call


@pytest.fixture
def done(run: Run) -> Run:
    """Return a function that runs one command line, which must succeed."""

    def call(*arguments: object) -> Result:
        result = run(*arguments)
        assert result.code == 0, (arguments, result)
        return result

    return call


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder for the results of `made`."""
    return tmp_path_factory.mktemp("made")


@pytest.fixture
def made(
    made_once: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, log_store: str
) -> Made:
    """Return a function that copies the result of some steps, which run once per name.

    Steps with the same name run in a separate folder the first time; every test gets a copy
    of it. A log on a server is not copied: there the steps run again.
    """

    def copy(name: str, steps: Callable[[], object]) -> None:
        if log_store != SQLITE:
            steps()
            return
        kept = made_once / name
        if not (made_once / f"{name}.whole").exists():
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir()
            monkeypatch.chdir(kept)
            steps()
            monkeypatch.chdir(folder)
            (made_once / f"{name}.whole").touch()
        copy_tree(kept, folder)

    return copy


@pytest.fixture
def sprint(folder: Path, done: Run, made: Made) -> Path:
    """Return a folder in which the sprint `auth` has started."""

    def steps() -> None:
        Path("plan.yaml").write_text(PLAN)
        done("init")
        done(
            "sprint",
            "create",
            "auth",
            "--plan",
            "plan.yaml",
            "--at",
            "2026-01-15T08:59:00Z",
        )
        done("sprint", "start", "--at", "2026-01-15T09:00:00Z")

    made("sprint", steps)
    return folder


@pytest.fixture
def gated(folder: Path, done: Run) -> Gated:
    """Return a function that creates a sprint whose first phase waits for its gate."""

    def make(script: str, retries: int = 3) -> None:
        plan = GATED_PLAN.format(script=script, retries=retries)
        (folder / "plan.yaml").write_text(plan)
        done("init")
        done("sprint", "create", "auth", "--plan", "plan.yaml")
        done("sprint", "start")
        done("phase", "start")
        done("phase", "complete")

    return make


def types(done: Run) -> list[str]:
    """Return the types of the events after the work was done."""
    return [event["type"] for event in done("log", "--json").lines[4:]]


def read_state(folder: Path) -> Any:
    """Return PROGRESS.yaml of a folder as data."""
    return load((folder / "PROGRESS.yaml").read_bytes())


@pytest.fixture
def state(folder: Path) -> Callable[[], Any]:
    """Return a function that reads PROGRESS.yaml as data."""
    return lambda: read_state(folder)


@pytest.fixture
def goal_agent(folder: Path, done: Run) -> goals.Make:
    """Return a function that creates a goal, its hooks, and an agent with a behaviour."""

    def make(
        trait: str = "",
        *hooks: str,
        options: tuple[str, ...] = (),
        creating: tuple[str, ...] = (),
    ) -> list[str]:
        (folder / "agent.py").write_text(goals.AGENT % trait)
        done("init")
        words = [word for hook in hooks for word in ("--hook", hook)]
        words += ["--max-iterations", "9", *creating]
        done("sprint", "create", "win", "--goal", "Win", *words)
        return ["run", "--rest", "0", *options, "--", sys.executable, "agent.py"]

    return make


@pytest.fixture
def agent(folder: Path, done: Run) -> Callable[..., list[str]]:
    """Return a function that creates a sprint and an agent with a special trait."""

    def make(trait: str = "", plan: str = scripted.PLAN) -> list[str]:
        (folder / "plan.yaml").write_text(plan)
        (folder / "agent.py").write_text(scripted.AGENT % trait)
        done("init")
        done("sprint", "create", "auth", "--plan", "plan.yaml")
        return ["run", "--", sys.executable, "agent.py"]

    return make


@pytest.fixture
def tree(folder: Path, done: Run, made: Made, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a repository with two iterations: good files, then worse ones."""
    made("tree", lambda: _two_iterations(Path.cwd() / "tree", done))
    monkeypatch.chdir(folder / "tree")
    return folder / "tree"


def _two_iterations(folder: Path, done: Run) -> None:
    folder.mkdir()
    os.chdir(folder)
    git(folder, "init", "-q")
    (folder / "plan.yaml").write_text(PLAN)
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("sprint", "start")
    done("iteration", "snapshot")
    done("iteration", "start")
    put(folder / "src/login", b"good\n", 0o755)
    put(folder / "README", b"good\n")
    put(folder / ".gitignore", b"*.log\n")
    put(folder / "run.log", b"ignored\n")
    git(folder, "add", "README")
    git(folder, "commit", "-qm", "first")
    done("phase", "start", "setup")
    done("iteration", "snapshot")
    done("iteration", "start")
    put(folder / "src/login", b"worse\n")
    put(folder / "src/mess", b"mess\n")
    git(folder, "add", "src")
    git(folder, "stash", "-q")
    git(folder, "stash", "apply", "-q", "--index")
    (folder / "README").unlink()
    done("phase", "complete", "setup")
    done("iteration", "snapshot")


@pytest.fixture
def journal_path(folder: Path, done: Run) -> Path:
    """Return the path of progress.json, next to an empty log."""
    done("init")
    return folder / ".ralph" / "progress.json"


@pytest.fixture
def journal(journal_path: Path, done: Run) -> Path:
    """Return the file of a journal with two entries and a learning."""
    observation = '{"type": "blocker", "title": "no key", "category": "dependency"}'
    done("journal entry record", "auth", "--status", "failed", "--observation", observation,
         "--summary", "stuck", "--at", "2026-02-01T10:00:00Z")  # fmt: skip
    more = ("--observation", "finding: x")
    done("journal entry record", "auth", "--status", "completed", *more)
    done("journal learning add", "ask first", "--type", "tool-usage", "--from", "auth-1",
         "--observation", 1)  # fmt: skip
    return journal_path
