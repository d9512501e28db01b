"""Event types of extensions: checked when recorded, read without the package."""

import sys
from functools import partial
from pathlib import Path

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.event import ExtensionEvent
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.commands import RecordExtensionEvent
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.workspace import Workspace, wall_clock
from tests import needs

from ..cli.conftest import Run
from .conftest import broken

DEPLOYED = '{"service": "api", "version": "1.2"}'


def record(done: Run, data: str = DEPLOYED) -> None:
    """Record that something was deployed."""
    done("append", "x-acme-deployed", "--data", data)


def without(monkeypatch: pytest.MonkeyPatch, site: Path) -> None:
    """Uninstall the package, so that it is no longer found."""
    monkeypatch.setattr(sys, "path", [x for x in sys.path if x != str(site)])
    for name in [x for x in sys.modules if x.startswith("acme_sprintlog")]:
        monkeypatch.delitem(sys.modules, name)


def test_what_is_recorded_is_what_the_type_makes_of_it(
    acme: Path, sprint: Path, done: Run
) -> None:
    """The type's defaults are recorded, so that readers need not know them."""
    record(done)
    (event,) = done("log", "--type", "x-acme-deployed", "--json").lines
    assert event["data"] == {
        **{"service": "api", "version": "1.2"},
        **{"environment": "production", "seconds": None},
    }


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ('{"version": "1"}', "data"),
        ('{"service": 1, "version": "1"}', "data.service"),
        ('{"service": "api", "version": "1", "who": "me"}', "data.who"),
        ('{"service": " ", "version": "1"}', "data"),
        ("[]", "data"),
    ],
)
def test_data_is_checked_by_the_type(
    acme: Path, sprint: Path, done: Run, run: Run, data: str, field: str
) -> None:
    """The error names the invalid field, and nothing is recorded."""
    before = done("status", "--json").json
    result = run("append", "x-acme-deployed", "--data", data)
    assert result.code == 1, result
    assert field in result.err
    assert done("status", "--json").json == before


@pytest.mark.parametrize("tag", ["x-", "x-acme", "x-Acme-y", "x-a--b", f"x-a-{'b' * 70}"])
def test_a_type_is_named_after_whose_it_is(sprint: Path, run: Run, tag: str) -> None:
    """A name in a different form is refused before any lookup."""
    result = run("append", tag, "--observed")
    assert result.code == 1
    assert "invalid extension event type" in result.err


def test_without_the_package_a_type_is_only_observed(sprint: Path, run: Run) -> None:
    """Without the type its rules are unknown, so nothing is recorded as if valid."""
    result = run("append", "x-other-thing", "--data", "{}")
    assert result.code == 3
    assert "--observed" in result.err
    assert run("append", "x-other-thing", "--data", '{"a": 1}', "--observed").code == 0


