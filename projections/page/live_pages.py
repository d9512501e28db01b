"""The live pages: an overview of the log, a sprint's page, and a comparison of points."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from time import monotonic
from typing import Any, NamedTuple

from sprintlog.facts import SprintFacts, SprintPast
from sprintlog.formatting import counted
from sprintlog.history import difference
from sprintlog.questions import answer
from sprintlog.workspaces import Workspace

from . import document as page
from . import live_markup
from .head import chip
from .live_markup import bar, document, entered, head, hidden, link, served
from .markup import NOTHING, Markup, heading, row, section, table, tag, text
from .numbers import time

STATE_FILES = ("progress", "best", "journal")
Clock = Callable[[], float]

CHANGES_MAX = 2000
"""The maximum number of changed fields on a page; the CLI and the API return all."""
FRESH_SECONDS = 5.0
"""The time for which a page is cached if nothing is recorded."""
PAGES_MAX = 16
SPRINTS_MAX = 500
"""The maximum number of sprints in the overview; unfinished sprints come first."""


def overview(workspace: Workspace) -> str:
    """Return the page of all sprints and work trees in the log."""
    position = workspace.log.head().position
    trees: dict[str, list[list[Markup]]] = {}
    for worktree, cells in _sprints(workspace):
        trees.setdefault(worktree, []).append(cells)
    sections: list[Markup] = []
    for number, (tree, found) in enumerate(trees.items()):
        title = f"Work tree {tree}" if tree else "Main work tree"
        named = [heading(name) for name in HEAD]
        listed = table(
            named, [row(cells) for cells in found], label=f"table of {title}", class_="wide"
        )
        sections.append(section(f"tree-{number}", title, listed))
    if not trees:
        said = tag("p", "There is no sprint in this log yet.")
        sections.append(section("tree-0", "Sprints", said))
    where = f"{workspace.location.root}, {counted(position, 'event')}"
    return document(
        "All sprints",
        bar(tag("strong", "all sprints"), link("two points", "/diff"), is_live=True),
        tag("main", head("All sprints", where), *sections),
        position=position,
    )


HEAD = ("sprint", "status", "activity or need", "iteration", "last activity", "file")


def _sprints(workspace: Workspace) -> Iterator[tuple[str, list[Markup]]]:
    """Yield each sprint's work tree and table cells, open sprints first."""
    standing = [
        (status == "completed", name)
        for name, version in workspace.sprints().items()
        for status in [workspace.status_of(name, version)]
    ]
    for _, name in sorted(standing)[:SPRINTS_MAX]:
        sprint = workspace.sprint(name)
        place = sprint.plan.place
        found = answer(workspace, "status", {"sprint": name})
        last = found.last_activity
        cells = [
            tag("td", link(name, "/sprint", id=name)),
            tag("td", chip(str(found.status))),
            tag("td", text(_doing(found))),
            tag("td", text(_iteration(found)), class_="num"),
            tag("td", text(last) if not isinstance(last, str) else time(last)),
            tag("td", text(None if place is None else place.path)),
        ]
        yield ("" if place is None else place.worktree), cells


def _doing(found: Any) -> str | None:
    """Return a sprint's current activity, or the reason why it stopped."""
    if found.stopped is not None:
        said = found.stopped.why or found.stopped.do
        return f"{found.stopped.because}: {said}" if found.stopped.because else said
    if found.status == "completed":
        return "done"
    return f"at {found.pointer}" if found.pointer else None


def _iteration(found: Any) -> object:
    return found.stats.get("current-iteration") if isinstance(found.stats, dict) else None


def compared(workspace: Workspace, given: Mapping[str, str]) -> str:
    """Return the page that compares a state file at any two points in the log."""
    sprint_id = workspace.choose(given.get("sprint"))
    parts: list[Markup] = [_points(given, sprint_id)]
    if "from" in given:
        file = given.get("file", "progress")
        points = given["from"], given.get("to")
        found = difference(workspace, *points, sprint_id=given.get("sprint"), file=file)
        changes = found.sentences()
        titles = [f"{one.subject} version {one.version}" for one in (found.old, found.new)]
        lines = [tag("li", change) for change in changes[:CHANGES_MAX]]
        shown = tag("ul", *lines, class_="changes") if lines else "No difference."
        more = len(changes) - len(lines)
        title = f"{found.file.path}: {titles[0]} → {titles[1]}"
        left = tag("p", f"{more} more; `diff` has all") if more else NOTHING
        unified = tag("pre", found.unified()[:_TEXT_MAX], tabindex="0")
        whole = tag("details", tag("summary", "As a unified diff"), unified)
        parts.append(section("difference", title, shown, left, whole))
    return document(
        f"{sprint_id}: two points",
        bar(link("all sprints", "/"), link(sprint_id, "/sprint", id=sprint_id)),
        tag("main", head("Differences between two points"), *parts),
    )


