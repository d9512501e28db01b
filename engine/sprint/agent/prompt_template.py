r"""A prompt of the loop's own: `{{name}}` stands for what is known, filled in one pass.

What a variable stands for is put in as it is, and never expanded again. `\{{name}}` gives
the braces themselves. What looks otherwise is text.
"""

from collections.abc import Mapping

import msgspec

from ...errors import InvalidInputError
from ..compile.problems import nearest
from ..compile.templates import Variable, cut

VARIABLES = {
    "prompt": "the whole prompt that would be handed over without the file",
    "task": "what is to be done: the phase's own prompt, or what the iteration is for",
    "position": "where the sprint is: phase, step and sub-phase, or which iteration",
    "step": "the text of the step that the phase belongs to",
    "goal": "the goal of the sprint",
    "steps": "the steps towards the goal: those that are done, and the open ones whole",
    "error": "how the attempt before failed",
    "judged": "why an iteration was no success, and whether its work was taken back",
    "resumed": "that the work was begun before and did not come to its end",
    "claimed": "that the goal was said to be reached, which did not count",
    "learnings": "what was learned, from the journal",
    "requests": "the titles of requests that wait for a decision",
    "answer": "how to answer",
    "sprint": "the sprint's id",
    "phase": "the phase's address; empty for the goal",
    "iteration": "the number of the iteration",
    "attempt": "1 for the first time that this is worked on",
    "model": "the model that the plan names",
}
"""Every variable, and what it stands for: what means nothing at the time is empty."""


class PromptTemplate(msgspec.Struct, frozen=True):
    """A text cut at its variables, each of which has a meaning."""

    pieces: tuple[str | Variable, ...]


def read_template(text: str, *, file: str) -> PromptTemplate:
    """Return a text as a template; raise `InvalidInputError` for an unknown variable."""
    line, pieces = 1, cut(text)
    for piece in pieces:
        if isinstance(piece, str):
            line += piece.count("\n")
        elif piece.name not in VARIABLES:
            meant = nearest(piece.name, list(VARIABLES))
            raise InvalidInputError(
                f"there is no variable {piece.written}",
                file=file,
                line=line,
                hint=f"{meant}; \\{piece.written} stands for these characters",
            )
    return PromptTemplate(tuple(pieces))


def filled(template: PromptTemplate, values: Mapping[str, str]) -> str:
    """Return the text with what its variables stand for."""
    return "".join(
        piece if isinstance(piece, str) else values.get(piece.name, "")
        for piece in template.pieces
    )
