"""Questions about the past: what happened, who set a field, which iteration is best."""

from .engine.service.streams.subscription import follow as follow
from .engine.sprint.document.patch import MISSING as MISSING
from .projections.best_iteration import best_iteration as best_iteration
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
from .projections.history.timeline import ReplayStep as ReplayStep, replay as replay
from .projections.runner import (
    Happened as Happened,
    Mark as Mark,
    Projection as Projection,
    SprintProjection as SprintProjection,
    catch_up as catch_up,
    catch_up_sprint as catch_up_sprint,
    happened as happened,
)
