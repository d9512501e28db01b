"""The rows of one sprint in the read model, updated with new events.

Rows about the current state are rewritten. For rows about the history, only new events are
read; earlier rows change only if a rollback or a consequence affects them.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec

from sprintlog.engine.judging.evaluation import Judgement
from sprintlog.engine.judging.events import ITERATION_EVENTS
from sprintlog.engine.judging.metrics import named, not_verified
from sprintlog.engine.judging.score import compared
from sprintlog.engine.log.event import Kind
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.iterations.described import Description
from sprintlog.engine.sprint.state import effective_history as history
from sprintlog.engine.sprint.state.sprint import Spent, Sprint
from sprintlog.engine.sprint.state.tree import gate_status

from ..history.decisions import Deciding, Decision, place
from ..history.evidence import OpenTroubles, Trouble
from ..history.kept_decisions import past_of
from ..workspace import Workspace
from .schema import Row, inserting

_KNOWLEDGE = [
    tag for tag, event in CODEC.events.items() if event.kind is not Kind.EXECUTION
]
_JUDGING = (
    *(event.type for event in ITERATION_EVENTS),
    *(f.AgentRan.type, f.RolledBack.type, f.IterationEnded.type, f.SnapshotTaken.type),
)
"""Events that change the judgement, the cost or the description of an iteration."""
_JUDGED = (
    *("class", "score", "change", "verified", "metrics", "runs", "duration_ms", "turns"),
    *("input_tokens", "output_tokens", "cache_creation_tokens", "cache_read_tokens"),
    *("tokens", "at_least", "cost_usd"),
)
"""The columns of an iteration that depend on its judgement and on agent runs."""
_DESCRIBED = ("params", "tags", "notes", "git_head", "git_dirty")
"""The columns of an iteration's description."""
_troubles = msgspec.json.Decoder(tuple[Trouble, ...])


def write_sprint(
    workspace: Workspace, connection: sqlite3.Connection, name: str, version: int
) -> None:
    """Update all rows of a sprint to a version whose events are already stored."""
    found = connection.execute("SELECT version FROM v_sprints WHERE sprint = ?", (name,))
    (after,) = found.fetchone() or (0,)
    sprint = workspace.repository.at_version(name, version)
    for table in ("v_sprints", "v_phases"):
        connection.execute(f"DELETE FROM {table} WHERE sprint = ?", (name,))
    connection.execute(inserting("v_sprints"), _sprint_row(sprint))
    connection.executemany(inserting("v_phases"), _phase_rows(sprint))
    carrying = _Carrying(workspace, connection, sprint, after)
    carrying.write()
    carrying.judge_iterations(sprint)


