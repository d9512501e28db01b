"""Races in a log: their states, their events, and the candidates of their attempts."""

from contextlib import suppress
from itertools import count
from typing import Any

from msgspec import json
from msgspec.structs import replace

from ...errors import NotFoundError, RefusedError, SprintlogError
from ...log.codec import encode_masked
from ...log.event import Event
from ...log.port import EventStore
from ...races.events import RaceStarted, Ranked
from ...races.state import Attempt, Candidate, Race, fold, race_of, race_stream
from ...sprint.events import ClaimAccepted
from ...sprint.plan.create import check_sprint_id
from ...sprint.state.sprint import Sprint
from ...sprint.state.words import COMPLETED
from ..port import Service
from ..streams.catalogue import CODEC, new_event
from ..streams.evaluation import Judged, evaluate
from ..work_tree.snapshot import store_of


def read_race(log: EventStore, race_id: str) -> Race:
    """Return the current state of a race, which is empty if the race does not exist."""
    return fold(Race(race_id), CODEC.events_of_rows(log.scan(race_stream(race_id))))


def race_ids(log: EventStore) -> list[str]:
    """Return the races in a log, sorted by the position of their first event."""
    found = [race for stream in log.streams() if (race := race_of(stream)) is not None]
    return sorted(found, key=lambda race: (read_race(log, race).at, race))


def choose_race(log: EventStore, named: str | None) -> Race:
    """Return the named race, or the latest one; raise `NotFoundError` if there is none."""
    known = race_ids(log)
    if named is None and not known:
        raise NotFoundError(
            "there is no race in this log",
            hint="start one with `sprintlog race start N -- COMMAND`",
        )
    race = read_race(log, known[-1] if named is None else named)
    _ = race.defined
    return race


def begin_race(
    service: Service, named: str | None, *, actor: str, **fields: Any
) -> tuple[Race, RaceStarted, bool]:
    """Return the race with a definition, the definition as given, and whether it is new.

    The recorded definition may be masked. An unfinished race of this work tree with the
    same definition is continued, from its own commit. Raise `RefusedError` if the
    definition differs, or if the named race has ended.
    """
    own, log = service.own_tree.recorded(), service.log
    definition = RaceStarted(**fields, work_tree=own)
    known = [read_race(log, race_id) for race_id in race_ids(log)]
    meant = [race for race in known if race.id == named]
    if named is None:
        tree = [race for race in known if race.defined.work_tree == own]
        meant = [race for race in tree if race.decided is None]
    for race in meant:
        if race.decided is None and _same(race.defined, definition):
            return race, replace(definition, commit=race.defined.commit), False
    if meant:
        raise _other_race(meant[-1])
    sprints = service.sprints()
    numbers = (f"race-{n}" for n in count(1))
    taken = {race.id for race in known} | {name.rpartition("-")[0] for name in sprints}
    race = Race(named or next(name for name in numbers if name not in taken))
    check_sprint_id(race.sprint_of(1), field="--name")
    if race.id in taken:
        raise RefusedError(f"sprints named {race.id}-… exist already", field="--name")
    record(service, race, definition, actor=actor)
    return read_race(log, race.id), definition, True


def _same(recorded: RaceStarted, typed: RaceStarted) -> bool:
    """Return whether a recorded definition, with masked secrets, equals a typed one."""
    masked = json.decode(encode_masked(typed), type=RaceStarted)
    alike = {"commit": "", "parallel": 0}
    return replace(recorded, **alike) == replace(masked, **alike)


def _other_race(race: Race) -> RefusedError:
    if race.decided is not None:
        return RefusedError(
            f"race {race.id} is decided",
            hint=f"run `sprintlog race show {race.id}`, or choose another --name",
            race=race.id,
        )
    return RefusedError(
        f"race {race.id} of this work tree is unfinished, and its definition differs",
        hint=f"run `sprintlog race join {race.id}` to continue it, or start another one "
        "with `--name ID`",
        race=race.id,
    )


