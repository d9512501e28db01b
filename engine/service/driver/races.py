"""Races in a log: states, events, candidates, and the removal of attempts' worktrees."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import json
from msgspec.structs import replace

from ...adapters.git.repositories import linked_directory
from ...adapters.git.worktrees import OwnRepository, in_use, is_plain
from ...adapters.processes.process import host
from ...adapters.snapshots.branch import repository_at
from ...adapters.snapshots.capture import TakenSnapshot
from ...adapters.snapshots.listing import OTHER_TREE
from ...adapters.snapshots.plan import is_in
from ...errors import NotFoundError, RefusedError, SprintlogError
from ...log.codec import encode_masked
from ...log.event import Event
from ...log.port import EventStore
from ...races import (
    Attempt,
    AttemptApplied,
    AttemptRemoved,
    Candidate,
    Race,
    RaceStarted,
    Ranked,
    fold,
    race_of,
    race_stream,
)
from ...sprint.events import ClaimAccepted
from ...sprint.iterations.budgets import BudgetState, together
from ...sprint.plan.create import check_sprint_id
from ...sprint.state.sprint import Sprint
from ...sprint.state.words import COMPLETED
from ..port import Service
from ..streams.catalogue import CODEC, new_event, sprint_stream
from ..streams.evaluation import Judged, evaluate
from ..work_tree.own_paths import kept_out
from ..work_tree.snapshot import kept_files, shown, store_of, take_and_record
from ..workspace import ServiceWorkspace

REFS = "refs/sprintlog/attempts/"
"""The prefix of references to the last commits of removed worktrees."""
BESIDE = (".log", ".ready")
"""The suffixes of the files of a race next to each worktree."""
SHOWN_MAX = 20


def read_race(log: EventStore, race_id: str) -> Race:
    """Return the current state of a race, which is empty if the race does not exist."""
    return fold(Race(race_id), CODEC.events_of_rows(log.scan(race_stream(race_id))))


def race_ids(log: EventStore) -> list[str]:
    """Return the races in a log, sorted by the position of their first event."""
    found = [race for stream in log.streams() if (race := race_of(stream)) is not None]
    return sorted(
        found, key=lambda x: next(log.read_stream(race_stream(x), until=1)).position
    )


def choose_race(log: EventStore, named: str | None) -> Race:
    """Return the named race, or the latest one; raise `NotFoundError` without one."""
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
    service: Service,
    named: str | None,
    fields: Sequence[Any],
    *,
    actor: str,
    folders: Collection[str] = (),
) -> tuple[Race, RaceStarted, bool]:
    """Return the race with a definition, the definition as given, and whether it is new.

    The recorded definition may be masked. An unfinished race of this work tree with the
    same definition is continued, from its own commit. Raise `RefusedError` if the
    definition differs, if the named race has ended, or if the name of a new race is that
    of other sprints or in `folders`.
    """
    own, log = service.own_tree.recorded(), service.log
    definition = replace(RaceStarted(*fields), work_tree=own)
    known = [read_race(log, race_id) for race_id in race_ids(log)]
    for race in known:
        is_unfinished = race.defined.work_tree == own and race.decided is None
        if race.id == named or (named is None and is_unfinished):
            _check_same(race, definition)
            return race, replace(definition, commit=race.defined.commit), False
    taken = {*folders, *(race.id for race in known)}
    taken |= {name.rpartition("-")[0] for name in service.sprints()}
    numbers = (f"race-{n}" for n in count(1))
    race = Race(named or next(name for name in numbers if name not in taken))
    check_sprint_id(race.sprint_of(1), field="--name")
    if race.id in taken:
        raise RefusedError(f"{race.id} is the name of other sprints or worktrees")
    record(service, race, definition, actor=actor)
    return read_race(log, race.id), definition, True


def _check_same(race: Race, typed: RaceStarted) -> None:
    """Raise `RefusedError` unless a race can continue with a definition."""
    masked = json.decode(encode_masked(typed), type=RaceStarted)
    alike = {"commit": "", "parallel": 0}
    if race.decided is not None:
        raise RefusedError(f"race {race.id} is decided", hint="choose another --name")
    if replace(race.defined, **alike) != replace(masked, **alike):
        raise RefusedError(
            f"race {race.id} of this work tree is unfinished, and its definition differs",
            hint=f"run `sprintlog race join {race.id}` to continue it, or start another "
            "one with `--name ID`",
        )


def record(service: Service, race: Race, event: Event, *, actor: str) -> None:
    """Append an event to a race; raise `ConflictError` if the race has changed since."""
    new = new_event(event, at=service.now(), actor=actor)
    service.log.append(race_stream(race.id), [new], expect=race.version)


def record_applied(
    service: Service, race: Race, *applied: Any, is_new: bool, actor: str
) -> None:
    """Record that an attempt's files were handed over, unless it is known and not new.

    `applied` has the fields of `AttemptApplied`.
    """
    event = AttemptApplied(*applied)
    if is_new or event not in race.attempt(event.number).applied:
        record(service, race, event, actor=actor)


def spending(service: Service, race: Race) -> list[BudgetState]:
    """Return the use of the budgets that the attempts share."""
    found = [service.sprint(race.sprint_of(number)) for number in race.attempts]
    started = [one for one in found if one.exists]
    return together(started, race.defined.budgets, service.now())


def verified(sprint: Sprint) -> ClaimAccepted | None:
    """Return the claim that a measurement confirmed, if any."""
    decided = sprint.plan.last.decided
    if sprint.plan.status == COMPLETED and isinstance(decided, ClaimAccepted):
        return decided
    return None


def chosen_iteration(judged: Judged) -> int | None:
    """Return the iteration that represents a sprint, if any.

    It is the confirmed iteration, or else the target of a rollback to the best. If nothing
    was measured, it is the last one with a snapshot.
    """
    sprint, claim = judged.sprint, verified(judged.sprint)
    number = (claim and claim.claim) or judged.target()
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
    size = size_of(service, sprint, number) if ended is None else (ended.files, ended.lines)
    return candidate(judged, number, attempt.number, size)


def candidate(
    judged: Judged, number: int | None, place: int, size: tuple[int | None, int | None]
) -> Candidate:
    """Return an iteration of a sprint as a candidate for a comparison."""
    sprint, changed = judged.sprint, judged.tracker.changed
    why, marked = None, max(changed, default=0) if number is None else number
    if marked in changed:
        why = f"iteration {marked} changed its measure: {changed[marked].words}"
    elif number is None:
        why = "it has no iteration to choose"
    spent, claim = sprint.knowledge.spent, verified(sprint)
    is_unmeasured = number is None or judged.tracker.entry(number) is None
    one = None if number is None or is_unmeasured else judged.one(number)
    ranked = Ranked(
        place,
        number,
        is_verified=claim is not None and claim.claim == number,
        measured_share=one and float(one.score.share),
        tests_passed=one and one.figures.tests_passed,
        test_count=one and one.figures.test_count,
        cost_usd=spent.cost_usd,
        is_cost_exact=not (spent.without_cost or spent.cut_short),
        files=size[0],
        lines=size[1],
        why=why,
    )
    return Candidate(ranked, one and one.score)


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
    with suppress(SprintlogError, OSError):
        ends = held[0].snapshot, last.snapshot
        said = store_of(service).git.run("diff", "--numstat", "--no-renames", *ends)
        rows = [line.split(b"\t", 2) for line in said.splitlines()]
        return len(rows), sum(int(n) for row in rows for n in row[:2] if n != b"-")
    return None, None


class AttemptTree(NamedTuple):
    """An attempt's worktree on this host."""

    attempt: Attempt
    sprint: str
    path: Path
    known: dict[str, str] | None
    """What git knows of the worktree."""
    exists: bool


