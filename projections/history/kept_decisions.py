"""The decisions of a sprint, kept and carried on over the events that came since."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from zlib import crc32

import msgspec

from sprintlog.engine.iterations.tracker import Tracker
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import CODEC, EVERY, sprint_stream
from sprintlog.engine.service.streams.readings import DECISIONS, KeptReading, Reading

from ..workspace import Workspace
from .decisions import Deciding, Decision, place
from .evidence import OpenTroubles, Past

Rollbacks = Sequence[tuple[int, int]]

_RULES = 3
"""Raise it when decisions or their evidence are found in another way."""


class KeptDecision(msgspec.Struct):
    """A decision, and what it takes to go on from there."""

    decision: Decision
    """With what followed whatever was rolled back."""
    awaited: str | None
    """The address that what follows it is about; None where nothing is waited for."""
    followed_at: int = 0
    """The version of what followed; 0 while nothing did."""


class DecisionsSoFar(Reading):
    """All decisions up to a version, and what was known from a version on."""

    found: list[KeptDecision]
    known: list[OpenTroubles]


def decisions_at(workspace: Workspace, name: str, version: int) -> list[Decision]:
    """Return the decisions of a sprint up to a version, in order."""
    sprint = workspace.sprint(name)
    rollbacks = sprint.knowledge.rollbacks
    kept = KeptReading(
        workspace.log, DECISIONS, sprint_stream(name), DecisionsSoFar, meaning=_meaning()
    )
    decided = kept.load() or DecisionsSoFar(0, [], [OpenTroubles(0)])
    before = decided.version
    _carry_on(workspace, name, decided, sprint.version, rollbacks)
    if decided.version - before >= EVERY:
        kept.keep(decided)
    found = [_at(one, version) for one in decided.found if one.decision.version <= version]
    place(found, [rollback for rollback in rollbacks if rollback[0] <= version])
    return found


def past_of(
    workspace: Workspace,
    name: str,
    version: int,
    rollbacks: Rollbacks,
    known: Callable[[int], OpenTroubles],
) -> Past:
    """Return what is kept of the events of a sprint up to a version."""
    log, stream, repository = workspace.log, sprint_stream(name), workspace.repository

    def tracker() -> Tracker:
        return repository.at_version(name, version).knowledge.tracker

    def read(at: int) -> RecordedEvent:
        return next(log.read_stream(stream, after=at - 1, until=at))

    before = [rollback for rollback in rollbacks if rollback[0] <= version]
    return Past(known, before, tracker, read, version)


def _carry_on(
    workspace: Workspace,
    name: str,
    decided: DecisionsSoFar,
    version: int,
    rollbacks: Rollbacks,
) -> None:
    """Take in the events up to a version."""
    after, past = decided.version, None
    if after:
        past = past_of(workspace, name, after, rollbacks, _known_of(decided))
    deciding = Deciding(rollbacks, past)
    stream = sprint_stream(name)
    for recorded in workspace.log.read_stream(stream, after=after, until=version):
        deciding.take(recorded)
    for one in decided.found:
        follower = deciding.followers.get(one.awaited) if one.awaited is not None else None
        if follower is not None and not one.followed_at:
            one.followed_at, one.decision.followed = follower
    decided.found += [
        KeptDecision(
            one, deciding.awaited.get(one.version), deciding.followed_at.get(one.version, 0)
        )
        for one in deciding.found
    ]
    decided.known += [known for known in deciding.evidence.known if known.version > after]
    decided.version = version


def _known_of(decided: DecisionsSoFar) -> Callable[[int], OpenTroubles]:
    """Return what answers what was known at a version."""

    def known(version: int) -> OpenTroubles:
        at = bisect_right(decided.known, version, key=attrgetter("version"))
        return decided.known[max(at - 1, 0)]

    return known


def _at(one: KeptDecision, version: int) -> Decision:
    """Return a decision as it was told at a version."""
    if one.followed_at > version:
        one.decision.followed = ""
    return one.decision


def _meaning() -> int:
    """Return a number that is another one when events declare something else."""
    declared = [
        (tag, event.as_decision, event.as_evidence, event.ends, event.is_quiet)
        for tag, event in sorted(CODEC.events.items())
    ]
    return crc32(repr((_RULES, declared)).encode())
