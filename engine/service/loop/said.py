"""What an agent that `run` asked says beside how its run ended."""

from typing import Unpack

from ...sprint.agent.answers import said_beside
from ...sprint.agent.said import SaidItems
from ..port import Envelope
from ..workspace import ServiceWorkspace


def items_in(
    workspace: ServiceWorkspace,
    sprint_id: str,
    text: str,
    *,
    told: str,
    **envelope: Unpack[Envelope],
) -> SaidItems | None:
    """Return what final words say, once the journal that is open has the learnings.

    What only repeats lines of `told` says nothing.
    """
    said = said_beside(text, told=told)
    if said is None or not said.learnings:
        return said
    # Imported here: few agents say what they learned.
    from ..learnings import keep_learnings

    return keep_learnings(workspace, sprint_id, said, **envelope)
