"""Laws of the sprint over random plans and random histories.

`make test-long` uses more examples, with `SPRINTLOG_EXAMPLES=10` ten times as many.
"""

from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state.effective_history import is_effective
from sprintlog.engine.sprint.state.sprint import Sprint, pack, unpack
from sprintlog.engine.sprint.state.tree import takes_part
from sprintlog.engine.sprint.state.words import FINISHED, PHASE_STATUSES, SPRINT_STATUSES
from tests.lengths import examples

from ..measurements import VALUES
from ..sprint_histories import Data, World, saved, worlds, written
from ..sprint_plans import walk

laws = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
place = st.integers(0, 10**6)
EVERYTHING = ("import", "inject", "inject", "queue", "queue", "queue", "back", "undo")

Leaf = tuple[tuple[int, int | None, int | None], bool]  # position; may it be passed


@laws
@given(worlds(*EVERYTHING), place)
def test_continues_where_a_fold_stopped(world: World, k: int) -> None:
    """fold(a + b) = continue(fold(a), b) if b contains no rollback."""
    rollbacks = [v for v, _, event in world.events if isinstance(event, f.RolledBack)]
    first = max(rollbacks, default=0)
    split = first + k % (len(world.events) + 1 - first)
    rest = world.tail(split, len(world.events))
    assert saved(fold(world.rebuilt(split), rest)) == saved(world.rebuilt())


@laws
@given(worlds(*EVERYTHING))
def test_rebuilds_to_what_was_carried_along(world: World) -> None:
    """A rebuild from nothing is the state that was caught up event by event."""
    assert saved(world.rebuilt()) == saved(world.sprint)


@laws
@given(worlds(*EVERYTHING), st.sets(place, max_size=6), place)
def test_reads_any_version_through_checkpoints(
    world: World, kept: set[int], k: int
) -> None:
    """From the newest checkpoint on its path, a version is the same as from nothing."""
    version = k % (len(world.events) + 1)
    live = world.live(version)
    states = {n: pack(world.rebuilt(n)) for n in (x % (version + 1) for x in kept)}
    near = max((n for n in states if is_effective(live, n)), default=0)
    start = unpack(states[near]) if near else Sprint("s")
    again = fold(start, world.tail(near, version), live)
    assert saved(again) == saved(world.rebuilt(version))


@laws
@given(worlds(*EVERYTHING), place)
def test_undoes_a_rollback_to_before(world: World, k: int) -> None:
    """undo(rollback) = before: all of the plan, and the document's bytes."""
    before, plan = written(world.sprint), saved_plan(world.sprint)
    ends = world.ends[1:]
    world.move(("back", k % len(ends), 0))
    if isinstance(world.events[-1][2], f.RolledBack) and written(world.sprint) != before:
        world.move(("undo", 0, 0))
        assert written(world.sprint) == before
        assert saved_plan(world.sprint) == plan


@laws
@given(worlds(*EVERYTHING), place)
def test_goes_back_to_what_was_seen(world: World, k: int) -> None:
    """After a rollback the document is its target's, plus requests recorded since."""
    to = world.ends[1 + k % (len(world.ends) - 1)]
    seen = world.rebuilt(to)
    rolled = f.RolledBack(to)
    if to < len(world.events):
        world.append([rolled])
    queue, before = world.sprint.queue, seen.queue
    assert queue[: len(before)] == before
    assert all(entry["status"] == "pending" for entry in queue[len(before) :])
    assert world.sprint.plan.derived_document() == seen.plan.derived_document()
    if queue == before:
        assert written(world.sprint) == written(seen)


@laws
@given(worlds("import", "inject", "queue", "back"), st.sets(place))
def test_changes_nothing_by_reading(world: World, looks: set[int]) -> None:
    """Readers of the document, at any time, do not change later bytes."""
    seen_at = {look % (len(world.events) + 1) for look in looks}
    watched, live = Sprint("s"), world.live(len(world.events))
    for event in world.tail(0, len(world.events)):
        fold(watched, [event], live)
        if event[0] in seen_at:
            assert written(watched) == written(watched)
    assert saved(watched) == saved(world.rebuilt())


