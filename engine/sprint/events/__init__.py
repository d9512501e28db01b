"""Every event of a sprint: what happened, in the past participle, with its wire tag.

The tag and the field names are the contract; a class may be renamed freely. A new
field needs a default; anything else needs a step in `engine/log/upcast.py`.

A new event is a class in the module of its topic; in the rules of its topic a line says
how it changes a sprint (`EVOLVE`) and which command records it (`CAUSED`); and a stream
in `fixtures/streams` has one. `tests/spec/log/test_events.py` reports a missing part, and
what the class must declare.
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
