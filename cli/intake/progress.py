"""Validation of an untrusted PROGRESS.yaml or compiled plan, field by field; its models.

Unknown keys are allowed and kept; known ones must have their type and their word list.
"""

from functools import cache
from itertools import islice
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin

from msgspec import Struct, structs
from pydantic import Field, ValidationError, create_model

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.document.first_generation import (
    LISTS,
    is_first_generation,
    with_phases,
)
from sprintlog.engine.sprint.gates.gate import check_gates
from sprintlog.engine.sprint.plan import shape
from sprintlog.engine.sprint.plan.create import check_id, check_sprint_id
from sprintlog.engine.sprint.state.goal_settings import RALPH
from sprintlog.engine.sprint.state.tree import CHILDREN, Tree
from sprintlog.projections.state_files.yaml.reader import AsWritten, load

from .fields import OneOf, Open
from .files import naming
from .problems import MESSAGE, UNKNOWN_MAX, Unknown, unknown_keys

_LIMITS = ("ge", "gt", "min_length", "max_length")


@cache
def model_of(kind: type[Struct]) -> type[Open]:
    """Return the model of a shape: its name, sentence, fields and constraints."""
    fields: dict[str, Any] = {}
    for field in structs.fields(kind):
        default = ... if field.required else field.default
        fields[field.name] = (
            _annotation(field.type),
            Field(default, alias=field.encode_name),
        )
    model = create_model(kind.__name__, __base__=Open, __doc__=kind.__doc__, **fields)
    model.known_beside = getattr(kind, "known_beside", ())
    return model


def _annotation(kind: Any) -> Any:
    """Return the type of a field as pydantic takes it: strict, with its constraints."""
    arguments = get_args(kind)
    if get_origin(kind) is Annotated:
        plain, meta = arguments
        if meta.extra:
            return Annotated[plain, OneOf(meta.extra["words"])]
        limits = {name: getattr(meta, name) for name in _LIMITS}
        return Annotated[plain, Field(strict=True, **limits)]
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(map(_annotation, arguments))]  # noqa: UP007
    if get_origin(kind) is list:
        return list[_annotation(arguments[0])]  # type: ignore[misc]
    if isinstance(kind, type) and issubclass(kind, Struct):
        return model_of(kind)
    return Annotated[kind, Field(strict=True)] if kind in (str, bool, int) else kind


class _Phases(Struct):
    """Top phases by themselves."""

    phases: list[shape.CompiledTopPhase]


class _Steps(Struct):
    """Steps by themselves."""

    steps: list[shape.CompiledStep]


Phases, Steps = model_of(_Phases), model_of(_Steps)
CompiledPlan = model_of(shape.CompiledPlan)
Progress = create_model(
    "Progress",
    __base__=CompiledPlan,
    __doc__="PROGRESS.yaml.",
    sprint_id=(_annotation(shape.Identity), ...),
    status=(_annotation(shape.SprintStatus), ...),
)


Document = dict[str, Any]
Checked = TypeVar("Checked", bound=Open)


class CheckedDocument(NamedTuple):
    """A document that was read and checked, and what is to be told of how it was read."""

    document: Document
    remarks: list[str]


def read_progress(
    content: bytes, *, file: str, sprint_id: str | None = None
) -> CheckedDocument:
    """Return a PROGRESS.yaml as data, exactly as it stands there.

    It must say which sprint it is of, unless that is known. One of the first generation
    has its tasks as phases.
    """
    document, remarks = _mapping(content, file)
    known = {} if sprint_id is None else {"sprint-id": sprint_id}
    if is_first_generation(document):
        with naming(file):
            phases = with_phases(document)
        counts = ", ".join(f"{len(document.get(name) or ())} {name}" for name in LISTS)
        remarks.append(f"tasks in a queue are read as phases: {counts}")
        document = phases
    check_progress({**known, **document}, file=file)
    return CheckedDocument(document, remarks)


