"""The `sprintlog journal entry` commands: outcomes and observations of PRD iterations."""

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.journal import parts, queries
from sprintlog.engine.journal.document import JournalDocument
from sprintlog.engine.journal.parts import ClosedObject, Context, Entry, Observation
from sprintlog.engine.journal.rules import RecordEntry, part_of
from sprintlog.projections.state_files.progress_json import written

from .. import typed
from ..context import open_workspace, packed, with_envelope, with_point
from ..intake.files import load
from ..output import print_answer, print_json, print_text, table
from ..record import record_in_journal


def document_at(at: str | None) -> JournalDocument:
    """Return the journal at a point, by default now."""
    with open_workspace() as workspace:
        return workspace.document(at=at)


def entry_of(document: JournalDocument, entry_id: str) -> Entry:
    """Return an entry; raise `NotFoundError` for an unknown id."""
    if (entry := document.entry(entry_id)) is None:
        raise NotFoundError(
            f"there is no entry {entry_id}",
            hint="use `sprintlog journal entry list` to list entries",
            entry=entry_id,
        )
    return entry


def shown(part: ClosedObject) -> dict[str, Any]:
    """Return the non-empty fields of a part, as in JSON."""
    data: dict[str, Any] = msgspec.to_builtins(written(part))
    return data


def print_parts(
    parts: Sequence[ClosedObject],
    rows: Sequence[Sequence[str]],
    *,
    nothing: str,
    as_json: bool,
) -> None:
    """Print parts as a JSON list or, for people, as one line each."""
    lines = table(rows) if rows else [nothing]
    print_answer([written(part) for part in parts], lines, as_json=as_json)


def _context(**given: Any) -> Context | None:
    """Return the context that the options specify, or None."""
    said = {name: value for name, value in given.items() if value not in (None, ())}
    return Context(**said) if said else None


OBSERVATION = "TYPE: TITLE | JSON"


@typed.group("entry")
def command() -> None:
    """Record and show the outcomes of PRD iterations."""


@command.command()
@typed.argument("prd_id", metavar="PRD")
@typed.choice_option("--status", of=parts.STATUSES, required=True, help="The outcome.")
@typed.option(
    "--summary", may_be_empty=True, default="", help="What happened, in one line."
)
@typed.option(
    "--iteration", type=int, metavar="N", help="Iteration number in the PRD, from 1. [next]"
)
@typed.option("--duration", type=float, default=0, metavar="SECONDS", help="Its duration.")
@typed.list_option(
    "--observation",
    "observations",
    metavar=OBSERVATION,
    help="An observation: `blocker: …`, `finding: …`, `completion: …`, or an object with "
    "type, title, description, file, category, severity, action_taken and "
    "related_learning_id.",
)
@typed.list_option("--file", "files_modified", metavar="PATH", help="A file it changed.")
@typed.list_option("--commit", "git_commits", metavar="SHA", help="A commit it made.")
@typed.option("--retry-count", type=int, metavar="N", help="Number of retries.")
@typed.option(
    "--previous-failure", "previous_failure_reason", help="Why the last iteration failed."
)
@typed.choice_option(
    "--recovery-action", of=parts.RECOVERY_ACTIONS, help="An action taken."
)
@typed.option("--guidance", "recovery_guidance", help="Advice for this iteration.")
@typed.list_option(
    "--dependency", "dependencies_completed", metavar="PRD", help="A completed PRD."
)
@typed.option(
    "--blocker-verified/--blocker-unverified", default=None, help="Whether it was verified."
)
@typed.option(
    "--blocker-valid/--blocker-invalid", default=None, help="Whether the blocker is real."
)
@with_envelope
@packed(dict, ("prd_id", "status", "summary", "files_modified", "git_commits"), "said")
@packed(_context, Context.__struct_fields__, "context")
def record(
    said: dict[str, Any],
    iteration: int | None,
    duration: float,
    observations: tuple[str, ...],
    context: Context | None,
    **given: Any,
) -> None:
    """Record the outcome of a PRD iteration.

    The entry belongs to the PRD's next iteration; its id is derived from the PRD and the
    iteration number. An entry is never replaced.

    Example: sprintlog journal entry record auth-login --status completed --summary 'login
    works' --observation 'finding: tokens last an hour'
    """
    entry = Entry(
        **said,
        # An entry uses 0 to request the next number, so a given 0 becomes -1, which is
        # refused.
        iteration=0 if iteration is None else iteration or -1,
        duration_seconds=_seconds(duration),
        observations=tuple(
            _observation(text, number) for number, text in enumerate(observations, 1)
        ),
        context=context,
    )
    record_in_journal("entry record", given, RecordEntry(entry))


