"""Importing a PROGRESS.yaml's git history: every version of that sprint, no other's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.git.untrusted import UntrustedGit

from .test_import_progress import git

Commit = Callable[..., None]


def document(step: int, *, sprint: str = "auth", began: str = "2026-01-10") -> str:
    """Return version `step` of a sprint: that many of its phases are completed."""
    phases = [
        f"  - id: phase-{number}\n    prompt: Do {number} of {began}\n"
        f"    status: {'completed' if number < step else 'pending'}\n"
        for number in range(9)
    ]
    return (
        f"sprint-id: {sprint}\nstatus: in-progress\nphases:\n{''.join(phases)}"
        f"stats:\n  started-at: '{began}T09:00:00Z'\n"
    )


@pytest.fixture
def commit(folder: Path, done: Any) -> Commit:
    """Return a function that commits files as of a day; None deletes a file."""
    git(folder, "init", "-q", "-b", "main")
    done("init")

    def commit(day: int, files: dict[str, str | None], *, committed: int = 0) -> None:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                (folder / name).unlink()
            else:
                (folder / name).write_text(text)
        date = f"2026-01-{day:02}T12:00:00+00:00"
        git(folder, "add", "-A", ".", date=date)
        git(folder, "commit", "-qm", "x", date=date)
        if committed:
            date = f"2026-01-{committed:02}T12:00:00+00:00"
            git(folder, "commit", "-q", "--amend", "--no-edit", date=date)

    return commit


def imported(done: Any, *arguments: str) -> list[int]:
    """Import a file's history; return how far each version of it was."""
    answers = done("import", "progress", "--git", *arguments, "--json").lines
    shown = [
        done("show", "progress", "--at", f"position:{a['position']}", "--sprint", "auth")
        for a in answers
    ]
    return [each.out.count("status: completed") for each in shown]


def test_follows_every_rename(commit: Commit, done: Any) -> None:
    """A renamed file has all its versions, in order."""
    commit(1, {"PROGRESS.yaml": document(0)})
    commit(2, {"PROGRESS.yaml": document(1)})
    commit(3, {"PROGRESS.yaml": None, "sprints/one/PROGRESS.yaml": document(6)})
    commit(4, {"sprints/one/PROGRESS.yaml": document(7)})
    commit(5, {"sprints/one/PROGRESS.yaml": None, "done/auth.yml": document(8)})
    assert imported(done, "done/auth.yml") == [0, 1, 6, 7, 8]


def test_follows_a_rename_whose_place_was_taken_at_once(commit: Commit, done: Any) -> None:
    """A file is followed through a commit that put another sprint at its old path."""
    commit(1, {"PROGRESS.yaml": document(1)})
    commit(2, {"PROGRESS.yaml": document(2)})
    other = document(0, sprint="two", began="2026-01-12")
    commit(3, {"PROGRESS.yaml": other, "old/PROGRESS.yaml": document(3)})
    assert imported(done, "old/PROGRESS.yaml") == [1, 2, 3]


def test_takes_no_look_alike_for_it(commit: Commit, done: Any) -> None:
    """Another sprint's file that is removed at the same time is not its past."""
    commit(1, {"one/PROGRESS.yaml": document(3, sprint="zero")})
    commit(2, {"one/PROGRESS.yaml": None, "two/PROGRESS.yaml": document(3)})
    commit(3, {"two/PROGRESS.yaml": document(4)})
    assert imported(done, "two/PROGRESS.yaml") == [3, 4]


def test_takes_no_copy_for_it(commit: Commit, done: Any) -> None:
    """A copy of a file that continued starts with the copy."""
    commit(1, {"PROGRESS.yaml": document(1)})
    commit(2, {"PROGRESS.yaml": document(2), "copy/PROGRESS.yaml": document(1)})
    assert imported(done, "copy/PROGRESS.yaml") == [1]


def test_leaves_other_sprints_at_its_path_out(commit: Commit, done: Any) -> None:
    """If several sprints used a path, the newest or the named one is imported."""
    commit(1, {"PROGRESS.yaml": document(7, sprint="zero")})
    commit(2, {"PROGRESS.yaml": "current_phase: none of ours\n"})
    commit(3, {"PROGRESS.yaml": document(1)})
    commit(4, {"PROGRESS.yaml": document(2)})
    result = done("import", "progress", "--git", "PROGRESS.yaml", "--json")
    assert {answer["stream"] for answer in result.lines} == {"sprint/auth"}
    assert len(result.lines) == 2
    assert "skipped 2 versions of PROGRESS.yaml" in result.err
    named = ("--sprint", "zero", "--sprint-dir", "zero")
    (older,) = done("import", "progress", "--git", "PROGRESS.yaml", "--json", *named).lines
    assert older["stream"] == "sprint/zero"


def test_knows_a_sprint_before_it_had_an_id(commit: Commit, done: Any) -> None:
    """A document without an id that only grew is the same sprint."""
    text = document(1).replace("sprint-id: auth\n", "")
    commit(1, {"PLAN.yaml": text})
    commit(2, {"PLAN.yaml": None, "PROGRESS.yaml": document(2)})
    assert imported(done, "PROGRESS.yaml") == [1, 2]
    assert done("show", "progress", "--at", "version:1").out.startswith("status:")


def test_finds_what_branches_did(folder: Path, commit: Commit, done: Any) -> None:
    """Versions on a branch count, even if the merge chose the other side's."""
    commit(1, {"PROGRESS.yaml": document(1)})
    git(folder, "checkout", "-qb", "side")
    commit(2, {"PROGRESS.yaml": document(2)})
    git(folder, "checkout", "-q", "main")
    commit(3, {"PROGRESS.yaml": document(3)})
    date = "2026-01-04T12:00:00+00:00"
    git(folder, "merge", "-q", "-s", "ours", "-m", "x", "side", date=date)
    commit(5, {"PROGRESS.yaml": document(5)})
    assert imported(done, "PROGRESS.yaml") == [1, 2, 3, 5]


