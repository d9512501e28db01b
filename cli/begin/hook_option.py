"""A per-iteration hook from the one text that an option gives."""

from typing import Any

import click

from sprintlog.engine.sprint.plan.create import check_id

FLAGS = {"true": True, "false": False}


def hook_from(text: str) -> dict[str, Any]:
    """Return the hook of `id=…,workflow=…`; raise `click.UsageError` for another form.

    What stands behind `command=` or `prompt=` goes to the end of the text.
    """
    given: dict[str, Any] = {}
    rest = text
    while rest:
        key, equals, rest = rest.partition("=")
        value, _, rest = (
            (rest, "", "") if key in ("command", "prompt") else rest.partition(",")
        )
        if key not in ("id", "workflow", "prompt", "command", "parallel", "enabled"):
            raise _wrong(text, f"{key[:40]!r} is unknown")
        if not equals or not value or key in given:
            raise _wrong(text, f"{key} is empty or given twice")
        given[key] = value
    check_id(given.get("id"), field="--hook id")
    for key in ("parallel", "enabled"):
        given[key] = given.get(key, "true" if key == "enabled" else "false")
        if given[key] not in FLAGS:
            raise _wrong(text, f"{key} must be true or false")
        given[key] = FLAGS[given[key]]
    if "workflow" not in given and "prompt" not in given and "command" not in given:
        raise _wrong(text, "it says nothing to run")
    order = ("id", "workflow", "prompt", "command", "parallel", "enabled")
    return {key: given[key] for key in order if key in given}


def _wrong(text: str, problem: str) -> click.UsageError:
    return click.UsageError(
        f"--hook {text[:60]!r}: {problem}; write id=ID,workflow=NAME,parallel=true"
    )
