"""Each kind of extension by its kit, and from the command line."""

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.stores import open_log
from sprintlog.testing import (
    check_agent,
    check_event_type,
    check_importer,
    check_notifier,
    check_projection,
    check_report,
    check_store,
)

from ..cli.conftest import Run
from ..conformance.conftest import seeded, ticking
from .conftest import broken

PRINTED = (
    b'{"acme": "hello", "session": "s1"}\nwords between\n'
    b'{"acme": "tool", "id": "1", "name": "sh"}\n'
    b'{"acme": "tool-done", "id": "1", "exit": 0}\n'
    b'{"acme": "says", "text": "all done"}\n{"acme": "bye", "in": 10, "out": 3}\n'
)
DEPLOYED = ("x-acme-deployed", {"service": "api", "version": "1"})


def module(name: str) -> ModuleType:
    """Return a module of the example package."""
    return importlib.import_module(f"acme_sprintlog.{name}")


def test_event_type(acme: Path) -> None:
    """The event type kit finds no problem in the example."""
    check_event_type(
        "x-acme-deployed",
        module("events").Deployed,
        examples=[DEPLOYED[1], {**DEPLOYED[1], "seconds": 1.5}],
        refuses=[{"service": "api"}, {"service": " ", "version": "1"}],
    )


def test_projection(acme: Path) -> None:
    """The projection kit finds no problem and returns the result."""
    (row,) = check_projection(module("deployments").Deployments, events=[DEPLOYED])
    assert (row["service"], row["counts"]) == ("api", True)


class Forgetful:
    """A projection that stores data outside its state."""

    version = 1

    def __init__(self) -> None:
        self.seen = 0

    def begin(self) -> dict[str, int]:
        """Return the state before the first event."""
        return {}

    def evolve(self, state: dict[str, int], one: object) -> dict[str, int]:
        """Return the state after the given event."""
        self.seen += 1
        return {"seen": self.seen}

    def show(self, state: dict[str, int]) -> dict[str, int]:
        """Return the result of the state."""
        return state


def test_the_kit_finds_a_projection_that_remembers_elsewhere() -> None:
    """Data outside the state is lost when the state is stored, which the kit reports."""
    with pytest.raises(AssertionError, match="saving every 1 events"):
        check_projection(Forgetful)


def test_agent(acme: Path, sprint: Path, done: Run) -> None:
    """The kit finds no problem, and `iteration end` accepts the decoder's name."""
    answer = check_agent(
        "acme-agent", module("agent").read, PRINTED, others=[{"type": "result"}]
    )
    assert answer.text == "all done"
    (sprint / "printed.jsonl").write_bytes(PRINTED)
    done("iteration", "start")
    done("iteration", "end", "--from", "printed.jsonl", "--agent", "acme-agent")
    (ran,) = done("log", "--type", "agent-ran", "--json").lines
    assert ran["data"]["agent"] == "acme-agent"
    assert ran["data"]["usage"]["input_tokens"] == 10


def test_an_agent_that_nobody_decodes_is_a_usage_error(sprint: Path, run: Run) -> None:
    """The error lists the known names, as for every choice."""
    result = run("iteration", "end", "--from", "x", "--agent", "no-body")
    assert result.code == 2


def test_report(acme: Path, sprint: Path, done: Run, run: Run) -> None:
    """The kit finds no problem, and FORMAT=FILE accepts the format's name."""
    found = check_report(module("checks").read, b"ok one\nbad two\n", refuses=[b"ok\n"])
    assert found.counts["test_count"] == 2
    (sprint / "checks.txt").write_text("ok one\nbad two\nok three\n")
    done("iteration", "start")
    done("iteration", "end", "--report", "acme-checks=checks.txt")
    (measured,) = done("log", "--type", "iteration-measured", "--json").lines
    assert measured["data"]["metrics"]["tests_passed"] == 2
    (sprint / "checks.txt").write_text("ok one\nwhatever\n")
    done("iteration", "start")
    result = run("iteration", "end", "--report", "acme-checks=checks.txt")
    assert "checks.txt:2" in result.err


def test_importer(acme: Path, folder: Path, done: Run) -> None:
    """The kit finds no problem, and `import` accepts the importer's name."""
    cards = [{"id": "a", "column": "done", "title": "A"}, {"id": "b", "column": "lost"}]
    file = folder / "board.json"
    file.write_text(json.dumps({"name": "Shop", "cards": cards}))
    (folder / "bad.json").write_text("[]")
    said = check_importer(
        "acme-board", module("board").read, file, refuses=[folder / "bad.json"]
    )
    assert said["found"] == {"card": 1}
    done("init", "--here")
    assert done("import", "acme-board", "board.json", "--json").json["unread"] == 1


