"""The `sprintlog journal learning` commands: learnings that outlast their iteration."""

from functools import partial
from typing import Any

import click
from msgspec.structs import replace

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.journal import parts, rules
from sprintlog.engine.journal.parts import Learning
from sprintlog.projections.views.journal import Proposal

from .. import typed
from ..context import open_workspace, packed, with_envelope, with_point
from ..output import print_answer, table
from ..record import record_in_journal
from .entry import document_at, entry_of, print_parts, shown

_GIVEN = ("content", "type", "context", "source_prd_id", "source_entry_id")


@typed.group("learning")
def command() -> None:
    """Add, use, list or retire learnings."""


@command.command()
@typed.argument("content")
@typed.choice_option("--type", of=parts.LEARNING_TYPES, required=True, help="The type.")
@typed.option("--context", default="", help="Where it applies.")
@typed.option(
    "--prd",
    "source_prd_id",
    default="",
    metavar="PRD",
    help="The source PRD. [the PRD of --from]",
)
@typed.option(
    "--from", "source_entry_id", default="", metavar="ENTRY", help="The source entry."
)
@typed.number_option(
    "--observation",
    least=1,
    help="The number of the related observation in the entry, from 1.",
)
@with_envelope
@packed(partial(Learning, still_valid=True), _GIVEN, "learning")
def add(learning: Learning, observation: int | None, **given: Any) -> None:
    """Add a learning, which is assigned the next id.

    Example: sprintlog journal learning add 'callback URLs need a slash' --type
    api-convention --from auth-oauth-2 --observation 1
    """
    entry_id = learning.source_entry_id
    if observation is not None and not entry_id:
        raise click.UsageError("--observation requires --from")
    if entry_id and not learning.source_prd_id:
        with open_workspace() as workspace:
            entry = workspace.document().entry(entry_id)
        prd = entry.prd_id if entry is not None else entry_id
        learning = replace(learning, source_prd_id=prd)
    if not learning.source_prd_id:
        raise click.UsageError("missing origin: specify --from ENTRY or --prd PRD")
    record_in_journal("learning add", given, rules.AddLearning(learning, observation or 0))


@command.command("list")
@typed.choice_option("--type", "type_", of=parts.LEARNING_TYPES, help="Only this type.")
@typed.flag("--all", "with_retired", help="Include retired learnings.")
@with_point
def list_(type_: str | None, with_retired: bool, at: str | None, as_json: bool) -> None:
    """List the current learnings.

    Example: sprintlog journal learning list --type error-workaround
    """
    found = [
        learning
        for learning in document_at(at).learnings
        if (with_retired or learning.still_valid) and type_ in (None, learning.type)
    ]
    rows = [(x.id, x.type, f"used {x.times_referenced}", _content(x)) for x in found]
    print_parts(found, rows, nothing="no learnings", as_json=as_json)


@command.command()
@typed.argument("learning_id", metavar="LEARNING")
@with_point
def show(learning_id: str, at: str | None, as_json: bool) -> None:
    """Show a learning, even if it is retired.

    Example: sprintlog journal learning show learning-0003
    """
    learning = document_at(at).learning(learning_id)
    if learning is None:
        raise NotFoundError(
            f"there is no learning {learning_id}",
            hint="use `sprintlog journal learning list --all` to list learnings",
            learning=learning_id,
        )
    lines: list[str] = []
    for name, value in shown(learning).items():
        first, *rest = str(value).split("\n")
        lines += [f"{name}: {first}", *(f"  {line}" for line in rest)]
    print_answer(shown(learning), lines, as_json=as_json)


@command.command()
@typed.argument("learning_id", metavar="LEARNING")
@typed.option("--prd", "prd_id", default="", metavar="PRD", help="The PRD that used it.")
@with_envelope
def use(learning_id: str, prd_id: str, **given: Any) -> None:
    """Increase a learning's use count by one.

    Example: sprintlog journal learning use learning-0003 --prd profile
    """
    record_in_journal("learning use", given, rules.ReferenceLearning(learning_id, prd_id))


@command.command()
@typed.argument("learning_id", metavar="LEARNING")
@typed.option("--reason", help="Why the learning is no longer valid.")
@with_envelope
def retire(learning_id: str, reason: str | None, **given: Any) -> None:
    """Retire a learning; it remains readable.

    Example: sprintlog journal learning retire learning-0003 --reason 'new API'
    """
    record_in_journal("learning retire", given, rules.RetireLearning(learning_id, reason))


@command.command()
@typed.argument("entry_id", metavar="ENTRY")
@typed.flag("--add", "adds", help="Add the learnings instead of only showing them.")
@with_envelope
def extract(entry_id: str, adds: bool, **given: Any) -> None:
    """Suggest learnings from observations about documentation or architecture.

    An observation that already has a learning is skipped. The category determines the
    learning's type, and the description is its text.

    Example: sprintlog journal learning extract auth-oauth-2 --add
    """
    with open_workspace() as workspace:
        entry = entry_of(workspace.document(), entry_id)
    proposals = rules.extract(entry)
    if adds:
        record_in_journal("learning extract", given, rules.AddExtractedLearnings(proposals))
        return
    rows = [(f"{n}.", found.type, found.content) for n, found in proposals]
    answer = [Proposal(*proposal) for proposal in proposals]
    lines = table(rows) or ["nothing to learn from it"]
    print_answer(answer, lines, as_json=given["as_json"])


def _content(learning: Learning) -> str:
    """Return a learning's first line, with a mark if the learning is no longer valid."""
    first, _, more = learning.content.partition("\n")
    return f"{'' if learning.still_valid else '(retired) '}{first}{' …' if more else ''}"