_TEXT_MAX = 200_000


def _points(given: Mapping[str, str], sprint_id: str) -> Markup:
    """Return the form for selecting two points."""
    files = [
        tag("option", name, value=name, selected=name == given.get("file", "progress"))
        for name in STATE_FILES
    ]
    return tag(
        "form",
        hidden({"sprint": sprint_id}),
        labelled("From", "from", given.get("from", "start")),
        labelled("To", "to", given.get("to", "")),
        tag("label", "File ", tag("select", *files, name_="file")),
        tag("button", "Compare", type="submit"),
        tag(
            "p",
            "A point is iter:N, version:N, position:N, best, start or a time; "
            "without To it is now.",
            class_="note",
        ),
        action="/diff",
        method="get",
        class_="points",
    )


def labelled(label: str, name: str, value: str) -> Markup:
    """Return a form field with its label."""
    field = tag("input", name_=name, value=value, autocomplete="off", spellcheck="false")
    return tag("label", f"{label} ", field)


class LivePages:
    """A log's current pages, for a server.

    A sprint's page is cached until something is recorded, because many readers share it.
    """

    policy = staticmethod(page.sources)
    """Return the digests of the style and script of a sprint's page."""
    overview = staticmethod(overview)
    compared = staticmethod(compared)
    refused = staticmethod(live_markup.refused)
    entered = staticmethod(entered)

    def __init__(
        self,
        actions: Mapping[str, Any],
        form_token: str | None = None,
        *,
        clock: Clock = monotonic,
    ) -> None:
        """Create the pages, which contain forms for `actions` only if a token is given.

        An action has a `command`, a `label` and `fields`.
        """
        self._actions, self._form_token, self._clock = actions, form_token, clock
        self._kept: OrderedDict[str, _KeptPage] = OrderedDict()

    @staticmethod
    def style() -> bytes:
        """Return the style sheet shared by all pages."""
        folder = files(__package__).joinpath("static")
        return b"".join((folder / x).read_bytes() for x in ("drawing.css", "page.css"))

    def confirmation(self, wanted: Any, shown: Any) -> str:
        """Return a confirmation page that previews the events of an action."""
        return live_markup.confirmation(wanted, shown, self._form_token or "")

    def page(self, workspace: Workspace, sprint_id: str | None) -> str:
        """Return a sprint's page, rebuilding it if anything has been recorded since."""
        name = workspace.choose(sprint_id)
        position, now = workspace.log.head().position, self._clock()
        kept = self._kept.get(name)
        # Part of the page depends on the clock: whether a run is active, and since when.
        if kept and kept.position == position and now - kept.made < FRESH_SECONDS:
            return kept.text
        past = kept.past if kept else SprintPast()
        text = self._made(workspace, name, position, past)
        self._kept[name] = _KeptPage(position, now, text, past)
        self._kept.move_to_end(name)
        while len(self._kept) > PAGES_MAX:
            self._kept.popitem(last=False)
        return text

    def _made(
        self, workspace: Workspace, name: str, position: int, past: SprintPast
    ) -> str:
        facts, acts = SprintFacts(workspace, name, past=past), NOTHING
        if self._form_token is not None:
            acts = live_markup.forms(facts, self._actions, self._form_token)
        # The streams whose events change the page.
        streams = (facts.stream, "journal", "session")
        return page.document(
            facts, served(acts, sprint_id=name, position=position, streams=streams)
        )


class _KeptPage(NamedTuple):
    """A cached page."""

    position: int
    """The log position that the page represents."""
    made: float
    text: str
    past: SprintPast
    """The events read so far; the next page reads only new events."""