def record(service: Service, race: Race, *events: Event, actor: str) -> None:
    """Append events to a race; raise `ConflictError` if the race has changed since."""
    new = [new_event(event, at=service.now(), actor=actor) for event in events]
    service.log.append(race_stream(race.id), new, expect=race.version)


def verified_iteration(sprint: Sprint) -> int | None:
    """Return the iteration whose claim was confirmed by a measurement, or None."""
    decided = sprint.plan.last.decided
    if sprint.plan.status != COMPLETED or not isinstance(decided, ClaimAccepted):
        return None
    return decided.claim


def chosen_iteration(judged: Judged) -> int | None:
    """Return the iteration that represents a sprint, or None if there is none.

    It is the confirmed iteration, or else the target of a rollback to the best. If nothing
    was measured, it is the last one with a snapshot.
    """
    sprint = judged.sprint
    number = verified_iteration(sprint) or judged.target()
    if number or not judged.tracker.is_empty:
        return number or None
    return max((one.iteration for one in sprint.knowledge.snapshots), default=0) or None


def candidate_of(service: Service, race: Race, attempt: Attempt) -> Candidate:
    """Return the iteration that represents an attempt, with its figures.

    The size of its change is read from the attempt's end, or else from the snapshots.
    """
    ended, sprint = attempt.ended, service.sprint(race.sprint_of(attempt.number))
    if not sprint.exists:
        why = (ended and ended.reason) or "it was not started"
        return Candidate(Ranked(attempt.number, why=why))
    judged = evaluate(service.log, sprint)
    number = chosen_iteration(judged)
    if ended is not None and ended.iteration is not None:
        size = ended.files, ended.lines
    else:
        size = size_of(service, sprint, number)
    return candidate(judged, number, attempt.number, size)


def candidate(
    judged: Judged,
    number: int | None,
    place: int,
    size: tuple[int | None, int | None] = (None, None),
) -> Candidate:
    """Return an iteration of a sprint as a candidate for a comparison."""
    sprint, tracker = judged.sprint, judged.tracker
    why = None
    if number is None:
        why = "it has no iteration to choose"
        if tracker.changed:
            last = max(tracker.changed)
            why = f"iteration {last} changed its measure: {tracker.changed[last].words}"
    elif number in tracker.changed:
        why = f"it changed its measure: {tracker.changed[number].words}"
    spent = sprint.knowledge.spent
    ranked = Ranked(
        place,
        number,
        is_verified=number is not None and number == verified_iteration(sprint),
        cost_usd=spent.cost_usd,
        is_cost_exact=not (spent.without_cost or spent.cut_short),
        files=size[0],
        lines=size[1],
        why=why,
    )
    if number is None or tracker.entry(number) is None:
        return Candidate(ranked)
    one = judged.one(number)
    value, figures = one.score.value, one.figures
    ranked = replace(
        ranked,
        score=None if value is None else float(value),
        measured_share=float(one.score.share),
        tests_passed=figures.tests_passed,
        test_count=figures.test_count,
    )
    return Candidate(ranked, one.score)


def size_of(
    service: Service, sprint: Sprint, number: int | None
) -> tuple[int | None, int | None]:
    """Return the numbers of changed files and lines since the sprint's first snapshot.

    Both are unknown if a snapshot is missing.
    """
    held = sprint.knowledge.snapshots
    last = next((one for one in reversed(held) if one.iteration == number), None)
    if last is None or last is held[0]:
        return None, None
    files = lines = 0
    with suppress(SprintlogError, OSError, ValueError):
        ends = held[0].snapshot, last.snapshot
        said = store_of(service).git.run("diff", "--numstat", "--no-renames", *ends)
        for line in said.decode(errors="replace").splitlines():
            added, removed, _ = line.split("\t", 2)
            files += 1
            lines += sum(int(n) for n in (added, removed) if n != "-")
        return files, lines
    return None, None