@laws
@given(worlds("import", "inject", "queue", "back"), st.sets(place))
def test_changes_nothing_by_saving(world: World, saves: set[int]) -> None:
    """Packing and unpacking at any point is the same as not doing it."""
    saved_at = {save % (len(world.events) + 1) for save in saves}
    packed, live = Sprint("s"), world.live(len(world.events))
    for event in world.tail(0, len(world.events)):
        fold(packed, [event], live)
        if event[0] in saved_at:
            packed = unpack(pack(packed))
    assert saved(packed) == saved(world.rebuilt())


@laws
@given(worlds("import", "import", "iterate", "iterate", "back", "undo"))
def test_never_gives_a_number_twice(world: World) -> None:
    """Iteration numbers only increase, over rollbacks and imported numbers as well."""
    highest = 0
    for _, _, event in world.events:
        if isinstance(event, f.SprintImported):
            highest = max(highest, event.iteration)
        if isinstance(event, f.IterationStarted):
            assert event.number > highest
            highest = event.number
    assert world.sprint.knowledge.iteration_max == highest


@laws
@given(worlds("back", "undo"))
def test_derives_as_a_naive_reader_would(world: World) -> None:
    """Statuses, parents, pointer and figures equal a second, naive derivation."""
    for version in world.ends[1:]:
        document = world.rebuilt(version).document
        assert document["status"] in SPRINT_STATUSES
        began = document["status"] != "not-started"
        assert document["current"] == naive_pointer(document)
        assert [p["status"] for p in document["phases"]] == naive_phases(document, began)
        for node, level in walk(document):
            if level == 2 and node.get("phases"):
                assert node["status"] == naive_status(node, "phases")


@laws
@given(worlds(*EVERYTHING))
def test_counts_as_a_naive_reader_would(world: World) -> None:
    """Figures count the nodes of the document, once events of sprintlog follow."""
    document = world.sprint.document
    if not world.sprint.plan.touched:
        return
    for level, name in ((1, "phases"), (2, "steps")):
        words = [n["status"] for n, at in walk(document) if at == level and takes_part(n)]
        stats = document["stats"]
        if level == 1 or words:
            assert stats[f"total-{name}"] == len(words)
            assert stats[f"completed-{name}"] == words.count("completed")


@laws
@given(worlds(*EVERYTHING))
def test_always_points_into_the_document(world: World) -> None:
    """The pointer leads to an existing node, even in imported documents."""
    if not world.sprint.plan.touched:
        return
    data: Any = world.sprint.document
    current = data["current"]
    if not world.sprint.plan.tree.leaves:
        assert current == {"phase": 0, "step": None, "sub-phase": None}
        return
    for key, index in zip(("phases", "steps", "phases"), current.values(), strict=True):
        data = data if index is None else data[key][index]
    assert takes_part(data)
    assert data["status"] in PHASE_STATUSES


INJECTED = (f.PhaseInjected, f.StepInjected)
NODE = {"id": "p0", "prompt": "x", "status": "pending"}
KNOWN = {**VALUES, f.Budgets: st.builds(f.Budgets, iterations=st.integers(1, 9))}
texts = st.sampled_from(["p0", "p1/s0/i~10", "p1", "#0", "p1/s0/#1", "", "nope", "2026"])
observed = st.one_of(
    st.builds(f.SprintImported, texts, document=st.just({"phases": [{"id": 1}]})),
    *(
        st.builds(
            kind,
            st.sampled_from([[], [{"prompt": "x"}], [{**NODE, "steps": [7, {}]}], [NODE]]),
            st.just(f.InjectionPosition("after", "p0")),
            into=texts,
            after=st.none() | texts,
        )
        for kind in INJECTED
    ),
    *(
        st.builds(kind, **{
            field.name: KNOWN.get(field.type, texts)
            for field in msgspec.structs.fields(kind)
            if field.required
        })
        for kind in f.EVENTS
        if kind not in (f.SprintCompiled, f.SprintImported, *INJECTED)
    ),
)  # fmt: skip


