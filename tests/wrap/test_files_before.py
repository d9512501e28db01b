"""The files before the first run of all are kept, and only that run waits for them."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintlog.cli.wrapping import frames
from sprintlog.cli.wrapping.frames import WITHIN, HeldCommand, WrapRequest, result
from sprintlog.cli.wrapping.recorder import record
from sprintlog.cli.wrapping.start import is_first
from sprintlog.projections.workspace import Workspace

from .conftest import Events, Wrap


def test_files_are_kept_before_the_first_run_of_all(
    wrap: Wrap, events: Events, sprintlog: Callable[..., str], tmp_path: Path
) -> None:
    """So what the first run changed is known, too; later runs have the end of the last."""
    (tmp_path / "there").write_text("before\n")
    for name in ("one", "two"):
        assert wrap("--snapshot", "--", "touch", name).returncode == 0
    taken = [event["data"] for event in events("snapshot-taken")]
    assert [(one["iteration"], one["files"]) for one in taken] == [(0, 1), (1, 2), (2, 3)]
    for number, name in ((1, "one"), (2, "two")):
        changed = json.loads(sprintlog("iteration", "diff", str(number), "--json"))
        assert [one["path"] for one in changed["files"]] == [name]


@pytest.mark.parametrize(
    ("there", "waits"),
    [
        ([], True),
        ([".git/"], True),
        ([".git"], False),
        ([".git/", ".git/sprintlog/"], False),
        ([".sprintlog/"], False),
    ],
)
def test_only_who_has_no_log_yet_waits_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: list[str], waits: bool
) -> None:
    """A log, or what may lead to one, is looked for in the folder and above it."""
    for name in (WITHIN, "SPRINTLOG_DIR", "SPRINTLOG_LOG"):
        monkeypatch.delenv(name, raising=False)
    for path in (tmp_path / name for name in there):
        path.mkdir() if there[-1].endswith("/") else path.touch()
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    asked = WrapRequest(("true",), snapshot=True)
    assert is_first(asked) is waits
    assert not is_first(WrapRequest(("true",)))
    monkeypatch.setenv(WITHIN, "run")
    assert not is_first(asked)


def test_a_command_that_started_without_them_is_no_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that were not kept in time are told, and are no state before the first run."""
    for name in [n for n in os.environ if n.startswith(("GIT_", "SPRINTLOG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    waits, ends = os.pipe()
    told: list[str] = []
    record(
        WrapRequest(("true",), snapshot=True),
        io.BytesIO(result(0, 5)),
        told.append,
        key="k",
        began=1_700_000_000_000,
        before=lambda: None,
        waiting=HeldCommand(ends, 0.0),
    )
    assert os.read(waits, 1) == b""
    os.close(waits)
    assert told == ["the files before the first run are not kept: that took too long"]
    with Workspace.open(tmp_path) as workspace:
        types = [event.type for event in workspace.events(*workspace.sprints())]
    assert types == [
        *("sprint-compiled", "sprint-started", "iteration-started", "agent-ran"),
        *("iteration-ended", "snapshot-taken"),
    ]


def test_what_was_kept_and_measured_too_late_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once nobody waits any more the next run may have changed the files; it is said."""
    for name in [n for n in os.environ if n.startswith(("GIT_", "SPRINTLOG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(frames, "FILES_SECONDS", -1_000.0)
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    record(
        WrapRequest(("true",), snapshot=True, measure="echo 3/4"),
        io.BytesIO(result(0, 5)),
        told.append,
        key="k",
        began=1_700_000_000_000,
        before=lambda: None,
    )
    late = "it took too long: others may have changed the files"
    assert told == [
        "the files are not kept: that took too long",
        f"iteration 1 could not be measured: {late}",
    ]
    with Workspace.open(tmp_path) as workspace:
        types = [event.type for event in workspace.events(*workspace.sprints())]
    assert types[-2:] == ["iteration-ended", "measurement-failed"]
