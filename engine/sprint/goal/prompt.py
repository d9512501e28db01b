"""What an agent is told in an iteration: a pure function of the goal and its steps."""

from typing import Any

from ..state.sprint import Plan, Sprint
from ..state.tree import Data
from ..state.words import BLOCKED, COMPLETED, IN_PROGRESS
from .dynamic_steps import steps_of
from .settings import max_iterations, min_iterations

DONE_SHOWN_MAX = 50
"""So many of the steps that are done are named, the latest ones."""
_LINE_CHARS_MAX = 200

GOAL_PROMPT = """\
Find out what is to be done for the goal and name the first steps towards it: each one
small enough for one iteration, in the order in which they are to be done."""
REFLECTION_PROMPT = """\
Nothing has moved for {idle} iterations. Do not go on as before. Ask yourself: is the goal
reached? What is missing: tests, corner cases, documents? Is a step stuck, too large, or
not needed? Then name the steps that bring it forward, or say that the goal is reached."""
STEP_PROMPT = """\
Work on the first open step that can be worked on, and finish it. What else turns out to
be needed is another step."""
ANSWER = """\
End your answer with one object of JSON on a line of its own. Its "status" is one of:
"continue"; "goal-complete" when the goal is reached; "needs-human" with a "reason" and
"details" when only a person can go on; "failed" with an "error". Beside it stand
"completed", a list of the ids of the steps that are done now; "pending", a list of what
else is to be done, each a text or an object with "prompt" and an "id"; and "summary",
what this iteration reached."""


def prompt_of(sprint: Sprint, *, number: int, reflects: bool) -> str:
    """Return the prompt of an iteration."""
    plan = sprint.plan
    document = plan.document
    steps = steps_of(document)
    most = max_iterations(document)
    of = f" of at most {most}" if most is not None else ""
    parts = [f"# Goal\n\n{_text(document, 'goal')}", f"# Iteration {number}{of}"]
    if reflects:
        own = _text(document, "reflection-prompt")
        parts.append(own or REFLECTION_PROMPT.format(idle=plan.turns.idle))
    elif not steps:
        parts.append(_text(document, "goal-prompt") or GOAL_PROMPT)
    else:
        parts.append(STEP_PROMPT)
    parts += _step_parts(steps)
    if waiting := _decisions(sprint.queue):
        parts.append(f"# A person has yet to decide about\n\n{waiting}")
    if claimed := plan.turns.claimed:
        least = min_iterations(document)
        when = f": it can be from iteration {least} on" if claimed < least else ""
        parts.append(
            f"In iteration {claimed} it was said that the goal is reached; that did not "
            f"count{when}."
        )
    return "\n\n".join([*parts, ANSWER])


def said_in(plan: Plan, prompt: str) -> str:
    """Return all texts that an agent could repeat: what it was told, and every step."""
    document = plan.document
    texts = [_text(document, key) for key in ("goal", "goal-prompt", "reflection-prompt")]
    steps = (_text(step, "prompt") for step in steps_of(document).values())
    return "\n".join([prompt, *texts, *steps])


def _step_parts(steps: dict[str, Data]) -> list[str]:
    done = [i for i, step in steps.items() if step.get("status") == COMPLETED]
    parts = []
    if done:
        left_out = len(done) - DONE_SHOWN_MAX
        lines = [f"({left_out} more before these)"] if left_out > 0 else []
        lines += [f"- {i}: {_first_line(steps[i])}" for i in done[-DONE_SHOWN_MAX:]]
        parts.append("# Steps that are done\n\n" + "\n".join(lines))
    open_ones = [
        f"## {identity}{_WORDS.get(str(step.get('status')), '')}\n\n{_text(step, 'prompt')}"
        for identity, step in steps.items()
        if step.get("status") != COMPLETED
    ]
    if open_ones:
        parts.append("# Open steps\n\n" + "\n\n".join(open_ones))
    return parts


_WORDS = {IN_PROGRESS: " (begun)", BLOCKED: " (blocked)"}


def _first_line(step: Data) -> str:
    line = _text(step, "prompt").partition("\n")[0]
    return line if len(line) <= _LINE_CHARS_MAX else f"{line[:_LINE_CHARS_MAX]}…"


def _decisions(queue: list[Any]) -> str:
    return "\n".join(
        f"- {_text(request, 'title')}"
        for request in queue
        if isinstance(request, dict) and request.get("status") == "pending"
    )


def _text(data: Data, key: str) -> str:
    value = data.get(key)
    return value.strip() if isinstance(value, str) else ""
