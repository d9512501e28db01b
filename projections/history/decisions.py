"""The decisions in a sprint: who decided what, when, on what evidence, and what followed.

Each event type declares whether it is a decision and whether it is evidence for later
decisions.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple

import msgspec

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import IN_FORCE, AsDecision, Event, Kind, Reach, Subject
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state import effective_history as history

from .edits import edited
from .evidence import Evidence, Past

Data = dict[str, Any]

TEXT_CHARS_MAX = 300
_OF_EVENT = ("position", "version", "at", "actor", "observed", "type")
"""The fields that a decision copies from its event."""
BREAKPOINT = "breakpoint"
LOSS = "loss"
LOST_NAMED_MAX = 10
"""The maximum number of lost items that are named; `show event` lists all."""
KINDS = {
    "gate": "a gate passed, failed or blocked",
    "rollback": "a rollback of plan or files, an undo or a redo",
    "edit": "a state file was edited, or such an edit was adopted",
    "human": "a person was needed, stopped or resumed the sprint, or reopened something",
    BREAKPOINT: "the sprint stopped for a review, or was resumed after one",
    "skip": "something was skipped on purpose",
    "block": "something is blocked",
    "injection": "work was injected into the running plan",
    "request": "a request of the operators' queue was decided or returned",
    "selection": "the best iteration was selected, or its files were applied",
    "recommendation": "a next step was recommended",
    "goal": "the goal was set, claimed or reached",
    "plan": "a plan was created or imported, or a fork began",
    LOSS: "an imported version lacks completed work of the previous one",
    "rules": "rules were set",
    "run": "a run of the loop ended",
    "measurement": "a measurement was retracted, or the baseline replaced",
}
"""The kinds of decisions, with their meanings."""


class _Unknown(Event, frozen=True):
    """A stand-in for an event of an unknown type."""

    subject: ClassVar[Subject] = Subject("unknown")
    reach: ClassVar[Reach] = Reach.WHOLE


class Decision(msgspec.Struct):
    """A recorded decision."""

    position: int
    version: int
    at: str
    actor: str
    observed: bool
    kind: str
    type: str
    about: str
    """The address that the decision concerns; empty for the sprint itself."""
    said: str
    evidence: str
    followed: str
    in_force: bool
    """False if a rollback has discarded the decision."""


class KeptDecision(msgspec.Struct):
    """A decision, and the state required to record its consequence."""

    decision: Decision
    """The decision with its consequence, regardless of rollbacks."""
    awaited: str | None
    """The address whose next event is the consequence; None if no event is awaited."""
    followed_at: int = 0
    """The version of the consequence; 0 if there is none yet."""


def decisions(
    events: Iterable[RecordedEvent], rollbacks: Sequence[tuple[int, int]], version: int
) -> list[Decision]:
    """Return the decisions among a stream's events up to a version, in order.

    `rollbacks` contains the (version, target) pair of each rollback in the stream up to
    that version.
    """
    deciding = Deciding(rollbacks)
    for recorded in events:
        deciding.take(recorded)
    found = [one.decision for one in deciding.found]
    place(found, rollbacks)
    return found


def place(found: Sequence[Decision], rollbacks: Sequence[tuple[int, int]]) -> None:
    """Mark decisions as effective or discarded, with the version that discarded them."""
    can_go = [x for x in found if CODEC.events[x.type].kind is Kind.EXECUTION]
    taken = history.discarded_by([decision.version for decision in can_go], rollbacks)
    for decision in can_go:
        by = taken.get(decision.version)
        decision.in_force = by is None
        if by is not None:
            decision.followed = f"discarded at version {by}"


class CameFirst(NamedTuple):
    """The first event about an address that a decision was waiting for."""

    version: int
    words: str


class Deciding:
    """The decisions in a stream, found event by event.

    Consequences ignore rollbacks; `place` marks discarded decisions.
    """

    def __init__(
        self, rollbacks: Sequence[tuple[int, int]], past: Past | None = None
    ) -> None:
        self.found: list[KeptDecision] = []
        self.followers: dict[str, CameFirst] = {}
        """The first event about each address, for past decisions."""
        self.evidence = Evidence(past)
        self._past = past
        after = 0 if past is None else past.version
        self._turns = {
            turn.version: turn for turn in history.turns(rollbacks) if turn.version > after
        }
        self._waiting: dict[str, list[KeptDecision]] = {}
        self._named: dict[int, str] = {}

    def take(self, recorded: RecordedEvent) -> None:
        """Process the next event."""
        event = CODEC.events.get(recorded.type, _Unknown)
        is_nothing = event.is_quiet and event.as_decision is None
        data = {} if is_nothing else _data(recorded)
        about = str(data.get(event.subject.address) or "")
        if not event.is_quiet:
            self._follow(recorded, about)
        if event.as_decision is not None and not _goes_along(recorded, data):
            self._decide(recorded, event.as_decision, data, about)
        words, evidence = None, event.as_evidence
        is_passed = recorded.type == f.GateChecked.type and data.get("exit_code") == 0
        if evidence is not None and not is_passed:
            said = filter(None, (_named(recorded, about), _words(recorded, evidence, data)))
            words = ": ".join(said)[:TEXT_CHARS_MAX]
        self.evidence.take(recorded, data, address=about, words=words)

    def _follow(self, recorded: RecordedEvent, about: str) -> None:
        # The event follows decisions about its address, the address's ancestors, or the
        # sprint.
        version = recorded.version
        for name in {"", *accumulate(about.split("/"), "{}/{}".format)}:
            for before in self._waiting.pop(name, ()):
                before.decision.followed = _named(recorded, about)
                before.followed_at = version
            if self._past is not None and name not in self.followers:
                self.followers[name] = CameFirst(version, _named(recorded, about))

    def _decide(
        self, recorded: RecordedEvent, how: AsDecision, data: Data, about: str
    ) -> None:
        self._named[recorded.version] = _named(recorded, about)
        decision = _decision(recorded, how, data, about, self.evidence)
        kept = KeptDecision(decision, None)
        if recorded.type != f.RolledBack.type:
            kept.awaited = "" if how.stops else about
            self._waiting.setdefault(kept.awaited, []).append(kept)
        else:
            decision.followed = _gone(self._turns[recorded.version])
            if (undoes := data.get("undoes")) is not None:
                decision.evidence = self._decision_named(undoes)
        self.found.append(kept)

    def _decision_named(self, version: int) -> str:
        """Return a description of the decision at a version, or "" if there is none."""
        past = self._past
        if past is not None and 1 <= version <= past.version:
            recorded = past.read(version)
            event = CODEC.events.get(recorded.type, _Unknown)
            if event.as_decision is not None:
                about = str(_data(recorded).get(event.subject.address) or "")
                self._named[version] = _named(recorded, about)
        return self._named.get(version, "")


def _goes_along(recorded: RecordedEvent, data: Data) -> bool:
    """Return whether an event restores files for a decision that is listed separately."""
    is_restore = recorded.type == f.RestoreStarted.type
    return is_restore and (data.get("rollback") is not None or bool(data.get("into")))


def _decision(
    event: RecordedEvent, how: AsDecision, data: Data, about: str, known: Evidence
) -> Decision:
    evidence = [_fields(how.evidence, data)]
    trouble = known.trouble(about) if how.looks_back else None
    evidence.append(trouble.words if trouble is not None else "")
    if how.judges == IN_FORCE:
        evidence += [known.judgement(event.version), known.advice]
    elif isinstance(number := data.get(how.judges), int):
        evidence.append(known.judgement(event.version, number))
    kind, said = how.kind, _fields(how.said, data)
    if event.type == f.SprintResumed.type and known.is_at_breakpoint:
        kind = BREAKPOINT
    elif event.type == f.GateChecked.type:
        said = _verdict(data)
    elif event.type == f.EditObserved.type and "path" in data:
        said = edited(data)[:TEXT_CHARS_MAX]
        evidence.append(f"the file of version {data['since']}" if data["since"] else "")
    elif event.type == f.SprintImported.type and data.get("lost"):
        kind, said = LOSS, f"{_lost(data['lost'])}; {said}"[:TEXT_CHARS_MAX]
    known_by = "; ".join(dict.fromkeys(filter(None, evidence)))
    own = {name: getattr(event, name) for name in _OF_EVENT}
    own |= {"kind": kind, "about": about, "said": said, "evidence": known_by}
    return Decision(**own, followed="", in_force=True)


def _data(event: RecordedEvent) -> Data:
    payload = CODEC.today(event)
    data = {} if payload is None else msgspec.json.decode(payload)
    return data if isinstance(data, dict) else {}


def _words(event: RecordedEvent, evidence: Sequence[str], data: Data) -> str:
    if event.type == f.GateChecked.type:
        return _verdict(data)
    return ": ".join(_shown(data[name]) for name in evidence if data.get(name))


def _verdict(data: Data) -> str:
    code = data.get("exit_code")
    said = "passed" if code == 0 else f"failed with exit code {code}"
    if data.get("timed_out"):
        said = "timed out"
    return f"{said}, handed in from elsewhere" if data.get("elsewhere") else said


def _lost(addresses: list[Any]) -> str:
    """Return how many completed items an import lost, and the names of the first few."""
    named = ", ".join(map(_shown, addresses[:LOST_NAMED_MAX]))
    more = "" if len(addresses) <= LOST_NAMED_MAX else " …"
    return f"{len(addresses)} done previously but not in this version: {named}{more}"


def _fields(names: Sequence[str], data: Data) -> str:
    """Return the fields as names and values; the reason is shown without its name."""
    parts = []
    for name in names:
        value = data.get(name)
        if value is None or value in ("", [], {}, False):
            continue
        shown = _shown(value)
        parts.append(shown if name == "reason" else f"{name.replace('_', ' ')} {shown}")
    return ", ".join(parts)[:TEXT_CHARS_MAX]


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(_shown_item, value))
    return msgspec.json.encode(value).decode()


def _shown_item(value: Any) -> str:
    """Return the short name of an item: a node's id, a file's path, or a name."""
    if isinstance(value, dict):
        names = (value[key] for key in ("id", "path", "name") if value.get(key))
        return str(next(names, "?"))
    return _shown(value)


def _named(event: RecordedEvent, about: str) -> str:
    what = f"{event.type} {about}" if about else event.type
    return f"version {event.version}: {what} by {event.actor}"


def _gone(turn: history.TurnedBack) -> str:
    """Return the version ranges that a rollback discarded or made effective again."""
    gone, back = _between(turn.gone), _between(turn.back)
    parts = [f"no longer in force: {gone}" if gone else ""]
    parts.append(f"in force again: {back}" if back else "")
    return "; ".join(filter(None, parts))


def _between(stretches: Sequence[history.VersionRange]) -> str:
    return ", ".join(f"{a} to {b}" if a != b else str(a) for a, b in stretches)
