"""The arguments of each tool and their JSON Schema."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from sprintlog.errors import InvalidInputError

NAME_CHARS_MAX, TITLE_CHARS_MAX = 1_000, 200
TEXT_CHARS_MAX, SQL_CHARS_MAX = 10_000, 100_000
FILES_MAX = 20
LINES_MAX = 50
"""The maximum number of history entries per request."""
LINES = 20

LEARNING_TYPES = (
    "codebase-pattern",
    "build-command",
    "test-pattern",
    "api-convention",
    "error-workaround",
    "tool-usage",
    "architecture-constraint",
    "dependency-quirk",
)
PATTERNS = (
    "file-structure",
    "naming-convention",
    "api-pattern",
    "error-handling",
    "state-management",
    "build-pattern",
    "deployment-pattern",
)
"""Kinds of learnings that are always codebase patterns."""
NOTE = "note"
"""The kind of a note to the working agent."""
PRIORITIES = ("critical", "high", "medium", "low")
REQUEST_TYPES = ("bug", "improvement", "refactor", "test", "docs", "security")


def _of(words: tuple[str, ...]) -> Meta:
    return Meta(max_length=NAME_CHARS_MAX, extra_json_schema={"enum": [*words]})


Name = Annotated[str, Meta(max_length=NAME_CHARS_MAX)]
Text = Annotated[str, Meta(max_length=TEXT_CHARS_MAX)]
Cursor = Annotated[str, Meta(max_length=64)]


class ToolArguments(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Arguments common to all tools."""


class Arguments(ToolArguments, frozen=True):
    """Arguments common to all tools about a sprint."""

    sprint: Name | None = None


class AskPage(Arguments, frozen=True):
    """The arguments of `status` and `next`."""

    cursor: Cursor | None = None


class WorkReport(Arguments, frozen=True, kw_only=True):
    """The arguments of `report`."""

    outcome: Literal["started", "done", "continue", "failed", "blocked", "needs-human"]
    summary: Text = ""
    phase: Name | None = None
    details: Text | None = None
    key: Name | None = None


class Learn(Arguments, frozen=True, kw_only=True):
    """The arguments of `learn`."""

    text: Text
    kind: Annotated[str, _of((*LEARNING_TYPES, *PATTERNS, NOTE))]
    files: Annotated[list[Name], Meta(max_length=FILES_MAX)] = []
    key: Name | None = None


class Request(Arguments, frozen=True, kw_only=True):
    """The arguments of `request`."""

    title: Annotated[str, Meta(max_length=TITLE_CHARS_MAX)]
    why: Text
    priority: Annotated[str, _of(PRIORITIES)]
    kind: Annotated[str, _of(REQUEST_TYPES)]
    key: Name | None = None


class AskHistory(Arguments, frozen=True, kw_only=True, rename={"from_": "from"}):
    """The arguments of `history`."""

    question: Literal["log", "blame", "diff", "best", "decisions"]
    field: Name | None = None
    from_: Name | None = None
    to: Name | None = None
    at: Name | None = None
    limit: Annotated[int, Meta(ge=1, le=LINES_MAX)] = LINES
    cursor: Cursor | None = None


class AskQuery(ToolArguments, frozen=True, kw_only=True):
    """The arguments of `query`."""

    sql: Annotated[str, Meta(max_length=SQL_CHARS_MAX)]
    cursor: Cursor | None = None


Read = TypeVar("Read", bound=msgspec.Struct)


def read(given: Any, kind: type[Read]) -> Read:
    """Return validated arguments; raise `InvalidInputError` naming an invalid argument."""
    try:
        return msgspec.convert(given if given is not None else {}, kind)
    except msgspec.ValidationError as error:
        said, _, place = str(error).partition(" - at `$")
        field = place.strip("`.") or None
        raise InvalidInputError(said[0].lower() + said[1:], field=field) from error


def schema_of(kind: type[msgspec.Struct], says: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments' schema, as short as possible because agents pay for each tool.

    `says` contains descriptions by field name.
    """
    (found,) = msgspec.json.schema(kind)["$defs"].values()
    properties = {
        name: _plain(one) | ({"description": says[name]} if name in says else {})
        for name, one in found["properties"].items()
    }
    needed = {"required": needs} if (needs := found.get("required")) else {}
    return {
        "type": "object",
        "properties": properties,
        **needed,
        "additionalProperties": False,
    }


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a field's schema without redundant parts."""
    if "anyOf" in schema:
        (schema,) = (one for one in schema["anyOf"] if one.get("type") != "null")
    unsaid = {"default", "maxLength"}
    if "enum" in schema:
        unsaid.add("type")
    short = {name: value for name, value in schema.items() if name not in unsaid}
    if isinstance(short.get("items"), dict):
        short["items"] = _plain(short["items"])
    return short
