"""Read metrics that another tool measured: a JSON object by their names."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.iterations.metrics import BUILD_STATUSES

from .fields import OneOf
from .files import read_text
from .json_reader import load

Count = Annotated[int, Field(strict=True, ge=0)] | None
Percentage = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] | None
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
BuildStatus = Annotated[str, OneOf(BUILD_STATUSES)] | None


class MetricsModel(BaseModel):
    """What was measured; null and a missing key both mean: not measured."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    test_count: Count = None
    tests_passed: Count = None
    tests_failed: Count = None
    tests_skipped: Count = None
    pass_rate: Percentage = None
    coverage_percentage: Percentage = None
    coverage_lines_covered: Count = None
    coverage_lines_total: Count = None
    lint_errors: Count = None
    lint_warnings: Count = None
    type_errors: Count = None
    error_count: Count = None
    build_status: BuildStatus = None
    file_count: Count = None
    loc_total: Count = None
    complexity_score: Amount = None


def read_metrics_file(path: Path) -> dict[str, Any]:
    """Return the metrics of a file, or of standard input where it is `-`."""
    return check_metrics_file(read_text(str(path)).encode(), file=str(path))


def check_metrics_file(content: bytes, *, file: str) -> dict[str, Any]:
    """Return metrics from JSON; raise `InvalidInputError` naming the field."""
    given = load(content, file=file)
    if not isinstance(given, dict):
        raise InvalidInputError("must be a JSON object of metrics", file=file)
    try:
        return MetricsModel.model_validate(given).model_dump(exclude_none=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        message = str(first["msg"])
        if first["type"] == "extra_forbidden":
            message = (
                f"there is no such metric; known: {', '.join(MetricsModel.model_fields)}"
            )
        raise InvalidInputError(message, file=file, field=field) from error
