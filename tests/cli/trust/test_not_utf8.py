"""Bytes that are not UTF-8, through every door: recorded, and displayed readably."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.output import json_line
from sprintlog.engine.readable import originals, quoted
from sprintlog.projections.markdown import visible

from ...adapters.trees import git, put
from ..conftest import Run

ODD, SHOWN = "caf\udce9", r"caf\xe9"
RUNS_ON = pytest.mark.skipif(sys.platform != "linux", reason="file names must be UTF-8")

pytestmark = RUNS_ON


@pytest.fixture
def odd_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository in a folder whose name is not UTF-8."""
    made = folder / ODD
    made.mkdir()
    git(made, "init", "-q")
    git(made, "commit", "-q", "--allow-empty", "-m", "first")
    monkeypatch.chdir(made)
    return made


def wrap(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run `sprintlog wrap` in a separate process."""
    command = [sys.executable, "-m", "sprintlog.cli", "wrap", *arguments]
    return subprocess.run(command, check=False, capture_output=True)


def told(events: list[Any], type_: str) -> list[Any]:
    """Return the data of the events of a type."""
    return [event["data"] for event in events if event["type"] == type_]


DOORS: list[tuple[tuple[str, ...], int, str]] = [
    (("status",), 0, "iteration 2"),
    (("log", "--oneline"), 0, f"echo {SHOWN}"),
    (("log", "--all", "--json"), 0, r"echo caf\u005cxe9"),
    (("show", "iteration", "2"), 0, "iteration  2"),
    (("show", "progress"), 0, SHOWN),
    (("list",), 0, SHOWN),
    (("iteration", "diff", "2"), 0, f"added    {SHOWN}"),
    (("iteration", "diff", "2", "--json"), 0, SHOWN.replace("\\", r"\\")),
    (("report",), 0, "## Sprint"),
    (("report", "1"), 0, SHOWN),
    (("report", "--html", f"../{ODD}.html"), 0, f"{SHOWN}.html"),
    (("why", f"{ODD}:1"), 0, rf"{SHOWN}:1  \xff"),
    (("query", "SELECT data->>'command' FROM v_events"), 0, SHOWN),
    (("store", "export", "--format", "log"), 0, r"caf\\u005cxe9"),
    (("store", "export", "--format", "csv"), 0, "agent-ran"),
    (("store", "export", "--format", "csv", "--with-content"), 0, "caf\\\\xe9"),
    (("store", "export", "--format", "otlp-json"), 0, "resourceSpans"),
    (("store", "export", "--format", "cloudevents"), 0, "specversion"),
    (("verify", "--full"), 0, "sound"),
    (("doctor",), 0, f"{SHOWN}/.git/sprintlog/log.db"),
    (("store", "backup", f"../{ODD}.db"), 0, f"{SHOWN}.db"),
    (("restore", "iter:2", "--into", f"../x{ODD}"), 0, f"x{SHOWN}"),
    (("setup", "claude", "--yes"), 0, SHOWN),
    (("setup", "claude", "--remove", "--yes"), 0, "remove .mcp.json"),
    # Free texts are recorded.
    (("note", f"o{ODD}"), 0, "note-added"),
    (("note", ODD, "--key", "k"), 0, "note-added"),
    (("note", ODD, "--key", "k"), 0, "already recorded"),
    (("note", f"{ODD}2", "--key", "k"), 5, "key 'k' was already used"),
    (("queue", "add", ODD, "--type", "bug", "--priority", "high"), 0, "req-1"),
    (("queue", "list"), 0, SHOWN),
    (("rollback", "iter:1", "--files", "--yes", "--reason", ODD), 0, f"removed  {SHOWN}"),
    (("undo", "--yes"), 0, "1 file written"),
    (("redact", "--text", f"o{ODD}", "--reason", "x", "--dry-run"), 0, "would erase"),
    # Names are rejected.
    (("sprint", "create", ODD), 1, "ID: is not UTF-8"),
    (("status", "--sprint", ODD), 1, "sprint: is not UTF-8"),
    (("note", "x", "--key", ODD), 1, "key: is not UTF-8"),
    (("note", "x", "--actor", f"agent:{ODD}"), 1, "actor: is not UTF-8"),
    (("note", "x", "--correlation-id", ODD), 1, "correlation_id: is not UTF-8"),
    (("phase", "inject", "--id", ODD, "--prompt", "x"), 1, "--id: is not UTF-8"),
    (("query", f"SELECT '{ODD}'"), 1, "SQL: is not UTF-8"),
    (("phase", "complete", ODD), 3, f"no phase {SHOWN}"),
    (("import", "progress", ODD), 1, SHOWN),
    (("compile", f"{ODD}.yaml"), 3, f"{SHOWN}.yaml: there is no such file"),
]
"""A command line, its exit status, and its output."""


def wrong_doors(run: Run) -> Iterator[tuple[Any, ...]]:
    """Yield the command lines that end or answer in a different way."""
    for arguments, code, shown in DOORS:
        result = run(*arguments)
        printed = result.out + result.err
        if result.code != code or shown not in printed or "Traceback" in printed:
            yield ascii(arguments), result.code, ascii(printed[:400])


def test_every_door_takes_such_bytes(odd_folder: Path, run: Run, done: Run) -> None:
    """Commands record such texts, refuse such names, and print both in UTF-8."""
    done("init")
    first = wrap("--snapshot", "--", "echo", ODD)
    assert (first.returncode, first.stdout, first.stderr) == (0, b"caf\xe9\n", b"")
    script = r"printf '\377\n' > caf$(printf '\351'); printf 'e\376' >&2; exit 3"
    assert wrap("--snapshot", "--", "sh", "-c", script).returncode == 3
    events = run("log", "--all", "--json").lines
    assert [one["number"] for one in told(events, "iteration-ended")] == [1, 2]
    wrong = "\n".join(map(str, wrong_doors(run)))
    assert not wrong, wrong
    assert SHOWN in Path(f"../{ODD}.html").read_text("utf-8")


def test_the_bytes_of_a_run_can_be_recovered(odd_folder: Path, done: Run) -> None:
    """`log --json` has the arguments and the output of a command, byte for byte."""
    wrap("--", "echo", ODD, r"caf\xe9")
    printed = done("log", "--type", "agent-ran", "--json").out
    whole = originals(printed.encode())["data"]
    assert ascii(whole["command"]) == ascii(rf"echo {ODD} caf\xe9")
    assert whole["output"].encode(errors="surrogateescape") == b"caf\xe9 caf\\xe9\n"
    assert json.loads(printed)["data"]["command"] == rf"echo {SHOWN} caf\xe9"


def test_a_name_that_wrap_refuses_stops_no_command(odd_folder: Path) -> None:
    """`wrap` with a sprint that is not UTF-8 runs the command and states the reason."""
    done = wrap("--sprint", ODD, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (0, b"ran\n")
    assert done.stderr == b"sprintlog: not recorded: sprint: is not UTF-8\n"


def test_a_worktree_may_have_such_a_name(odd_folder: Path, done: Run) -> None:
    """A linked worktree records and restores like any other, whatever its name."""
    other = odd_folder.with_name(f"w{ODD}")
    git(odd_folder, "worktree", "add", "-q", str(other))
    done("init")
    os.chdir(other)
    for name in ("one", "two"):
        assert wrap("--snapshot", "--", "touch", f"{name}{ODD}").stderr == b""
    assert f"removed  two{SHOWN}" in done("rollback", "iter:1", "--files", "--yes").out


def test_texts_of_hostile_encodings_are_erased(sprint: Path, done: Run) -> None:
    """`redact` finds a text that is not UTF-8, and no file contains it afterwards."""
    done("note", f"the word is {ODD}")
    put(sprint / "x", b"")
    done("redact", "--text", ODD, "--reason", "old", "--yes")
    printed = done("log", "--all", "--json").out
    assert "xe9" not in printed


def test_displays_spell_bytes_in_one_way() -> None:
    r"""Terminals, JSON answers and hints for a shell all print `\xe9`."""
    assert visible(ODD) == SHOWN
    assert json.loads(json_line({"path": Path(ODD)})) == {"path": SHOWN}
    assert quoted(f"it's {ODD}\\") == r"$'it\'s caf\xe9\\'"
