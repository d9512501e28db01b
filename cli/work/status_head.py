"""The head of `status`: what a sprint is doing, or why it stopped, and what leads on."""

from collections.abc import Iterator

from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.views.work import Status
from sprintlog.projections.words.stops import standing

from ..named_sprint import with_it
from ..screen import phrases


def standing_lines(sprint: Sprint, found: Status, action: Action) -> Iterator[str]:
    """Yield what it is doing; or why it stopped, since when, and what leads on."""
    for word, text in standing(sprint, found, action, phrases.when):
        yield f"{word}: {with_it(text) if word == 'hint' else text}"
