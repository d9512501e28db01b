"""`sprintlog rules …`: the weights, limits and policies in force."""

from typing import Any

import click
import msgspec

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.sprint.iterations.decisions import ChangeRules

from .. import settings, typed
from ..context import ReadOptions, open_workspace, with_reading, with_recording
from ..output import note, print_answer, table
from ..record import record
from .file_rules import differing, rules_of_file
from .metrics import number_or_word


@typed.group("rules")
def command() -> None:
    """Show or change by which rules iterations are judged."""


@command.command(
    "set",
    epilog="Examples: sprintlog rules set --threshold target=0.9\n\n"
    "sprintlog rules set --weight validation=0.4 --weight efficiency=0",
)
@typed.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="NAME=NUMBER",
    help="What a dimension counts; together they are 1.",
)
@typed.option(
    "--threshold",
    "thresholds",
    multiple=True,
    metavar="NAME=NUMBER",
    help="A limit; `target=none` takes the target away.",
)
@typed.option(
    "--verification/--no-verification",
    "verification",
    default=None,
    help="Whether only iterations whose tests pass may be selected.",
)
@typed.option(
    "--progress-edits",
    type=typed.Choice(("observe", "adopt", "refuse")),
    help="What becomes of an edit of PROGRESS.yaml: kept and replaced, made events as far "
    "as it can be, or nothing is recorded until it is gone.",
)
@typed.option(
    "--from-config",
    is_flag=True,
    help="Record what [rules] in sprintlog.toml says; what is typed comes first.",
)
@with_recording
def set_(
    weights: tuple[str, ...],
    thresholds: tuple[str, ...],
    verification: bool | None,
    progress_edits: str | None,
    from_config: bool,
    **given: Any,
) -> None:
    """Put other values in force, for what is measured from here on.

    What is not named stays. A rollback does not take them back.
    """
    told = rules_of_file() if from_config else ChangeRules()
    if told is None:
        raise NotFoundError(
            f"--from-config: {settings.NAME} has no [rules]",
            hint="`sprintlog config` shows what it says",
        )
    typed = {n: x for n, x in _numbers("weight", weights).items() if x is not None}
    command = ChangeRules(
        {**told.weights, **typed},
        {**told.thresholds, **_numbers("threshold", thresholds)},
        told.verification_required if verification is None else verification,
        progress_edits or told.progress_edits,
    )
    record("rules set", given, command)


@command.command(epilog="Example: sprintlog rules show --json")
@with_reading
def show(reading: ReadOptions) -> None:
    """Show the weights, limits and policies in force."""
    # Imported here: exact numbers would cost every recording command their import.
    from sprintlog.projections.views import iterations as views

    with open_workspace() as workspace:
        sprint = reading.sprint(workspace)
        rules = sprint.knowledge.tracker.rules_at(sprint.version)
    answer = views.rules(rules)
    parts = msgspec.to_builtins(answer).values()
    words = zip(("weight", "threshold", "policy"), parts, strict=True)
    rows = [
        (f"{word} {name}", _shown(value))
        for word, values in words
        for name, value in values.items()
    ]
    print_answer(answer, table(rows), as_json=reading.as_json)
    if line := differing(rules):
        note(line)


def _numbers(option: str, given: tuple[str, ...]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for pair in given:
        name, _, text = pair.partition("=")
        value = None if text == "none" and option == "threshold" else number_or_word(text)
        if isinstance(value, str) or name in found:
            raise click.UsageError(f"--{option} {pair[:60]!r}: give NAME=NUMBER, once")
        found[name.replace("-", "_")] = value
    return found


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return "none" if value is None else f"{value:g}"