@command.command("list")
@typed.option("--prd", metavar="PRD", help="Only entries of this PRD.")
@typed.choice_option("--status", of=parts.STATUSES, help="Only entries with this outcome.")
@typed.number_option("--last", least=1, help="Only the last N entries.")
@with_point
def list_(
    prd: str | None, status: str | None, last: int | None, at: str | None, as_json: bool
) -> None:
    """List entries in the order in which they were recorded.

    Example: sprintlog journal entry list --prd auth --last 5
    """
    document = document_at(at)
    found = document.entries if prd is None else queries.entries_of(document, prd)
    if status is not None:
        found = [entry for entry in found if entry.status == status]
    found = found[-last:] if last else found
    rows = [(x.id, x.timestamp, x.status, x.summary) for x in found]
    print_parts(found, rows, nothing="no entries", as_json=as_json)


@command.command()
@typed.argument("entry_id", metavar="ENTRY")
@with_point
def show(entry_id: str, at: str | None, as_json: bool) -> None:
    """Show an entry with its numbered observations.

    Example: sprintlog journal entry show auth-login-2
    """
    entry = entry_of(document_at(at), entry_id)
    if as_json:
        print_json(shown(entry))
        return
    for name, value in shown(entry).items():
        if name != "observations":
            print_text(f"{name}: {value}")
    for number, observation in enumerate(entry.observations, 1):
        print_text(f"{number}. {observation.type}: {observation.title}")
        for name, value in shown(observation).items():
            if name not in ("type", "title"):
                print_text(f"   {name}: {value}")


@command.command()
@typed.option("--last", type=int, metavar="N", help="Only those in the last N entries.")
@typed.option("--prd", metavar="PRD", help="Only those of this PRD's iterations.")
@typed.choice_option(
    "--type", "type_", of=parts.OBSERVATION_TYPES, help="Only observations of this type."
)
@with_point
def observations(
    last: int | None, prd: str | None, type_: str | None, at: str | None, as_json: bool
) -> None:
    """List observations in the order of their entries.

    Example: sprintlog journal entry observations --type blocker
    """
    if last is not None and prd is not None:
        raise click.UsageError("--last and --prd cannot be combined")
    document = document_at(at)
    if prd is not None:
        found = queries.observations_of(document, prd)
    else:
        count = len(document.entries) if last is None else last
        found = queries.recent_observations(document, count)
    if type_ is not None:
        found = [observation for observation in found if observation.type == type_]
    rows = [(x.type, x.category or "-", x.severity or "-", x.title) for x in found]
    print_parts(found, rows, nothing="no observations", as_json=as_json)


def _seconds(duration: float) -> int:
    """Return the duration in whole seconds, rounded down."""
    if not 0 <= duration < 2**53:
        raise RefusedError(
            "entry.duration_seconds: must be 0 or more", field="entry.duration_seconds"
        )
    return int(duration)


def _observation(text: str, number: int) -> Observation:
    field = f"--observation {number}"
    if text.lstrip().startswith("{"):
        given = load(text.encode(errors="surrogateescape"), field=field)
        return part_of(Observation, given, field=field)
    type_, colon, title = text.partition(":")
    if not colon or type_ not in parts.OBSERVATION_TYPES:
        raise RefusedError(
            f"{field}: must begin with one of {', '.join(parts.OBSERVATION_TYPES)} and a "
            "colon, or be a JSON object",
            field=field,
        )
    return Observation(type=type_, title=title.strip())
