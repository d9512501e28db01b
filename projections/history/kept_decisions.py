"""The decisions in a sprint, stored and updated with later events.

The newest decisions are stored with the state required to continue. Earlier decisions are
stored in blocks. A block is read only if one of its decisions is requested or receives a
consequence.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from zlib import crc32

import msgspec

from sprintlog.engine.judging.tracker import Tracker
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import CODEC, EVERY, sprint_stream
from sprintlog.engine.service.streams.checkpoints import (
    BLOCKS,
    DECISIONS,
    KeptReading,
    Reading,
)

from ..workspace import Workspace
from .decisions import CameFirst, Deciding, Decision, KeptDecision, place
from .evidence import OpenTroubles, Past

Rollbacks = Sequence[tuple[int, int]]

_RULES = 4
"""Increase this number when decisions or their evidence are determined differently."""
BLOCK = 1024
"""The number of decisions in a block; up to twice as many are among the newest."""


class AboutBlock(msgspec.Struct):
    """The facts about a block that are available without reading the block."""

    version: int
    """The version at which the block ends."""
    kinds: list[str]
    """The kinds of the decisions in the block."""
    awaited: list[str]
    """The addresses that decisions in the block are still waiting for."""


class DecisionsOfBlock(Reading):
    """The decisions after the previous block, and the open failures at each version."""

    found: list[KeptDecision]
    known: list[OpenTroubles]
    """The first entry is the state before the block."""


class DecisionsSoFar(DecisionsOfBlock):
    """The newest decisions, and a list of the earlier blocks."""

    blocks: list[AboutBlock]


class _GoneError(Exception):
    """A block is missing or damaged."""


def decisions_at(
    workspace: Workspace, name: str, version: int, kinds: Collection[str] = ()
) -> list[Decision]:
    """Return a sprint's decisions of the given or all kinds up to a version, in order."""
    try:
        return _Decided(workspace, name).at(version, {*kinds})
    except _GoneError:
        again = _Decided(workspace, name)
        again.now = _nothing()
        return again.at(version, {*kinds})


class _Decided:
    """All decisions in a sprint, read on demand."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self._workspace = workspace
        self._name = name
        self._rollbacks = workspace.sprint(name).knowledge.rollbacks
        log, stream, meaning = workspace.log, sprint_stream(name), _meaning()
        self._newest = KeptReading(log, DECISIONS, stream, DecisionsSoFar, meaning=meaning)
        self._old = KeptReading(log, BLOCKS, stream, DecisionsOfBlock, meaning=meaning)
        self._read: dict[int, DecisionsOfBlock] = {}
        self._followed: set[int] = set()
        """The blocks that contain a changed decision."""
        self.now = self._newest.load() or _nothing()

    def at(self, version: int, kinds: set[str]) -> list[Decision]:
        """Return the decisions up to a version; if `kinds` is set, only those kinds."""
        before = self.now.version
        self._carry_on(self._workspace.sprint(self._name).version)
        if self.now.version - before >= EVERY:
            self._keep()
        found = [
            _at(one, version)
            for one in self._all(version, kinds)
            if one.decision.version <= version and (not kinds or one.decision.kind in kinds)
        ]
        place(found, [rollback for rollback in self._rollbacks if rollback[0] <= version])
        return found

    def _all(self, version: int, kinds: set[str]) -> Iterable[KeptDecision]:
        """Yield all decisions, skipping blocks that cannot contain a requested decision."""
        begin = 0
        for block in self.now.blocks:
            if begin < version and (not kinds or not kinds.isdisjoint(block.kinds)):
                yield from self._block(block).found
            begin = block.version
        yield from self.now.found

    def _block(self, block: AboutBlock) -> DecisionsOfBlock:
        if block.version not in self._read:
            found = self._old.load_at(block.version)
            if found is None:
                raise _GoneError
            self._read[block.version] = found
        return self._read[block.version]

    def _known(self, version: int) -> OpenTroubles:
        """Return the open failures at an earlier version."""
        place = bisect_left(self.now.blocks, version, key=attrgetter("version"))
        blocks = self.now.blocks[place : place + 1]
        known = (self._block(blocks[0]) if blocks else self.now).known
        return known[max(bisect_right(known, version, key=attrgetter("version")) - 1, 0)]

    def _carry_on(self, version: int) -> None:
        """Process the events up to a version."""
        now, after, past = self.now, self.now.version, None
        if after:
            past = past_of(self._workspace, self._name, after, self._rollbacks, self._known)
        deciding = Deciding(self._rollbacks, past)
        stream = sprint_stream(self._name)
        for recorded in self._workspace.log.read_stream(stream, after=after, until=version):
            deciding.take(recorded)
        _follow(now.found, deciding.followers)
        for block in now.blocks:
            if not deciding.followers.keys().isdisjoint(block.awaited):
                found = self._block(block).found
                _follow(found, deciding.followers)
                block.awaited = _awaited(found)
                self._followed.add(block.version)
        now.found += deciding.found
        now.known += [known for known in deciding.evidence.known if known.version > after]
        now.version = version

    def _keep(self) -> None:
        """Save the decisions, moving the oldest ones into blocks."""
        now = self.now
        for version in self._followed:
            self._old.keep(self._read[version])
        while len(now.found) >= 2 * BLOCK:
            found, now.found = now.found[:BLOCK], now.found[BLOCK:]
            end = found[-1].decision.version
            cut = bisect_right(now.known, end, key=attrgetter("version"))
            block = DecisionsOfBlock(end, found, now.known[:cut])
            now.known = now.known[max(cut - 1, 0) :]
            kinds = sorted({one.decision.kind for one in found})
            now.blocks.append(AboutBlock(end, kinds, _awaited(found)))
            self._read[end] = block
            self._old.keep(block)
        self._newest.keep_only(now)
        self._old.forget(but={block.version for block in now.blocks})


def _nothing() -> DecisionsSoFar:
    return DecisionsSoFar(0, [], [OpenTroubles(0)], [])


def _follow(found: Iterable[KeptDecision], followers: Mapping[str, CameFirst]) -> None:
    """Add to each decision the first event about its awaited address."""
    for one in found:
        follower = followers.get(one.awaited) if one.awaited is not None else None
        if follower is not None and not one.followed_at:
            one.followed_at, one.decision.followed = follower


def _awaited(found: Iterable[KeptDecision]) -> list[str]:
    """Return the addresses that decisions are still waiting for."""
    waiting = (one.awaited for one in found if not one.followed_at)
    return sorted({awaited for awaited in waiting if awaited is not None})


def past_of(
    workspace: Workspace,
    name: str,
    version: int,
    rollbacks: Rollbacks,
    known: Callable[[int], OpenTroubles],
) -> Past:
    """Return the saved state of a sprint up to a version."""
    log, stream, repository = workspace.log, sprint_stream(name), workspace.repository

    def tracker() -> Tracker:
        return repository.at_version(name, version).knowledge.tracker

    def read(at: int) -> RecordedEvent:
        return next(log.read_stream(stream, after=at - 1, until=at))

    before = [rollback for rollback in rollbacks if rollback[0] <= version]
    return Past(known, before, tracker, read, version)


def _at(one: KeptDecision, version: int) -> Decision:
    """Return a decision as of a version."""
    if one.followed_at > version:
        one.decision.followed = ""
    return one.decision


def _meaning() -> int:
    """Return a checksum of the event types' declarations about decisions and evidence."""
    declared = [
        (tag, event.as_decision, event.as_evidence, event.ends, event.is_quiet)
        for tag, event in sorted(CODEC.events.items())
    ]
    return crc32(repr((_RULES, declared)).encode())
