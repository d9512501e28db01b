"""What an agent's answer means for a goal: steps done, steps to do, the goal reached.

Understood are a JSON object with a `status` of `continue` or `goal-complete` and what
`answers` understands of runs that are no success; any other word is a failure. Words
without such an object are an iteration in which no step changed.
"""

import re
from typing import Any

from ...errors import RefusedError
from ..agent.answers import Verdict, invalid, last_object, no_success, repeats, short
from ..plan.create import check_id
from ..state.tree import Data
from ..state.words import COMPLETED
from .dynamic_steps import WantedStep

CONTINUE, GOAL_COMPLETE = "continue", "goal-complete"
MARKER = re.compile(r"(?:(.*[.!?])[ \t]+)?(RALPH_COMPLETE(?::[ \t]*(.*))?)")
"""The last line of a plain answer, when it says that the goal is reached (R69).

It stands at its beginning or after a sentence that ended: what is only told of it, or
denied, is none.
"""
STEPS_MAX = 1_000
"""An answer may name so many steps of each kind."""
PROMPT_CHARS_MAX = 100_000


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
    summary = own.get("summary")
    try:
        return Turn(
            COMPLETED,
            summary=short(summary)
            if isinstance(summary, str) and summary.strip()
            else None,
            completed=tuple(_id(i, "completed") for i in _list(own, "completed")),
            pending=tuple(_wanted(found) for found in _list(own, "pending")),
            is_goal=own["status"] == GOAL_COMPLETE,
        )
    except RefusedError as error:
        return invalid(f"the agent's answer: {error.message}")


def _plain(text: str, told: str) -> Verdict:
    if not text.strip():
        return invalid("the agent ended without saying anything")
    before, _, last = text.rstrip().rpartition("\n")
    found = MARKER.fullmatch(last)
    if found is None or repeats(last, told) or repeats(found[2], told):
        return Turn(COMPLETED, summary=short(text))
    words = found[3] or f"{before}\n{found[1] or ''}"
    return Turn(COMPLETED, summary=short(words) or None, is_goal=True)


def _list(own: Data, key: str) -> list[Any]:
    given = own.get(key)
    if given is None:
        return []
    if not isinstance(given, list) or len(given) > STEPS_MAX:
        raise RefusedError(f"{key}: is no list of at most {STEPS_MAX}", field=key)
    return given


def _id(value: object, field: str) -> str:
    check_id(value, field=field)
    return str(value)


def _wanted(found: object) -> WantedStep:
    if isinstance(found, str):
        return WantedStep(_prompt(found))
    if not isinstance(found, dict):
        raise RefusedError("pending: is neither a text nor an object", field="pending")
    given, prompt = found.get("id"), found.get("prompt")
    if given is None:
        return WantedStep(_prompt(prompt))
    return WantedStep(None if prompt is None else _prompt(prompt), _id(given, "pending.id"))


def _prompt(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise RefusedError("pending.prompt: is missing or empty", field="pending.prompt")
    if len(value) > PROMPT_CHARS_MAX:
        raise RefusedError(
            f"pending.prompt: is longer than {PROMPT_CHARS_MAX} characters",
            field="pending.prompt",
        )
    return value
