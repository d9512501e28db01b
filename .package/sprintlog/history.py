"""Queries about the past: what happened, who set a field, which iteration is best."""

from .engine.service.streams.evaluation import evaluate
from .engine.service.streams.history import follow as follow
from .engine.sprint.state.patch import MISSING as MISSING
from .engine.sprint.state.transitions import check_exists
from .projections.history.blame import Blame as Blame, blame as blame
from .projections.history.blame_files import (
    blame_best as blame_best,
    blame_journal as blame_journal,
)
from .projections.history.blame_lines import blame_lines as blame_lines
from .projections.history.differences import (
    Difference as Difference,
    difference as difference,
)
from .projections.history.replay import ReplayStep as ReplayStep, replay as replay
from .projections.runner import (
    Happened as Happened,
    Mark as Mark,
    Projection as Projection,
    SprintProjection as SprintProjection,
    catch_up as catch_up,
    catch_up_sprint as catch_up_sprint,
    happened as happened,
)
from .engine.service.workspace import ServiceWorkspace
from .projections.views.iterations import JudgedIteration, best


def best_iteration(
    workspace: ServiceWorkspace, sprint_id: str, *, at: str | None = None
) -> JudgedIteration | None:
    """Return a sprint's best iteration at a point, or None if nothing was measured.

    Raise `NotFoundError` if the sprint does not exist.
    """
    sprint = workspace.sprint(sprint_id, at=at)
    check_exists(sprint)
    return best(evaluate(workspace.log, sprint)).best