def read_plan(content: bytes, *, file: str, is_strict: bool = False) -> CheckedDocument:
    """Return a compiled plan as data; a key that no field has is told, or refused."""
    document, remarks = _mapping(content, file)
    check_plan(document, file=file)
    unknown = list(islice(unknown_keys(CompiledPlan, document), UNKNOWN_MAX))
    if is_strict and unknown:
        field, hint = field_path(unknown[0].path), unknown[0].hint
        raise InvalidInputError(MESSAGE, file=file, field=field, hint=hint)
    remarks += [_unknown(one) for one in unknown]
    return CheckedDocument(document, remarks)


def read_nodes(content: bytes, *, file: str, key: str) -> tuple[list[Document], list[str]]:
    """Return `phases` or `steps` of a file, and what is to be told of them.

    They are its list of that name, or all of it.
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
    """Return what is told of a key that no field has."""
    meant = f"; {one.hint}" if one.hint else ""
    return f"{field_path(one.path)} is no field we know{meant}"


def check_nodes(nodes: object, *, file: str, key: str) -> None:
    """Raise `InvalidInputError` unless these have the shape of phases or of steps."""
    check_shape(Phases if key == "phases" else Steps, {key: nodes}, file)
    with naming(file):
        check_gates(nodes, key, level=1 if key == "phases" else 2)


def check_progress(document: Document, *, file: str) -> None:
    """Raise `InvalidInputError` unless this is a PROGRESS.yaml of a sprint."""
    if "sprint-id" not in document or "status" not in document:
        raise InvalidInputError(
            "this is not a PROGRESS.yaml of a sprint: `sprint-id` and `status` are needed",
            file=file,
            field="sprint-id" if "sprint-id" not in document else "status",
            hint="another schema of the same file name cannot be imported",
        )
    check_shape(Progress, document, file)
    if not isinstance(document.get("phases"), list) and document.get("mode") != RALPH:
        raise InvalidInputError(
            "is missing: what is to be done cannot be read from this",
            file=file,
            field="phases",
            hint="`phases`, or `queue`, `completed` and `blocked`, hold it",
        )
    _check_ids(document, file)
    _check_pointer(document, file)
    if document.get("phases") and not Tree(document).leaves:
        raise InvalidInputError(
            "none of them has an id and a status: nothing would be left to be done",
            file=file,
            field="phases",
        )


def check_plan(document: Document, *, file: str) -> None:
    """Raise `InvalidInputError` unless this has the shape of a compiled plan."""
    check_shape(CompiledPlan, document, file)
    _check_ids(document, file)
    with naming(file):
        check_gates(document.get("phases"), "phases")


def _mapping(content: bytes, file: str) -> CheckedDocument:
    document, remarks = _loaded(content, file)
    if not isinstance(document, dict):
        raise InvalidInputError("is not a mapping of fields at the top", file=file, line=1)
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


def check_shape(
    model: type[Checked], document: object, file: str, *, line: int | None = None
) -> Checked:
    """Return a document as its model has it.

    Raise `InvalidInputError` naming the first field that is not what it should be.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidInputError(
            str(first["msg"]),
            file=file,
            line=line,
            field=field_path(first["loc"]) or None,
            hint=_hint(first),
        ) from error


def _hint(problem: Any) -> str | None:
    """Return how a number is written that is another one in YAML than it looks like."""
    given = problem.get("input")
    if problem["type"] not in ("int_type", "float_type") or not isinstance(given, str):
        return None
    return f"numbers are written without quotes, and shortest: 7, 1.5; not {given[:40]}"


def field_path(location: tuple[int | str, ...]) -> str:
    """Return where a field stands, as `phases[0].id`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


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
    """Refuse indices that point nowhere; one past the end is what other tools write."""
    pointer, holder = document.get("current"), document
    if not isinstance(pointer, dict):
        return
    for field, key in zip(("phase", "step", "sub-phase"), CHILDREN, strict=True):
        index = pointer.get(field)
        if index is None:
            return
        children = holder.get(key) or []
        if index > len(children):
            raise InvalidInputError(
                f"{index} is out of range: allowed are 0 to {len(children)}",
                file=file,
                field=f"current.{field}",
            )
        holder = children[index] if index < len(children) else {}
