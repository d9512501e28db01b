"""What an agent is told: a pure function of the sprint, what is next, and what was learned.

`handed` makes the prompt that `run` hands over and `next` answers. With a template of the
loop's own nothing is added to it.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from ..goal.prompt import goal_parts, goal_prompt
from ..state.sprint import Sprint
from ..state.tree import CHILDREN, Node
from . import actions
from .actions import Action
from .how_to_answer import PHASE_ANSWER
from .prompt_parts import common_parts, one_line, whole
from .prompt_template import PromptTemplate, filled
from .stops import text_said

LEARNINGS_CHARS_MAX = 4_000
"""So much is told of what was learned: the most used first, then the newest."""

_LEVELS = ("phase", "step", "sub-phase")
_HEADINGS = {
    "position": "# Position",
    "step": "# Step",
    "task": "# Task",
    "resumed": "# Begun before",
    "error": "# The attempt before failed",
    "judged": "",
    "learnings": "# What was learned",
    "requests": "# A person has yet to decide about",
    "answer": "# How to answer",
}
"""The parts of the prompt for a phase, in their order."""


class Telling(msgspec.Struct, frozen=True):
    """What an agent is told beside what the sprint says."""

    learnings: tuple[str, ...] = ()
    """A line each, within `LEARNINGS_CHARS_MAX`."""
    template: PromptTemplate | None = None
    answer: str = PHASE_ANSWER
    """How it says what became of a phase."""


def handed(sprint: Sprint, action: Action, telling: Telling) -> Action:
    """Return what is next with the prompt that an agent is handed, and its bare task."""
    if action.prompt is None:
        return action
    if action.do == actions.ITERATE:
        assert action.iteration is not None
        parts = goal_parts(
            sprint,
            number=action.iteration,
            reflects=action.reflection,
            resumed=action.resumed,
            learnings=telling.learnings,
        )
        prompt = goal_prompt(parts)
    else:
        parts = _phase_parts(sprint, action, telling)
        prompt = whole(parts, _HEADINGS)
    if telling.template is not None:
        values = {**parts, **_values(sprint, action), "prompt": prompt}
        prompt = filled(telling.template, values)
    return replace(action, prompt=prompt, task=parts["task"])


def _phase_parts(sprint: Sprint, action: Action, telling: Telling) -> dict[str, str]:
    """Return the parts of a prompt for a phase; one that is not said is empty."""
    plan = sprint.plan
    node = plan.tree.find(action.phase or "")
    failed = plan.last.failures.of(action.phase or "")
    error = failed.error if failed is not None and action.do == actions.WORK else None
    resumed = action.resumed
    return {
        "position": _position(sprint, node),
        "step": _step_text(node),
        "task": (action.prompt or "").strip("\n"),
        **common_parts(sprint, learnings=telling.learnings, resumed=resumed, error=error),
        "answer": telling.answer,
    }


def _values(sprint: Sprint, action: Action) -> dict[str, str]:
    """Return what the variables of a template stand for beside the parts."""
    plan = sprint.plan
    return {
        "goal": text_said(plan.document.get("goal")) or "",
        "sprint": sprint.id,
        "phase": action.phase or "",
        "iteration": str(action.iteration or plan.iteration or ""),
        "attempt": str(action.attempt or ""),
        "model": action.model or "",
    }


def _position(sprint: Sprint, node: Node | None) -> str:
    """Return where a node is: how far the sprint is, level by level."""
    said: list[str] = []
    holder: Any = sprint.plan.document
    for level, key, index in zip(
        _LEVELS, CHILDREN, node.place if node else (), strict=False
    ):
        siblings = holder[key]
        holder = siblings[index]
        identity = one_line(str(holder.get("id", f"#{index}")))
        said.append(f"{level} {identity}, {index + 1} of {len(siblings)}")
    name = f"Sprint {one_line(sprint.id)}"
    return f"{name}: {'; '.join(said)}." if said else f"{name}."


def _step_text(node: Node | None) -> str:
    """Return what the step says that a sub-phase is in."""
    parent = node.parent if node is not None else None
    if parent is None or parent.level != _LEVELS.index("step") + 1:
        return ""
    return (text_said(parent.data.get("prompt")) or "").strip("\n")
