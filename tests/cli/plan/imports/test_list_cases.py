"""Small inputs in the formats of real files, each with its imported values."""

import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ...conftest import Run

CASES = Path(__file__).resolve().parents[4] / "fixtures" / "loops" / "cases"
LETTERS = {"completed": "c", "pending": "p", "in-progress": "i"}


class Case(NamedTuple):
    """An input, the commands that import it, and the resulting sprints."""

    id: str
    commands: tuple[str, ...]
    sprints: dict[str, str]
    """The first letters of the statuses of the leaves of each sprint, steps in brackets."""
    says: str = ""
    """A part of the output of the commands."""
    below: str = "."
    """The folder in which a repository is made, and in which the commands run."""
    is_made: bool = False
    """Whether `make.sh` makes the repository in that folder."""


TABLE = (
    Case("A3", ("prd --git prd.json",), {"cart": "cc", "search": "cpp"}, "", "shop", True),
    Case(
        "A3-list",
        ("prd --git prd.json",),
        {"house": "cc", "house-2": "pp"},
        below="house",
        is_made=True,
    ),
    Case(
        "A4",
        ("prd shop/prd.json", "prd shop/feature_list.json"),
        {"shop-prd": "cp", "shop-feature-list": "ccp"},
    ),
    Case("E1", ("feature_list.json",), {"basket": "ccpi"}, "4 features, 2 passed"),
    Case("E2", ("prd.json",), {"rows": "cp"}),
    Case("E3-stories", ("prd prd.json",), {"notes": "cpp"}),
    Case("E3-tasks", ("prd prd.json",), {"clock": "ccp"}),
    Case("E3-phases", ("prd prd.json",), {"maps": "c(cc)p(p)"}, "3 tasks, 2 passed"),
    Case("E3-complete", ("prd prd.json",), {"e3-complete-prd": "cp"}),
    Case("E3-empty", ("prd prd.json",), {}, "0 stories"),
    Case("E3-bom", ("prd.json",), {"mark": "cp"}),
    Case("E5", ("prd --git prd.json",), {"cut": "cp"}, "1 version; cut", "cut"),
    Case("E5", ("prd --git prd.json",), {"cut": "cp"}, "is a partial clone", "cut"),
    Case("E5-whole", ("prd --git prd.json",), {"cut": "cp"}, "2 versions; cut", "whole"),
    Case(
        "X-gsd", (".planning/STATE.md",), {"x-gsd-v1.0": "cipp"}, "gsd, 4 phases, 1 passed"
    ),
    Case("X-fix-plan", ("fix_plan.md",), {"x-fix-plan-fix-plan": "i(cpp)p(p)c(c)"}),
)


