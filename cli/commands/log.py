"""`sprintlog log`: the events, one a line."""

from collections import deque
from collections.abc import Iterator

import click
import msgspec

from sprintlog.engine.log.envelope import Recorded
from sprintlog.projections.catalogue import CODEC

from ..output import envelope, print_json, print_text, table
from ..wiring import open_workspace, with_json, with_point, with_sprint

TEXT_CHARS_MAX = 100


@click.command("log", epilog="Example: sprintlog log --type phase-completed --last 5")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only these types.")
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N.")
@click.option("--all", "all_sprints", is_flag=True, help="Of every sprint, by position.")
@with_point
@with_sprint
@with_json
def command(
    types: tuple[str, ...],
    last: int | None,
    all_sprints: bool,
    at: str | None,
    sprint_id: str | None,
    as_json: bool,
) -> None:
    """List the events of a sprint in order.

    With --json one line each: the whole envelope and its data.
    """
    with open_workspace() as workspace:
        name = None if all_sprints else workspace.choose(sprint_id)
        found = workspace.events(name)
        if at is not None:
            if name is None:
                raise click.UsageError("--at goes with one sprint, not with --all")
            found = _until(found, workspace.version_at(name, at))
        chosen = (event for event in found if not types or event.type in types)
        shown = deque(chosen, maxlen=last) if last else chosen
        if as_json:
            for event in shown:
                print_json(envelope(event))
            return
        rows = [_row(event) for event in shown]
    print_text(*(table(rows, right=frozenset({0, 1})) if rows else ["no events"]))


def _until(events: Iterator[Recorded], version: int) -> Iterator[Recorded]:
    return (event for event in events if event.version <= version)


def _row(event: Recorded) -> tuple[str, ...]:
    mark = " (observed)" if event.observed else ""
    return (
        str(event.position),
        str(event.version),
        event.at,
        event.actor,
        event.type + mark,
        _said(event),
    )


def _said(event: Recorded) -> str:
    """Return what the event says in one short line."""
    payload = CODEC.today(event)
    if payload is None:
        return "(erased)"
    data = msgspec.json.decode(payload)
    data.pop("document", None)
    data.pop("digest", None)
    for field in ("patch", "changes"):
        if field in data:
            data[field] = len(data[field])
    if "place" in data:
        data["place"] = data["place"]["path"]
    if "nodes" in data:
        data["nodes"] = ",".join(str(node.get("id")) for node in data["nodes"])
        data["position"] = ":".join(map(str, data["position"].values()))
    if "sources" in data:
        data["sources"] = ",".join(source["path"] for source in data["sources"])
    text = " ".join(
        str(value) if key == "phase" else f"{key}={value}" for key, value in data.items()
    )
    return text if len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - 1] + "…"
