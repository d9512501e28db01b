"""Blame names exactly the versions of its definition, over random histories.

The other side is brute force: the document of every version, folded from nothing.
"""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.log.event import Reach
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.service.streams.catalogue import SPRINTS, new_event, sprint_stream
from sprintlog.engine.service.streams.checkpoints import SavedStates
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state.patch import MISSING, find, parse_path
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.history.blame import ALWAYS_SET, Setting, search, told_by
from sprintlog.projections.history.blame_lines import line_fields, search_all
from sprintlog.projections.history.replay import RECORDS
from sprintlog.projections.state_files.yaml.writer import dump

from ..sprint.test_sprint_laws import laws
from ..sprint_histories import Data, World, copied, worlds

KINDS = ("import", "inject", "inject", "iterate", "queue", "queue", "back", "back", "undo")
ALWAYS = (
    "status",
    "current.phase",
    "current",
    "stats.elapsed",
    "stats.completed-phases",
    "stats.total-steps",
    "stats.current-iteration",
    "last-activity",
    "operator-queue",
    "operator-queue[req-1].status",
    "phases",
    "phases[p0].error",
    "phases[p0]",
    "/phases/0/status",
    "/phases/1/steps/0/phases/0/status",
    "phases[1].steps",
    "nothing.of.it",
)
number = st.integers(0, 10**6)


def reader_of(world: World, kept: set[int]) -> Repository[Sprint]:
    """Return a reader of a world's stream with the saved states of some versions."""
    log = MemoryLog(clock=lambda: 0, entropy=bytes)
    checkpoints = SavedStates(log.checkpoints, SPRINTS, log)
    new_events = [new_event(event, at=at, actor="runtime") for _, at, event in world.events]
    log.append(sprint_stream("s"), new_events, expect=Expect.ANY)
    for version in sorted({1 + k % len(world.events) for k in kept}):
        checkpoints.save(sprint_stream("s"), world.rebuilt(version), since=0)
    return Repository(log, SPRINTS, log.checkpoints)


def documents(world: World) -> list[Data]:
    """Return the document of every version, that before the first one included."""
    return [copied(world.rebuilt(n).document) for n in range(len(world.events) + 1)]


def token(value: Any) -> Any:
    """Return a token that is equal only for equal values."""
    return value if value is MISSING else msgspec.json.encode(value)


def expected(world: World, values: list[Any], until: int) -> Setting:
    """Return the result by definition, from a field's value at every version."""
    changed = [n for n in range(1, until + 1) if values[n] != values[n - 1]]
    targets = {v: x.to for v, _, x in world.events if isinstance(x, f.RolledBack)}
    at = until
    while at and (at in targets or values[at] == values[at - 1]):
        at = targets.get(at, at - 1)
    last = max(changed, default=0)
    return Setting(last, at, values[last - 1] if last else MISSING)


@laws
@given(worlds(*KINDS), st.sets(number, max_size=5), number, st.data())
def test_names_what_the_definition_says(
    world: World, kept: set[int], k: int, data: st.DataObject
) -> None:
    """Blame equals its definition for every field, version and choice of checkpoints."""
    until = 1 + k % len(world.events) if k % 3 else len(world.events)
    every = documents(world)
    names = sorted({name for document in every for name in line_fields(document)} - {""})
    fields = [*ALWAYS, *data.draw(st.lists(st.sampled_from(names), max_size=8))]
    paths = [parse_path(field) for field in fields]
    found = search(reader_of(world, kept), "s", paths, until=until)
    wanted = [
        expected(world, [token(find(one, path)) for one in every], until) for path in paths
    ]
    # Fields that nearly every event sets are first searched for in the last events.
    often = sorted(ALWAYS_SET, key=str)
    found += search(reader_of(world, kept), "s", often, until=until, near=1 + k % 9)
    for path in often:
        values = [token(find(one, path)) for one in every]
        fields.append(f"often {path}")
        wanted.append(expected(world, values, until))
    found = [one._replace(before=token(told_by(one.before))) for one in found]
    said = {field: pair for field, *pair in zip(fields, found, wanted, strict=True)}
    assert {n: pair for n, pair in said.items() if pair[0] != pair[1]} == {}


