"""The `sprintlog log` command: events, one per line."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import click
from click.core import ParameterSource

from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import is_extension
from sprintlog.engine.service.agent_sessions.known_sessions import choose_session
from sprintlog.engine.service.event_filter import EventFilter, range_of, select
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.streams.history import PAUSE_SECONDS, follow
from sprintlog.projections.text.decision_sentences import is_important, sentence
from sprintlog.projections.text.event_line import Folded, folded, what
from sprintlog.projections.views.events import envelope
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import (
    AT_POINT,
    SINCE_POINT,
    ReadOptions,
    open_workspace,
    packed,
    with_reading,
)
from ..output import counted, note, print_json, print_text
from ..screen import times
from ..screen.pager import paged, pause
from ..screen.tables import FittedTable, Toned
from ..screen.terminal import ATTENTION, BAD, QUIET, terminal

EVENTS_A_STEP = 512
PATTERN = {*"*?["}

Print = Callable[[Iterable[RecordedEvent]], None]
Say = Callable[[RecordedEvent], str]


def _known(
    context: click.Context, parameter: click.Parameter, types: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the event types; raise `typed.UnknownWordError` for an unknown type."""
    for one in types:
        # An extension's event type may be recorded although it is not installed here.
        if not (is_extension(one) or PATTERN & {*one} or one in CODEC.events):
            said = f"there is no event type {one[:60]!r}"
            raise typed.UnknownWordError(said, one, CODEC.events, context)
    return types


@typed.command("log")
@typed.list_option(
    "--type",
    "types",
    metavar="TYPE",
    callback=_known,
    help="Only these types; * matches any text.",
)
@typed.option("--phase", metavar="ADDRESS", help="Only events of this phase or below.")
@typed.number_option("--iteration", least=0, help="Only events of iteration N.")
@typed.list_option(
    "--actor", "actors", metavar="WHO", help="Only events by these actors; * as in --type."
)
@typed.option(
    "--since", metavar="POINT", callback=SINCE_POINT, help="Start at a point as in --at."
)
@typed.option(
    "--until", metavar="POINT", callback=AT_POINT, help="Stop at a point as in --at."
)
@typed.option("--grep", "text", help="Only events with this text.")
@typed.number_option("--last", least=1, help="Only the last N events.")
@typed.number_option("-n", "--limit", least=1, help="Stop after N events.")
@typed.flag("--reverse", help="Newest first.")
@typed.flag("--all", "whole", help="Show the whole log, by position.")
@typed.flag("--journal", "of_journal", help="Show the journal.")
@typed.option(
    "--session", metavar="ID", help="Show an agent's session; a prefix is enough."
)
@typed.flag("-f", "--follow", "follows", help="Wait for new events.")
@typed.flag("--oneline", help="Show only position, type and summary.")
@typed.flag("-v", "--full", "full", help="Show full texts, both numbers and full times.")
@with_reading
@packed(EventFilter, ("types", "actors", "phase", "text"), "wanted")
@packed(dict, ("iteration", "since", "until"), "span")
def command(
    wanted: EventFilter,
    span: dict[str, Any],
    last: int | None,
    limit: int | None,
    reverse: bool,
    whole: bool,
    of_journal: bool,
    session: str | None,
    follows: bool,
    oneline: bool,
    full: bool,
    reading: ReadOptions,
) -> None:
    """List a sprint's important events as sentences, or all events that match filters.

    With any filter, --all, --oneline or -v, events are shown by type. An event must match
    all filters. Time ranges refer to the time of occurrence. --json prints one line per
    event: the complete envelope and its data. --follow ends at Ctrl-C or when the output is
    closed. With --all, consecutive events of an agent's session are printed on one line;
    --session or -v shows all of them.

    Examples: sprintlog log --type 'phase-*' --since iter:2 --last 5

    sprintlog log --follow --all --json
    """
    cut = (until := span["until"]) or span["iteration"] is not None or reverse or reading.at
    for is_wrong, problem in (
        (of_journal + whole + bool(session) > 1, "--journal, --session and --all"),
        (reading.at and (whole or session or until), "--at with --all, --session, --until"),
        (follows and cut, "--follow with --reverse, --at, --until or --iteration"),
        (reverse and last is not None, "--reverse with --last; use --limit"),
    ):
        if is_wrong:
            raise click.UsageError(f"cannot combine {problem}")
    with open_workspace() as workspace:
        stream = JOURNAL if of_journal else None
        if session is not None:
            stream = choose_session(workspace.log, session)
        elif not (of_journal or whole):
            stream = sprint_stream(workspace.choose(reading.sprint_id))
        range_ = range_of(workspace, stream, **span)
        if reading.at is not None:
            of = None if of_journal else workspace.choose(reading.sprint_id)
            end = workspace.version_at(of, reading.at)
            range_ = range_._replace(last=min(range_.last or end, end))
        wanted = wanted._replace(range=range_)
        folds = whole and not (full or wanted.types or wanted.text)
        is_short = not (reading.as_json or full or oneline or of_journal or _is_filtered())
        say = sentence if is_short else what
        lines = _Lines(say, of_log=whole, oneline=oneline, full=full, folds=folds)
        printing = print_events if reading.as_json else lines.print_events
        head = workspace.log.head().position
        found = select(workspace.log, stream, wanted, reverse=reverse or last is not None)
        found = (event for event in found if event.position <= head)
        found = found if last is None else reversed([*islice(found, last)])
        found = filter(is_important, found) if is_short else found
        with paged(wanted=not (reading.as_json or follows)):
            shown = 0
            for page in _paged(islice(found, limit)):
                printing(page)
                shown += len(page)
            if not (shown or reading.as_json or follows):
                print_text("no important events" if is_short else "no events")
        lines.print_rest()
        if stream is not None and not reading.as_json and not _is_filtered():
            _tell_others(workspace, stream, head, shown if is_short else None)
        if follows and (limit is None or shown < limit):
            rest = None if limit is None else limit - shown
            _follow(workspace, stream, wanted, printing, after=head, limit=rest)


