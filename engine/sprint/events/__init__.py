"""All events of a sprint, named in the past tense.

The names of a class and its fields are a contract, because logs store them. A new field
needs a default; any other change needs a step in `engine/log/upcast.py`.

To add an event, add a class to the module of its topic, an entry in the topic's `EVOLVE`
for its effect on a sprint, an entry in `CAUSED` for the command that records it, and an
example in `fixtures/streams`. `tests/spec/log/test_events.py` reports missing parts and
missing class declarations. Events import only judging and the log.
"""

from ...judging.events import ITERATION_EVENTS, Usage
from ...log.event import Event
from . import gates, goal, history, loop, phases, queue, snapshots, sprint
from .gates import *
from .goal import *
from .history import *
from .loop import *
from .phases import *
from .queue import *
from .snapshots import *
from .sprint import *

EVENTS: tuple[type[Event], ...] = (
    *(*sprint.SPRINT_EVENTS, *phases.PHASE_EVENTS, *gates.GATE_EVENTS, *loop.LOOP_EVENTS),
    *(*goal.GOAL_EVENTS, *snapshots.SNAPSHOT_EVENTS, *queue.QUEUE_EVENTS),
    *(*history.HISTORY_EVENTS, *ITERATION_EVENTS),
)
