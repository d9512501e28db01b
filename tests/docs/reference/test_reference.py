"""The reference names all public things, and nothing else."""

import json
import re
from collections.abc import Callable

import pytest

from sprintlog.cli import output
from sprintlog.cli.stops import EXIT_CODES
from sprintlog.cli.upkeep.schema import CODES, commands_schema, events_schema
from sprintlog.engine import errors
from sprintlog.engine.journal.events import JOURNAL_EVENTS
from sprintlog.engine.log.chain import HEADER_FIELDS
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.erasures import ERASURE_EVENTS
from sprintlog.engine.races import RACE_EVENTS
from sprintlog.engine.sessions.events import SESSION_EVENTS
from sprintlog.engine.sprint.agent.actions import ACTIONS, Action
from sprintlog.engine.sprint.events import EVENTS
from sprintlog.projections.health.findings import NOTE, OK, PROBLEM, WARNING
from tests.spec.trust.test_diagnosis import CASES, CHECKS

from ..generate import DOOR, PAGES, PUBLIC, REFERENCE, STRUCTS, commands
from .extension_names import ELSEWHERE, SECTIONS, public_names

STATUSES = [OK, NOTE, WARNING, PROBLEM]


def page(name: str) -> str:
    """Return the text of a reference page."""
    return (REFERENCE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "generated"), PAGES.items())
def test_generated_pages_are_up_to_date(name: str, generated: Callable[[], str]) -> None:
    """A page that follows from the code is the one that `tests.docs.generate` writes."""
    assert page(name) == generated(), "run `python -m tests.docs.generate`"


@pytest.mark.long
@pytest.mark.parametrize(("name", "generated"), PUBLIC.items())
def test_public_lists_are_up_to_date(name: str, generated: Callable[[], str]) -> None:
    """The public lists have the names that the engine defines."""
    text = (DOOR / name).read_text(encoding="utf-8")
    assert text == generated(), "run `python -m tests.docs.generate`"


def test_generated_texts_have_no_rule_ids() -> None:
    """Descriptions for users state the rule itself, without its id."""
    pages = [*REFERENCE.parent.rglob("*.md"), *REFERENCE.parent.rglob("*.ts")]
    users = [path for path in pages if {"adr", "node_modules"}.isdisjoint(path.parts)]
    named = {path.name for path in users if CODES.search(path.read_text(encoding="utf-8"))}
    assert named == set()
    assert not CODES.search(json.dumps([commands_schema(), events_schema()]))


def test_every_command_is_described() -> None:
    """Every command has its heading in `cli.md`."""
    headings = re.findall(r"^## `(.+)`$", page("cli.md"), re.MULTILINE)
    assert headings == [path for path, _ in commands()]


def test_every_event_is_described() -> None:
    """Every event has its heading in `events.md`."""
    headings = re.findall(r"^## `(.+)`$", page("events.md"), re.MULTILINE)
    every = (*EVENTS, *JOURNAL_EVENTS, *SESSION_EVENTS, *ERASURE_EVENTS, *RACE_EVENTS)
    assert headings == [*(event.type for event in every), *STRUCTS]


def test_every_name_for_extensions_is_described() -> None:
    """Each importable name is on the page, and no other one is."""
    listed = {name for _, names in SECTIONS for name in names}
    assert listed == public_names() | {*ELSEWHERE}


def test_every_exit_code_is_described() -> None:
    """`exit-codes.md` lists the codes that the command line uses."""
    listed = set(map(int, re.findall(r"^\| (\d+) \|", page("exit-codes.md"), re.MULTILINE)))
    used = {
        output.REFUSED,
        output.USAGE,
        output.NOT_FOUND,
        output.INTEGRITY,
        output.CONFLICT,
        output.GATE_FAILED,
    }
    assert listed == {0, 130, *used, *EXIT_CODES.values()}


def test_every_kind_of_error_is_described() -> None:
    """`exit-codes.md` lists every `error` that `--json` can return."""
    kinds = {
        error.kind
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.SprintlogError)
    }
    listed = re.findall(r"^\| `([a-z-]+)` \|", page("exit-codes.md"), re.MULTILINE)
    assert set(listed) == kinds


def test_every_check_of_doctor_is_described() -> None:
    """`doctor.md` lists the checks that doctor answers with, and their worst statuses."""
    rows = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| ([a-z]+) \|$", page("doctor.md"), re.M)
    worst = dict.fromkeys(CHECKS, OK)
    for _, name, status, _ in CASES:
        worst[name] = max(status, worst.get(name, OK), key=STATUSES.index)
    assert sorted(rows) == sorted(worst.items())


def test_every_column_is_described_in_order() -> None:
    """`envelope.md` lists the envelope's fields in the order of the chain."""
    listed = re.findall(r"^\| \d* ?\| `([a-z_]+)` \|", page("envelope.md"), re.MULTILINE)
    assert tuple(listed) == RecordedEvent.__struct_fields__
    numbered = re.findall(r"^\| \d+ \| `([a-z_]+)` \|", page("envelope.md"), re.MULTILINE)
    assert tuple(numbered) == HEADER_FIELDS


def test_every_answer_of_next_is_described() -> None:
    """`next.md` has the actions of `next`, and their meaning for a loop."""
    first = page("next.md").split("\n\n")[2]
    rows = re.findall(r"^\| `([a-z]+)` \| (.+) \|$", first, re.MULTILINE)
    assert {word: said for word, said in rows if word != "do"} == ACTIONS
    fields = re.findall(r"^\| (`.+`) \| .+ \|$", page("next.md"), re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", " ".join(fields)))
    assert named >= set(Action.__struct_fields__)
