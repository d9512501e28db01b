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
    """The length of the event's payload."""


class PlaceOfText(Struct, frozen=True):
    """A place, other than an event, that contains or once contained a given string."""

    kind: str
    where: str


class UnreachedPlace(Struct, frozen=True):
    """A place from which the text cannot be removed."""

    where: str
    why: str
    command: str | None
    """A command that may remove the text."""


class Redaction(Struct, frozen=True, kw_only=True):
    """The preview of a redaction."""

    events: list[ErasedEvent]
    places: list[PlaceOfText]
    unreached: list[UnreachedPlace]


class RedactionDone(Struct, frozen=True, kw_only=True):
    """The erased events and text."""

    erased: int
    """The number of erased events."""
    places: list[PlaceOfText]
    snapshots: dict[str, str]
    """The replacements of removed snapshots, by the id of the removed snapshot."""
    unreached: list[UnreachedPlace]
    events: list[EventReference]
    """The events that record the redaction."""


class LeakFound(Struct, frozen=True):
    """A secret that was found."""

    where: str
    position: int | None
    """The position of the event; null outside the events."""
    rule: str
    """The kind of secret that was detected."""
    excerpt: str
    """The masked context of the secret."""
    command: str
    """The command that erases the secret."""


class WrittenHead(Struct, frozen=True):
    """A log head that was written to a file."""

    log: str
    """The id of the log's first event."""
    position: int
    hash: str
    root: str
    """The root of the Merkle tree of all events."""
    time: str


class HeadAnswer(WrittenHead, frozen=True, kw_only=True):
    """The head of a log, as written to a file."""

    file: str | None
    """The file to which the head was written."""
    signature: str | None
    """The location of the signature."""


class ProofAnswer(Struct, frozen=True, kw_only=True):
    """The result of checking a proof."""

    position: int
    file: str
    is_proof: bool
    """Whether it proves that the log contained the event."""
    signed_by: str | None
    problems: list[str]


class Offer(Struct, frozen=True):
    """An item found near a new log, and the command that uses the item."""

    kind: str
    """`state`, `plan`, `loop`, `agent`, `tests` or `ci`."""
    found: str
    """A path relative to the root, or a program."""
    says: str
    command: str | None = None
    safe: bool = False
    """Whether `--yes` accepts it, because its command only records and runs nothing."""
    taken: bool = False
    """Whether it is accepted now; its answer is on a separate line."""


class LogPlace(Struct, frozen=True):
    """A log that has been created."""

    folder: str
    root: str
    offers: list[Offer]


class LogSent(Struct, frozen=True):
    """The result of sending a log to an address."""

    to: str
    """The destination, without parts of the address that may be secret."""
    messages: int
    """The number of messages accepted now."""
    position: int
    """The position up to which all messages were accepted, now or earlier."""
    spans_left_out: int
    """The number of sent spans that the endpoint rejected."""


class LogServed(Struct, frozen=True):
    """The address at which a log can be viewed in a browser."""

    url: str
    """The URL, including the token that grants access."""
    host: str
    port: int
    writes: bool


class Uninstalled(Struct, frozen=True):
    """The installed files and the log, and which of these were removed."""

    installed: list[str]
    log: str | None
    is_removed: bool = False
    is_log_removed: bool = False
    left: list[str] = []
    """Files in the log's folder that do not belong to sprintlog."""


class Finding(Struct, frozen=True):
    """A problem or remark found during verification."""

    severity: str
    """`damage` if the log is not as recorded; `drift` if a state file differs from the log;
    `remark` if an imported document violates the rules or a comparison was impossible."""
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
    """A remedy; null if none is necessary."""


class Checks(Struct, frozen=True):
    """The results of all `doctor` checks."""

    checks: list[Check]


class SalvagedRange(Struct, frozen=True):
    """The state of all events in a range of positions."""

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
    """The file with readable events that are not in the new log."""
    lost_events: int
    edits_left: int


class LogCopied(Struct, frozen=True):
    """A log that was exported to a file or imported in full."""

    file: str
    events: int
    sprints: int | UnsetType = UNSET
    position: int | UnsetType = UNSET
    head: str = ""
    risks: list[str] | UnsetType = UNSET
    """The ways in which acknowledged events can be lost on the log's server."""


class Rebuilt(Struct, frozen=True, kw_only=True):
    """The result of rebuilding a state file, for a sprint or the journal."""

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
    """For a journal: the number of events."""
    at: str | UnsetType | None = UNSET
    committed_at: str | UnsetType = field(name="committed-at", default=UNSET)
    id: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    hash: str | UnsetType = UNSET


class LoopTaken(Struct, frozen=True, kw_only=True):
    """The data imported from another loop's files."""

    file: str
    kind: str
    """The detected kind: `prd`, `orchestrator`, `transcript` ..."""
    sprint: str
    found: dict[str, int]
    """The number of items of each type that were found."""
    recorded: int
    """The number of new events."""
    unread: int
    """The number of lines that were not understood."""
    kept: str | None = None
    """The file that contains these lines."""


class NotTaken(Struct, frozen=True):
    """Another tool's record, found in a folder but not imported."""

    file: str
    kind: str
    """The import that supports it; empty if none does."""
    reason: str


class SourceFile(Struct, frozen=True):
    """A source file of a plan."""

    path: str
    sha256: str


class CompiledAnswer(Struct, frozen=True):
    """A valid definition and its plan."""

    sprint: str
    sources: list[SourceFile]
    warnings: list[dict[str, Any]]
    plan: dict[str, Any]