def test_everything_reads_it_without_the_package(
    acme: Path, sprint: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the package, the event is still shown, exported, replayed and verified."""
    record(done)
    done("phase", "start")
    without(monkeypatch, acme)
    assert not done("extensions", "list", "--json").json["extensions"]
    assert "x-acme-deployed" in done("log", "--all").out
    assert "service api, version 1.2" in done("log", "--oneline").out
    assert len(done("log", "--grep", "API", "--json").lines) == 1
    assert len(done("log", "--type", "x-acme-*", "--json").lines) == 1
    sql = "SELECT data ->> 'version' AS v FROM v_events WHERE type = 'x-acme-deployed'"
    assert done("query", sql, "--json").lines == [{"v": "1.2"}]
    done("show", "event", "3")
    done("replay")
    done("audit")
    done("verify")
    done("rebuild")
    done("report")
    done("fork", "two", "--from", "version:3")
    done("store export", "--out", "all.jsonl")
    assert "x-acme-deployed" in (sprint / "all.jsonl").read_text()


def test_it_is_carried_into_another_log(
    acme: Path, sprint: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export with the event can be imported where the package is not installed."""
    record(done)
    done("store export", "--out", "all.jsonl")
    without(monkeypatch, acme)
    other = sprint / "other"
    other.mkdir()
    (other / ".git").mkdir()
    monkeypatch.chdir(other)
    done("init", "--here")
    done("store import", "../all.jsonl")
    assert len(done("log", "--type", "x-acme-deployed", "--json").lines) == 1


def test_it_changes_no_plan(acme: Path, sprint: Path, done: Run) -> None:
    """The state file does not change, and folds skip the event."""
    before = (sprint / "PROGRESS.yaml").read_bytes()
    record(done)
    assert (sprint / "PROGRESS.yaml").read_bytes() == before
    with Workspace.open(sprint, clock=wall_clock) as workspace:
        events = [(e.version, e.at, CODEC.decode(e)) for e in workspace.events("auth")]
        whole, short = Sprint("auth"), Sprint("auth")
        assert fold(whole, events).document == fold(short, events[:-1]).document


def test_a_rollback_voids_it(acme: Path, sprint: Path, done: Run) -> None:
    """The event belongs to the work in which it was recorded, and is discarded with it."""
    record(done)
    done("rollback", "version:2")
    sql = "SELECT in_force FROM v_events WHERE type = 'x-acme-deployed'"
    assert done("query", sql, "--json").lines == [{"in_force": 0}]


def test_secrets_in_it_are_masked_and_erased(acme: Path, sprint: Path, done: Run) -> None:
    """Its text is masked like any other; after an erasure, only the type remains."""
    token = "ghp_" + "a1B2" * 9
    record(done, f'{{"service": "{token}", "version": "1.2"}}')
    assert token not in done("log", "--json").out
    record(done, '{"service": "internal-name", "version": "7"}')
    done("redact", "4", "--yes", "--reason", "too much")
    said = done("log", "--json", "--type", "x-acme-deployed")
    assert "internal-name" not in said.out
    assert len(said.lines) == 2


def test_the_same_key_records_once(acme: Path, sprint: Path, done: Run) -> None:
    """A repeated append returns the first event."""
    words = ("append", "x-acme-deployed", "--data", DEPLOYED, "--key", "k", "--json")
    first, again = done(*words).json, done(*words).json
    assert again == {**first, "duplicate": True}


def test_its_schema_is_with_the_others(acme: Path, done: Run) -> None:
    """`schema events` includes every installed type."""
    schema = done("schema", "events").json
    assert "service" in str(schema["properties"]["x-acme-deployed"])
    jsonschema = needs.package("jsonschema", "jsonschema")
    check = jsonschema.Draft202012Validator(schema).is_valid
    assert check({"x-acme-deployed": {"service": "api", "version": "1"}})
    assert not check({"x-acme-deployed": {"service": "api", "version": 1}})


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (
            ExtensionEvent("phase-completed", {"phase": "setup"}),
            "invalid extension event type",
        ),
        (ExtensionEvent("Nonsense", {"a": 1}), "invalid extension event type"),
        (ExtensionEvent("x-acme-deployed", {"service": "api"}), "version"),
        (
            ExtensionEvent("x-acme-deployed", {"service": "a", "version": "1"}, 0),
            "positive",
        ),
        (ExtensionEvent("x-other-thing", {}), "no installed extension"),
    ],
)
def test_one_made_by_hand_is_checked_as_well(
    acme: Path, sprint: Path, done: Run, event: ExtensionEvent, said: str
) -> None:
    """Code that creates the event without its type records nothing invalid."""
    with Workspace.open(sprint, clock=wall_clock) as workspace:
        for record in (
            partial(workspace.handle, sprint_id="auth"),
            partial(workspace.handle, sprint_id="auth", observed=True),
        ):
            before = workspace.log.head()
            if event.type == "x-other-thing" and "observed" in record.keywords:
                continue
            with pytest.raises(RefusedError, match=said):
                record(RecordExtensionEvent(event))
            assert workspace.log.head() == before
    done("verify")


def test_a_type_that_fails_names_itself(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    sprint: Path,
    run: Run,
    done: Run,
) -> None:
    """If the import fails, only events of this type are refused."""
    site = tmp_path_factory.mktemp("site")
    code = "print('noise')\nraise ZeroDivisionError"
    name = broken(site, "events", "x-bad-event", code)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delenv("SPRINTLOG_DEBUG")
    result = run("append", "x-bad-event", "--json")
    assert result.code == 1
    assert result.out == ""
    assert f"event x-bad-event of {name} 0.1 failed: ZeroDivisionError" in result.err
    done("phase", "start")
    done("schema", "events")
