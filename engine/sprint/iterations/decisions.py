"""What was decided on measurements: advice given, a result selected, rules set."""

from collections.abc import Sequence

from ...errors import RefusedError
from ...iterations.events import (
    ArtifactsApplied,
    BestSelected,
    RecommendationGiven,
    RulesSet,
)
from ...log.event import Event
from ..state.sprint import Sprint
from ..state.transitions import check_exists


def give_recommendation(sprint: Sprint, *, given: RecommendationGiven) -> list[Event]:
    """Keep what was answered; the same answer again is nothing new."""
    return [] if sprint.knowledge.tracker.recommended == given else [given]


def select_best(sprint: Sprint, *, selected: BestSelected) -> list[Event]:
    """Keep which iteration's output is the loop's result."""
    return [] if sprint.knowledge.tracker.selected == selected else [selected]


def set_rules(sprint: Sprint, *, rules: RulesSet) -> list[Event]:
    """Put other weights, limits and policies in force, for what is measured from here on.

    They are events, so that the same log says the same whatever is configured (P46).
    """
    # Imported here: exact numbers would cost every recording command their import.
    from ...iterations.rules import check_rules

    check_exists(sprint)
    check_rules(rules)
    if rules == sprint.knowledge.tracker.rules_at(sprint.version):
        return []
    return [rules]


def apply_artifacts(
    sprint: Sprint, *, source: str, destination: str, files_copied: Sequence[str] = ()
) -> list[Event]:
    """Keep which files of the selected iteration were put in place, and where."""
    check_exists(sprint)
    tracker = sprint.knowledge.tracker
    if tracker.selected is None:
        raise RefusedError(
            f"nothing can be applied: no iteration of sprint {sprint.id} was selected",
            hint="`sprintlog iteration select` selects one",
            wish="apply",
        )
    event = ArtifactsApplied(source, destination, tuple(files_copied))
    return [] if tracker.applied[-1:] == [event] else [event]
