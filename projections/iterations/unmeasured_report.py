"""The report of an iteration without a measurement: why not, and what is known."""

import re
from collections.abc import Sequence

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.iterations.events import MeasurementFailed
from sprintlog.engine.service.streams.judged import Judged

from ..markdown import bare, code, visible
from .iteration_report import ended, made_with

OUTPUT_LINES_MAX = 40
"""So many of the last lines are shown of what a command printed."""


def unmeasured_markdown(
    judged: Judged, number: int, took: str = "", tree: Sequence[str] = ()
) -> str:
    """Return what is known of an iteration that has no measurement that counts.

    Raise `NotFoundError` where it never began. `took` says what agents took, `tree` in
    lines where it began.
    """
    failure = judged.failures().get(number)
    if failure is None and number not in dict(judged.sprint.knowledge.iterations):
        raise NotFoundError(
            f"there is no iteration {number}",
            hint="`sprintlog iteration list` lists them",
            iteration=number,
        )
    why = "nobody measured it" if failure is None else failure.why
    told = {
        "Timestamp": "" if failure is None else bare(failure.at),
        "Not measured": code(_line(why)),
        "Agents": took,
    }
    lines = [f"## Iteration {number} Progress Report", ""]
    lines += [f"**{name}**: {text}" for name, text in told.items() if text]
    lines += [*tree, *ended(judged, number)]
    lines += made_with(judged.described().get(number))
    if failure is not None and isinstance(failure.event, MeasurementFailed):
        lines += _command(failure.event)
    return "\n".join(lines) + "\n"


def _command(event: MeasurementFailed) -> list[str]:
    """Return what was run to measure it, how that ended, and the end of what it printed."""
    if event.command is None:
        return []
    ended = "no exit code" if event.exit_code is None else f"exit code {event.exit_code}"
    if event.timed_out:
        ended = f"ended at its time limit, {ended}"
    lines = ["", "### What was run", "", f"{code(_line(event.command))}: {ended}"]
    printed = event.output.rstrip("\n").split("\n")[-OUTPUT_LINES_MAX:]
    return lines if printed == [""] else [*lines, "", *_block(printed)]


def _line(text: str) -> str:
    return " ".join(text.split())


def _block(lines: Sequence[str]) -> list[str]:
    """Return lines as a block of code, in which nothing means anything."""
    shown = [visible(line) for line in lines]
    longest = max((len(run) for x in shown for run in re.findall("`+", x)), default=0)
    marks = "`" * max(longest + 1, 3)
    return [f"{marks}text", *shown, marks]