def trees_to_remove(race: Race, own: OwnRepository, folder: Path) -> list[AttemptTree]:
    """Return the worktrees of an ended race that are left in this host's folder.

    The folder is `attempts/ID` below the user's local state. Raise `RefusedError` if the
    race is running, or if a worktree is in use.
    """
    if race.decided is None:
        raise RefusedError(
            f"race {race.id} has not ended",
            hint="wait until it has ended, or continue it with the command that started it",
            race=race.id,
        )
    found = []
    for number, attempt in race.attempts.items():
        started, path = attempt.started, folder / race.id / str(number)
        if started is None or (started.host, started.path) != (host(), str(path)):
            continue
        exists, known = is_plain(path), own.known(path)
        why = in_use(path) if exists else None
        if exists and known and "locked" in known:
            why = "it is locked (`git worktree unlock` unlocks it)"
        if why is not None:
            raise RefusedError(
                f"nothing was removed: {path} is in use: {why}", race=race.id
            )
        if exists or known or attempt.removed is None:
            found.append(AttemptTree(attempt, started.sprint, path, known, exists))
    return found


def remove_tree(
    workspace: Service,
    own: OwnRepository,
    race: Race,
    tree: AttemptTree,
    *,
    discards_omitted: bool,
    actor: str,
) -> str | None:
    """Record a snapshot of a worktree and its removal, and remove the worktree.

    Return the snapshot, if any. A removal that was recorded earlier is only finished.
    """
    if (removed := tree.attempt.removed) is None:
        snapshot, started, known = None, tree.attempt.started, tree.known or {}
        if tree.exists:
            commit = known.get("HEAD") if "detached" in known else None
            if commit and started and commit != started.commit:
                # Only the worktree refers to the commit.
                own.git("update-ref", f"{REFS}{tree.sprint}", commit)
            snapshot = saved(workspace, tree, discards_omitted, actor=actor)
        removed = AttemptRemoved(tree.attempt.number, str(tree.path), snapshot)
        record(workspace, read_race(workspace.log, race.id), removed, actor=actor)
    own.remove(tree.path, BESIDE)
    return removed.snapshot