def laid_out(case: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the files of a case, and change to their folder."""
    place = folder / case
    shutil.copytree(CASES / case, place)
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(name, "Ann")
    for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "ann@example.org")
    monkeypatch.chdir(place)
    return place


def letters(nodes: list[dict[str, Any]]) -> str:
    """Return the first letters of statuses, those of steps in brackets."""
    inner = ((node, letters(node.get("steps", []))) for node in nodes)
    return "".join(
        LETTERS[x["status"]] + (f"({below})" if below else "") for x, below in inner
    )


@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case.id}-{case.says[:12]}")
def test_a_case_gives_its_values(
    case: Case, folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands result in the stated sprints without loss, and add nothing later."""
    place = laid_out(case.id, folder, monkeypatch)
    inner = place / case.below
    if (place / "make.sh").exists():
        if case.is_made:
            subprocess.run(["git", "init", "-q", case.below], check=True)
        where = inner if case.is_made else place
        subprocess.run(["sh", place / "make.sh"], cwd=where, check=True)
    monkeypatch.chdir(inner)
    done("init", "--here")
    printed = [done("import", *command.split(" ")) for command in case.commands]
    assert case.says in "".join(one.out + one.err for one in printed)
    if case.id == "E5-whole":
        assert "in part" not in printed[0].err
    names = [row["sprint"] for row in done("sprint", "list", "--json").json]
    documents = {x: done("show", "progress", "--json", "--sprint", x).json for x in names}
    assert {x: letters(one["phases"]) for x, one in documents.items()} == case.sprints
    for name in names:
        lost = done("audit", "--kind", "loss", "--json", "--sprint", name).json
        assert lost["decisions"] == []
    for command in case.commands:
        assert "recorded" not in done("import", *command.split(" ")).out


def test_blame_knows_the_feature_of_a_reused_list(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the two sprints in one file has the date of its commit."""
    place = laid_out("A3", folder, monkeypatch)
    subprocess.run(["git", "init", "-q", "shop"], check=True)
    subprocess.run(["sh", place / "make.sh"], cwd=place / "shop", check=True)
    monkeypatch.chdir(place / "shop")
    done("init", "--here")
    done("import", "prd", "--git", "prd.json")
    for sprint, at in (("cart", "2026-03-02T09:30"), ("search", "2026-03-10T10:15")):
        assert at in done("why", "phases[US-001].status", "--sprint", sprint).out


def test_criteria_that_are_objects_are_in_the_prompt(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They stay on the phase; their texts are in its prompt."""
    laid_out("E2", folder, monkeypatch)
    done("init", "--here")
    done("import", "prd.json")
    phase = done("show", "progress", "--json").json["phases"][1]
    assert [one["id"] for one in phase["acceptanceCriteria"]] == ["AC-1", "AC-2"]
    assert phase["prompt"].endswith("- A row goes\n- It comes back")


def test_an_empty_list_is_followed_by_its_later_versions(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --git, the versions of a list that started without stories are imported."""
    place = laid_out("E3-empty", folder, monkeypatch)
    later = (CASES / "E2" / "prd.json").read_text()
    subprocess.run(["git", "init", "-q"], check=True)
    for content in ((place / "prd.json").read_text(), later):
        (place / "prd.json").write_text(content)
        subprocess.run(["git", "add", "prd.json"], check=True)
        subprocess.run(["git", "commit", "-qm", "x"], check=True)
    done("init", "--here")
    answer = done("import", "prd", "--git", "prd.json", "--json").json
    assert (answer["sprint"], answer["found"]["version"]) == ("rows", 1)


def test_chats_of_aider_become_iterations(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each session has its cost, its tokens and aider's version, at its local time."""
    monkeypatch.setenv("TZ", "UTC")
    laid_out("X-aider", folder, monkeypatch)
    done("init", "--here")
    assert "aider, 2 sessions" in done("import", ".aider.chat.history.md").out
    runs = [x["data"] for x in done("log", "--json").lines if x["type"] == "agent-ran"]
    assert {(x["agent"], x["agent_version"]) for x in runs} == {("aider", "0.86.2")}
    usage = [x["usage"] for x in runs]
    assert [x["cost_usd"] for x in usage] == [0.03, 0.01]
    assert sum(x["input_tokens"] for x in usage) == 6_700
    assert sum(x["output_tokens"] for x in usage) == 485
    began = [
        x["at"] for x in done("log", "--json").lines if "iteration-started" in x["type"]
    ]
    assert [at[:16] for at in began] == ["2026-03-02T09:00", "2026-03-03T14:30"]


@pytest.mark.parametrize("command", ["import", "journal migrate"])
def test_sessions_in_a_text_become_entries(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """A heading that ends with a date is an entry with all its lines."""
    laid_out("X-progress", folder, monkeypatch)
    done("init", "--here")
    done(*command.split(" "), "claude-progress.txt")
    entries = done("journal entry list", "--json").json
    assert [x["timestamp"][:10] for x in entries] == ["2026-03-02", "2026-03-03"]
    lines = [[x["summary"], *(y["title"] for y in x["observations"])] for x in entries]
    assert lines[1] == [
        "The basket adds and removes",
        "2 of 12 features pass",
        "Next: totals",
    ]


def test_import_of_a_folder_reports_all_it_finds(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imported, omitted and unknown items are reported, with the reason."""
    place = laid_out("X-gsd", folder, monkeypatch)
    shutil.copy(CASES / "E1" / "feature_list.json", place)
    shutil.copytree(CASES / "X-fix-plan", place / ".ralph")
    (place / ".ralph" / "progress.json").write_text('{"status": "running"}')
    (place / ".ralph" / "odd.md").write_text("words")
    (place / ".ralph" / "history.jsonl").symlink_to("/etc/passwd")
    (place / ".beads").mkdir()
    done("init", "--here")
    lines = done("import", ".", "--json").lines
    taken = {one["file"]: one["kind"] for one in lines if "sprint" in one}
    assert taken == {
        "feature_list.json": "prd",
        ".planning/STATE.md": "gsd",
        ".ralph/fix_plan.md": "checklist",
    }
    left = {one["file"]: (one["kind"], one["reason"]) for one in lines if "reason" in one}
    assert {file: kind for file, (kind, _) in left.items()} == {
        ".ralph": "orchestrator",
        ".ralph/progress.json": "journal",
        ".beads": "beads",
        ".ralph/odd.md": "",
        ".ralph/history.jsonl": "",
    }
    assert left[".ralph"][1].endswith("is a symbolic link, which is not followed")
    assert "beads is not installed" in left[".beads"][1]


def test_a_foreign_progress_json_does_not_fail_an_import(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stories are imported although another tool's file is at the journal's path."""
    place = laid_out("E2", folder, monkeypatch)
    (place / ".ralph").mkdir()
    (place / ".ralph" / "progress.json").write_text('{"status": "running"}')
    (place / "progress.txt").write_text("## [2026-01-01] - US-001\n- done\n---\n")
    done("init", "--here")
    result = done("import", "prd", "prd.json")
    assert "rows: 1 event recorded" in result.out
    assert "the entries of progress.txt were not imported" in result.err


PLAIN = """\
# Fix plan

Updated 2026-03-02

## Current status - 2026-03-02

- The basket adds and removes
- Next: totals

## 2026-03-01 - US-001

1. Print the basket
"""


@pytest.mark.parametrize("command", ["@fix_plan.md", "checklist @fix_plan.md", "."])
def test_a_fix_plan_without_check_boxes_is_not_guessed_at(
    folder: Path, done: Run, run: Run, command: str
) -> None:
    """The file is not a journal, and no item is pending: the refusal states this."""
    done("init", "--here")
    (folder / "@fix_plan.md").write_text(PLAIN)
    result = run("import", *command.split(" "))
    said = "has no check boxes (`- [x]`), so completed items are unknown"
    assert result.code == 1
    assert f"@fix_plan.md: {said}" in result.out + result.err
    assert run("verify", "--json").json["events"] == 0


def test_items_without_check_boxes_are_counted(folder: Path, done: Run) -> None:
    """In a list of both kinds, items with boxes are imported and the others counted."""
    done("init", "--here")
    boxes = "\n## Open (2026-03-02)\n\n1. [x] Round it\n- [ ] Print\n  - in colour\n"
    (folder / "fix_plan.md").write_text(f"{PLAIN}{boxes}")
    answer = done("import", "fix_plan.md", "--json").json
    assert answer["found"] == {"item": 2, "passed": 1, "unmarked item": 3}


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ("Phase: 3 of 4 (Totals)\nStatus: In progress", "ccip"),
        ("Phase: 3 of 4 (Totals)\nStatus: Phase complete", "cccp"),
        ("Phase: 2.1 of 4 (Receipts)\nStatus: In progress", "ccpp"),
        ("Status: complete", "pppp"),
    ],
)
def test_a_state_completes_the_phases_that_it_states(
    folder: Path, done: Run, position: str, expected: str
) -> None:
    """The phases before the current one are completed; without a number, none is."""
    front = "---\ngsd_state_version: '1.0'\nprogress:\n  total_phases: 4\n---\n"
    (folder / "STATE.md").write_text(f"{front}\n## Current Position\n\n{position}\n")
    done("init", "--here")
    done("import", "gsd", "STATE.md")
    phases = done("show", "progress", "--json").json["phases"]
    assert letters(phases) == expected
    assert [x["prompt"] for x in phases if x["status"] == "in-progress"] in ([], ["Totals"])
