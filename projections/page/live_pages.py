"""The live pages: an overview, the page of a sprint, and a comparison of two sprints."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from time import monotonic
from typing import Any, NamedTuple

from sprintlog.errors import NotFoundError
from sprintlog.facts import IterationDetails, SprintFacts, SprintPast
from sprintlog.formatting import NOISE, UNKNOWN, counted, group_rows
from sprintlog.questions import answer, search_sprints
from sprintlog.usage import lower_bounds, tokens_of
from sprintlog.workspaces import Workspace

from . import document as page
from . import live_markup, numbers
from .head import chip
from .iteration import WHOLE_VIEW, change, iteration, prompt
from .live_markup import address, bar, document, entered, head, link, served
from .markup import NOTHING, Markup, joined, row, said, section, table, tag, text
from .numbers import cost, dollars_of, score, time, tokens, took

Clock = Callable[[], float]
NEXT = "; next: "
"""Precedes the next command in the sentence of an outcome."""

FRESH_SECONDS = 5.0
"""The time for which a page is cached if nothing is recorded."""
PAGES_MAX = 16
LONG_EVENTS = 20_000
"""The number of events whose overview is sent before the rest of a page."""
SPRINTS_MAX = 500
"""The maximum number of sprints in the overview; unfinished sprints come first."""
QUERY_CHARS_MAX, RESULTS_MAX, RACES_MAX = 200, 100, 4
_PARTS = {"prompt": "plan", "answer": "events"}
"""The sections with texts outside iterations, by kind."""


def overview(parts: Sequence[Markup], query: str, position: int) -> str:
    """Return the page of all sprints, given the part of each log."""
    nav = bar(tag("strong", "all sprints"), is_live=True)
    results = tag("p", link("results by agent, model or prompt", "results"))
    main = tag("main", head("All sprints"), _search_form(query), *parts, results)
    return document("All sprints", nav, main, position=position)


def part(workspace: Workspace, query: str = "", name: str = "") -> Markup:
    """Return a log's sprints and found texts; a log has a name if there are several."""
    at = f"log/{name}/" if name else ""
    found = _results(workspace, query, at) if query.strip() else NOTHING
    listed = tag("p", "There is no sprint in this log yet.", class_="empty")
    if rows := [*_sprints(workspace, at)]:
        compare = tag("button", "compare two sprints")
        form = tag("form", compare, id=f"compare{at}", action=f"{at}compare")
        label = f"sprints of {name}" if name else "sprints"
        listed = joined(table(HEAD, rows, label=label, class_="labelled sprints"), form)
    place = (name and workspace.location.address) or workspace.location.root
    where = f"{place}, {counted(workspace.log.head().position, 'event')}"
    return joined(found, _races(workspace, at), _of_log(name, where, inside=listed))


def _races(workspace: Workspace, at: str) -> Markup:
    """Return the section with the latest races; nothing if the log has no race."""
    try:
        races = [answer(workspace, "race show", {})]
    except NotFoundError:
        return NOTHING
    others = races[0].others[::-1][:RACES_MAX]
    races += [answer(workspace, "race show", {"race": name}) for name in others]
    rows, sprints = list[Markup](), workspace.sprints()
    for race, one in [(x, one) for x in races for one in x.attempts]:
        found, is_winner = one.figures, one.attempt == race.winner
        there = link(one.sprint, f"{at}sprint", id=one.sprint)
        tests = map(numbers.number, (found.tests_passed, found.test_count))
        spent = ("" if found.is_cost_exact else "at least ") + numbers.money(found.cost_usd)
        cells = (
            *(there if one.sprint in sprints else one.sprint, one.name),
            *("winner" if is_winner else one.state, score(found.score), " / ".join(tests)),
            *(spent, said((race if is_winner else one).reason or "")),
        )
        rows.append(row([tag("td", x) for x in cells]))
    head = ("attempt", "agent", "state", "score", "tests", "cost", "reason")
    return section(f"races{at}", "Races", table(head, rows, label="races", class_="facts"))


