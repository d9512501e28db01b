"""How an agent is to answer, in words: what `answers` and `said` understand."""

from ..state.words import PRIORITIES, REQUEST_TYPES
from .said import LEARNING_TYPES

_BESIDE = f"""\
- "operatorRequests", a list of what a person should decide about, each with "title",
  "description", "priority" ({", ".join(PRIORITIES)}) and "type"
  ({", ".join(REQUEST_TYPES)});
- "proposedSteps", a list of work to be done later, each with "prompt" and "reasoning";
- "learnings", a list of what later runs should know, each with "content" and "type"
  ({", ".join(LEARNING_TYPES[:4])},
  {", ".join(LEARNING_TYPES[4:])}).

Leave out what you have nothing to say of. The loop writes PROGRESS.yaml: do not edit it."""

PHASE_ANSWER = f"""\
Do this task, and nothing that comes after it. End your answer with one object of JSON on
a line of its own. Its "status" is one of: "completed" with a "summary" of what was done;
"failed" with an "error"; "needs-human" with a "reason" and "details" when only a person
can go on. Beside it may stand:

{_BESIDE}"""

TOOL_ANSWER = """\
Do this task, and nothing that comes after it. Say with the tool `report` how it ended:
"done" with a summary of what was done; "failed" or "blocked" with what went wrong;
"needs-human" with details when only a person can go on. What a person should decide
about is a `request`, what later runs should know is for `learn`. PROGRESS.yaml is written
for you: do not edit it."""

GOAL_ANSWER = f"""\
End your answer with one object of JSON on a line of its own. Its "status" is one of:
"continue"; "goal-complete" when the goal is reached; "needs-human" with a "reason" and
"details" when only a person can go on; "failed" with an "error". Beside it stand
"completed", a list of the ids of the steps that are done now; "pending", a list of what
else is to be done, each a text or an object with "prompt" and an "id"; and "summary",
what this iteration reached. There may also be:

{_BESIDE}"""
