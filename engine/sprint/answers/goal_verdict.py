"""What an agent's answer means for a goal: steps done, steps to do, the goal reached.

Understood are a JSON object with a `status` of `continue` or `goal-complete` and what
`answers` understands of runs that are no success; any other word is a failure. Words
without such an object are an iteration in which no step changed.
"""

import re

from ..state.words import COMPLETED
from .items import WantedStep, read_said
from .verdict import Verdict, invalid, last_object, no_success, repeats, short

CONTINUE, GOAL_COMPLETE = "continue", "goal-complete"
MARKER = re.compile(r"(?:(.*[.!?])[ \t]+)?(RALPH_COMPLETE(?::[ \t]*(.*))?)")
"""The last line of a plain answer that states that the goal is reached (LOOP-012).

It stands at its beginning or after a sentence that ended: what is only told of it, or
denied, is none.
"""
_GOAL_SUMMARY = "goalCompleteSummary"
"""What comes before `summary` where the goal is reached."""


class Turn(Verdict, frozen=True, omit_defaults=True):
    """How an iteration for a goal ended."""

    completed: tuple[str, ...] = ()
    pending: tuple[WantedStep, ...] = ()
    is_goal: bool = False
    """The agent says that the goal is reached."""


def read_turn(text: str, *, told: str) -> Verdict:
    """Return the verdict on a successful run's final text.

    What only repeats a line of `told` (the prompt, the goal, the steps) says nothing.
    """
    own = last_object(text, lambda found: "status" in found, told=told)
    if own is None:
        return _plain(text, told)
    if own["status"] not in (CONTINUE, GOAL_COMPLETE):
        return no_success(own)
    said = read_said(own)
    is_goal = own["status"] == GOAL_COMPLETE
    summaries = (own.get(name) for name in (*((_GOAL_SUMMARY,) * is_goal), "summary"))
    summary = next((s for s in summaries if isinstance(s, str) and s.strip()), None)
    return Turn(
        COMPLETED,
        summary=summary and short(summary),
        completed=said.completed,
        pending=said.pending,
        is_goal=is_goal,
    )


def _plain(text: str, told: str) -> Verdict:
    if not text.strip():
        return invalid("the agent ended without saying anything")
    before, _, last = text.rstrip().rpartition("\n")
    found = MARKER.fullmatch(last)
    if found is None or repeats(last, told) or repeats(found[2], told):
        return Turn(COMPLETED, summary=short(text))
    words = found[3] or f"{before}\n{found[1] or ''}"
    return Turn(COMPLETED, summary=short(words) or None, is_goal=True)
