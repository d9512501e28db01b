"""Metrics on the command line: `--metric NAME=VALUE`, `--metrics FILE`, `--score`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.judging.metrics import check_metrics

from .. import typed

Value = TypeVar("Value")


with_metrics = typed.several(
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
)
"""The options that say what was measured."""
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
    return {**metrics, **read_pairs("metric", given, number_or_word)}


def read_pairs(
    option: str, given: tuple[str, ...], read: Callable[[str], Value]
) -> dict[str, Value]:
    """Return values by name; raise `UsageError` for one that is given twice."""
    found: dict[str, Value] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name or name in found:
            why = "is given twice" if name in found else "give NAME=VALUE"
            raise click.UsageError(f"--{option} {pair[:60]!r}: {why}")
        found[name] = read(value)
    return found


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
