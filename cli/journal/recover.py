"""The `sprintlog recover` command, which gives advice on a PRD's failure."""

from sprintlog.engine.journal.queries import failure_of, recover
from sprintlog.projections.views.journal import RecoveryAnswer

from .. import typed
from ..context import with_point
from ..output import print_answer
from .entry import document_at


@typed.command("recover")
@typed.argument("prd_id", metavar="PRD")
@typed.option("--failure", help="The failure. [from its entry]")
@with_point
def command(prd_id: str, failure: str | None, at: str | None, as_json: bool) -> None:
    """Suggest how to handle a failure: retry with a known remedy, or ask a person.

    After three unsuccessful entries since the last success, the advice is to ask a person.
    Otherwise, the advice is derived from a blocker that shares at least half of its words
    with the failure and whose PRD was completed later, or from a similar error-workaround.

    Example: sprintlog recover auth-oauth --failure 'no credentials'
    """
    document = document_at(at)
    text = failure_of(document, prd_id) if failure is None else failure
    found = recover(document, prd_id, failure=text)
    lines = [f"{found.action}: {found.guidance}"]
    if by := found.entry or found.learning:
        lines.append(f"  by {by}, {float(found.similarity):.0%} of the words")
    known = found._asdict() | {"similarity": float(found.similarity)}
    print_answer(RecoveryAnswer(**known), lines, as_json=as_json)
