"""What an agent is told in an iteration: a pure function of the goal and its steps."""

from collections.abc import Iterable, Mapping

from ..agent.prompt import GOAL_ANSWER as ANSWER
from ..agent.prompt import common_parts, whole
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
_HEADINGS = {
    "goal": "# Goal",
    "position": "# {}",
    "task": "",
    "steps": "",
    "resumed": "",
    "error": "# The run before failed",
    "judged": "",
    "learnings": "# What was learned",
    "requests": "# A person has yet to decide about",
    "claimed": "",
    "answer": "",
}
"""The parts of the prompt, in their order; some say themselves what they are."""


def prompt_of(sprint: Sprint, *, number: int, reflects: bool) -> str:
    """Return the prompt of an iteration, without what was learned."""
    return goal_prompt(goal_parts(sprint, number=number, reflects=reflects))


def goal_prompt(parts: Mapping[str, str]) -> str:
    """Return the prompt that consists of these parts."""
    return whole(parts, _HEADINGS)


def goal_parts(
    sprint: Sprint,
    *,
    number: int,
    reflects: bool,
    resumed: bool = False,
    learnings: Iterable[str] = (),
) -> dict[str, str]:
    """Return the parts of an iteration's prompt by their names."""
    plan = sprint.plan
    document, turns = plan.document, plan.turns
    steps = steps_of(document)
    most = max_iterations(document)
    of = f" of at most {most}" if most is not None else ""
    if reflects:
        own = _text(document, "reflection-prompt")
        task = own or REFLECTION_PROMPT.format(idle=turns.idle)
    elif not steps:
        task = _text(document, "goal-prompt") or GOAL_PROMPT
    else:
        task = STEP_PROMPT
    error = turns.error if turns.failures else None
    return {
        "goal": _text(document, "goal"),
        "position": f"Iteration {number}{of}",
        "task": task,
        "steps": "\n\n".join(_step_parts(steps)),
        **common_parts(
            sprint, learnings=learnings, resumed=resumed and not error, error=error
        ),
        "claimed": _claimed(plan),
        "answer": ANSWER,
    }


def _claimed(plan: Plan) -> str:
    claimed, least = plan.turns.claimed, min_iterations(plan.document)
    if not claimed:
        return ""
    when = f": it can be from iteration {least} on" if claimed < least else ""
    said = f"In iteration {claimed} it was said that the goal is reached"
    return f"{said}; that did not count{when}."


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


def _text(data: Data, key: str) -> str:
    value = data.get(key)
    return value.strip() if isinstance(value, str) else ""
