"""The race: processes that append to the same streams, with every form of expectation.

Their answers are combined afterwards: every position belongs to one answer, every
expectation was met, and every conflict was justified.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.engine.errors import ConflictError, KeyConflictError, RefusedError
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.log.port import Expect, Expected
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import (
    IterationStarted,
    NoteAdded,
    PhaseCompleted,
    PhaseStarted,
)
from sprintlog.engine.sprint.iterations.loop import StartIteration
from sprintlog.engine.sprint.phases.leaves import CompletePhase, StartPhase
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections import Workspace, workspace

from ..children import Herd
from ..ledger import PLAN, gaps, make_sprints, unlike_the_log, unsound

TRIES_MAX = 5000
SPRINT = "race"


class Counts(NamedTuple):
    """The result of a race."""

    events: int
    conflicts: int
    duplicates: int
    problems: list[str]


def race_to_append(root: Path, *, writers: int, rounds: int, seconds: float) -> Counts:
    """Let processes append to shared streams, and compare their answers."""
    make_sprints(root, [])
    bodies = [partial(_append, root, number, rounds) for number in range(writers)]
    answers, problems = _together(root, bodies, seconds)
    with Workspace.open(root) as opened:
        events = list(opened.log.read())
    problems += gaps(events) + [found.problem for found in check_chain(events)]
    owned = [a for a in answers if a["answer"] == "recorded"]
    owners = Counter(position for answer in owned for position in answer["positions"])
    if sorted(owners.elements()) != [event.position for event in events]:
        problems.append("answers and events are not the same, one to one")
    wins = Counter(a["what"] for a in owned if a["form"] in ("none", "keyed", "clash"))
    if set(wins.values()) != {1} or len(wins) != 3 * rounds:
        problems.append(f"not one winner each: {wins.most_common(3)}")
    problems += [problem for answer in answers if (problem := _wrong(answer))]
    told = Counter(answer["answer"] for answer in answers)
    if told["duplicate"] + told["key-conflict"] != 2 * rounds * (writers - 1):
        problems.append(f"not every other one was notified: {dict(told)}")
    return Counts(len(events), told["conflict"], told["duplicate"], problems)


def race_to_act(root: Path, *, writers: int, rounds: int, seconds: float) -> Counts:
    """Let processes lead one sprint at once; each event must occur once."""
    make_sprints(root, [SPRINT])
    bodies = [partial(_act, root, number, rounds) for number in range(writers)]
    answers, problems = _together(root, bodies, seconds)
    with Workspace.open(root) as opened:
        events = [CODEC.decode(recorded) for recorded in opened.log.read()]
        problems += gaps(list(opened.log.read())) + unsound(opened)
    problems += unlike_the_log(root, [SPRINT])
    for kind in (PhaseStarted, PhaseCompleted):
        once = Counter(event.phase for event in events if isinstance(event, kind))
        if once != Counter(phase["id"] for phase in PLAN["phases"]):
            problems.append(f"{kind.type} is not there once a phase: {dict(once)}")
    numbers = [event.number for event in events if isinstance(event, IterationStarted)]
    if numbers != list(range(1, writers * rounds + 1)):
        problems.append(f"iteration numbers are given twice or left out: {numbers[:40]}")
    notes = Counter(event.text for event in events if isinstance(event, NoteAdded))
    if notes != Counter(f"note {number}" for number in range(rounds)):
        problems.append(f"a note under one key is there more than once: {dict(notes)}")
    problems += [problem for answer in answers if (problem := _wrong(answer))]
    told = Counter(answer["answer"] for answer in answers)
    return Counts(len(events), told["conflict"], told["duplicate"], problems)


def _together(
    root: Path, bodies: Sequence[Callable[[Callable[[], None]], int]], seconds: float
) -> tuple[list[dict[str, Any]], list[str]]:
    """Run all of them at once; return their reports and the failed ones."""
    errors = root / "errors"
    start = partial(_meet, root / "started", len(bodies))
    with Herd(root=root, errors=errors, seconds=seconds) as herd:
        for body in bodies:
            herd.start(partial(body, start))
        heard = herd.hear()
    said = errors.read_text(errors="replace")[-600:] if errors.exists() else ""
    problems = [f"a writer ended with {code}: {said}" for code, _ in heard if code != 0]
    return [json.loads(line) for _, out in heard for line in out.splitlines()], problems


def _wrong(answer: dict[str, Any]) -> str | None:
    """Return the problem of a single answer."""
    match answer:
        case {"answer": "conflict", "given": given, "expected": expected, "actual": actual}:
            if expected == "none":
                told = actual > 0
            elif expected == "exists":
                told = actual == 0
            else:
                told = actual > expected
            fine = given == expected and told
            return None if fine else f"a false conflict: {answer}"
        case {
            "answer": "recorded",
            "form": "exact",
            "given": given,
            "versions": [first, *_],
        }:
            follows = first == given + 1
            return None if follows else f"recorded elsewhere than expected: {answer}"
        case {"answer": "conflict"}:
            return f"an incomplete conflict: {answer}"
        case _:
            return None


def _append(root: Path, number: int, rounds: int, start: Callable[[], None]) -> int:
    """Append in every form, `rounds` times, and report every answer."""
    with Workspace.open(root) as opened:
        log = opened.log
        start()
        for turn in range(rounds):
            new_events = [
                _draft(f"{number} {turn} {i}") for i in range(1 + (number + turn) % 3)
            ]

            def tell(
                form: str,
                what: str,
                given: Expected,
                new_events: list[NewEvent] = new_events,
                **key: Any,
            ) -> bool:
                """Append once and report it; return whether the process is finished."""
                said = given.value if isinstance(given, Expect) else given
                report: dict[str, Any] = {"form": form, "what": what, "given": said}
                try:
                    appended = log.append(what, new_events, expect=given, **key)
                except ConflictError as error:
                    _report(report, "conflict", **error.fields)
                    return False
                except KeyConflictError:
                    _report(report, "key-conflict")
                    return True
                _report(
                    report,
                    "duplicate" if appended.duplicate else "recorded",
                    positions=[event.position for event in appended.events],
                    versions=[event.version for event in appended.events],
                )
                return True

            tell("none", f"new-{turn}", Expect.NONE)
            _until(lambda turn=turn: tell("exists", f"new-{turn}", Expect.EXISTS))  # type: ignore[misc]
            _until(lambda: tell("exact", "shared", log.version("shared")))
            tell("any", "shared", Expect.ANY)
            key = f"key-{turn}"
            tell("keyed", key, Expect.ANY, key=key, key_digest=b"same")
            key = f"clash-{turn}"
            tell("clash", key, Expect.ANY, key=key, key_digest=b"%d" % (number + 1))
    return 0


def _act(root: Path, number: int, rounds: int, start: Callable[[], None]) -> int:
    """Do a sprint's work while all others do the same, and report every conflict."""
    with Workspace.open(root) as opened:
        start()
        for phase in PLAN["phases"]:
            for command in (StartPhase, CompletePhase):
                _command(opened, command(phase["id"]))
            opened.refresh(SPRINT)
        for turn in range(rounds):
            opened.handle(StartIteration(), sprint_id=SPRINT)
            text = f"note {turn}"
            note = partial(_note, text)
            outcome = opened.handle_with(SPRINT, note, key=text, key_digest=b"note")
            report = {"form": "keyed", "what": text}
            _report(report, "duplicate" if outcome.duplicate else "recorded")
            try:
                opened.handle(StartIteration(), sprint_id=SPRINT, expect=0)
            except ConflictError as error:
                told = {"form": "exact", "what": SPRINT, "given": 0}
                _report(told, "conflict", **error.fields)
        opened.refresh(SPRINT)
    return 0


def _note(text: str, sprint: Sprint, at: str) -> list[Event]:
    return [NoteAdded(text)]


def _command(opened: Workspace, decide: workspace.Decide) -> None:
    try:
        opened.handle_with(SPRINT, decide)
    except RefusedError:
        # Another process has already continued, so the command is refused and nothing is
        # recorded.
        return


def _until(attempt: Callable[[], bool]) -> None:
    for _ in range(TRIES_MAX):
        if attempt():
            return
    raise AssertionError(f"no success in {TRIES_MAX} tries")


def _meet(place: Path, writers: int) -> None:
    """Wait until as many processes are here."""
    place.mkdir(exist_ok=True)
    (place / str(os.getpid())).touch()
    while len(os.listdir(place)) < writers:
        time.sleep(0.001)


def _draft(text: str) -> NewEvent:
    payload = json.dumps({"text": text}).encode()
    return NewEvent(
        type="note-added", payload=payload, at="2026-01-30T12:00:00Z", actor="a"
    )


def _report(report: dict[str, Any], answer: str, **more: Any) -> None:
    os.write(1, json.dumps({**report, "answer": answer, **more}).encode() + b"\n")
