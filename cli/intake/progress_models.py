"""Models of PROGRESS.yaml, derived from its fields; its JSON Schema is made from these.

Unknown keys are allowed and kept; known ones must have their type and their word list.
"""

from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from msgspec import Struct, structs
from pydantic import Field, create_model

from sprintlog.engine.sprint.plan import shape

from .fields import OneOf, Open

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