def saved(
    workspace: Service, tree: AttemptTree, discards_omitted: bool, *, actor: str | None
) -> str | None:
    """Return the snapshot of a worktree, which is recorded if an actor is given.

    Unless `discards_omitted` is true, raise `RefusedError` if the snapshot omits any path.
    All paths are omitted if the folder no longer is the worktree of a sprint in this log.
    """
    if not tree.exists or tree.attempt.removed is not None:
        return None
    location, found = workspace.location, linked_directory(tree.path / ".git")
    folder, address = str(location.folder), location.address
    common, commit, left = repository_at(location.root).common.resolve(), None, ["."]
    is_own = tree.known and found is not None and found.parent == common / "worktrees"
    if is_own and workspace.log.version(sprint_stream(tree.sprint)):
        with ServiceWorkspace.open(tree.path, folder=folder, address=address) as there:
            there.environment, there.tell = workspace.environment, workspace.tell
            there.setting = workspace.setting
            if actor is None:
                with kept_files(there, tree.sprint) as (taken, _):
                    left = _omitted(there, taken)
            else:
                _, taken = take_and_record(there, tree.sprint, envelope={"actor": actor})
                commit, left = taken.commit, _omitted(there, taken)
    if left and not discards_omitted:
        named = ", ".join(left[:SHOWN_MAX])
        more = f" and {len(left) - SHOWN_MAX} more" if left[SHOWN_MAX:] else ""
        raise RefusedError(
            f"{tree.path} contains files that its snapshot omits: {named}{more}",
            hint="copy the files that you need, then pass --discard-omitted",
            files=left,
        )
    return commit


def _omitted(workspace: Service, taken: TakenSnapshot) -> list[str]:
    """Return the paths in a worktree, ignored ones included, that a snapshot omits."""
    own = kept_out(workspace)
    found = [path for path, reason in taken.left_out if reason != OTHER_TREE]
    unseen = store_of(workspace).read(taken.commit).unseen
    paths = {path.rstrip("/") for path in (*found, *unseen)}
    return [shown(path) or "." for path in sorted(paths) if not is_in(path, own)]
