"""The live pages: an overview of the log, and the page of a sprint."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from time import monotonic
from typing import Any, NamedTuple

from sprintlog.errors import NotFoundError
from sprintlog.facts import IterationDetails, SprintFacts, SprintPast
from sprintlog.formatting import counted
from sprintlog.questions import answer
from sprintlog.workspaces import Workspace

from . import document as page
from . import live_markup
from .head import chip
from .iteration import iteration
from .live_markup import bar, document, entered, head, link, served
from .markup import NOTHING, Markup, heading, row, said, section, table, tag, text
from .numbers import dollars_of, time, tokens, took

Clock = Callable[[], float]
NEXT = "; next: "
"""Precedes the next command in the sentence of an outcome."""

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
        nothing = tag("p", "There is no sprint in this log yet.")
        sections.append(section("tree-0", "Sprints", nothing))
    where = f"{workspace.location.root}, {counted(position, 'event')}"
    return document(
        "All sprints",
        bar(tag("strong", "all sprints"), is_live=True),
        tag("main", head("All sprints", where), *sections),
        position=position,
    )


HEAD = (
    *("sprint", "status", "result", "iterations", "tokens", "cost", "at work"),
    *("last activity", "next"),
)


def _sprints(workspace: Workspace) -> Iterator[tuple[str, list[Markup]]]:
    """Yield each sprint's work tree and table cells, open sprints first."""
    standing = [
        (status == "completed", name)
        for name, version in workspace.sprints().items()
        for status in [workspace.status_of(name, version)]
    ]
    for _, name in sorted(standing)[:SPRINTS_MAX]:
        place = workspace.sprint(name).plan.place
        found = answer(workspace, "status", {"sprint": name})
        spent, stats = found.spent, found.stats if isinstance(found.stats, dict) else {}
        result, _, _ = found.outcome.sentence.partition(NEXT)
        at = f" at {found.pointer}" if found.pointer else ""
        figures = (stats.get("current-iteration"), tokens(spent), dollars_of(spent))
        cells = [
            tag("td", link(name, "/sprint", id=name)),
            tag("td", chip(str(found.status))),
            tag("td", said(result), tag("small", at), class_="t"),
            *(tag("td", text(x), class_="num") for x in (*figures, took(spent))),
            tag("td", time(found.last_activity)),
            tag("td", said(found.outcome.next or "")),
        ]
        yield ("" if place is None else place.worktree), cells


class LivePages:
    """A log's current pages, for a server.

    A sprint's page is cached until something is recorded, because many readers share it.
    """

    policy = staticmethod(page.sources)
    """Return the digests of the style and script of a sprint's page."""
    overview = staticmethod(overview)
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
        past, acts = kept.past if kept else SprintPast(), NOTHING
        facts = SprintFacts(workspace, name, past=past)
        if self._form_token is not None:
            acts = live_markup.forms(facts, self._actions, self._form_token)
        # The streams whose events change the page.
        streams = (facts.stream, "journal", "session")
        parts = served(acts, sprint_id=name, position=position, streams=streams)
        text = page.document(facts, parts)
        self._kept[name] = _KeptPage(position, now, text, past, IterationDetails(facts))
        self._kept.move_to_end(name)
        while len(self._kept) > PAGES_MAX:
            self._kept.popitem(last=False)
        return text

    def iteration(self, workspace: Workspace, sprint_id: str | None, number: int) -> str:
        """Return the view of an iteration; raise `NotFoundError` if there is none."""
        name = workspace.choose(sprint_id)
        kept = self._kept.get(name)
        details = kept and kept.details
        is_current = kept and kept.position == workspace.log.head().position
        if not is_current or not details or details.facts.workspace is not workspace:
            details = IterationDetails(SprintFacts(workspace, name))
        if (one := details.of(number)) is None:
            raise NotFoundError(f"there is no iteration {number}")
        return iteration(one)


class _KeptPage(NamedTuple):
    """A cached page."""

    position: int
    """The log position that the page represents."""
    made: float
    text: str
    past: SprintPast
    """The events read so far; the next page reads only new events."""
    details: IterationDetails
    """The iterations as of that position, for their views."""