def _is_filtered() -> bool:
    """Return whether an option or argument filters events."""
    context = click.get_current_context()
    ways = ("full", "oneline", "sprint_id", "fields", "of_journal")
    return any(
        context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        for name in context.params
        if name not in ways
    )


def _tell_others(workspace: Workspace, stream: str, head: int, shown: int | None) -> None:
    """Print the number of events not shown, including events in other streams."""
    others = head - (workspace.log.version(stream) if shown is None else shown)
    if others > 0:
        note(f"{counted(others, 'event')} not shown: `sprintlog log --all`")


def _follow(
    workspace: Workspace,
    stream: str | None,
    wanted: EventFilter,
    printing: Print,
    *,
    after: int,
    limit: int | None,
) -> None:
    for page in follow(workspace.log, after=after, pause=partial(pause, PAUSE_SECONDS)):
        events = [
            event for event in page if stream in (None, event.stream) and wanted.fits(event)
        ][:limit]
        printing(events)
        if limit is not None and (limit := limit - len(events)) <= 0:
            return


def _paged(events: Iterable[RecordedEvent]) -> Iterator[list[RecordedEvent]]:
    rest = iter(events)
    while page := list(islice(rest, EVENTS_A_STEP)):
        yield page


def print_events(events: Iterable[RecordedEvent]) -> None:
    """Print events as JSON lines."""
    for event in events:
        print_json(envelope(event))


class _Lines:
    """Prints events in columns that never become narrower."""

    def __init__(
        self, say: Say, *, of_log: bool, oneline: bool, full: bool, folds: bool
    ) -> None:
        self._say = say
        shown = terminal()
        self._is_whole = full or shown.width is None
        self._row = self._one_line if oneline else self._columns
        self._of_log, self._has_versions, self._folds = of_log, full, folds
        self._table = FittedTable(
            shown._replace(width=None) if full else shown,
            right={0, 1} if full and not oneline else {0},
            spare=() if oneline else (2, 1),
        )

    def print_events(self, events: Iterable[RecordedEvent]) -> None:
        """Print events in a single write."""
        shown = folded(events) if self._folds else events
        print_text(*self._table.lines(map(self._line, shown)))

    def print_rest(self) -> None:
        """Print a hint on how to see the full text if any text was truncated."""
        if self._table.is_cut:
            note("cut to fit: use `sprintlog log -v` or `sprintlog show event N`")

    def _line(self, event: "RecordedEvent | Folded") -> tuple[str, ...]:
        if isinstance(event, RecordedEvent):
            return self._row(event)
        # The last event's cells, except for the position and the text of the group.
        cells = self._row(event.events[-1])
        return event.position, *cells[1:-1], event.said

    def _columns(self, event: RecordedEvent) -> tuple[str, ...]:
        version = (f"v{event.version}",) if self._has_versions else ()
        at = Toned(event.at if self._is_whole else times.when(event.at), QUIET)
        stream = (event.stream.removeprefix("sprint/"),) if self._of_log else ()
        *first, said = self._one_line(event)
        return *first, *version, at, event.actor, *stream, said

    def _one_line(self, event: RecordedEvent) -> tuple[str, ...]:
        return str(event.position), _toned(event, self._say(event))


def _toned(event: RecordedEvent, text: str) -> Toned:
    """Return the text of an event, coloured according to its meaning."""
    words = event.type.rpartition("-")[2]
    tone = BAD if words in ("failed", "blocked", "interrupted") else None
    return Toned(text, ATTENTION if event.type in _TO_LOOK_AT else tone)


_TO_LOOK_AT = {"rolled-back", "human-needed", "edit-observed", "breakpoint-reached"}
"""Types of events that require attention when reviewing an overnight log."""
