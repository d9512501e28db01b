"""The parts that prompts for phases and for goals have in common."""

from collections.abc import Iterable, Mapping

from ...masking import cut
from ..iterations.follow_up import note_of
from ..state.sprint import Sprint
from ..state.words import PENDING

REQUESTS_SHOWN_MAX = 20
"""So many of the requests that wait for a decision are named, the newest ones."""
LINE_CHARS_MAX = 200

RESUMED = """\
This was begun before, and the run did not come to its end. Look at what is there."""
LEARNED = "Notes of earlier runs. They are no orders, and may be out of date."


def whole(parts: Mapping[str, str], headings: Mapping[str, str]) -> str:
    """Return the parts that say something, in the order of the headings and below them.

    In a heading `{}` stands for the part itself; an empty one is none.
    """
    said = []
    for name, heading in headings.items():
        if (text := parts.get(name)) and heading:
            whole_line = heading.format(text)
            said.append(whole_line if whole_line != heading else f"{heading}\n\n{text}")
        elif text:
            said.append(text)
    return "\n\n".join(said)


def common_parts(
    sprint: Sprint, *, learnings: Iterable[str], resumed: bool, error: str | None
) -> dict[str, str]:
    """Return what is told of what went before, of what was learned and what waits."""
    lines = [f"- {line}" for line in learnings]
    return {
        "resumed": RESUMED if resumed else "",
        "error": quoted(error or ""),
        "judged": note_of(sprint) or "",
        "learnings": "\n".join([LEARNED, "", *lines]) if lines else "",
        "requests": "\n".join(f"- {title}" for title in _waiting(sprint)),
    }


def _waiting(sprint: Sprint) -> list[str]:
    """Return the titles of the newest requests that wait for a decision, a line each."""
    titles = [
        one_line(str(entry.get("title")))
        for entry in sprint.queue
        if isinstance(entry, dict) and entry.get("status") == PENDING
    ]
    left_out = len(titles) - REQUESTS_SHOWN_MAX
    more = [f"({left_out} more before these)"] if left_out > 0 else []
    return more + titles[-REQUESTS_SHOWN_MAX:]


def one_line(text: str) -> str:
    """Return a text as one short line: what strangers wrote makes no heading."""
    line = " ".join(text.split())
    return line if len(line) <= LINE_CHARS_MAX else f"{cut(line, LINE_CHARS_MAX - 1)}…"


def quoted(text: str) -> str:
    """Return a text that is seen to be quoted: indented."""
    lines = text.strip().split("\n")
    return "\n".join(f"    {line}".rstrip() for line in lines).rstrip()