def test_goes_by_the_time_of_writing(commit: Commit, done: Any) -> None:
    """A rebased version counts from its author date; its commit date is stored."""
    commit(1, {"PROGRESS.yaml": document(1)}, committed=20)
    commit(3, {"PROGRESS.yaml": document(3)}, committed=20)
    answers = done("import", "progress", "--git", "PROGRESS.yaml", "--json").lines
    assert [a["at"][:10] for a in answers] == ["2026-01-01", "2026-01-03"]
    assert {a["committed-at"][:10] for a in answers} == {"2026-01-20"}
    data = done("show", "event", answers[0]["position"], "--json").json["data"]
    assert data["committed_at"] == "2026-01-20T12:00:00Z"
    shown = done("show", "progress", "--at", "2026-01-02T00:00:00Z").out
    assert shown.count("status: completed") == 1


def test_puts_no_file_back_that_is_gone(folder: Path, commit: Commit, done: Any) -> None:
    """A deleted file is imported but not recreated."""
    commit(1, {"one/PROGRESS.yaml": document(1)})
    commit(2, {"one/PROGRESS.yaml": document(2)})
    commit(3, {"one/PROGRESS.yaml": None})
    (folder / "one").rmdir()
    assert imported(done, "one/PROGRESS.yaml") == [1, 2]
    done("phase", "start", "phase-2")
    done("rebuild")
    assert not (folder / "one").exists()


def test_takes_a_longer_history_up_where_it_ended(commit: Commit, done: Any) -> None:
    """Importing again records newer commits, and nothing twice."""
    commit(1, {"PROGRESS.yaml": document(1)})
    commit(2, {"PROGRESS.yaml": document(2)})
    assert imported(done, "PROGRESS.yaml") == [1, 2]
    commit(3, {"PROGRESS.yaml": document(3)})
    answers = done("import", "progress", "--git", "PROGRESS.yaml", "--json").lines
    assert [a["unchanged"] for a in answers] == [True, True, False]
    events = done("log", "--json").lines
    assert [e["type"] for e in events].count("sprint-imported") == 3


def test_reads_nothing_that_is_too_long(
    commit: Commit, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that is too long is refused by its size, before it is read."""
    read: list[bytes] = []
    real = UntrustedGit.read

    def recording(git: UntrustedGit, *arguments: str, given: bytes = b"") -> bytes:
        read.append(real(git, *arguments, given=given))
        return read[-1]

    monkeypatch.setattr(UntrustedGit, "read", recording)
    commit(1, {"PROGRESS.yaml": document(1)})
    commit(2, {"PROGRESS.yaml": document(2) + "# " + "x" * (8 * 2**20) + "\n"})
    commit(3, {"PROGRESS.yaml": document(3)})
    result = run("import", "progress", "--git", "PROGRESS.yaml")
    assert (result.code, max(map(len, read)) < 10_000) == (1, True)
    assert "PROGRESS.yaml@" in result.err
    assert "too large" in result.err
    assert run("log", "--all", "--json").out == ""


def test_names_the_version_that_cannot_be_read(commit: Commit, run: Any) -> None:
    """A version of the sprint that is not YAML is refused by its commit and line."""
    commit(1, {"PROGRESS.yaml": document(1)})
    commit(2, {"PROGRESS.yaml": "<<<<<<< HEAD\n" + document(2)})
    commit(3, {"PROGRESS.yaml": document(3)})
    result = run("import", "progress", "--git", "PROGRESS.yaml")
    assert result.code == 1
    assert result.err.startswith("error: PROGRESS.yaml@")
    assert run("log", "--all", "--json").out == ""


def test_says_when_git_knows_nothing(folder: Path, commit: Commit, run: Any) -> None:
    """A file that was never committed is refused, with or without commits."""
    (folder / "PROGRESS.yaml").write_text(document(1))
    result = run("import", "progress", "--git", "PROGRESS.yaml")
    assert (result.code, result.err.count("\n")) == (1, 1)
    commit(1, {"PROGRESS.yaml": document(1)})
    result = run("import", "progress", "--git", "nowhere/PROGRESS.yaml")
    assert result.err == "error: git has no committed version of this file\n"


def test_says_when_the_older_part_is_not_there(
    folder: Path, commit: Commit, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a partial clone the available part is imported, and this is reported."""
    for day in (1, 2, 3):
        commit(day, {"PROGRESS.yaml": document(day)})
    git(folder, "clone", "-q", "--depth", "2", f"file://{folder}", "part")
    monkeypatch.chdir(folder / "part")
    done("init")
    result = done("import", "progress", "--git", "PROGRESS.yaml", "--json")
    assert len(result.lines) == 2
    assert "a partial clone: older versions of PROGRESS.yaml are missing" in result.err


def test_says_when_the_texts_are_not_there(
    folder: Path, commit: Commit, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository cloned without contents differs from one without versions."""
    commit(1, {"PROGRESS.yaml": document(1)})
    git(folder, "config", "uploadpack.allowFilter", "true")
    source = f"file://{folder}"
    git(folder, "clone", "-q", "--filter=blob:none", "--no-checkout", source, "part")
    monkeypatch.chdir(folder / "part")
    run("init")
    result = run("import", "progress", "--git", "PROGRESS.yaml")
    assert result.code == 1
    assert result.err.startswith("error: the repository does not contain PROGRESS.yaml@")
