"""Agents' learnings, which are added to the open journal and retrieved for prompts."""

from typing import TYPE_CHECKING, Unpack

from msgspec.structs import replace

from ..errors import SprintlogError
from ..journal.parts import Learning
from ..journal.rules import AddExtractedLearnings
from ..log.event import Event, made_from
from ..masking import mask_all
from ..sprint.answers.items import SaidItems
from .port import Envelope
from .workspace import JOURNAL, ServiceWorkspace

if TYPE_CHECKING:
    from ..journal.state import Journal


def keep_learnings(
    workspace: ServiceWorkspace,
    sprint_id: str,
    said: SaidItems | None,
    **envelope: Unpack[Envelope],
) -> SaidItems | None:
    """Add learnings to the journal if one is open; return the remaining items.

    This happens before the run is recorded. If the process is killed in between, the
    learnings are reported again; learnings that the journal already contains, retired or
    not, are skipped. An agent's answer never opens a journal. Rejected learnings remain in
    the result.
    """
    if said is None or not said.learnings or not journal_is_open(workspace):
        return said
    if envelope.get("masks", True):
        said = mask_all(said)
        assert said is not None
    learnings = said.learnings

    def decide(journal: "Journal", at: str) -> list[Event]:
        there = {known.content for known in workspace.documents.current(JOURNAL).learnings}
        new = {one.content: one for one in learnings if one.content not in there}
        proposals = [
            (0, made_from(Learning, one, source_prd_id=sprint_id, still_valid=True))
            for one in new.values()
        ]
        return AddExtractedLearnings(proposals).decide(journal, at)

    try:
        workspace.handle_on_journal(decide, **envelope)
    except SprintlogError as error:
        problem = f"learnings: the journal refuses them: {error.message}"
        return replace(said, problems=(*said.problems, problem))
    return replace(said, learnings=())


def journal_is_open(workspace: ServiceWorkspace) -> bool:
    """Return whether the log has a journal."""
    return workspace.log.version(JOURNAL) > 0