@laws
@given(worlds(*KINDS))
def test_names_the_same_line_by_line(world: World) -> None:
    """Every line of the file has the versions of the field that it shows."""
    until = len(world.events)
    every = documents(world)
    fields = set(line_fields(every[until])) - {""}
    found = search_all(reader_of(world, set()), "s", fields, until=until)
    for name in fields:
        path = parse_path(name)
        values = [shown(find(one, path)) for one in every]
        assert (name, found[name][:2]) == (name, expected(world, values, until)[:2])


@laws
@given(worlds(*KINDS))
def test_every_line_has_its_field(world: World) -> None:
    """A line names exactly the field whose value it shows."""
    document = copied(world.sprint.document)
    lines = dump(document).split("\n")[:-1]
    names = list(line_fields(document))
    assert len(names) == len(lines)
    for line, name in zip(lines, names, strict=True):
        value = find(document, parse_path(name)) if name else document
        is_shown = dump({"x": value}).split("\n")[0].removeprefix("x:").strip()
        assert value is not MISSING
        assert isinstance(value, dict | list) or "\n" in str(value) or is_shown in line


@laws
@given(worlds(*KINDS))
def test_events_stay_within_their_reach(world: World) -> None:
    """No event changes more of a document than its declared reach."""
    sprint = Sprint("s")
    before: dict[str, bytes] = {}
    lists: dict[str, Any] = {}
    whole = token(sprint.document)
    for version, at, event in world.tail(0, len(world.events)):
        if isinstance(event, f.RolledBack):
            sprint = world.rebuilt(version)
        else:
            fold(sprint, [(version, at, event)])
        sprint.plan.derived_document()
        reach = event.reach
        assert reach is not Reach.NOTHING or token(sprint.document) == whole
        whole = token(sprint.document)
        if reach is not Reach.WHOLE and not sprint.plan.tree.empty:
            is_at_node = reach in (Reach.NODE, Reach.BRANCH)
            own = getattr(event, event.subject.address) if is_at_node else ""
            others = reached(sprint, before) - {own, *above(own)}
            assert not {x for x in others if not is_below(x, own, reach)}
        now = {key: token(sprint.document.get(key, MISSING)) for key in RECORDS}
        new = {key for key in RECORDS if lists.get(key, MISSING) is MISSING}
        assert reach is Reach.WHOLE or all(
            now[key] == lists[key] for key in RECORDS - {event.records} - new
        )
        lists = now
        before = {n.address: own_part(n.data) for n in sprint.plan.tree.root.walk()}


def reached(sprint: Sprint, before: dict[str, bytes]) -> set[str]:
    """Return the addresses of the nodes that are others than before."""
    after = {n.address: own_part(n.data) for n in sprint.plan.tree.root.walk()}
    return {address for address, part in after.items() if before.get(address) != part}


def above(address: str) -> set[str]:
    """Return the addresses above one."""
    parts = address.split("/")
    return {"/".join(parts[:n]) for n in range(1, len(parts))}


def is_below(address: str, own: str, reach: Reach) -> bool:
    """Return whether an address is below that of an event with such a reach."""
    return reach is Reach.BRANCH and address.startswith(f"{own}/")


def own_part(data: Data) -> bytes:
    """Return the contents of a node without the nodes below, as bytes."""
    own = {k: v if k not in ("phases", "steps") else len(v) for k, v in data.items()}
    return msgspec.json.encode(own)


def shown(value: Any) -> Any:
    """Return the displayed line of a field."""
    return type(value) if value and isinstance(value, dict | list) else token(value)
