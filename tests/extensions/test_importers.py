"""The importers' results for other tools' files, compared with stored results."""

import json
import os
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.intake.imported import facts_of
from sprintlog.extensions import ImportedLoop, ImportedSprint, Remark
from sprintlog.testing import check_importer

from ..cli.conftest import Run
from .conftest import PACKAGES, broken, install

LOOPS = PACKAGES / "loops"
SAMPLES = sorted(path.name for path in (LOOPS / "samples").iterdir() if path.is_dir())
LEFT_OUT = {
    **{"task-master": 2, "beads": 2, "spec-kit": 1, "openspec": 1, "bmad": 1},
    **{"frankbria": 2, "ralph-tui": 1},
}
"""The number of unreadable parts of each sample."""


@pytest.fixture(scope="session")
def loops_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the package of importers is installed."""
    site = tmp_path_factory.mktemp("site")
    install("loops", site, tmp_path_factory.mktemp("build"))
    return site


@pytest.fixture
def sample(
    loops_site: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Path:
    """Return a copy of a tool's files; its importer is installed."""
    monkeypatch.syspath_prepend(str(loops_site))
    place = folder / str(request.param)
    shutil.copytree(LOOPS / "samples" / str(request.param), place)
    return place


def described(tool: str, place: Path) -> Any:
    """Return an importer's result for a tool's files, by the kit."""
    module = import_module(f"sprintlog_loops.{tool.replace('-', '_')}")
    return check_importer(tool, module.read, place, refuses=[place / "nothing"])


@pytest.mark.parametrize("sample", SAMPLES, indirect=True)
def test_a_sample_is_read_as_stored(sample: Path) -> None:
    """Statuses, order, iterations and remarks are those of the stored result."""
    said = described(sample.name, sample)
    stored = LOOPS / "expected" / f"{sample.name}.json"
    assert said == json.loads(stored.read_text())
    assert len(said["unread"]) == LEFT_OUT[sample.name]


def test_spec_kit_reads_tasks_under_any_heading(
    loops_site: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, done: Run
) -> None:
    """Headings other than `Phase N:` are also phases; nothing is left unread."""
    monkeypatch.syspath_prepend(str(loops_site))
    shutil.copytree(PACKAGES.parent / "loops" / "cases" / "E6", folder / "E6")
    monkeypatch.chdir(folder / "E6")
    done("init", "--here")
    answer = done("import", "spec-kit", ".", "--json").json
    assert (answer["found"], answer["unread"]) == ({"phase": 3, "task": 5}, 0)
    phases = done("show", "progress", "--json").json["phases"]
    statuses = [[step["status"] for step in phase["steps"]] for phase in phases]
    assert statuses == [["completed"] * 2, ["completed", "pending"], ["pending"]]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("sample", SAMPLES, indirect=True)
def test_a_sample_is_imported_by_name(sample: Path, done: Run) -> None:
    """`import NAME PATH` records it, reports unread parts, and imports it once."""
    done("init", "--here")
    first = done("import", sample.name, str(sample), "--json").json
    assert first["unread"] == LEFT_OUT[sample.name]
    assert Path(first["kept"]).is_file()
    again = done("import", sample.name, str(sample), "--json").json
    assert (first["recorded"] > 0, again["recorded"]) == (True, 0)
    done("verify")
    for row in done("sprint", "list", "--json").json:
        done("status", "--sprint", row["sprint"])
        actors = done("log", "--sprint", row["sprint"], "--json").lines
        assert {event["observed"] for event in actors[1:]} <= {True}


@pytest.mark.parametrize("sample", ["task-master"], indirect=True)
def test_what_changed_is_told_as_events(sample: Path, done: Run) -> None:
    """A task that became done since the last import is a phase that was completed."""
    done("init", "--here")
    done("import", "task-master", str(sample))
    file = sample / ".taskmaster/tasks/tasks.json"
    tasks = json.loads(file.read_text())
    tasks["docs"]["tasks"][0]["status"] = "done"
    file.write_text(json.dumps(tasks))
    done("import", "task-master", str(sample))
    types = [e["type"] for e in done("log", "--sprint", "docs", "--json").lines]
    assert "phase-completed" in types
    assert done("status", "--sprint", "docs", "--json").json["status"] == "completed"


@pytest.mark.parametrize("sample", ["frankbria"], indirect=True)
def test_loops_become_iterations(sample: Path, done: Run) -> None:
    """Each line of its metrics is an iteration with its own times."""
    done("init", "--here")
    done("import", "frankbria", str(sample))
    ended = [
        (event["type"], event["at"])
        for event in done("log", "--json").lines
        if event["type"] in ("iteration-started", "iteration-ended")
    ]
    assert ended == [
        ("iteration-started", "2026-01-15T08:59:00Z"),
        ("iteration-ended", "2026-01-15T09:00:30Z"),
        ("iteration-started", "2026-01-15T09:03:00Z"),
        ("iteration-ended", "2026-01-15T09:05:00Z"),
    ]


