"""The tools that `init` finds around a new log, and its suggestions."""

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.begin.suggestions import (
    AGENTS,
    EXTENDED,
    LOOPS,
    NAMES,
    OFFERS,
    SPRINTS_MAX,
    TEXT_BYTES_MAX,
    Surroundings,
    offers,
)

from ...adapters.trees import git, picture, put
from ..conftest import Run
from ..typed import commands_in

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
DOCUMENT = b"""\
sprint-id: auth
status: not-started
phases:
  - {id: one, status: pending, prompt: Do one}
"""
JOURNAL = b'{"version": "1.0", "entries": []}'


def found(run: Run, *options: str) -> list[dict[str, Any]]:
    """Return the offers of `init` for the tree only."""
    result = run("init", "--json", *options)
    assert result.code == 0, result
    return [x for x in result.lines[0]["offers"] if x["kind"] != "agent"]


@pytest.mark.parametrize(
    ("path", "content", "command"),
    [
        ("PROGRESS.yaml", DOCUMENT, "import progress PROGRESS.yaml"),
        ("sprints/a/PROGRESS.yaml", b"", "import progress sprints/a/PROGRESS.yaml"),
        ("SPRINT.yaml", b"", "compile SPRINT.yaml"),
        (".claude/sprints/a/SPRINT.yaml", b"", "compile .claude/sprints/a/SPRINT.yaml"),
        (".ralph/progress.json", JOURNAL, "import journal .ralph/progress.json"),
        ("progress.json", JOURNAL, "import journal progress.json"),
        ("progress.txt", b"", "journal migrate progress.txt"),
        ("claude-progress.txt", b"", "journal migrate claude-progress.txt"),
        ("pytest.ini", b"", "iteration baseline --run 'pytest --junitxml=report.xml' "
         "--report report.xml"),
        ("package.json", b'{"scripts": {"test": "x"}}',
         "iteration baseline --build 'npm test'"),
        ("ralph.sh", b"while :; do\n  claude -p < x\ndone\n", "help record"),
        ("go.mod", b"", "iteration baseline --build 'go test ./...'"),
        ("Cargo.toml", b"", "iteration baseline --build 'cargo test'"),
        ("Makefile", b"all:\ntest: x\n", "iteration baseline --build 'make test'"),
        (".github/workflows/x.yml", b"", 'report >> "$GITHUB_STEP_SUMMARY"'),
        ("Jenkinsfile", b"", "verify"),
    ],
)  # fmt: skip
def test_offers_the_command_that_fits(
    folder: Path, run: Run, path: str, content: bytes, command: str
) -> None:
    """State files, plans, test runners and CI result in matching commands."""
    put(folder / path, content)
    assert [one["command"] for one in found(run)] == [f"sprintlog {command}"]


@pytest.mark.parametrize("sign", LOOPS)
def test_offers_the_import_of_a_loop(folder: Path, run: Run, sign: str) -> None:
    """The files of each built-in importer are offered with the import that reads them."""
    put(folder / sign, b"")
    (one,) = found(run)
    assert (one["kind"], one["found"], one["says"]) == ("loop", sign, LOOPS[sign]["what"])
    _, name, kind, place = shlex.split(one["command"])
    assert (name, kind) == ("import", LOOPS[sign]["kind"])
    assert place == ("." if "is_folder" in LOOPS[sign] else sign)


@pytest.mark.parametrize("sign", EXTENDED)
def test_offers_the_import_of_an_extension(folder: Path, run: Run, sign: str) -> None:
    """For files that only an extension reads, `import .` is offered and names it."""
    put(folder / sign, b"")
    (one,) = found(run)
    assert (one["found"], one["command"]) == (sign, "sprintlog import .")
    assert f"the importer {EXTENDED[sign]} is not installed" in run("import", ".").out


