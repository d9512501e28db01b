"""Plays of the scripted model: a play is a list of acts, one per answer.

An agent receives `play:NAME` in its prompt. The model then returns one act after another,
according to the number of its answers.
"""

import re
from typing import NamedTuple

FINAL = "All done. RALPH_COMPLETE"


class Say(NamedTuple):
    """A text that ends the turn."""

    text: str


class Run(NamedTuple):
    """Run a command."""

    command: str


class Begin(NamedTuple):
    """Run a command in the background, if the agent can, and do not wait for it."""

    command: str


class Write(NamedTuple):
    """Write a file."""

    path: str
    content: str


class Edit(NamedTuple):
    """Replace a text in a file."""

    path: str
    old: str
    new: str


class Delegate(NamedTuple):
    """Have a subagent do it; its prompt names its play."""

    prompt: str


class Ask(NamedTuple):
    """Call a tool of sprintlog by the name that an agent's program uses."""

    tool: str
    given: dict[str, str]


class Linger(NamedTuple):
    """Output a word from time to time, for a number of seconds."""

    seconds: float


class Refuse(NamedTuple):
    """Refuse with an HTTP status: always, or a number of times before continuing."""

    status: int
    times: int | None = None
    retry_after: int | None = None


Act = Say | Run | Begin | Write | Edit | Delegate | Ask | Linger | Refuse

PLAYS: dict[str, tuple[Act, ...]] = {
    "good": (
        Write("notes.txt", "one\ntwo\n"),
        Run("cat notes.txt"),
        Edit("notes.txt", "two", "three"),
        Say(FINAL),
    ),
    "failing": (Run("sh -c 'echo 1 failed; exit 3'"), Run("false"), Say("The tests fail.")),
    "delegating": (Delegate("Look into the folder. play:delegated"), Say(FINAL)),
    "delegated": (Run("ls"), Say("It is empty.")),
    "slow": (Run("echo begun > begun.txt"), Linger(60), Say(FINAL)),
    "limited": (Refuse(429, times=1, retry_after=1), Say(FINAL)),
    "limited-always": (Refuse(429, retry_after=1),),
    "overloaded": (Refuse(529, times=1), Say(FINAL)),
    "overloaded-always": (Refuse(529),),
    "refused": (Refuse(400),),
    "first": (Write("work.txt", "line 1\n"), Run("cat work.txt"), Say("First done.")),
    "second": (Write("more.txt", "line 2\n"), Say("Second done.")),
    "worse": (Edit("work.txt", "line 1", "oops"), Say("Third done.")),
    "question": (Say("It is a question."),),
    "premature": (
        Write("work.txt", "line 1\n"),
        Say(FINAL),
        Write("more.txt", "line 2\n"),
        Say(FINAL),
    ),
    "stubborn": (Write("work.txt", "line 1\n"), Say(FINAL)),
    "awaiting": (
        Begin("sleep 2; echo line 1 > work.txt"),
        Say("It is running."),
        Say("It has ended."),
    ),
    "tooled": (
        Ask("next", {}),
        Ask("report", {"outcome": "done", "summary": "written"}),
        Ask(
            "request",
            {"title": "Crash", "why": "no address", "priority": "high", "kind": "bug"},
        ),
        Say(FINAL),
    ),
}
TITLE: Act = Say("A title")
"""The answer to a request of the agent itself: a title, a summary, a classification."""

_NAMED = re.compile(r"\bplay:([a-z-]+)")


def named_in(text: str) -> str | None:
    """Return the last play that a text names."""
    found = [name for name in _NAMED.findall(text) if name in PLAYS]
    return found[-1] if found else None


class Stage:
    """The sequence of acts, with a count of refusals that end."""

    def __init__(self) -> None:
        self._refused: dict[tuple[str, str], int] = {}

    def act(self, play: str, step: int, *, of: str) -> Act:
        """Return the act for a play's answer number `step`, counted from 0.

        `of` identifies who is refused: each agent and each conversation separately.
        """
        acts = PLAYS[play]
        if isinstance(acts[0], Refuse):
            refuse, key = acts[0], (play, of)
            count = self._refused.get(key, 0)
            self._refused[key] = count + 1
            if refuse.times is None or count < refuse.times:
                return refuse
            acts = acts[1:]
        return acts[min(step, len(acts) - 1)]