def results(found: Any, left_out: Sequence[str]) -> str:
    """Return the page of `list --by`, which names the logs that could not be read."""
    names, *rows = group_rows(found)
    made = [
        row([tag("th", text(x), scope="row"), *(tag("td", y, class_="num") for y in more)])
        for x, *more in rows
    ]
    told = [tag("p", text(x), class_="error") for x in left_out]
    told += [tag("p", text(x)) for x in found.verdict]
    listed = table(names, made, label=f"results by {found.by}", class_="facts")
    ways = (link(f"by {x}", "results", by=x) for x in ("agent", "model", "prompt"))
    title = f"Results by {found.by}"
    main = tag("main", head(title, NOISE), *told, listed)
    return document(title, bar(link("all sprints", "/"), *ways), main)


def unreadable(name: str, error: Exception) -> Markup:
    """Return the part of a log that cannot be read."""
    why = getattr(error, "message", None) or str(error) or "it does not answer"
    hint = getattr(error, "hint", None)
    told = tag("p", why, hint and joined("; ", said(hint)), class_="error", role="alert")
    return _of_log(name, inside=told)


def _of_log(name: str, *note: str, inside: Markup) -> Markup:
    if not name:
        return section("sprints", "Sprints", inside, note=note)
    return section(f"log-{name}", link(name, f"/log/{name}/"), inside, note=note)


def _search_form(query: str) -> Markup:
    """Return the form that searches all sprints."""
    label = "prompts, answers, files, learnings"
    given = {"type": "search", "name_": "q", "maxlength": QUERY_CHARS_MAX}
    typed = tag("input", value=query, placeholder=label, aria_label=label, **given)
    inside = (typed, tag("button", "Search"), link("clear", ".") if query else None)
    return tag("form", *inside, action=".", role="search", id="search")


def _results(workspace: Workspace, query: str, at: str) -> Markup:
    """Return the section with the results of a search."""
    found = search_sprints(workspace, query[:QUERY_CHARS_MAX], RESULTS_MAX)
    sprints, listed = workspace.sprints(), list[Markup]()
    for kind, sprint, iterations, pieces in found:
        there = address(f"{at}sprint", {"id": sprint})
        parts = {f"iteration {n}": f"i{n}" for n in iterations[-LINKS_MAX:] if n}
        parts = parts or {_PARTS.get(kind, "learnings"): ""}
        each = [tag("a", x, href=f"{there}#{at or x}") for x, at in parts.items()]
        shown = [tag("mark", text(x)) if n % 2 else x for n, x in enumerate(pieces) if x]
        where = (sprint or "journal", *(each if sprint in sprints else ()))
        listed.append(tag("li", tag("small", kind), *where, tag("div", *shown)))
    note = (counted(len(found), "result"), " or more" * (len(found) == RESULTS_MAX))
    return section(f"found{at}", "Found", tag("ul", *listed, class_="cards"), note=note)


HEAD = (
    *("compare", "sprint", "status", "result and next step", "best score", "its tests"),
    *("iterations", "cost", "at work", "last activity"),
)


def _sprints(workspace: Workspace, at: str) -> Iterator[Markup]:
    """Yield each sprint's table row, open sprints first."""
    standing = sorted(
        (workspace.status_of(x, n) == "completed", x)
        for x, n in workspace.sprints().items()
    )
    for _, name in standing[:SPRINTS_MAX]:
        found = answer(workspace, "status", {"sprint": name})
        spent, stats = found.spent, found.stats if isinstance(found.stats, dict) else {}
        result, _, _ = found.outcome.sentence.partition(NEXT)
        place, then = workspace.sprint(name).plan.place, found.outcome.next
        tree = f"work tree {place.worktree}" if place and place.worktree else None
        told = [] if result.startswith("next: ") else [said(result.removeprefix("why: "))]
        told += [tag("small", f" at {found.pointer}" if found.pointer else "")]
        told += [tag("div", tag("b", "next"), " ", said(then))] if then else []
        best = answer(workspace, "iteration best", {"sprint": name}).best
        metrics = (best and best.metrics) or {}
        tests = (numbers.number(metrics.get(x)) for x in ("tests_passed", "test_count"))
        figures = (
            *(score(best and best.score), " / ".join(tests) if metrics else UNKNOWN),
            *(stats.get("current-iteration"), dollars_of(spent), took(spent)),
            time(found.last_activity),
        )
        named = zip(HEAD[4:], figures, strict=True)
        cells = [
            tag("td", *(_choice(name, x, f"compare{at}") for x in ("id", "with"))),
            tag("td", link(name, f"{at}sprint", id=name), tag("div", tag("small", tree))),
            tag("td", chip(str(found.status))),
            tag("td", *told, class_="t"),
            *(tag("td", text(x), class_="num", data_label=label) for label, x in named),
        ]
        yield row(cells)


