"""From the options and files of `queue add` to requests, and back to what was wrong."""

from collections.abc import Mapping
from typing import Any

import click
import msgspec

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.sprint.queue.requests import SubmittedRequest

OF_ONE = ("description", "priority", "type", "identity", "discovered_in")


def read_asked(
    title: str | None, *, file: str | None, context: str | None, given: Mapping[str, Any]
) -> tuple[list[SubmittedRequest], list[int] | None]:
    """Return the requests that are meant, and the lines of a file that they stand on."""
    if file is None:
        return [_asked(title, context, given)], None
    if title or context is not None or any(given[name] for name in OF_ONE):
        raise click.UsageError("--file holds all of its requests: give nothing else")
    # Imported here: one request of its own needs no pydantic.
    from ..intake.files import read_text
    from ..intake.queue import read_requests

    return read_requests(read_text(file), file=file)


def _asked(
    title: str | None, context: str | None, given: Mapping[str, Any]
) -> SubmittedRequest:
    if not title or given["priority"] is None or given["type"] is None:
        raise click.UsageError("give TITLE, --priority and --type, or a --file")
    asked = SubmittedRequest(
        title,
        given["priority"],
        given["type"],
        description=given["description"],
        request=given["identity"],
        discovered_in=given["discovered_in"],
    )
    if context is None:
        return asked
    from ..intake.queue import read_context

    found = read_context(context, field="--context")
    return msgspec.structs.replace(asked, context=found)


def name_request(
    error: RefusedError, file: str | None, lines: list[int] | None
) -> RefusedError:
    """Return a refusal that names the option, or the file and the line."""
    field = str(error.fields.get("field") or "")
    index, _, name = field.removeprefix("requests[").partition("].")
    if not field.startswith("requests["):
        return error
    problem = error.message.removeprefix(f"{field}: ")
    if file is None:
        option = "TITLE" if name == "title" else f"--{name}"
        return InvalidInputError(problem, field=option, hint=error.hint)
    if lines is None:
        return InvalidInputError(problem, file=file, field=field, hint=error.hint)
    line = lines[int(index)]
    return InvalidInputError(problem, file=file, line=line, field=name, hint=error.hint)