@pytest.mark.parametrize(
    ("sample", "place"),
    [
        ("cases/E1/feature_list.json", "feature_list.json"),
        ("cases/X-aider/.aider.chat.history.md", ".aider.chat.history.md"),
        ("cases/X-gsd/.planning/STATE.md", ".planning/STATE.md"),
        ("cases/X-fix-plan/fix_plan.md", "@fix_plan.md"),
        (
            "aiwg/ralph-external/session-state.json",
            ".aiwg/ralph-external/session-state.json",
        ),
        ("orchestrator/history.jsonl", ".ralph/history.jsonl"),
        ("ralph-loop/ralph-loop.local.md", ".claude/ralph-loop.local.md"),
    ],
)
def test_an_offered_import_reads_the_files(
    folder: Path, run: Run, sample: str, place: str
) -> None:
    """The printed command imports the files that were found."""
    put(folder / place, (FIXTURES / "loops" / sample).read_bytes())
    (one,) = found(run, "--here")
    result = run(*shlex.split(one["command"])[1:])
    assert (result.code, "recorded" in result.out) == (0, True), result


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("progress.json", b'{"status": "running", "indicator": "x"}'),
        ("package.json", b'{"scripts": {"build": "x"}, "test": 1}'),
        ("Makefile", b"tests:\n"),
        ("pyproject.toml", b"[project]\n"),
        ("sprints/a b/PROGRESS.yaml", b""),
        ("sprints/\x1b/PROGRESS.yaml", b""),
    ],
)
def test_offers_nothing_for_what_is_something_else(
    folder: Path, run: Run, path: str, content: bytes
) -> None:
    """A name alone does not make a journal or a test; odd names are never printed."""
    put(folder / path, content)
    assert found(run) == []


def test_every_command_of_an_offer_can_be_typed() -> None:
    """Each suggested command exists."""
    names = frozenset(NAMES)
    everything = Surroundings(names, names, {}, (), frozenset(AGENTS))
    made = offers(everything)
    assert {one.kind for one in made} == {
        "state",
        "plan",
        "loop",
        "agent",
        "tests",
        "ci",
    } - {"plan"}
    commands = {one.command for one in made} | {
        f"sprintlog {one['command'].format(file='x')}" for one in OFFERS
    }
    for command in commands:
        assert command
        assert commands_in(f"`{command}`")


