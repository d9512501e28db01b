"""Answers about the log as a whole: copies, checks, redactions, heads and proofs."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from .events import EventReference


class ErasedEvent(Struct, frozen=True, kw_only=True):
    """An event that was, or would be, erased."""

    position: int
    stream: str
    version: int
    type: str
    at: str
    bytes: int
    """How long its payload is."""


class PlaceOfText(Struct, frozen=True):
    """A place outside the events that contains or contained a text."""

    kind: str
    where: str


class UnreachedPlace(Struct, frozen=True):
    """A place from which a text cannot be removed."""

    where: str
    why: str
    command: str | None
    """What a person can do about it."""


class Redaction(Struct, frozen=True, kw_only=True):
    """The preview of a redaction."""

    events: list[ErasedEvent]
    places: list[PlaceOfText]
    unreached: list[UnreachedPlace]


class RedactionDone(Struct, frozen=True, kw_only=True):
    """The erased events and texts."""

    erased: int
    """How many events."""
    places: list[PlaceOfText]
    snapshots: dict[str, str]
    """By the snapshots that are gone: those in their places."""
    unreached: list[UnreachedPlace]
    events: list[EventReference]
    """The events that record it."""


class LeakFound(Struct, frozen=True):
    """A secret that was found."""

    where: str
    position: int | None
    """Of its event; null beside the events."""
    rule: str
    """The form that it has."""
    excerpt: str
    """Its context, masked."""
    command: str
    """What erases it."""


class HeadAnswer(Struct, frozen=True, kw_only=True):
    """The head of a log, as written to a file."""

    log: str
    """The id of its first event."""
    position: int
    hash: str
    root: str
    """Of the Merkle tree over all events."""
    time: str
    file: str | None
    """The file it was written to."""
    signature: str | None
    """Where its signature is."""


class ProofAnswer(Struct, frozen=True, kw_only=True):
    """The result of checking a proof."""

    position: int
    file: str
    is_proof: bool
    """Whether it proves that the event was there."""
    signed_by: str | None
    problems: list[str]


class Offer(Struct, frozen=True):
    """Something found near a new log, and the command for it."""

    kind: str
    """`state`, `plan`, `loop`, `agent`, `tests` or `ci`."""
    found: str
    """A path below the root, or a program."""
    says: str
    command: str | None = None
    safe: bool = False
    """Whether `--yes` takes it: it only records, and runs nothing."""
    taken: bool = False
    """Whether it is accepted now: its answer is a separate line."""


class LogPlace(Struct, frozen=True):
    """A log that was created."""

    folder: str
    root: str
    offers: list[Offer]


class LogSent(Struct, frozen=True):
    """The result of sending a log to an address."""

    to: str
    """Whose address it is, without what may be secret in it."""
    messages: int
    """How many were taken now."""
    position: int
    """Up to where all was taken, now and before."""
    spans_left_out: int
    """How many spans of them an endpoint said that it did not keep."""


class LogServed(Struct, frozen=True):
    """The address at which a log can be viewed in a browser."""

    url: str
    """With the token that lets one in."""
    host: str
    port: int
    writes: bool


class Uninstalled(Struct, frozen=True):
    """The installed files and the log, and which of them were removed."""

    installed: list[str]
    log: str | None
    is_removed: bool = False
    is_log_removed: bool = False
    left: list[str] = []
    """Names in the log's folder that are not ours."""


class Finding(Struct, frozen=True):
    """A problem or remark found during verification."""

    severity: str
    """`damage`: the log is not what was recorded; `drift`: a state file differs from the
    log; `remark`: an imported document contradicts the rules, or a
    comparison could not be made."""
    where: str
    what: str


class Verified(Struct, frozen=True):
    """The result of verifying a log."""

    sound: bool
    events: int
    sprints: int
    position: int
    head: str
    findings: list[Finding]


class Check(Struct, frozen=True):
    """A single check, and its result."""

    check: str
    status: str
    """`ok`, `note` (harmless), `warning` (may go wrong), or `problem` (the log is damaged
    or cannot be used, or a state file differs from it)."""
    found: str
    hint: str | None = None
    """A remedy; None if none is needed."""


class Checks(Struct, frozen=True):
    """The results of all `doctor` checks."""

    checks: list[Check]


class SalvagedRange(Struct, frozen=True):
    """The state of the events in a range of positions."""

    first: int
    last: int
    state: str


class SalvagedLog(Struct, frozen=True):
    """A new log with the events recovered from a damaged one."""

    folder: str
    whole: bool
    position: int
    head: str
    problem: str | None
    unread_pages: int
    ranges: list[SalvagedRange]
    lost: str | None
    """The file with events that could be read and are not in the new log."""
    lost_events: int
    edits_left: int


class LogCopied(Struct, frozen=True):
    """A log that was exported to a file, or imported in full."""

    file: str
    events: int
    sprints: int | UnsetType = UNSET
    position: int | UnsetType = UNSET
    head: str = ""
    risks: list[str] | UnsetType = UNSET
    """How what the log's server acknowledges can be lost."""


class Rebuilt(Struct, frozen=True, kw_only=True):
    """The result of rebuilding a state file of a sprint or of the journal."""

    sprint: str | UnsetType = UNSET
    stream: str | UnsetType = UNSET
    path: str | None
    state: str
    digest: str
    kept: str | None
    problem: str | None


class TakenIn(Struct, frozen=True, kw_only=True):
    """An imported document."""

    file: str
    stream: str
    version: int
    position: int
    unchanged: bool
    problems: list[str]
    recorded: int | UnsetType = UNSET
    """Of a journal: how many events."""
    at: str | UnsetType | None = UNSET
    committed_at: str | UnsetType = field(name="committed-at", default=UNSET)
    id: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    hash: str | UnsetType = UNSET


class LoopTaken(Struct, frozen=True, kw_only=True):
    """The facts imported from another loop's files."""

    file: str
    kind: str
    """Its detected kind: `prd`, `orchestrator`, `transcript` ..."""
    sprint: str
    found: dict[str, int]
    """What there is in it, counted."""
    recorded: int
    """How many events are new."""
    unread: int
    """How many lines were not understood."""
    kept: str | None = None
    """The file they are kept in."""


class NotTaken(Struct, frozen=True):
    """Another tool's record, found in a folder but not imported."""

    file: str
    kind: str
    """The import that knows it; empty if none does."""
    reason: str


class SourceFile(Struct, frozen=True):
    """A source file of a plan."""

    path: str
    sha256: str


class CompiledAnswer(Struct, frozen=True):
    """A valid definition with its plan."""

    sprint: str
    sources: list[SourceFile]
    warnings: list[dict[str, Any]]
    plan: dict[str, Any]
