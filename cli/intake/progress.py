"""Validation of an untrusted PROGRESS.yaml or compiled plan.

Unknown keys are allowed and stored; the values of known keys are validated.
"""

from itertools import islice
from typing import Any, NamedTuple

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.phases.gate import check_gates
from sprintlog.engine.sprint.plan import imported_documents as imported
from sprintlog.engine.sprint.plan.create import check_sprint_id
from sprintlog.engine.sprint.plan.shape import CompiledPlan, Phases, Progress, Steps
from sprintlog.engine.sprint.state.document_fields import RALPH
from sprintlog.engine.sprint.state.transitions import check_id
from sprintlog.engine.sprint.state.tree import CHILDREN, Tree
from sprintlog.projections.state_files.yaml.reader import AsWritten, load
from sprintlog.projections.state_files.yaml.writer import field_path

from .files import naming
from .shapes import UNKNOWN_MAX, Unknown, shaped, unknown_keys

Document = dict[str, Any]


class CheckedDocument(NamedTuple):
    """A validated document, with remarks on its interpretation."""

    document: Document
    remarks: list[str]


def read_progress(
    content: bytes, *, file: str, sprint_id: str | None = None
) -> CheckedDocument:
    """Return a PROGRESS.yaml as data, exactly as written.

    The document must contain its sprint's id, unless `sprint_id` is given. In a
    first-generation document, tasks become phases.
    """
    document, remarks = _mapping(content, file)
    known = {} if sprint_id is None else {"sprint-id": sprint_id}
    if imported.is_first_generation(document):
        with naming(file):
            phases = imported.with_phases(document)
        counts = ", ".join(
            f"{len(document.get(name) or ())} {name}" for name in imported.LISTS
        )
        remarks.append(f"tasks in a queue are read as phases: {counts}")
        document = phases
    check_progress({**known, **document}, file=file)
    return CheckedDocument(document, remarks)


def read_plan(content: bytes, *, file: str, is_strict: bool = False) -> CheckedDocument:
    """Return a compiled plan as data; unknown keys cause remarks, or errors if strict."""
    document, remarks = _mapping(content, file)
    check_plan(document, file=file)
    if is_strict:
        shaped(CompiledPlan, document, file=file, is_closed=True)
    unknown = islice(unknown_keys(CompiledPlan, document), UNKNOWN_MAX)
    remarks += [_unknown(one) for one in unknown]
    return CheckedDocument(document, remarks)


def read_nodes(content: bytes, *, file: str, key: str) -> tuple[list[Document], list[str]]:
    """Return the `phases` or `steps` in a file, and remarks on them.

    The nodes are the list under that key, or the complete document.
    """
    document, remarks = _loaded(content, file)
    nodes = document if isinstance(document, list) else [document]
    if isinstance(document, dict) and key in document:
        nodes = document[key]
    check_nodes(nodes, file=file, key=key)
    shape = Phases if key == "phases" else Steps
    unknown = islice(unknown_keys(shape, {key: nodes}), UNKNOWN_MAX)
    return nodes, [*remarks, *(_unknown(one) for one in unknown)]


def _unknown(one: Unknown) -> str:
    """Return a remark about an unknown key."""
    meant = f"; {one.hint}" if one.hint else ""
    return f"{field_path(one.path)} is an unknown field{meant}"


def check_nodes(nodes: object, *, file: str, key: str) -> None:
    """Raise `InvalidInputError` unless the nodes are valid phases or steps."""
    shaped(Phases if key == "phases" else Steps, {key: nodes}, file=file)
    with naming(file):
        check_gates(nodes, key, level=1 if key == "phases" else 2)


def check_progress(document: Document, *, file: str) -> None:
    """Raise `InvalidInputError` unless the document is a sprint's PROGRESS.yaml."""
    if "sprint-id" not in document or "status" not in document:
        raise InvalidInputError(
            "not a sprint's PROGRESS.yaml: `sprint-id` and `status` are required",
            file=file,
            field="sprint-id" if "sprint-id" not in document else "status",
            hint="files of the same name with another schema cannot be imported",
        )
    shaped(Progress, document, file=file)
    if not isinstance(document.get("phases"), list) and document.get("mode") != RALPH:
        raise InvalidInputError(
            "is missing",
            file=file,
            field="phases",
            hint="add `phases`, or `queue`, `completed` and `blocked`",
        )
    _check_ids(document, file)
    _check_pointer(document, file)
    if document.get("phases") and not Tree(document).leaves:
        problem = "no phase has an id and a status: no work would remain"
        raise InvalidInputError(problem, file=file, field="phases")


def check_plan(document: Document, *, file: str) -> None:
    """Raise `InvalidInputError` unless the document is a valid compiled plan."""
    shaped(CompiledPlan, document, file=file)
    _check_ids(document, file)
    with naming(file):
        check_gates(document.get("phases"), "phases")


def _mapping(content: bytes, file: str) -> CheckedDocument:
    document, remarks = _loaded(content, file)
    if not isinstance(document, dict):
        raise InvalidInputError("the top level must be a mapping", file=file, line=1)
    return CheckedDocument(document, remarks)


def _loaded(content: bytes, file: str) -> tuple[Any, list[str]]:
    builder = AsWritten()
    document = load(content, file=file, builder=builder)
    remarks = [
        f"{field_path(path)} is kept as the text {text[:40]}: as a number it would be "
        "written differently"
        for path, text in builder.kept
    ]
    return document, remarks


def _check_ids(document: Document, file: str) -> None:
    with naming(file):
        if "sprint-id" in document:
            check_sprint_id(document["sprint-id"])
        _check_ids_below(document, "", level=0)


def _check_ids_below(data: Document, prefix: str, *, level: int) -> None:
    if level >= len(CHILDREN):
        return
    key = CHILDREN[level]
    for index, child in enumerate(data.get(key) or ()):
        where = f"{prefix}{key}[{index}]"
        if child.get("id") is not None:
            check_id(child["id"], field=f"{where}.id")
        _check_ids_below(child, f"{where}.", level=level + 1)


def _check_pointer(document: Document, file: str) -> None:
    """Raise `InvalidInputError` if an index is out of range.

    An index one past the end is accepted, because other tools write it.
    """
    pointer, holder = document.get("current"), document
    if not isinstance(pointer, dict):
        return
    for field, key in zip(("phase", "step", "sub-phase"), CHILDREN, strict=True):
        index = pointer.get(field)
        if index is None:
            return
        children = holder.get(key) or []
        if index > len(children):
            problem = f"{index} is out of range (0 to {len(children)})"
            raise InvalidInputError(problem, file=file, field=f"current.{field}")
        holder = children[index] if index < len(children) else {}
