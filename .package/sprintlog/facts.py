"""A sprint at a point in the log: the figures, sentences and lines of its page."""

from .engine.sessions.events import ToolCalled as ToolCalled
from .engine.sprint.state.node import Node as Node
from .projections.facts.course import (
    Delay as Delay,
    Instant as Instant,
    Return as Return,
    Work as Work,
)
from .projections.facts.iteration_facts import (
    IterationDetails as IterationDetails,
    IterationFacts as IterationFacts,
    PatchedFile as PatchedFile,
    SessionStep as SessionStep,
    TestChange as TestChange,
)
from .projections.facts.past import SprintPast as SprintPast
from .projections.facts.sprint_facts import (
    SprintFacts as SprintFacts,
    sprint_facts as sprint_facts,
)
from .projections.history.authors import AuthoredFile as AuthoredFile
from .projections.history.decisions import Decision as Decision
from .projections.views.iterations import JudgedIteration as JudgedIteration
from .projections.views.runs import BudgetStanding as BudgetStanding
