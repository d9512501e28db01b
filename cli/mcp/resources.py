"""Resources and prompts: texts that a client requests without a tool."""

import msgspec

from sprintlog.errors import NotFoundError
from sprintlog.questions import QUESTIONS, answer, briefing

from .answers import BRIEF_NAME, BRIEF_SAYS, brief_text, fenced
from .caller import Caller
from .pages import encoded, fitting

BYTES_MAX = 64 * 1024
SCHEME = "sprintlog://"
RESOURCES = {
    "briefing": ("The sprint in at most 30 lines, as for a new session.", ""),
    "status": ("The status of the sprint.", "status"),
    "plan": ("The plan, with the status of each phase and step.", "show progress"),
    "learnings": ("The journal, with its learnings and patterns.", "show journal"),
    "iterations": ("The iterations, with figures and outcomes.", "list"),
}
"""The descriptions of the resources, and the questions that they answer."""
ITERATION = {"name": "iteration", "uriTemplate": f"{SCHEME}iteration/{{number}}"}
_MORNING = """Summarize the sprint in five sentences: events, failures and their causes, the
iteration to use, and decisions that I must make. `history` returns details."""
_CLAIM = """Check whether the goal below is reached: run the tests, and consider the last
failure. If so, `report` that it is done; the next measurement decides on this claim."""
PROMPTS = {
    BRIEF_NAME: (BRIEF_SAYS, ""),
    "morning": ("A summary of the sprint and the pending decisions.", _MORNING),
    "claim": ("Check whether the goal is reached, and claim it.", _CLAIM),
}
"""The descriptions of the prompts, and the texts that precede a briefing."""


def prompt_text(name: str, sprint: str | None, caller: Caller) -> str:
    """Return a prompt's text; raise `NotFoundError` if the prompt does not exist."""
    if name not in PROMPTS:
        listed = ", ".join(PROMPTS)
        raise NotFoundError(f"unknown prompt {name[:40]!r}; available: {listed}")
    if how := PROMPTS[name][1]:
        return f"{how}\n\n{fenced(_briefing(sprint, caller))}"
    with caller.served.open() as workspace:
        return brief_text(workspace, sprint, caller)


def read_resource(uri: str, caller: Caller) -> str:
    """Return a resource's text, shortened to about 64 KiB, or raise `NotFoundError`."""
    if uri == f"{SCHEME}briefing":
        return _briefing(None, caller)
    name, slash, number = uri.partition(SCHEME)[2].partition("/")
    known = {**RESOURCES, "iteration/": ("", "list")}
    if not (command := known.get(name + slash, ("", ""))[1]):
        raise NotFoundError(f"unknown resource {uri[:80]!r}: list the resources")
    meant = caller.meant(None)
    given = {"sprint": meant} if meant and "sprint" in QUESTIONS[command].takes else {}
    with caller.served.open() as workspace:
        found = msgspec.to_builtins(answer(workspace, command, given), enc_hook=str)
    if number:
        found = next((row for row in found if str(row["iteration"]) == number), None)
    if found is None:
        raise NotFoundError(
            f"unknown iteration {number[:20]!r}: sprintlog://iterations lists them"
        )
    return encoded(fitting(found, BYTES_MAX)).decode()


def _briefing(named: str | None, caller: Caller) -> str:
    with caller.served.open() as workspace:
        sprint = workspace.sprint(workspace.choose(caller.meant(named)))
        return "\n".join(briefing(workspace, sprint))
