"""What the end of an agent's run is: a wait, a failure, or the work's own error.

The rows of `limit_table` decide. A **wait** is what passes by itself: a usage limit, a
server that is overloaded, a network that is gone. Nothing is wrong with the work, so
nothing counts. A **failure** counts, and the policy decides. What only a **person** or
money resolves is neither repeated nor waited for. The **work's own error** is what an agent
says in its answer: it was able to speak, so whatever it says of limits, nobody waits.

Structured fields decide first: the agent's own code for the error, the status of HTTP.
Words decide without them: those of an error, never those of an answer.
"""

import re

import msgspec

from ..events.loop import Limit
from ..state.times import to_text
from . import limit_table as table
from .reset_times import Moment, reset_in

WAITS_FOR = {
    table.USAGE: "the usage limit",
    table.OVERLOAD: "the model to answer again",
    table.NETWORK_DOWN: "the network",
}
"""What a loop waits for, as it is said to people: `waits until 05:00 for …`."""

ERROR_LINES_MAX = 12
"""So many of the last lines of standard error may say why a run ended."""
_LINE_CHARS_MAX = 2_000


class Refusal(msgspec.Struct, frozen=True):
    """What an agent's output says of being refused, beside its words."""

    status: int | None = None
    """Of HTTP."""
    kind: str = ""
    """The agent's own word for the error."""
    fields: str = ""
    """Fields and headers that say until when: `resetsAt: 1760000000`."""


_COMPLAINS = r"\W*(?:api error|error|fatal|http|429|5\d\d)\b"
"""How a line of plain words begins that is of a program and not of the work."""


def sign_of(words: str, refusal: Refusal | None = None) -> table.Sign | None:
    """Return the row of the table that an end belongs to; None where none fits."""
    status, code = (refusal.status, refusal.kind.lower()) if refusal else (None, "")
    if (
        code
        and (named := next((x for x in table.SIGNS if code in x.codes), None)) is not None
    ):
        return named
    found = by_words(words)
    if found is not None and (found.kind == table.PERSON or found.category == table.LOGIC):
        # A quota that money alone extends comes with the status of a limit that passes.
        return found
    return next((sign for sign in table.SIGNS if status in sign.statuses), found)


def by_words(words: str) -> table.Sign | None:
    """Return the row that an error's words speak for."""
    flags = re.IGNORECASE | re.MULTILINE
    for sign in table.SIGNS:
        pattern = "|".join(filter(None, (sign.words, sign.notice)))
        if pattern and re.search(pattern, words, flags):
            return sign
    return None


def limit_of(
    sign: table.Sign | None, words: str, refusal: Refusal | None, moment: Moment | None
) -> Limit | None:
    """Return what is to be waited for, and until when where that is said; None for nothing.

    Without a moment nobody can tell how long, but the wait is one all the same.
    """
    if sign is None or sign.waits_for is None:
        return None
    found = None
    if moment is not None:
        fields = refusal.fields if refusal is not None else ""
        found = reset_in(fields, moment) or reset_in(words, moment)
    if found is None:
        return Limit(sign.waits_for)
    return Limit(sign.waits_for, to_text(found.until), found.said)


def is_notice(answer: str) -> bool:
    """Return whether a program's notice is all of a successful run's answer."""
    text = answer.strip()
    return any(
        re.fullmatch(rf"\W*(?:{sign.notice}){table.AFTER_NOTICE}\W*", text, re.IGNORECASE)
        for sign in table.SIGNS
        if sign.notice
    )


def complaint(errors: str, answer: str) -> str:
    """Return what a command that failed says of why: the last lines that are no prose.

    Of standard error those are the last lines, of plain words only a program's own.
    """
    lines = [line.strip()[-_LINE_CHARS_MAX:] for line in errors.split("\n") if line.strip()]
    said = [line.strip() for line in answer.split("\n") if line.strip()][-2:]
    own = [
        line[:_LINE_CHARS_MAX]
        for line in said
        if is_notice(line) or re.match(_COMPLAINS, line, re.IGNORECASE)
    ]
    return "\n".join([*lines[-ERROR_LINES_MAX:], *own])
