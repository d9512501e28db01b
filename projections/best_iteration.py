"""The best iteration of a sprint, for who asks from Python: `sprintlog best` as data."""

from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.state.transitions import check_exists

from .views.iterations import JudgedIteration, best


def best_iteration(
    workspace: ServiceWorkspace, sprint_id: str, *, at: str | None = None
) -> JudgedIteration | None:
    """Return a sprint's best iteration as of a point; None while none was measured.

    Raise `NotFoundError` where there is no such sprint.
    """
    sprint = workspace.sprint(sprint_id, at=at)
    check_exists(sprint)
    return best(evaluate(workspace.log, sprint)).best
