"""Reader for metrics that another tool measured, in JSON or YAML format.

The metrics are at the top level or in groups below `iteration_metrics`. Loops store the
latter document for each iteration, and sprintlog writes it as `metrics.json`.
"""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.judging import metrics as judged

from .fields import OneOf
from .files import load_either, naming, read_text

Count = Annotated[int, Field(strict=True, ge=0)] | None
Percentage = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] | None
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
Own = Annotated[int | float, Field(allow_inf_nan=False)]
OWN = "own"
"""The key that contains custom metrics, which is also the name of their group."""
DOCUMENT = "iteration_metrics"
"""The key that contains an iteration's document."""
BuildStatus = Annotated[str, OneOf(judged.BUILD_STATUSES)] | None


_KINDS: dict[str, Any] = {
    **dict.fromkeys(judged.PERCENTAGES, Percentage),
    "complexity_score": Amount,
    "build_status": BuildStatus,
    OWN: dict[str, Own] | None,
}
"""The types of all metrics that are not counts."""
_FIELDS: dict[str, Any] = {
    name: (_KINDS.get(name, Count), None) for name in (*judged.NAMES, OWN)
}
MetricsModel: type[BaseModel] = create_model(
    "MetricsModel",
    __config__=ConfigDict(extra="forbid", frozen=True, strict=True),
    __doc__="The measurements; null and a missing key both mean: not measured.",
    **_FIELDS,
)


def read_metrics_file(path: Path) -> dict[str, Any]:
    """Return the metrics in a file, or from standard input for `-`."""
    return check_metrics_file(read_text(str(path)).encode(), file=str(path))


def check_metrics_file(content: bytes, *, file: str) -> dict[str, Any]:
    """Return metrics from JSON or YAML; raise `InvalidInputError` for an invalid field."""
    given = load_either(content, file=file)
    if not isinstance(given, dict):
        raise InvalidInputError("must be an object of metrics", file=file)
    if DOCUMENT in given:
        return document_metrics(given[DOCUMENT], file=file)
    return _checked(given, dict.fromkeys(given, ""), file=file)


def document_metrics(given: object, *, file: str) -> dict[str, Any]:
    """Return the metrics below `iteration_metrics`.

    Derived values (differences, score, class and alerts) are ignored.
    """
    if not isinstance(given, dict):
        raise InvalidInputError("must be an object", file=file, field=DOCUMENT)
    metrics: dict[Any, Any] = {}
    groups: dict[Any, str] = {}
    for group in judged.GROUPS:
        listed = given.get(group)
        if listed is None:
            continue
        if not isinstance(listed, dict):
            field = f"{DOCUMENT}.{group}"
            raise InvalidInputError("must be an object", file=file, field=field)
        for name, value in listed.items():
            if name in metrics:
                field = f"{DOCUMENT}.{group}.{name}"
                raise InvalidInputError("occurs twice", file=file, field=field)
            metrics[name], groups[name] = value, f"{DOCUMENT}.{group}."
    if given.get(OWN) is not None:
        metrics[OWN], groups[OWN] = given[OWN], f"{DOCUMENT}."
    return _checked(metrics, groups, file=file)


def checked_document(given: object, *, file: str) -> dict[str, Any]:
    """Return the metrics; raise `InvalidInputError` if they contradict each other."""
    metrics = document_metrics(given, file=file)
    with naming(file, DOCUMENT):
        judged.check_metrics(metrics)
    return metrics


def _checked(
    metrics: dict[Any, Any], groups: dict[Any, str], *, file: str
) -> dict[str, Any]:
    try:
        return MetricsModel.model_validate(metrics).model_dump(exclude_none=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = first["loc"][0]
        message = str(first["msg"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(MetricsModel.model_fields)
            message = f"there is no such metric; known: {known}"
        field = f"{groups.get(name, '')}{'.'.join(map(str, first['loc']))}"
        raise InvalidInputError(message, file=file, field=field) from error
