"""`prepare`, `journal learning extract` and `recover`."""

import json
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Run


@pytest.fixture
def journal(folder: Path, done: Run) -> Path:
    """Return the folder of a journal with a blocker that was resolved."""
    done("init")
    blocker = '{"type": "blocker", "title": "Missing provider key"}'
    seen = {"type": "finding", "title": "urls", "category": "api-issue"}
    seen |= {"action_taken": "documented", "description": "URLs need the slash"}
    done("journal entry record", "mail", "--status", "blocked", "--observation", blocker)
    done("journal entry record", "mail", "--status", "completed", "--guidance", "ask Ada",
         "--observation", json.dumps(seen))  # fmt: skip
    done(
        "journal learning add", "run make first", "--type", "codebase-pattern", "--prd", "x"
    )
    return folder


def uses(done: Run) -> Any:
    """Return how often the first learning was used."""
    return done("journal learning show", "learning-0001", "--json").json.get(
        "times_referenced", 0
    )


def test_hands_over_and_counts_once(journal: Path, done: Run) -> None:
    """A learning that is handed to an iteration is used, once for each iteration."""
    prepared = done("prepare", "auth", "--json").json
    assert (prepared["iteration"], prepared["retry_count"]) == (1, 0)
    assert [x["content"] for x in prepared["learnings"]] == ["run make first"]
    done("prepare", "auth")
    assert uses(done) == 1
    done("prepare", "auth", "--peek")
    done("journal entry record", "auth", "--status", "failed", "--summary", "stuck")
    prepared = done("prepare", "auth", "--json").json
    assert prepared["previous_failure_reason"] == "stuck"
    assert prepared["retry_count"] == 1
    assert uses(done) == 2
    file = journal / ".ralph" / "progress.json"
    assert json.loads(file.read_text())["learnings"][0]["times_referenced"] == 2


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_hands_over_what_fits(journal: Path, done: Run, form: tuple[str, ...]) -> None:
    """The budget covers all output; omitted items are counted, and not marked as used."""
    data = json.loads((journal / ".ralph" / "progress.json").read_text())
    (ours,) = data["learnings"]
    data["learnings"] = [
        {**ours, "id": f"learning-{n:04}", "content": f'way {n} \n "ä" ' * 3}
        for n in range(2, 302)
    ]
    (journal / "more.json").write_text(json.dumps(data))
    done("import", "journal", "more.json")
    for budget in (250, 600, 5000):
        out = done("prepare", "auth", "--peek", "--budget", budget, *form).out
        assert budget - 200 < len(out) <= budget
    assert "301 more do not fit" in done("prepare", "auth", "--budget", 40).out
    assert uses(done) == 0


def test_refuses_a_budget_for_nothing(journal: Path, run: Run) -> None:
    """Without room for the iteration itself only the required size is printed."""
    refused = run("prepare", "auth", "--budget", 0)
    assert (refused.code, refused.out) == (1, "")
    assert "must be at least" in refused.err


def test_prepares_without_a_journal(folder: Path, done: Run) -> None:
    """Without records there is nothing to prepare, and no journal is created."""
    done("init")
    assert done("prepare", "auth").out == "auth: iteration 1\n"
    assert done("recover", "auth").out == "manual: No automated recovery found\n"
    assert not (folder / ".ralph").exists()


def test_proposes_and_adds_learnings(journal: Path, done: Run, run: Run) -> None:
    """An entry's suggestions are shown, and added on request."""
    shown = done("journal learning extract", "mail-2", "--json").json
    assert [(x["observation"], x["learning"]["content"]) for x in shown] == [
        (1, "URLs need the slash")
    ]
    assert "api-convention" in done("journal learning extract", "mail-2").out
    added = done("journal learning extract", "mail-2", "--add", "--json").json
    assert added["learning"] == "learning-0002"
    assert done("journal learning extract", "mail-2").out == "nothing to learn from it\n"
    assert done("journal learning extract", "mail-2", "--add").out.startswith(
        "journal: nothing"
    )
    assert run("journal learning extract", "mail-9").code == 3


def test_says_how_to_go_on(journal: Path, done: Run) -> None:
    """A resolved similar failure results in a proposal, with its evidence."""
    found = done("recover", "auth", "--failure", "the provider key is missing", "--json")
    assert found.json == {
        "action": "retry",
        "guidance": "ask Ada",
        "failures": 0,
        "entry": "mail-1",
        "learning": "",
        "similarity": 1.0,
    }
    told = done("recover", "auth", "--failure", "the provider key is missing").out
    assert told == "retry: ask Ada\n  by mail-1, 100% of the words\n"
    before = done("recover", "auth", "--failure", "provider key", "--at", "version:2")
    assert before.out.startswith("manual: ")
    for _ in range(3):
        done("journal entry record", "auth", "--status", "failed")
    assert "has failed 3 times" in done("recover", "auth").out
