"""The commands that create a plan or import another tool's plan."""

from typing import Any

from msgspec.structs import replace

from ...command import Command, Events
from ...errors import RefusedError
from ...log.event import Event
from ...masking import mask
from ..events import Place, Source, SprintCompiled, SprintImported
from ..fold import fold_ahead
from ..state.document_fields import HOOKS, RALPH, count_of, mapping_of, ralph_fields
from ..state.patch import Operation, diff, same
from ..state.queue import QUEUE, says_queue, with_queue
from ..state.sprint import Sprint, pack, settled, unpack
from ..state.transitions import check_id
from ..state.tree import CHILDREN, Data, Tree
from ..state.words import NOT_STARTED, PENDING
from .imported_documents import losses, observations


class CreateSprint(Command, frozen=True):
    """Create a sprint from a compiled plan on which no work has started.

    `plan` has the structure of PROGRESS.yaml; statuses, the pointer and figures may be
    omitted. Raise `RefusedError` if a phase is neither simple nor for-each, if siblings
    share an id, or if work on the plan has already started.
    """

    plan: Data
    place: Place | None = None
    sources: tuple[Source, ...] = ()
    max_iterations: int | None = None
    until: str | None = None
    """The condition that a measurement must meet before the goal is completed."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_sprint_id(sprint.id)
        check_same_id(sprint, self.plan)
        document = prepare(self.plan, sprint_id=sprint.id)
        if self.max_iterations is not None:
            document["stats"]["max-iterations"] = self.max_iterations
        event = SprintCompiled(document, self.place, self.sources)
        changed = condition_set(sprint, document, self.until)
        if not sprint.exists:
            return [event, *changed]
        is_new = sprint.version == (1 if self.until is None else 2)
        if is_new and not changed and not diff(sprint.document, document):
            return []
        raise RefusedError(
            f"sprint {sprint.id} already exists",
            hint="choose a different id for the new sprint",
            sprint=sprint.id,
            command="create",
        )


class ImportDocument(Command, frozen=True):
    """Import another tool's document, in full or as a difference from the current document.

    The document is not changed, even if it contains contradictions or unknown keys. With
    `with_facts`, the events that must have happened since the previous version are recorded
    as well.
    """

    document: Data
    source: str
    place: Place | None = None
    committed_at: str | None = None
    with_facts: bool = False

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_sprint_id(sprint.id)
        check_same_id(sprint, self.document)
        event = SprintImported(
            self.source,
            iteration=count_of(mapping_of(self.document, "stats"), "current-iteration"),
            committed_at=self.committed_at,
        )
        if not sprint.exists:
            return [replace(event, document=self.document, place=self.place)]
        if not diff(sprint.document, self.document):
            return []
        if not self.with_facts:
            return [replace(event, patch=patch_to(sprint, self.document))]
        before, document = sprint.document, self.document
        facts = observations(before, document, source=self.source)
        after = unpack(pack(sprint))
        fold_ahead(after, facts, at)
        patch, lost = patch_to(after, document), losses(before, document)
        return [*facts, replace(event, patch=patch, lost=lost)]


def _creates(event: SprintCompiled) -> CreateSprint:
    return CreateSprint(event.document, event.place, event.sources)


def condition_set(sprint: Sprint, document: Data, until: str | None) -> list[Event]:
    """Return the event that adds a definition's condition to the rules, if it is new."""
    rules = sprint.knowledge.tracker.rules_at(sprint.version)
    if until in (None, rules.loop.until):
        return []
    # Imported here: most definitions have no condition.
    from ...judging.rules import check_rules

    changed = replace(rules, loop=replace(rules.loop, until=until))
    check_rules(changed, has_goal=document.get("mode") == RALPH)
    return [changed]


def is_same_sprint(older: object, newer: object) -> bool:
    """Return whether a document is an earlier version of another document.

    Both must have the same id; if the earlier document has no id, the later document must
    contain all of its work.
    """
    if not isinstance(older, dict) or not isinstance(newer, dict):
        return False
    if "sprint-id" in older:
        return isinstance(older["sprint-id"], str) and same(
            older["sprint-id"], newer.get("sprint-id")
        )
    wanted, there = (
        {(node.address, str(node.data.get("prompt"))) for node in Tree(document).leaves}
        for document in (older, newer)
    )
    return bool(wanted) and wanted <= there


def patch_to(sprint: Sprint, document: Data) -> list[Operation]:
    """Return the operations that turn the derived plan into a document.

    The operator queue is omitted if it is unchanged, so its requests and decisions remain.
    """
    derived, queue = sprint.plan.derived_document(), sprint.queue
    others = {**document, QUEUE: derived.get(QUEUE)}
    if QUEUE not in derived:
        del others[QUEUE]
    operations = diff(derived, others)
    if same(with_queue(others, queue), document) and not says_queue(operations):
        return operations
    operations = diff(derived, document)
    if says_queue(operations):
        return operations
    # Later requests must be removed, so the patch has to mention the queue.
    path, value = f"/{QUEUE}", document.get(QUEUE, [])
    if QUEUE in document:
        return [*operations, {"op": "replace", "path": path, "value": value}]
    added = {"op": "add", "path": path, "value": value}
    return [*operations, added, {"op": "remove", "path": path}]


