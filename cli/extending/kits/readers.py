"""What a decoder of an agent, a report format and a notifier have to do."""

import copy
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from sprintlog.engine.adapters.agents.items import Item
from sprintlog.engine.adapters.agents.output import Hearing
from sprintlog.engine.adapters.reports.report import COUNT_MAX, Found, Report
from sprintlog.engine.sprint.agent.notices import NOTICES, Notice
from sprintlog.engine.sprint.answers.verdict import Answer

from .ground import must, refused

Decoder = Callable[[dict[str, Any]], Iterable[Item] | None]
STRANGE: tuple[dict[str, Any], ...] = (
    {},
    {"type": None},
    {"type": "result", "usage": []},
    {"type": {"type": []}, "message": 1, "id": None},
    {"": "", "text": ["\x00", {"a": None}], "usage": {"input_tokens": "many"}},
)
"""Messages that are no agent's, or broken."""


def check_agent(
    name: str, read: Decoder, output: bytes, *, others: Sequence[dict[str, Any]] = ()
) -> Answer:
    """Try a decoder with what its agent prints; return what is understood of it.

    `others` are messages that are another agent's. Raise `AssertionError` saying the
    rule that is broken.
    """
    for message in (*STRANGE, *others):
        before = copy.deepcopy(message)
        try:
            items = read(message)
        except Exception as error:
            raise AssertionError(f"no message makes it fail; {message}: {error!r}") from (
                error
            )
        must(message == before, "a message is not changed")
        must(items is None or not message or message in STRANGE, f"is not its: {message}")

    def listed(message: dict[str, Any]) -> tuple[Item, ...] | None:
        found = read(message)
        items = None if found is None else tuple(found)
        for item in items or ():
            must(isinstance(item, get_args(Item)), f"gives items, not {item!r}")
        return items

    whole = _heard(name, listed, [output])
    pieces = [output[at : at + 7] for at in range(0, len(output), 7)]
    must(_heard(name, listed, pieces) == whole, "in pieces it says the same")
    return whole


def _heard(name: str, read: Any, pieces: Iterable[bytes]) -> Answer:
    hearing = Hearing(agent=name, read=read)
    for piece in pieces:
        hearing.feed(piece)
    answer, activity = hearing.heard()
    must(activity.agent == name, "some of its output is understood")
    return answer


def check_report(
    read: Callable[[Report], Found], content: bytes, *, refuses: Sequence[bytes] = ()
) -> Found:
    """Try a format with one of its reports; return what is found in it.

    `refuses` are reports that are none of this format. Raise `AssertionError` saying the
    rule that is broken.
    """
    folder = Path("/tree")
    found = read(Report("report", content, folder))
    must(isinstance(found, Found), "gives what it found as Found")
    must(
        all(type(n) is int and 0 <= n <= COUNT_MAX for n in found.counts.values()),
        "counts are whole numbers from 0 on",
    )
    again = read(Report("report", content, folder))
    must(again == found, "the same report says the same")
    for bad in (b"\x00\xff\xfe not text", *refuses):
        with refused(f"a report that is none is refused: {bad[:40]!r}"):
            read(Report("report", bad, folder))
    return found


def check_notifier(notify: Callable[[dict[str, Any]], object]) -> None:
    """Hand a notifier one notice of each kind; what it raises is what is wrong."""
    for word in NOTICES:
        notice = Notice(notice=word, sprint="kit", at="2026-01-15T09:00:00Z", why="a kit")
        notify(msgspec.to_builtins(notice))
