"""An unknown option is a usage error everywhere, also before COMMAND of `run`."""

import subprocess
import sys
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from sprintlog.cli.suggest import closest

from ...answers import commands
from ...conftest import Run

LEAVES = [name.split() for name, _ in commands()]
RUNNING = ("run", "wrap")
"""The commands that run another command."""


def content(folder: Path) -> dict[str, bytes | None]:
    """Return every file and folder, with the content of the files."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_no_command_takes_an_unknown_option(sprint: Path, run: Run, words: Any) -> None:
    """The command exits with 2, prints an error and a hint, and changes nothing."""
    before = content(sprint)
    for more in ((), ("3", "--", "touch", "made")):
        result = run(*words, "--no-such-option", *more)
        assert (result.code, result.out) == (2, "")
        error, hint = result.err.splitlines()
        assert error == "error: no such option --no-such-option"
        assert hint.startswith("hint: ")
        assert f"`sprintlog {' '.join(words)} -h` shows how" in hint
    assert content(sprint) == before


@pytest.mark.parametrize("command", RUNNING)
def test_the_process_rejects_it_as_well(folder: Path, command: str) -> None:
    """The shortcut of `wrap` that bypasses click also rejects it."""
    words = [command, "--max-turns", "3", "--", "touch", "made"]
    ended = subprocess.run(
        [sys.executable, "-m", "sprintlog.cli", *words], capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("error: no such option --max-turns\nhint: ")
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize(
    ("line", "option", "meant"),
    [
        ("run --iterations=3 -- cat", "--iterations", "--budget-iterations"),
        ("run --max-turns 3 cat", "--max-turns", "--budget-iterations"),
        ("run --max-budget-usd 3 -- cat", "--max-budget-usd", "--budget-cost"),
        ("run --max-tokens 3 -- cat", "--max-tokens", "--budget-tokens"),
        ("run --time-limit 3 -- cat", "--time-limit", "--budget-time"),
        ("run --budget-iteration 3 -- cat", "--budget-iteration", "--budget-iterations"),
        ("run --prompt p.md -- cat", "--prompt", "--prompt-file"),
        ("run --test ./t -- cat", "--test", "--measure"),
        ("run --name auth -- cat", "--name", "--sprint"),
        ("run -n -- cat", "-n", "--dry-run"),
        ("wrap --snapshots -- cat", "--snapshots", "--snapshot"),
        ("wrap --name auth -- cat", "--name", "--sprint"),
        ("sprint create x --iterations 3", "--iterations", "--max-iterations"),
        ("list -n 3", "-n", "--last"),
        ("list --max-count 3", "--max-count", "--last"),
        ("log --author x", "--author", "--actor"),
        ("log -w", "-w", "--follow"),
        ("status --follow", "--follow", "--watch"),
        ("status --format json", "--format", "--json"),
        ("store export --output x", "--output", "--out"),
        ("uninstall --force", "--force", "--yes"),
        ("undo -y", "-y", "--yes"),
        ("status --JSON", "--JSON", "--json"),
    ],
)
def test_the_intended_option_is_suggested(
    sprint: Path, run: Run, line: str, option: str, meant: str
) -> None:
    """The hint suggests the option for names of other programs and misspelled names."""
    result = run(*line.split())
    assert (result.code, result.out) == (2, "")
    error, hint = result.err.splitlines()
    assert error == f"error: no such option {option}"
    assert hint.startswith(f"hint: did you mean `{meant}`? `sprintlog ")


@pytest.mark.parametrize("option", ["--foo", "-x", "--max-iterations"])
def test_no_unlike_option_is_suggested(folder: Path, run: Run, option: str) -> None:
    """The leading dashes do not count as similarity."""
    assert run("wrap", option, "--", "cat").err.splitlines()[1:] == [
        "hint: `sprintlog wrap -h` shows how"
    ]


def test_a_synonym_is_an_option_of_the_command() -> None:
    """The first word of a group that the command knows is suggested."""
    assert closest("--turns", []) is None
    assert closest("--iterations", ["--max-iterations"]) == "--max-iterations"
    assert closest("-n", ["--limit", "--last"]) == "--last"


SAYS = "import sys; print('given', *sys.argv[1:])"


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("AGENT", "--foo", "-p"), "--foo -p"),
        (("--timeout", "9", "AGENT", "--foo=1"), "--foo=1"),
        (("--", "AGENT", "--timeout", "5"), "--timeout 5"),
        (("--timeout", "9", "--", "AGENT", "--json"), "--json"),
        (("AGENT", "--", "--json"), "-- --json"),
    ],
)
def test_the_command_is_given_its_own_options(
    folder: Path, done: Run, words: tuple[str, ...], given: str
) -> None:
    """Options after the command belong to it; after `--` also options of `run`."""
    agent = folder / "agent"
    agent.write_text(f'#!/bin/sh\nexec {quote(sys.executable)} -c {quote(SAYS)} "$@"\n')
    agent.chmod(0o755)
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: do}]\n")
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("run", *(str(agent) if word == "AGENT" else word for word in words))
    assert f"given {given}" in done("log", "--json").out


@pytest.mark.parametrize("option", ["--timeout", "--timeout=5", "--json", "-h", "--color"])
def test_an_option_of_run_after_the_command_is_rejected(
    sprint: Path, run: Run, option: str
) -> None:
    """Without `--` the option is ambiguous, so it is a usage error."""
    before, name = content(sprint), option.partition("=")[0]
    result = run("run", "cat", "-u", option, "never")
    said = f"{name} is an option of run and must precede cat"
    hint = f"`sprintlog run {name} … -- cat …`; all words after `--` belong to cat"
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert hint in result.err
    assert content(sprint) == before
