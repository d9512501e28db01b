"""PROGRESS.yaml with who set each line; with its script at any version of the page."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from sprintlog.facts import FileHistory, FileLine, SprintFacts
from sprintlog.formatting import visible

from .limits import limits_of
from .markup import Markup, command, cut, heading, row, section, table, tag, text
from .numbers import version_link

AT, ELAPSED = "\x01", "\x02"
"""Stand for the time of an event, and for how long it was since the beginning."""


def state_file(facts: SprintFacts) -> Markup:
    """Return the file at the page's version, and the data to show other versions."""
    history = facts.file_history
    lines = history.lines_at(facts.version)
    lines_max, chars_max = limits_of(facts).lines, limits_of(facts).line_chars
    versions = [line.changed for line in lines[:lines_max]]
    setters = facts.setters(versions)
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
    line = command(f"sprintlog why --all{facts.named}")
    made = table(head, rows, label="PROGRESS.yaml", class_="file")
    said = _json(packed(history, facts))
    while len(said) > limits_of(facts).history_bytes and len(history.versions) > 1:
        history = history.newest(len(history.versions) * 2 // 3)
        said = _json(packed(history, facts))
    earlier = []
    if history.first > 1:
        said_of = f"; versions from {history.first:,} on can be chosen here, one before: "
        earlier = [said_of, command(f"sprintlog show progress --at version:N{facts.named}")]
    note = [told, more, ": ", line, *earlier]
    data = tag("script", said, type="application/json", id="versions")
    return section("state", "State, version by version", made, data, note=note)


def packed(history: FileHistory, facts: SprintFacts) -> dict[str, Any]:
    """Return the history as the script reads it, with each text once."""
    started = facts.started_ms
    pack = _Pack(facts, is_timed=started is not None)
    before = 0
    versions: list[list[Any]] = []
    for one in history.versions:
        at = one.milliseconds or before
        pack.at = one.at if _written(at) == one.at else None
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


def _written(milliseconds: int) -> str:
    """Return a time as the page's script writes it."""
    moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)
    places = "milliseconds" if milliseconds % 1000 else "seconds"
    return moment.replace(tzinfo=None).isoformat(timespec=places) + "Z"


class _Pack:
    """Texts by number, the first that is met first."""

    def __init__(self, facts: SprintFacts, *, is_timed: bool) -> None:
        self.texts: dict[str, int] = {}
        self.words: dict[str, int] = {}
        self.at: str | None = None
        self._facts, self._is_timed = facts, is_timed
        self._chars = limits_of(facts).line_chars

    def word(self, said: str) -> int:
        """Return the number of a type or an actor."""
        return self.words.setdefault(said, len(self.words))

    def line(self, line: FileLine, version: int) -> int | list[int]:
        """Return a line: its text, and who set it where that is not this version."""
        said = cut(visible(line.text), self._chars)
        if self.at is not None and line.changed == version:
            said = said.replace(self.at, AT)
            took = self._facts.elapsed(self.at) if self._is_timed else None
            if took is not None and line.field == "stats.elapsed":
                said = said.replace(took, ELAPSED)
        index = self.texts.setdefault(said, len(self.texts))
        if line.changed == line.set == version:
            return index
        if line.changed == line.set:
            return [index, line.changed]
        return [index, line.changed, line.set]


def _json(data: dict[str, Any]) -> Markup:
    """Return data as JSON that cannot close its own element."""
    said = msgspec.json.encode(data).decode()
    return Markup(
        said.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    )


def _who(setters: dict[int, str], line: FileLine) -> Markup:
    said = setters.get(line.changed, "")
    if line.set != line.changed:
        said += f", from version {line.set}"
    return text(said)