class _Carrying:
    """Writes a sprint's history between two versions to the tables."""

    def __init__(
        self,
        workspace: Workspace,
        connection: sqlite3.Connection,
        sprint: Sprint,
        after: int,
    ) -> None:
        self._workspace = workspace
        self._ask = connection.execute
        self._insert = connection.executemany
        self._name, self._stream = sprint.id, sprint_stream(sprint.id)
        self._after, self._version = after, sprint.version
        rollbacks = sprint.knowledge.rollbacks
        self._rollbacks = [one for one in rollbacks if one[0] <= self._version]
        self._live = history.effective_ranges(self._rollbacks, self._version)

    def write(self) -> None:
        """Add new rows, and update the rows that have changed."""
        moved = list(self._moved())
        self._mark(moved)
        self._carry_decisions(moved)
        named = {"sprint": self._name, "stream": self._stream, "after": self._after}
        if self._after:
            self._carry_iterations()
            for table in ("v_gates", "v_iterations"):
                self._mark_again(table, moved)
        for table in ("v_gates", "v_iterations"):
            self._ask(inserting(table), named)

    def _moved(self) -> Iterator[history.VersionRange]:
        """Yield the ranges of earlier events that later rollbacks affected."""
        for turned in history.turns(self._rollbacks) if self._after else ():
            if turned.version > self._after:
                for first, last in (*turned.gone, *turned.back):
                    if first <= self._after:
                        yield first, min(last, self._after)

    def _mark(self, moved: list[history.VersionRange]) -> None:
        """Mark affected and new execution events as effective or discarded."""
        known = ", ".join("?" * len(_KNOWLEDGE))
        change = (
            "UPDATE v_events SET in_force = ? WHERE stream = ? AND version BETWEEN ? AND ? "
            f"AND type NOT IN ({known})"
        )
        for first, last in (*moved, (self._after + 1, self._version)):
            gone = history.stretches_only_in([(first, last)], self._live)
            earlier = [(first, last)] if first <= self._after else []
            back = history.stretches_only_in(earlier, gone)
            for counts, stretches in ((0, gone), (1, back)):
                for begin, end in stretches:
                    self._ask(change, (counts, self._stream, begin, end, *_KNOWLEDGE))

    def _mark_again(self, table: str, moved: list[history.VersionRange]) -> None:
        for first, last in moved:
            self._ask(
                f"UPDATE {table} SET in_force = (SELECT in_force FROM v_events e "
                f"WHERE e.position = {table}.position) "
                "WHERE sprint = ? AND version BETWEEN ? AND ?",
                (self._name, first, last),
            )

    def _carry_iterations(self) -> None:
        """Add new events to the counts of existing iterations."""
        news = self._ask(
            "SELECT iteration, max(version), count(*) FROM v_events "
            "WHERE stream = ? AND version > ? AND iteration IS NOT NULL GROUP BY iteration",
            (self._stream, self._after),
        )
        for number, last, count in news.fetchall():
            self._ask(
                "UPDATE v_iterations SET last_version = ?, events = events + ?, last_at = "
                "(SELECT at FROM v_events WHERE stream = ? AND version = ?) "
                "WHERE sprint = ? AND number = ?",
                (last, count, self._stream, last, self._name, number),
            )

    def judge_iterations(self, sprint: Sprint) -> None:
        """Update the scores and costs of iterations that new events changed."""
        marks = ", ".join("?" * len(_JUDGING))
        news = self._ask(
            "SELECT 1 FROM v_events WHERE stream = ? AND version > ? "
            f"AND type IN ({marks}) LIMIT 1",
            (self._stream, self._after, *_JUDGING),
        )
        if news.fetchone() is None:
            return
        judged = evaluate(self._workspace.log, sprint)
        known = {one.number: one for one in judged.all()}
        base = judged.baseline()
        spent, said = judged.spent(), judged.described()
        gone = {number for number, _ in judged.tracker.retracted}
        columns = ", ".join(f"{name} = ?" for name in (*_JUDGED, *_DESCRIBED))
        self._insert(
            f"UPDATE v_iterations SET {columns} WHERE sprint = ? AND number = ?",
            [
                (
                    *_judged_row(known.get(n), known, base),
                    *_spent_row(spent.get(n)),
                    *_described_row(said.get(n)),
                    *(self._name, n),
                )
                for n in known.keys() | spent.keys() | said.keys() | gone
            ],
        )
        self._ask(
            "UPDATE v_iterations SET agent = e.agent FROM (SELECT iteration, "
            "json_extract(data, '$.agent') AS agent, max(version) FROM v_events WHERE "
            "stream = ? AND version > ? AND type = 'agent-ran' GROUP BY iteration) e "
            "WHERE sprint = ? AND number = e.iteration AND e.agent IS NOT NULL",
            (self._stream, self._after, self._name),
        )

    def _carry_decisions(self, moved: list[history.VersionRange]) -> None:
        """Derive decisions for new events from the saved state, then save the new state."""
        log, name = self._workspace.log, self._name
        known = (self._rollbacks, self._known)
        past = past_of(self._workspace, name, self._after, *known) if self._after else None
        deciding = Deciding(self._rollbacks, past)
        events = log.read_stream(self._stream, after=self._after, until=self._version)
        for recorded in events:
            deciding.take(recorded)
        for awaited, follower in deciding.followers.items():
            self._follow(awaited, follower.words)
        self._place_again(moved)
        found = [one.decision for one in deciding.found]
        self._insert(
            "INSERT INTO follow_ups VALUES (?, ?, ?, ?)",
            [
                (name, one.decision.version, one.awaited, one.decision.followed)
                for one in deciding.found
                if one.awaited is not None
            ],
        )
        place(found, self._rollbacks)
        rows = [(name, *msgspec.structs.astuple(decision)) for decision in found]
        self._insert(inserting("v_decisions"), rows)
        self._insert(
            "INSERT INTO open_troubles VALUES (?, ?, ?, ?)",
            [
                (name, version, msgspec.json.encode(open_).decode(), advice)
                for version, open_, advice in deciding.evidence.known
                if version > self._after
            ],
        )

    def _follow(self, awaited: str, followed: str) -> None:
        """Add the consequence to all decisions waiting for an event about an address."""
        waiting = "sprint = ? AND awaited = ? AND followed = ''"
        self._ask(
            "UPDATE v_decisions SET followed = ? WHERE sprint = ? AND in_force = 1 "
            f"AND version IN (SELECT version FROM follow_ups WHERE {waiting})",
            (followed, self._name, self._name, awaited),
        )
        change = f"UPDATE follow_ups SET followed = ? WHERE {waiting}"
        self._ask(change, (followed, self._name, awaited))

    def _place_again(self, moved: list[history.VersionRange]) -> None:
        """Mark the decisions in some version ranges as effective or discarded."""
        found: dict[int, Decision] = {}
        for first, last in moved:
            rows = self._ask(
                "SELECT d.*, f.followed FROM v_decisions d JOIN follow_ups f "
                "ON f.sprint = d.sprint AND f.version = d.version "
                "WHERE d.sprint = ? AND d.version BETWEEN ? AND ?",
                (self._name, first, last),
            )
            for _, *fields, followed in rows:
                decision = Decision(*fields)
                decision.followed = followed
                found[decision.version] = decision
        in_order = [found[version] for version in sorted(found)]
        place(in_order, self._rollbacks)
        for decision in in_order:
            self._ask(
                "UPDATE v_decisions SET in_force = ?, followed = ? "
                "WHERE sprint = ? AND version = ?",
                (decision.in_force, decision.followed, self._name, decision.version),
            )

    def _known(self, version: int) -> OpenTroubles:
        found = self._ask(
            "SELECT version, troubles, advice FROM open_troubles "
            "WHERE sprint = ? AND version <= ? ORDER BY version DESC LIMIT 1",
            (self._name, version),
        )
        at, open_, advice = found.fetchone() or (0, "[]", "")
        return OpenTroubles(at, _troubles.decode(open_), advice)