def _choice(name: str, key: str, form: str) -> Markup:
    """Return the radio button that makes a sprint the first or second of a comparison."""
    nth = "first" if key == "id" else "second"
    given = {"name_": key, "value": Markup(escape(name)), "form": form}
    return tag("input", type="radio", required=True, aria_label=f"{nth}: {name}", **given)


Side = dict[str, tuple[Markup, object]]
"""The facts of a sprint by name, as displayed and, for numbers, as an amount."""
ROWS_MAX, LINKS_MAX = 200, 8
"""The maximum numbers of files in a comparison, and of iterations named for each."""


def comparison(workspace: Workspace, given: Mapping[str, str]) -> str:
    """Return the page of two sprints side by side, which are given as `id` and `with`."""
    names = [workspace.choose(given.get(key, "")) for key in ("id", "with")]
    pair = [SprintFacts(workspace, name) for name in names]
    parts = (
        section("figures", "Figures", _side_by_side("figure", names, *map(_told, pair))),
        section("files", "Files changed", _side_by_side("file", names, *map(_files, pair))),
        section("prompts", "Last prompts", tag("div", *map(_asked, pair), class_="pair")),
    )
    title = " and ".join(names)
    nav = bar(link("all sprints", "/"), *(link(x, "sprint", id=x) for x in names))
    return document(title, nav, tag("main", head(title), *parts))


def _side_by_side(what: str, names: list[str], one: Side, other: Side) -> Markup:
    """Return a table of two sprints with the changes of amounts; common rows come first."""
    found = sorted({**one, **other}, key=lambda x: not (x in one and x in other))
    rows, missing = [], (Markup(UNKNOWN), None)
    for name in found[:ROWS_MAX]:
        (a, before), (b, after) = one.get(name, missing), other.get(name, missing)
        cells = (tag("td", x) for x in (a, b, change(after, before)))
        rows.append(row([tag("th", name, scope="row"), *cells]))
    if more := len(found) - len(rows):
        rows.append(row([tag("td", f"{more:,} more", colspan=4)]))
    return table((what, *names, "change"), rows, label=f"each {what}", class_="facts")


def _at(facts: SprintFacts, label: object, place: str) -> Markup:
    """Return a link to a place in a sprint's page, such as the view of an iteration."""
    return tag("a", label, href=f"{address('sprint', {'id': facts.sprint.id})}#{place}")


def _told(facts: SprintFacts) -> Side:
    """Return a sprint's result and figures, and those of its best iteration."""
    found = answer(facts.workspace, "status", {"sprint": facts.sprint.id})
    spent, stopped, count = found.spent, found.stopped, len(facts.numbered)
    # The difference of lower bounds is unknown.
    is_exact = not lower_bounds(spent)
    linked: list[tuple[str, str, str, object]] = [
        ("iterations", str(count), "iterations", count),
        ("tokens", tokens(spent), "head", tokens_of(spent) if is_exact else None),
        ("cost", dollars_of(spent), "head", cost(spent) if is_exact else None),
        ("agents at work", took(spent), "head", None),
    ]
    if (best := facts.iteration(facts.iterations.best_iteration)) is not None:
        at = f"i{best.iteration}"
        linked.append(("best iteration", str(best.iteration), at, None))
        for name, x in {"score": best.score, **(best.figures or {})}.items():
            linked.append((f"its {name.replace('_', ' ')}", numbers.number(x), at, x))
    return {
        "status": (chip(str(found.status)), None),
        "goal": (said(facts.goal or UNKNOWN), None),
        "result": (said(found.outcome.sentence.partition(NEXT)[0]), None),
        "stopped": (said((stopped and (stopped.why or stopped.because)) or UNKNOWN), None),
        **{name: (_at(facts, x, place), n) for name, x, place, n in linked},
    }