def test_names_a_file_as_it_is_typed_from_here(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder of a repository the paths lead up to files at its root."""
    (folder / ".git" / "objects").mkdir(parents=True)
    put(folder / ".git/HEAD", b"ref: refs/heads/main\n")
    (folder / ".git" / "refs").mkdir()
    put(folder / "PROGRESS.yaml", DOCUMENT)
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    (one,) = found(run)
    assert one["command"] == "sprintlog import progress ../PROGRESS.yaml"


def test_yes_takes_what_only_records(folder: Path, run: Run) -> None:
    """`--yes` imports PROGRESS.yaml without changing its bytes, and nothing else."""
    put(folder / "PROGRESS.yaml", DOCUMENT)
    put(folder / "progress.txt", b"text")
    put(folder / "SPRINT.yaml", b"")
    result = run("init", "--yes", "--json")
    place, taken = result.lines
    assert [one["found"] for one in place["offers"] if one["taken"]] == ["PROGRESS.yaml"]
    assert (taken["file"], taken["stream"]) == ("PROGRESS.yaml", "sprint/auth")
    assert (folder / "PROGRESS.yaml").read_bytes() == DOCUMENT
    assert (folder / "progress.txt").exists()


def test_the_history_of_a_state_file_is_imported(folder: Path, run: Run) -> None:
    """If git has several versions of PROGRESS.yaml, all of them are suggested."""
    git(folder, "init", "-q")
    for status in (b"not-started", b"in-progress"):
        put(folder / "PROGRESS.yaml", DOCUMENT.replace(b"not-started", status))
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "x")
    place, *taken = run("init", "--yes", "--json").lines
    (one,) = [one for one in place["offers"] if one["taken"]]
    assert one["command"] == "sprintlog import progress --git PROGRESS.yaml"
    assert len(taken) == 2


def test_without_a_terminal_it_only_offers(folder: Path, run: Run) -> None:
    """Through a pipe without `--yes`, it names the command, and records nothing."""
    put(folder / "PROGRESS.yaml", DOCUMENT)
    result = run("init")
    assert "  sprintlog import progress PROGRESS.yaml\n" in result.out
    assert run("log", "--all").out == "no events\n"


def answered(*command: str, given: str) -> int:
    """Run a command on a terminal, type the given lines, and return its exit status."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "sprintlog.cli", *command]
    path = str(Path(__file__).parents[3] / ".package")
    environment = {**os.environ, "PYTHONPATH": path, "PATH": os.defpath}
    with subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        os.write(ours, f"{given}\n".encode())
        code = process.wait()
    os.close(ours)
    return code


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("given", "code", "trusts"), [("y\ny", 0, 1), ("y\nn", 0, 0), ("n", 1, 0)]
)
def test_setup_asks_for_changes_and_for_trust(
    folder: Path,
    run: Run,
    given: str,
    code: int,
    trusts: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a terminal, `setup` changes and trusts files only after a yes to each."""
    monkeypatch.setenv("HOME", str(folder / "home"))
    tree = folder / "tree"
    put(tree / "sprintlog.toml", b'[measure]\nrun = ["./mine"]\n')
    monkeypatch.chdir(tree)
    assert answered("setup", "codex", given=given) == code
    assert (tree / ".codex").exists() == (code == 0)
    assert run("config", "--json").json["trusted"] == bool(trusts)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("word", "events"), [("y", 1), ("n", 0), ("", 0)])
def test_on_a_terminal_it_asks(folder: Path, run: Run, word: str, events: int) -> None:
    """Only a yes accepts an offer; the default answer is no."""
    put(folder / "PROGRESS.yaml", DOCUMENT)
    assert answered("init", given=word) == 0
    assert len(run("log", "--all", "--json").lines) == events


def test_follows_no_link_and_waits_for_no_pipe(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links, pipes and folders with the names of files are ignored."""
    inside, outside = folder / "tree", folder / "outside"
    for path in ("PROGRESS.yaml", "SPRINT.yaml", "sprints/a/PROGRESS.yaml", "conftest.py"):
        put(outside / path, DOCUMENT)
    inside.mkdir()
    monkeypatch.chdir(inside)
    for name in ("PROGRESS.yaml", "sprints", "conftest.py"):
        (inside / name).symlink_to(outside / name)
    (inside / "SPRINT.yaml").mkdir()
    os.mkfifo(inside / "package.json")
    os.mkfifo(inside / "Makefile")
    (inside / ".github").symlink_to(outside)
    assert found(run, "--yes") == []


def test_reads_only_the_beginning_of_a_file(folder: Path, run: Run) -> None:
    """The rest of a large file is not read."""
    put(folder / "Makefile", b"#" * TEXT_BYTES_MAX + b"\ntest:\n")
    assert found(run) == []


def test_names_few_of_many_sprints(folder: Path, run: Run) -> None:
    """A folder with many sprints does not fill a page of suggestions."""
    for number in range(SPRINTS_MAX + 3):
        put(folder / f"sprints/{number}/PROGRESS.yaml", DOCUMENT)
    assert len(found(run)) == SPRINTS_MAX


def test_runs_and_changes_nothing_that_it_finds(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs are searched for on the PATH outside the tree, and none is started."""
    tree, bin_ = folder / "tree", folder / "bin"
    trap = f"#!/bin/sh\ntouch '{folder}/mark'\n".encode()
    for name in AGENTS:
        put(tree / "node_modules/.bin" / name, trap, 0o755)
    put(bin_ / "codex", trap, 0o755)
    put(tree / "conftest.py", b"open('../mark', 'w')")
    put(tree / "CLAUDE.md", b"")
    monkeypatch.chdir(tree)
    monkeypatch.setenv("PATH", f".:node_modules/.bin:{tree}/node_modules/.bin:{bin_}")
    before = picture(tree, without=(".sprintlog",))
    made = run("init", "--json", "--yes").json["offers"]
    agents = {one["found"]: one["command"] for one in made if one["kind"] == "agent"}
    assert agents == {"CLAUDE.md": None, "codex": "sprintlog run -- codex exec --json"}
    assert not (folder / "mark").exists()
    assert picture(tree, without=(".sprintlog",)) == before