def _judged_row(
    one: Judgement | None, judged: dict[int, Judgement], base: Judgement | None
) -> Row:
    if one is None:
        return (None,) * 5
    value = one.score.value
    before = judged.get(one.previous or 0, base)
    pair = None if before is None else compared(one.score, before.score)
    change = None if pair is None else float(pair[0] - pair[1])
    verified = int(one.unfit is None and not_verified(one.figures) is None)
    known = {name: value for name, value in named(one.metrics).items() if value is not None}
    score = None if value is None else float(value)
    return one.classification, score, change, verified, msgspec.json.encode(known).decode()


def _spent_row(spent: Spent | None) -> Row:
    found = {name: getattr(spent, name, None) for name in _JUDGED[5:]}
    bounds = found["at_least"]
    found["at_least"] = msgspec.json.encode(bounds).decode() if bounds else None
    return tuple(found.values())


def _described_row(said: Description | None) -> Row:
    if said is None:
        return (None,) * len(_DESCRIBED)
    texts = (said.params, said.tags, said.notes)
    git = said.git or f.GitState()
    encoded = (msgspec.json.encode(x).decode() if x else None for x in texts)
    return (*encoded, git.head, None if git.is_dirty is None else int(git.is_dirty))


def _sprint_row(sprint: Sprint) -> Row:
    """Return a sprint as a row of `v_sprints`."""
    document = sprint.document
    figures = document.get("stats")
    stats = figures if isinstance(figures, dict) else {}
    fields = [document.get("mode"), document.get("goal"), document.get("last-activity")]
    names = ("started-at", "completed-at", "total-phases", "completed-phases")
    fields += [stats.get(name) for name in names]
    written_to = sprint.plan.place
    file = written_to.path if written_to else None
    return sprint.id, sprint.version, sprint.plan.status, *map(_plain, fields), file


def _phase_rows(sprint: Sprint) -> Iterator[Row]:
    """Yield all phases, steps and sub-phases as rows of `v_phases`."""
    names = (
        *("prompt", "model", "started-at", "completed-at"),
        *("summary", "error", "next-retry-at"),
    )
    pointed = sprint.plan.pointed()
    for number, node in enumerate(sprint.plan.tree.root.walk(), start=1):
        data = node.data
        tracking = data.get("gate-tracking")
        yield (
            sprint.id,
            node.address,
            node.address.rpartition("/")[0] or None,
            number,
            node.level,
            int(node.leaf >= 0),
            int(node is pointed),
            _plain(data.get("id")),
            _plain(data.get("status")),
            *(_plain(data.get(name)) for name in names),
            int(data.get("injected") is True),
            gate_status(data),
            _plain(tracking.get("attempts") if isinstance(tracking, dict) else None),
        )


def _plain(value: Any) -> str | int | float | None:
    """Convert a value to one that a column can store; lists and objects become JSON."""
    if value is None or isinstance(value, str | int | float):
        return value
    return msgspec.json.encode(value).decode()
