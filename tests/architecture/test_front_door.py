"""The library's public API: its names, types and deferred imports."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sprintlog
from sprintlog.engine import errors
from sprintlog.engine.commands import registered
from sprintlog.engine.journal.events import JOURNAL_EVENTS
from sprintlog.engine.sprint.events import EVENTS
from tests.docs.reference.public import with_parts

from .test_startup import modules_imported_by
from .tree import ROOT

WRONG = """\
import sprintlog
from sprintlog import Workspace, commands, errors, events, init, open

workspace: Workspace = open("somewhere")
version: str = sprintlog.__version__
event: events.PhaseCompleted = events.PhaseCompleted(phase="build")
sprintlog.opne("somewhere")
events.PhaseCompleted(phase=1)
errors.NoSuchError
init(here="no such option")
workspace.handle(commands.CompletePhase("build", summary="x"), sprint_id="auth")
workspace.handle(commands.CompletePhase("build", sumary="x"), sprint_id="auth")
entries: int = workspace.handle(commands.OpenJournal()).state.version
workspace.handle(commands.CompletePhase("build"))
"""
MISTAKES = {7, 8, 9, 10, 12, 14}
"""The lines of it in which something is wrong."""


def not_in(public: list[Any], wanted: Sequence[type[msgspec.Struct]]) -> list[str]:
    """Return the expected names that are not public."""
    return [struct.__name__ for struct in wanted if struct not in public]


def test_all_that_is_public_is_there() -> None:
    """Every public name can be had, and a name that is not public is an error."""
    for name in sprintlog.__all__:
        assert getattr(sprintlog, name) is not None
    assert {*sprintlog.__all__} <= {*dir(sprintlog)}
    with pytest.raises(AttributeError, match="no attribute 'cli_'"):
        _ = getattr(sprintlog, "cli_")  # noqa: B009 - a type checker would refuse it


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    """The public package imports no other: commands start as fast as without it."""
    ours = {name for name in modules_imported_by("sprintlog") if "sprintlog" in name}
    assert ours == {"sprintlog"}


def test_every_event_is_public() -> None:
    """`events` has each event of sprints and the journal, and their parts."""
    public = [*vars(sprintlog.events).values()]
    missing = not_in(public, with_parts([*EVENTS, *JOURNAL_EVENTS]))
    assert missing == [], "run `python -m tests.docs.generate`"


def test_every_command_is_public() -> None:
    """`commands` has each command of sprints and the journal, and their parts."""
    own = [*vars(sprintlog.commands).values()]
    commands = [*registered().values()]
    missing = not_in(own, commands)
    # Some of the parts also occur in events.
    missing += not_in([*own, *vars(sprintlog.events).values()], with_parts(commands))
    assert missing == [], "run `python -m tests.docs.generate`"


def test_every_error_is_public() -> None:
    """`errors` has each error that the library raises."""
    ours = {
        name: error
        for name, error in vars(errors).items()
        if isinstance(error, type) and issubclass(error, errors.SprintlogError)
    }
    assert ours.items() <= vars(sprintlog.errors).items()


@pytest.mark.long
def test_mypy_sees_what_is_wrong(tmp_path: Path) -> None:
    """A user's strict type checker accepts correct code and reports each mistake."""
    (tmp_path / "wrong.py").write_text(WRONG)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")),
            *("--cache-dir", str(ROOT / ".mypy_cache"), str(tmp_path / "wrong.py")),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = {
        int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line
    }
    assert lines == MISTAKES, done.stdout + done.stderr
