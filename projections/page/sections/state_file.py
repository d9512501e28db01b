"""PROGRESS.yaml with who set each line; with its script at any version of the page."""

from typing import Any

import msgspec

from sprintlog.engine.sprint.state.times import elapsed, from_milliseconds

from ...history.differences import cut
from ...markdown import visible
from ..facts import Facts
from ..markup import Markup, command, heading, row, section, table, tag, text
from ..numbers import milliseconds, version_link
from ..versions import FileHistory, FileLine, lines_of, shortened

AT, ELAPSED = "\x01", "\x02"
"""Stand for the time of an event, and for how long it was since the beginning."""


def state_file(facts: Facts) -> Markup:
    """Return the file at the page's version, and what is needed to show it at others."""
    history = facts.past.file(facts.workspace, facts.sprint)
    lines = lines_of(history, facts.version)
    lines_max, chars_max = facts.limits.lines, facts.limits.line_chars
    versions = [line.changed for line in lines[:lines_max]]
    setters = facts.past.setters(facts.workspace, facts.sprint, versions)
    rows = [
        row([
            tag("td", str(index), class_="num"),
            tag("td", tag("code", text(line.text, chars_max) if line.text else "")),
            tag("td", version_link(line.changed)),
            tag("td", _who(setters, line)),
        ], class_="new" if line.changed == facts.version else None)
        for index, line in enumerate(lines[:lines_max], start=1)
    ]  # fmt: skip
    head = (heading("line", class_="num"), "text", "version", "set by")
    told = f"PROGRESS.yaml at version {facts.version}, and what set each line"
    more = f"; {len(lines) - lines_max:,} more lines" if len(lines) > lines_max else ""
    line = command(f"sprintlog blame --all{facts.named}")
    made = table(head, rows, label="PROGRESS.yaml", class_="file")
    said = _json(packed(history, facts))
    while len(said) > facts.limits.history_bytes and len(history.versions) > 1:
        history = shortened(history, len(history.versions) * 2 // 3)
        said = _json(packed(history, facts))
    earlier = []
    if history.first > 1:
        said_of = f"; versions from {history.first:,} on can be chosen here, one before: "
        earlier = [said_of, command(f"sprintlog show progress --at version:N{facts.named}")]
    note = [told, more, ": ", line, *earlier]
    data = tag("script", said, type="application/json", id="versions")
    return section("state", "State, version by version", made, data, note=note)


def packed(history: FileHistory, facts: Facts) -> dict[str, Any]:
    """Return the history as the script reads it, with each text once."""
    stats = facts.sprint.document.get("stats")
    began = stats.get("started-at") if isinstance(stats, dict) else None
    started = milliseconds(str(began)) if began else None
    pack = _Pack(str(began) if started is not None else None, facts.limits.line_chars)
    before = 0
    versions: list[list[Any]] = []
    for one in history.versions:
        at = milliseconds(one.at) or before
        pack.at = one.at if from_milliseconds(at) == one.at else None
        splices = [
            [s.at, s.gone, *(pack.line(x, one.version) for x in s.came)]
            for s in one.splices
        ]
        kind, actor = pack.word(one.type), pack.word(one.actor)
        versions.append([at - before, kind, actor, *splices])
        before = at
    pack.at = None
    begun = [pack.line(line, 0) for line in history.lines]
    return {
        "first": history.first,
        "started": started,
        "texts": list(pack.texts),
        "words": list(pack.words),
        "lines": begun,
        "versions": versions,
    }


class _Pack:
    """Texts by number, the first that is met first."""

    def __init__(self, began: str | None, chars: int) -> None:
        self.texts: dict[str, int] = {}
        self.words: dict[str, int] = {}
        self.at: str | None = None
        self._began = began
        self._chars = chars

    def word(self, said: str) -> int:
        """Return the number of a type or an actor."""
        return self.words.setdefault(said, len(self.words))

    def line(self, line: FileLine, version: int) -> int | list[int]:
        """Return a line: its text, and who set it where that is not this version."""
        said = cut(visible(line.text), self._chars)
        if self.at is not None and line.changed == version:
            said = said.replace(self.at, AT)
            took = elapsed(self._began, self.at) if self._began else None
            if took is not None and line.field == "stats.elapsed":
                said = said.replace(took, ELAPSED)
        index = self.texts.setdefault(said, len(self.texts))
        if line.changed == line.set == version:
            return index
        if line.changed == line.set:
            return [index, line.changed]
        return [index, line.changed, line.set]


def _json(data: dict[str, Any]) -> Markup:
    """Return data as JSON that cannot end the element that it stands in."""
    said = msgspec.json.encode(data).decode()
    return Markup(
        said.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    )


def _who(setters: dict[int, str], line: FileLine) -> Markup:
    said = setters.get(line.changed, "")
    if line.set != line.changed:
        said += f", from version {line.set}"
    return text(said)
