"""The `sprintlog redact` command: erase text from the log and sprintlog's other files."""

import re
import sys

import click
from msgspec.structs import replace

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.masking import mask
from sprintlog.engine.service.agent_sessions.known_sessions import choose_session
from sprintlog.projections.health import redaction
from sprintlog.projections.health.redaction import COPIES_ELSEWHERE, unreached
from sprintlog.projections.health.selection import Chosen, Selector, chosen
from sprintlog.projections.views import log as views
from sprintlog.projections.views.events import filled
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..back.agreement import Agreement, agree, asks, with_asking
from ..context import HAPPENED, open_workspace, packed, with_actor, with_json
from ..output import counted, hint, print_answer, table, warn
from ..record import check_actor

_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)
TEXT_BYTES_MAX = 8 << 20
SHOWN_MAX = 20


def _ranges(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[tuple[int, int], ...]:
    found = []
    for text in value:
        match = _RANGE.fullmatch(text)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 0 < first <= last:
            raise click.UsageError(f"{text[:40]!r}: must be a position like 12, or 12-20")
        found.append((first, last))
    return tuple(found)


@typed.command("redact")
@typed.argument("positions", nargs=-1, callback=_ranges, metavar="[POSITION]...")
@typed.option("--stream", metavar="STREAM", help="Only events of this stream.")
@typed.option("--session", metavar="SESSION", help="Only events of this session.")
@typed.option("--since", metavar="TIME", callback=HAPPENED, help="Only events since then.")
@typed.option("--until", metavar="TIME", callback=HAPPENED, help="Only events until then.")
@typed.option("--text", help="Only events with this text; - reads it from stdin.")
@typed.option("--pattern", metavar="REGEX", help="Only events that match this pattern.")
@typed.option("--reason", required=True, help="The reason, which is recorded.")
@typed.flag(
    "--whole-sprint", help="Include plans, and with them all events of their sprints."
)
@with_asking
@with_actor
@with_json
@packed(Selector, Selector.__struct_fields__, "selector")
def command(
    selector: Selector,
    session: str | None,
    reason: str,
    wanted: Agreement,
    actor: str,
    as_json: bool,
) -> None:
    """Erase the text of events, and the same text wherever sprintlog stores it.

    A record that the event existed remains: time, actor, type, ids and numbers. Snapshots
    and state files are rewritten without the text. This cannot be undone.

    Examples: sprintlog redact 412 --reason 'holds a token' --dry-run

    pass show token | sprintlog redact --text - --reason 'old token' --yes
    """
    if selector.text == "-":
        selector = replace(selector, text=_from_stdin())
    with open_workspace() as workspace:
        if session is not None:
            selector = replace(selector, stream=choose_session(workspace.log, session))
        redaction.settle(workspace)
        found = chosen(workspace, selector)
        if found.needle is not None and found.needle.is_in(
            reason.encode(errors="surrogateescape")
        ):
            raise RefusedError("the reason contains the text to erase")
        places, left = _places(workspace, found)
        if not found.events and not places:
            _show(found, places, left, as_json=as_json)
            return
        if wanted.dry_run or not wanted.yes:
            if wanted.dry_run or not as_json:
                _show(found, places, left, as_json=as_json)
            if wanted.dry_run:
                return
            agree(
                is_asked=asks(as_json=as_json),
                question="Erase it? This cannot be undone.",
                nothing="nothing was erased",
                remark="; it cannot be undone",
            )
        erased = found.events, found.texts
        note = redaction.note_of(
            *erased, reason=mask(reason), actor=check_actor(actor), at=workspace.now()
        )
        done = redaction.redact(workspace, note)
        done = replace(done, unreached=[*left, *done.unreached])
        _answer(done, as_json=as_json)


def _from_stdin() -> str:
    """Read the text from standard input, to keep it out of the shell's history."""
    content = sys.stdin.buffer.read(TEXT_BYTES_MAX)
    return content.decode("utf-8", "surrogateescape").rstrip("\r\n")


def _places(
    workspace: Workspace, found: Chosen
) -> tuple[list[views.PlaceOfText], list[views.UnreachedPlace]]:
    """Return other places that contain the text, and places from which it is not erased."""
    needle = found.needle
    if needle is None:
        return [], []
    places = [
        views.PlaceOfText(entry.name, where)
        for entry in redaction.BESIDE_EVENTS
        for where in entry.scan(workspace, needle)
    ]
    return places, unreached(workspace, found.events, needle)


def _show(
    found: Chosen,
    places: list[views.PlaceOfText],
    left: list[views.UnreachedPlace],
    *,
    as_json: bool,
) -> None:
    events = [
        filled(views.ErasedEvent, event, bytes=len(event.payload or b""))
        for event in found.events
    ]
    answer = views.Redaction(events=events, places=places, unreached=left)
    rows = [
        [str(event.position), event.at[:19], event.stream, event.type, str(event.bytes)]
        for event in events[:SHOWN_MAX]
    ]
    lines = table(rows, right=frozenset({0, 4})) if rows else []
    lines += _more(len(events), "event")
    lines += [f"{place.kind}  {place.where}" for place in places[:SHOWN_MAX]]
    lines += _more(len(places), "place")
    beside = f", and {counted(len(places), 'other place')}" if places else ""
    lines.append(
        f"would erase the text of {counted(len(events), 'event')}{beside}"
        if events or places
        else "nothing to erase: it is in no event that was not erased, and nowhere else"
    )
    print_answer(answer, lines, as_json=as_json)
    if not as_json:
        _tell(left)


def _more(count: int, noun: str) -> list[str]:
    return [f"… and {counted(count - SHOWN_MAX, f'more {noun}')}"] * (count > SHOWN_MAX)


def _answer(done: views.RedactionDone, *, as_json: bool) -> None:
    lines = [f"erased the text of {counted(done.erased, 'event')}"]
    lines += [f"{place.kind}  {place.where}" for place in done.places]
    lines += [f"snapshot {a[:12]} is now {b[:12]}" for a, b in done.snapshots.items()]
    print_answer(done, lines, as_json=as_json)
    if not as_json:
        _tell(done.unreached)
        hint(COPIES_ELSEWHERE)


def _tell(left: list[views.UnreachedPlace]) -> None:
    for one in left:
        warn(f"not erased: {one.where}: {one.why}")
        if one.command:
            hint(f"`{one.command}`")
