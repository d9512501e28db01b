"""Every registered question, and the command that returns the same answer."""

from pathlib import Path

import pytest

import sprintlog
from sprintlog.engine.races import Entrant
from sprintlog.engine.service.driver.races import begin_race

from .conftest import Run

ASKED: dict[str, tuple[dict[str, str], list[str]]] = {
    "audit": ({"at": "version:3"}, ["--at", "version:3"]),
    "diff": ({"from": "start", "to": "version:2"}, ["start", "version:2"]),
    "gate show": ({}, []),
    "iteration alerts": ({"all": "true"}, ["--all"]),
    "iteration best": ({}, []),
    "list": ({}, []),
    "journal status": ({}, []),
    "log": ({}, []),
    "next": ({"sprint": "auth"}, ["--sprint", "auth"]),
    "queue list": ({"status": "pending"}, ["--status", "pending"]),
    "queue show": ({"request": "req-1"}, ["req-1"]),
    "race show": ({"race": "fix"}, ["fix"]),
    "report": ({}, []),
    "iteration rules show": ({}, []),
    "schema": ({}, ["answers"]),
    "show best": ({}, []),
    "show event": ({"position": "2"}, ["2"]),
    "show journal": ({}, []),
    "show progress": ({"at": "version:1"}, ["--at", "version:1"]),
    "show session": ({}, []),
    "sprint list": ({}, []),
    "status": ({"at": "version:2"}, ["--at", "version:2"]),
    "why": ({"field": "status"}, ["status"]),
}
"""By the words of the command: the question and the command line."""
MEASURED = ("--metric", "test_count=10", "--metric", "tests_passed=9")


@pytest.fixture
def night(sprint: Path, done: Run) -> Path:
    """Return a folder with a gate, a measured iteration, a request and a journal."""
    done("iteration", "baseline", *MEASURED)
    done("iteration", "start")
    done("iteration", "end", *MEASURED)
    done("queue", "add", "Crash", "--priority", "high", "--type", "bug")
    done("journal entry record", "login", "--status", "completed", "--summary", "done")
    # Only attempts that run require a git repository.
    with sprintlog.open() as workspace:
        fields = "c0ffee", (Entrant(("claude", "-p")),)
        begin_race(workspace, "fix", fields, actor="runtime")
    return sprint
