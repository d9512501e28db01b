"""What was decided on measurements: advice given, a result selected, rules set."""

from collections.abc import Sequence

from ...errors import RefusedError
from ...iterations.events import (
    ArtifactsApplied,
    BestSelected,
    RecommendationGiven,
    RulesSet,
)
from ...log.fact import Fact
from ..state.sprint import Sprint
from ..state.transitions import check_exists


def give_recommendation(sprint: Sprint, *, given: RecommendationGiven) -> list[Fact]:
    """Keep what was answered; the same answer again is nothing new."""
    return [] if sprint.record.tracker.recommended == given else [given]


def select_best(sprint: Sprint, *, selected: BestSelected) -> list[Fact]:
    """Keep which iteration's output is the loop's result."""
    return [] if sprint.record.tracker.selected == selected else [selected]


def set_rules(sprint: Sprint, *, rules: RulesSet) -> list[Fact]:
    """Put other weights, limits and policies in force, for what is measured from here on.

    They are facts, so that the same log says the same whatever is configured (P46).
    """
    # Imported here: exact numbers would cost every recording command their import.
    from ...iterations.rules import check_rules

    check_exists(sprint)
    check_rules(rules)
    if rules == sprint.record.tracker.rules_at(sprint.version):
        return []
    return [rules]


def apply_artifacts(
    sprint: Sprint, *, source: str, destination: str, files_copied: Sequence[str] = ()
) -> list[Fact]:
    """Keep which files of the selected iteration were put in place, and where."""
    check_exists(sprint)
    tracker = sprint.record.tracker
    if tracker.selected is None:
        raise RefusedError(
            f"nothing can be applied: no iteration of sprint {sprint.id} was selected",
            hint="`sprintlog iteration select` selects one",
            wish="apply",
        )
    fact = ArtifactsApplied(source, destination, tuple(files_copied))
    return [] if tracker.applied[-1:] == [fact] else [fact]
