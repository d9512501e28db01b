"""Metrics on the command line: `--metric NAME=VALUE`, `--metrics FILE`, `--score`."""

from pathlib import Path
from typing import Any

import click

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.iterations.metrics import check_metrics

from .. import typed
from ..context import Function


def with_metrics(function: Function) -> Function:
    """Add the options that say what was measured."""
    options = [
        typed.option(
            "--metric",
            "given_metrics",
            multiple=True,
            metavar="NAME=VALUE",
            help="A metric, such as tests_passed=9; can be repeated.",
        ),
        typed.option(
            "--metrics",
            "metrics_file",
            type=click.Path(path_type=Path, allow_dash=True),
            help="A file with metrics by name, or with iteration_metrics, as JSON or YAML; "
            "- for standard input.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


with_score = typed.option(
    "--score",
    type=float,
    metavar="NUMBER",
    help="An external score, 0 to 1, instead of the computed one.",
)


def read_metrics(given: tuple[str, ...], file: Path | None) -> dict[str, Any]:
    """Return metrics by name; one that is named goes before the file's."""
    metrics: dict[str, Any] = {}
    if file is not None:
        # Imported here: pydantic is slow to start.
        from ..intake.metrics import read_metrics_file

        metrics = read_metrics_file(file)
        if not given:
            _check_together(metrics, file)
        metrics |= metrics.pop("own", {})
    named: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name or name in named:
            why = "is given twice" if name in named else "give NAME=VALUE"
            raise click.UsageError(f"--metric {pair[:60]!r}: {why}")
        named[name] = number_or_word(value)
    return {**metrics, **named}


def _check_together(metrics: dict[str, Any], file: Path) -> None:
    """Raise `InvalidInputError` naming the file whose metrics contradict each other."""
    try:
        # Which metrics of one's own there are the rules in force say, later.
        check_metrics(metrics, [*metrics.get("own", ())])
    except RefusedError as error:
        raise InvalidInputError(error.message, file=str(file)) from error


def number_or_word(text: str) -> int | float | str:
    """Return the number that a text says, or the text."""
    for kind in (int, float):
        try:
            return kind(text) if text.isascii() and "_" not in text else text
        except ValueError:
            continue
    return text