def prepare(plan: Data, *, sprint_id: str) -> Data:
    """Return the plan as a document with all statuses, the pointer and the figures."""
    if plan.get("mode") == RALPH:
        plan = _with_ralph_fields(plan)
    document: Data = {"sprint-id": sprint_id, "status": NOT_STARTED}
    document.update({key: plan[key] for key in plan if key not in ("current", "stats")})
    document["sprint-id"] = sprint_id
    if document["status"] != NOT_STARTED:
        raise _begun("status", document["status"])
    if not (phases := document.get("phases")) and document.get("mode") != "ralph":
        raise RefusedError("phases: a plan requires at least one phase", field="phases")
    if phases is not None:
        document["phases"] = prepare_nodes(phases, "phases", level=1)
    document["current"] = {"phase": 0, "step": None, "sub-phase": None}
    given = mapping_of(plan, "stats")
    for key in ("started-at", "completed-at", "elapsed", "current-iteration"):
        if given.get(key):
            raise _begun(f"stats.{key}", given[key])
    document["stats"] = {
        "started-at": None,
        "completed-at": None,
        "total-phases": 0,
        "completed-phases": 0,
        **given,
    }
    return settled(document)


def _with_ralph_fields(plan: Data) -> Data:
    """Return a Ralph-mode plan with all the fields of a Ralph-mode document."""
    goal = plan.get("goal")
    if not isinstance(goal, str) or not goal.strip():
        raise RefusedError("goal: a plan in Ralph mode requires a goal", field="goal")
    fields = ralph_fields(goal, hooks=plan.get(HOOKS))
    settings = {**fields["ralph"], **mapping_of(plan, "ralph")}
    # A plan that already has all of these fields keeps its order.
    return {**({} if fields.keys() <= plan.keys() else fields), **plan, "ralph": settings}


def prepare_nodes(nodes: Any, field: str, *, level: int) -> list[Data]:
    """Return the nodes of one level (1 to 3) in document form, including their statuses.

    Raise `RefusedError` naming the invalid field.
    """
    if not isinstance(nodes, list):
        raise RefusedError(f"{field}: must be a list", field=field)
    seen: set[str] = set()
    prepared = []
    for index, node in enumerate(nodes):
        where = f"{field}[{index}]"
        if not isinstance(node, dict):
            raise RefusedError(f"{where}: must be a mapping", field=where)
        identity = node.get("id")
        check_id(identity, field=f"{where}.id")
        if identity in seen:
            raise RefusedError(
                f"{where}.id: duplicate id {identity!r}",
                hint="ids must be unique among siblings",
                field=f"{where}.id",
            )
        seen.add(str(identity))
        prepared.append(_prepare_one(node, where, level=level))
    return prepared


def _prepare_one(node: Data, where: str, *, level: int) -> Data:
    if (status := node.get("status", PENDING)) != PENDING:
        raise _begun(f"{where}.status", status)
    key = CHILDREN[level] if level < len(CHILDREN) else None
    has_prompt, has_children = "prompt" in node, key is not None and key in node
    if level == 1 and has_prompt == has_children:
        raise RefusedError(
            f"{where}: a phase has either a prompt (simple) or steps (for-each)",
            field=where,
        )
    if level != 1 and not has_prompt:
        raise RefusedError(f"{where}.prompt is missing", field=f"{where}.prompt")
    document: Data = {"id": node["id"], "status": PENDING}
    if level == 2:
        document = {"id": node["id"], "prompt": node["prompt"], "status": PENDING}
    document.update({k: v for k, v in node.items() if k not in document})
    if key is not None and has_children:
        document[key] = prepare_nodes(node[key], f"{where}.{key}", level=level + 1)
    return document


def check_sprint_id(identity: object, *, field: str = "sprint-id") -> None:
    """Raise `RefusedError` unless a value is a valid sprint id, which is safe in a path."""
    check_id(identity, field=field)
    text = str(identity)
    if "/" in text or "\\" in text or text in (".", "..") or text.startswith("-"):
        raise RefusedError(
            f"{field}: {text!r} must not contain a slash or a backslash, start with `-`, "
            "or be `.` or `..`",
            field=field,
        )
    if (masked := mask(text)) != text:
        raise RefusedError(f"{field}: {masked} must not be a secret", field=field)


def check_same_id(sprint: Sprint, document: Data) -> None:
    """Raise `RefusedError` if a document's sprint id differs from that of its stream."""
    if (named := document.get("sprint-id", sprint.id)) != sprint.id:
        raise RefusedError(
            f"sprint-id: {str(named)[:60]!r} does not match the sprint {sprint.id!r}",
            field="sprint-id",
        )


def _begun(field: str, status: object) -> RefusedError:
    return RefusedError(
        f"{field}: {status!r} means that the plan has started; a new plan must be "
        f"{NOT_STARTED} with every phase {PENDING}",
        hint="use `sprintlog import progress` to import a started sprint",
        field=field,
    )


CAUSED: Events = {SprintCompiled: _creates, SprintImported: ImportDocument}