def test_store(acme: Path, sprint: Path, done: Run, run: Run) -> None:
    """The kit finds no problem, and `copy` copies a log to the store and back."""
    check_store(module("store").FileLog, str(sprint / "kit.jsonl"))
    done("store copy", ".", "acme-file:copied.jsonl")
    done("store copy", "acme-file:copied.jsonl", "again")
    log = open_log("acme-file:copied.jsonl", clock=ticking(), entropy=seeded())
    assert log.head().position == len([*log.read()]) == 2
    log.close()


def test_our_own_store_passes_the_kit() -> None:
    """The kit requires no more than built-in stores do."""
    check_store(MemoryLog, "")


def test_an_address_of_no_store_is_refused(folder: Path) -> None:
    """An invalid address of an extension is refused with the problem."""
    with pytest.raises(Exception, match="unknown store 'no-store'"):
        open_log("no-store:x", clock=ticking(), entropy=seeded())


def test_notifier(
    acme: Path, sprint: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kit finds no problem; `extensions notify` works with `run --notify`."""
    notices = sprint / "notices.jsonl"
    monkeypatch.setenv("ACME_NOTICES", str(notices))
    check_notifier(module("notify").notify)
    assert len(notices.read_text().splitlines()) == 4
    with _notice(sprint).open(encoding="utf-8") as given:
        monkeypatch.setattr(sys, "stdin", given)
        assert run("extensions", "notify", "acme-file").code == 0
    assert len(notices.read_text().splitlines()) == 5


def _notice(folder: Path) -> Path:
    file = folder / "notice.json"
    file.write_text('{"notice": "stopped", "sprint": "auth", "at": "2026-01-15T09:00:00Z"}')
    return file


def project(done: Run) -> Any:
    """Return the current result of the example's projection."""
    return done("extensions", "project", "acme-deployments", "--json").json["said"]


def test_a_projection_follows_rollbacks(acme: Path, sprint: Path, done: Run) -> None:
    """It receives discarded events of a rollback and those restored by its undo."""
    done("append", "x-acme-deployed", "--data", json.dumps(DEPLOYED[1]))
    assert [row["counts"] for row in project(done)] == [True]
    done("rollback", "version:2")
    assert [row["counts"] for row in project(done)] == [False]
    done("undo")
    assert [row["counts"] for row in project(done)] == [True]
    assert "api" in done("extensions", "project", "acme-deployments").out


def test_a_projection_goes_on_where_it_was(
    acme: Path, sprint: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads each event once; with new rules, or after an erasure, all events again."""
    made = module("deployments").Deployments
    seen: list[int] = []
    evolve = made.evolve

    def noting(self: Any, state: Any, one: Any) -> Any:
        seen.append(one.recorded.version)
        return evolve(self, state, one)

    monkeypatch.setattr(made, "evolve", noting)
    project(done)
    project(done)
    assert seen == [1, 2]
    done("append", "x-acme-deployed", "--data", json.dumps(DEPLOYED[1]))
    project(done)
    assert seen == [1, 2, 3]
    monkeypatch.setattr(made, "version", 2)
    project(done)
    assert seen == [1, 2, 3, 1, 2, 3]
    done("redact", "3", "--yes", "--reason", "too much")
    assert project(done) == []
    assert seen[6:] == [1, 2, 3]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError('x')", "KeyError"),
        ("return {'made': object()}", "failed"),
        ("return 1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_projection_that_fails_names_itself_and_harms_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    sprint: Path,
    run: Run,
    done: Run,
    body: str,
    said: str,
) -> None:
    """The log is unchanged, and all other commands work."""
    site = tmp_path_factory.mktemp("site")
    code = (
        "class made:\n version = 1\n def begin(self): return {}\n"
        f" def evolve(self, state, one): {body}\n def show(self, state): return state\n"
    )
    name = broken(site, "projections", "x-bad-one", code)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delenv("SPRINTLOG_DEBUG")
    result = run("extensions", "project", "x-bad-one")
    assert result.code == 1
    assert f"projection x-bad-one of {name} 0.1 failed" in result.err
    assert said in result.err
    done("verify")
    done("phase", "start")
