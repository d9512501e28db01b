"""What was decided on measurements: advice given, a result selected, rules set."""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from ...command import Command, Events, commands_in
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


class GiveRecommendation(Command, frozen=True):
    """Keep what was answered; the same answer again is nothing new."""

    given: RecommendationGiven | None = None
    """What to do now; whoever handles a command fills it in."""


def give_recommendation(
    sprint: Sprint, command: GiveRecommendation, at: str
) -> list[Event]:
    """Decide on `GiveRecommendation`."""
    given = command.given
    return [] if given in (None, sprint.knowledge.tracker.recommended) else [given]


class SelectBest(Command, frozen=True):
    """Keep which iteration's output is the loop's result."""

    selected: BestSelected | None = None
    """The selection as it is judged; whoever handles a command fills it in."""


def select_best(sprint: Sprint, command: SelectBest, at: str) -> list[Event]:
    """Decide on `SelectBest`."""
    chosen = command.selected
    return [] if chosen in (None, sprint.knowledge.tracker.selected) else [chosen]


class SetRules(Command, frozen=True):
    """Put other weights, limits and policies in force, for what is measured from here on.

    They are events, so that the same log says the same whatever is configured (P46).
    """

    rules: RulesSet


def set_rules(sprint: Sprint, command: SetRules, at: str) -> list[Event]:
    """Decide on `SetRules`."""
    # Imported here: exact numbers would cost every recording command their import.
    from ...iterations.rules import check_rules

    check_exists(sprint)
    check_rules(command.rules)
    if command.rules == sprint.knowledge.tracker.rules_at(sprint.version):
        return []
    return [command.rules]


class ChangeRules(Command, frozen=True):
    """Put some weights, limits and policies in force; what is not named stays."""

    weights: dict[str, float] = msgspec.field(default_factory=dict)
    thresholds: dict[str, float | None] = msgspec.field(default_factory=dict)
    verification_required: bool | None = None
    progress_edits: str | None = None


def change_rules(sprint: Sprint, command: ChangeRules, at: str) -> list[Event]:
    """Decide on `ChangeRules`."""
    # Imported here: exact numbers would cost every recording command their import.
    from ...iterations import rules

    now = sprint.knowledge.tracker.rules_at(sprint.version)
    changed = rules.change_rules(now, **structs.asdict(command))
    return set_rules(sprint, SetRules(changed), at)


def _sets(event: RulesSet) -> SetRules:
    return SetRules(event)


class ApplyArtifacts(Command, frozen=True):
    """Keep which files of the selected iteration were put in place, and where."""

    source: str
    destination: str
    files_copied: Sequence[str] = ()


def apply_artifacts(sprint: Sprint, command: ApplyArtifacts, at: str) -> list[Event]:
    """Decide on `ApplyArtifacts`."""
    check_exists(sprint)
    tracker = sprint.knowledge.tracker
    if tracker.selected is None:
        raise RefusedError(
            f"nothing can be applied: no iteration of sprint {sprint.id} was selected",
            hint="`sprintlog iteration select` selects one",
            command="apply",
        )
    event = ArtifactsApplied(
        command.source, command.destination, tuple(command.files_copied)
    )
    return [] if tracker.applied[-1:] == [event] else [event]


COMMANDS = commands_in(globals())

CAUSED: Events = {RulesSet: _sets, ArtifactsApplied: ApplyArtifacts}