def _files(facts: SprintFacts) -> Side:
    """Return the files changed by a sprint's iterations, with links to the newest ones."""
    found: dict[str, list[Markup]] = {}
    for nth, changed in sorted(facts.changed_files.items(), reverse=True):
        for path in {x.path: x for x in changed if x.by not in ("outside", "rollback")}:
            found.setdefault(path, []).append(_at(facts, f"{nth} ", f"i{nth}"))
    count = len(found) if facts.keeps_files else "not saved"
    shown = {path: (joined(*x[:LINKS_MAX]), None) for path, x in sorted(found.items())}
    return {"all files, with their newest iterations": (text(count), count), **shown}


def _asked(facts: SprintFacts) -> Markup:
    """Return the prompt of a sprint's last iteration."""
    rows, name = facts.numbered, facts.sprint.id
    if not rows or (one := IterationDetails(facts).of(rows[-1].iteration)) is None:
        return tag("section", tag("h2", name), tag("p", "No iteration was recorded yet."))
    title = _at(facts, f"Iteration {one.number} of {name}", f"i{one.number}")
    return prompt(one, WHOLE_VIEW.prompt, title, f" of {name}")


class LivePages:
    """A log's current pages, for a server.

    A sprint's page is cached until something is recorded, because many readers share it.
    """

    policy = staticmethod(page.sources)
    """Return the digests of the style and script of a sprint's page."""
    style = staticmethod(page.style_sheet)
    overview, part = staticmethod(overview), staticmethod(part)
    unreadable, results = staticmethod(unreadable), staticmethod(results)
    comparison = staticmethod(comparison)
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

    def confirmation(self, wanted: Any, shown: Any) -> str:
        """Return a confirmation page that previews the events of an action."""
        return live_markup.confirmation(wanted, shown, self._form_token or "")

    def page(self, workspace: Workspace, sprint_id: str | None) -> str:
        """Return a sprint's page, rebuilding it if anything has been recorded since.

        The first page of a long sprint contains only the overview, and requests the rest.
        """
        name = workspace.choose(sprint_id)
        position, now = workspace.log.head().position, self._clock()
        kept = self._kept.get(name)
        # Part of the page depends on the clock: whether a run is active, and since when.
        is_fresh = kept and kept.position == position and now - kept.made < FRESH_SECONDS
        if kept and is_fresh and kept.text:
            return kept.text
        past, acts = kept.past if kept else SprintPast(), NOTHING
        facts = SprintFacts(workspace, name, past=past)
        if kept and is_fresh and kept.details.facts.workspace is workspace:
            facts = kept.details.facts
        is_whole = bool(kept) or facts.version < LONG_EVENTS
        if self._form_token is not None:
            acts = live_markup.forms(facts, self._actions, self._form_token)
        # The streams whose events change the page.
        streams = (facts.stream, "journal", "session")
        parts = served(acts, sprint_id=name, position=position, streams=streams)
        if not is_whole:
            parts.body["data_partial"] = "yes"
        text = page.document(facts, parts, is_whole=is_whole)
        known = position, now, text if is_whole else "", past, IterationDetails(facts)
        self._kept[name] = _KeptPage(*known)
        self._kept.move_to_end(name)
        while len(self._kept) > PAGES_MAX:
            self._kept.popitem(last=False)
        return text

    def iteration(self, workspace: Workspace, sprint_id: str | None, number: int) -> str:
        """Return the view of an iteration; raise `NotFoundError` if it is unknown."""
        name = workspace.choose(sprint_id)
        kept = self._kept.get(name)
        details = kept and kept.details
        is_current = kept and kept.position == workspace.log.head().position
        if not is_current or not details or details.facts.workspace is not workspace:
            details = IterationDetails(SprintFacts(workspace, name))
        if (one := details.of(number)) is None:
            raise NotFoundError(f"iteration {number} is unknown")
        return iteration(one)


class _KeptPage(NamedTuple):
    """A cached page."""

    position: int
    """The log position that the page represents."""
    made: float
    text: str
    """The whole page; empty if only its overview was requested yet."""
    past: SprintPast
    """The events read so far; the next page reads only new events."""
    details: IterationDetails
    """The iterations as of that position, for their views."""