@pytest.mark.parametrize("sample", SAMPLES, indirect=True)
def test_no_link_is_followed(sample: Path, run: Run, done: Run) -> None:
    """A file of a tool that is a link is refused: it may lead anywhere."""
    done("init", "--here")
    for file in [*sample.rglob("*")]:
        if file.is_file() and file.name != "README.md":
            outside = sample.parent / f"{file.name}-outside"
            file.rename(outside)
            os.symlink(outside, file)
    result = run("import", sample.name, str(sample))
    assert result.code == 1, result
    assert "is a symbolic link" in result.err


@pytest.mark.parametrize("sample", ["ralph-tui"], indirect=True)
@pytest.mark.parametrize("named", ["../prd.json", "/etc/hostname", "tasks/../../prd.json"])
def test_a_session_names_nothing_outside(sample: Path, done: Run, named: str) -> None:
    """A session's list of stories is read only within its project."""
    done("init", "--here")
    shutil.copy(sample / "tasks/prd.json", sample.parent / "prd.json")
    file = sample / ".ralph-tui/session.json"
    session = json.loads(file.read_text())
    file.write_text(json.dumps({**session, "prdPath": named}))
    answer = done("import", "ralph-tui", str(sample), "--json").json
    assert answer["found"]["story"] == 0


@pytest.mark.parametrize("sample", ["beads"], indirect=True)
def test_a_sprint_of_something_else_is_not_touched(
    sample: Path, run: Run, done: Run
) -> None:
    """An importer adds only to its own sprints, unless the user names another one."""
    done("init", "--here")
    (sample.parent / "plan.yaml").write_text("phases: [{id: a, prompt: x}]")
    done("sprint", "create", "beads", "--plan", "plan.yaml")
    before = done("log", "--json", "--all").lines
    result = run("import", "beads", str(sample))
    assert result.code == 1
    assert "--sprint" in result.err
    assert done("log", "--json", "--all").lines == before
    done("import", "beads", str(sample), "--sprint", "shop")


def test_an_importer_that_nobody_brings_is_no_command(folder: Path, run: Run) -> None:
    """An unknown word after `import` is a usage error."""
    result = run("import", "nobodys")
    assert result.code == 2
    assert "there is no command 'nobodys'" in result.err


READS = """\
import json
from sprintlog.extensions import Imported, ImportedSprint


def made(path):
    with open(path / "prd.json") as file:
        stories = json.load(file)["userStories"]
    phases = [{"id": one["id"], "prompt": one["title"]} for one in stories]
    return Imported([ImportedSprint("board", phases)], {"story": len(phases)})
"""


@pytest.mark.parametrize("sample", ["ralph-tui"], indirect=True)
def test_a_file_is_imported_once(sample: Path, done: Run) -> None:
    """A list that an extension has read is not imported again; the error names it."""
    done("init", "--here")
    answers = done("import", str(sample), "--json").lines
    assert [one["kind"] for one in answers if "sprint" in one] == ["ralph-tui"]
    place = str(sample / "tasks/prd.json")
    reasons = {one["file"]: one["reason"] for one in answers if "reason" in one}
    assert reasons == {place: f"{place}: already read by the importer ralph-tui"}
    assert len(done("sprint", "list", "--json").json) == 1


def test_of_two_importers_of_a_file_the_first_imports_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, done: Run
) -> None:
    """Each file is imported by one importer, however it opens the file."""
    site = folder / "site"
    site.mkdir()
    for name in ("aa-board", "bb-board"):
        broken(site, "importers", name, READS)
    monkeypatch.syspath_prepend(str(site))
    shutil.copy(LOOPS / "samples/ralph-tui/tasks/prd.json", folder)
    done("init", "--here")
    answers = done("import", ".", "--json").lines
    assert [one["kind"] for one in answers if "sprint" in one] == ["aa-board"]
    left = [(one["kind"], one["reason"]) for one in answers if "reason" in one]
    said = "prd.json: already read by the importer aa-board"
    assert left == [("bb-board", said), ("prd", said)]


def main() -> None:
    """Write the stored results again; inspect the difference."""
    sys.path.insert(0, str(LOOPS))
    for tool in SAMPLES:
        said = described(tool, LOOPS / "samples" / tool)
        text = json.dumps(said, indent=1, ensure_ascii=False)
        (LOOPS / "expected" / f"{tool}.json").write_text(f"{text}\n")


if __name__ == "__main__":
    main()


def test_an_importer_can_give_facts_of_its_loop() -> None:
    """The facts of `loop` are recorded, in their order, after iterations and remarks."""
    loop = ImportedLoop()
    loop.began("1", None, 1)
    loop.measured("2", None, {"test_coverage": 80.0}, score=0.8)
    sprint = ImportedSprint("a", goal="go", remarks=[Remark("r", "said")], loop=loop)
    assert [type(one).__name__ for one in facts_of(sprint, file=Path("x"))] == [
        *("LoopSaid", "Began", "MeasurementSaid")
    ]