@laws
@given(worlds("import"), st.lists(observed, max_size=20))
def test_takes_any_event_that_happened(world: World, happened: list[Any]) -> None:
    """The fold never raises, whatever was observed, and a rebuild gives the same result."""
    for event in happened:
        if not isinstance(event, f.RolledBack):
            world.append([event])
    assert saved(world.rebuilt()) == saved(world.sprint)


def saved_plan(sprint: Sprint) -> list[Any]:
    """Return everything about the plan that a checkpoint stores."""
    plan = sprint.plan
    return [
        msgspec.json.encode(sprint.document),
        plan.last.stored(),
        plan.place,
        plan.last_at,
        plan.touched,
        dict(plan.decisions),
        plan.imported_at,
    ]


def is_held(node: Data) -> bool:
    """Return whether an open gate holds a phase."""
    return "gate" in node and naive_gate(node) != "passed"


def naive_gate(node: Data) -> str:
    """Return the status of a phase's gate."""
    return str(node.get("gate-tracking", {}).get("status", "pending"))


def naive_status(node: Data, key: str) -> str:
    """Return a parent's status from its children's, by the first rule that applies."""
    words = [child["status"] for child in node[key]]
    for word in ("blocked", "failed"):
        if word in words:
            return word
    if set(words) == {"skipped"}:
        return "skipped"
    if set(words) <= FINISHED and not is_held(node):
        return "completed"
    if set(words) <= FINISHED and naive_gate(node) == "blocked":
        return "blocked"
    return "pending" if set(words) == {"pending"} else "in-progress"


def naive_leaves(document: Data) -> list[Leaf]:
    """Return every leaf's place, and whether the pointer may pass it."""
    found: list[Leaf] = []
    for p, phase in enumerate(document["phases"]):
        words: dict[tuple[int, int | None, int | None], str] = {}
        for s, step in enumerate(phase.get("steps", ())):
            for n, sub in enumerate(step["phases"]):
                words[p, s, n] = sub["status"]
            if not step["phases"]:
                words[p, s, None] = step["status"]
        if not phase.get("steps") and not is_passed_over(phase):
            words[p, None, None] = phase["status"]
        inside = [(where, word in FINISHED) for where, word in words.items()]
        # The pointer stays at the last leaf for the gate; skipped phases require no gate.
        if is_held(phase) and set(words.values()) - {"skipped"}:
            inside[-1] = inside[-1][0], False
        found += inside
    return found


def naive_pointer(document: Data) -> Data:
    """Return the place of the first leaf that may not be passed, else of the last."""
    leaves = naive_leaves(document)
    behind = leaves[-1][0] if leaves else (0, None, None)
    where = next((place for place, passed in leaves if not passed), behind)
    return dict(zip(("phase", "step", "sub-phase"), where, strict=True))


def naive_phases(document: Data, began: bool) -> list[str]:
    """Return the top phases' statuses; an empty one is completed once it is reached."""
    words = []
    for p, phase in enumerate(document["phases"]):
        before = [passed for where, passed in naive_leaves(document) if where[0] < p]
        if is_passed_over(phase):
            words.append("completed" if began and all(before) else "pending")
        else:
            words.append(
                naive_status(phase, "steps") if phase.get("steps") else phase["status"]
            )
    return words


def is_passed_over(phase: Data) -> bool:
    """Return whether a phase has no steps and nothing else that stops the pointer."""
    holds = "gate" in phase or phase.get("break") is True
    return phase.get("steps") == [] and not holds
