"""The plan as a tree with the pointer, and PROGRESS.yaml with the origin of each line."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from sprintlog.facts import FileHistory, FileLine, Node, SprintFacts
from sprintlog.formatting import visible

from .limits import limits_of
from .markup import NOTHING, Markup, command, cut, heading, row, section, table, tag, text
from .numbers import version_link

MARKS = {
    "completed": ("\N{CHECK MARK}", "good"),
    "in-progress": ("\N{BLACK RIGHT-POINTING SMALL TRIANGLE}", "open"),
    "failed": ("\N{BALLOT X}", "bad"),
    "blocked": ("\N{BLACK SMALL SQUARE}", "bad"),
    "skipped": ("\N{RIGHTWARDS ARROW}", "steady"),
    "pending": ("\N{MIDDLE DOT}", "quiet"),
}


def plan(facts: SprintFacts) -> Markup:
    """Return the plan with its progress."""
    sprint = facts.sprint
    tree = _Drawn(facts)
    parts = []
    goal = sprint.plan.document.get("goal")
    if goal:
        parts.append(tag("p", tag("b", "goal "), text(_first_line(goal)), class_="goal"))
    steps = list(facts.goal_steps.items())
    if steps:
        items = [
            _item(name, str(step.get("status")), tree.says(step), [])
            for name, step in steps[: limits_of(facts).nodes]
        ]
        parts.append(tag("ul", *items, class_="tree"))
    if children := sprint.plan.tree.root.children:
        parts.append(tag("ul", *tree.items(children), class_="tree"))
    if not parts:
        parts.append(tag("p", "There is no plan, and no goal.", class_="empty"))
    note = []
    if (more := max(tree.met, len(steps)) - limits_of(facts).nodes) > 0:
        note.append(f"{more:,} more: `sprintlog show progress` has all")
    return section("plan", "Plan", *parts, note=note)


class _Drawn:
    """The tree being drawn, limited to a maximum number of nodes."""

    def __init__(self, facts: SprintFacts) -> None:
        self._facts = facts
        pointed = facts.sprint.plan.pointed()
        is_open = facts.sprint.plan.tree.open_leaf()
        self._pointed = pointed if is_open else None
        self.met = 0
        self._most, self._chars = limits_of(facts).nodes, limits_of(facts).prompt_chars

    def items(self, nodes: list[Node]) -> Iterator[Markup]:
        """Yield a list item for each node, with its children."""
        for node in nodes:
            self.met += 1
            if self.met > self._most:
                continue
            name = node.address.rpartition("/")[2]
            notes = list(_notes(self._facts, node))
            if node is self._pointed:
                notes.insert(0, tag("span", "\N{BLACK LEFT-POINTING SMALL TRIANGLE} here",
                                    class_="here"))  # fmt: skip
            below = list(self.items(node.children))
            inside = [tag("ul", *below)] if below else []
            yield _item(name, node.status, self.says(node.data), [*notes, *inside])

    def says(self, data: Mapping[str, Any]) -> Markup:
        """Return the first line of a prompt."""
        said = _first_line(data.get("prompt"))
        return text(said, self._chars) if said else NOTHING


def _item(name: str, status: str, prompt: Markup, more: list[Markup]) -> Markup:
    mark, tone = MARKS.get(status, MARKS["pending"])
    sign = tag("span", mark, class_=f"sign {tone}", aria_hidden="true")
    word = tag("span", status, class_=f"word {tone}")
    says = tag("span", prompt, class_="prompt") if prompt else None
    return tag("li", sign, tag("b", name), " ", word, " ", says, *more)


def _notes(facts: SprintFacts, node: Node) -> Iterator[Markup]:
    status, tried = facts.gate(node)
    if status:
        attempts = f" after {tried} attempts" if tried > 1 else ""
        yield tag("span", f"gate {status}{attempts}", class_="gate")
    # A child's errors are shown at the child.
    stuck = ("failed", "blocked")
    is_own = not any(child.status in stuck for child in node.children)
    if node.status in stuck and is_own and node.data.get("error"):
        yield tag("span", str(node.data["error"]), class_="error")


def _first_line(value: object) -> str:
    return str(value or "").strip().partition("\n")[0]


AT, ELAPSED = "\x01", "\x02"
"""Placeholders for the time of an event and for the time elapsed since the start."""


def state_file(facts: SprintFacts) -> Markup:
    """Return the state file at the page's version, and the data to show other versions."""
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
    """Return the history in the format that the script reads; each string occurs once."""
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
    """Return a time in the format used by the page's script."""
    moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)
    places = "milliseconds" if milliseconds % 1000 else "seconds"
    return moment.replace(tzinfo=None).isoformat(timespec=places) + "Z"


class _Pack:
    """Strings, numbered in order of first appearance."""

    def __init__(self, facts: SprintFacts, *, is_timed: bool) -> None:
        self.texts: dict[str, int] = {}
        self.words: dict[str, int] = {}
        self.at: str | None = None
        self._facts, self._is_timed = facts, is_timed
        self._chars = limits_of(facts).line_chars

    def word(self, said: str) -> int:
        """Return the number of an event type or an actor."""
        return self.words.setdefault(said, len(self.words))

    def line(self, line: FileLine, version: int) -> int | list[int]:
        """Return a line as the number of its text, plus any other versions that set it."""
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
    """Return the data as JSON that cannot close its surrounding element."""
    said = msgspec.json.encode(data).decode()
    return Markup(
        said.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    )


def _who(setters: dict[int, str], line: FileLine) -> Markup:
    said = setters.get(line.changed, "")
    if line.set != line.changed:
        said += f", from version {line.set}"
    return text(said)
