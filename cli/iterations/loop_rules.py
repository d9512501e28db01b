"""The loop rule options shared by `run` and `iteration rules set`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from sprintlog.engine.judging import loop_rules
from sprintlog.engine.log.event import made_from
from sprintlog.engine.sprint.iterations.decisions import ChangeRules

from .. import settings, typed
from ..context import Function, here, packed
from .options import TIMEOUT_SECONDS, said_by_file


class JudgingOptions(NamedTuple):
    """The loop options, from the command line or the settings file.

    Builds, sources and the timeout can be set only in the file.
    """

    commands: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    measure_seconds: float | None = None
    measures_not: bool = False
    measure_builds: bool = False
    keeps_files: bool | None = None
    on_regression: str | None = None
    rollbacks_max: int | None = None
    selects: bool | None = None
    review: str | None = None
    on_tamper: str | None = None
    until: str | None = None


def with_judging(*, by_file: bool) -> Callable[[Function], Function]:
    """Return a decorator that adds the loop options, passed as `judged`.

    With `by_file`, the settings file provides the values of omitted options.
    """

    def key(name: str) -> str | None:
        return f"agent.{name}" if by_file else None

    options = typed.several(
        typed.list_option(
            "--measure",
            "commands",
            metavar="CMD",
            help="Run this after each iteration. Without a report, the figures in its last "
            "line are recorded, or else its exit status.",
        ),
        typed.flag(
            "--measure-build",
            "measure_builds",
            help="Count the exit status of --measure as the build's even if figures are "
            "printed.",
        ),
        typed.list_option(
            "--report",
            "reports",
            metavar="[FORMAT=]FILE",
            help="Read metrics from its report; a pattern can match several files.",
        ),
        typed.flag("--no-measure", "measures_not", help="Stop measuring."),
        typed.option(
            "--snapshot/--no-snapshot",
            "keeps_files",
            default=None,
            setting=key("snapshot"),
            help="Save the work tree's files at the end of each iteration.",
        ),
        typed.choice_option(
            "--on-regression",
            of=loop_rules.ON_REGRESSION,
            setting=key("on-regression"),
            help="The reaction to a regression; rollback implies --snapshot. [stop]",
        ),
        typed.choice_option(
            "--on-tamper",
            of=loop_rules.ON_TAMPER,
            setting=key("on-tamper"),
            help="The reaction to a change of existing tests or of the measure; rollback "
            "implies --snapshot. [warn]",
        ),
        typed.number_option(
            "--rollbacks-max",
            least=0,
            help=f"Maximum number of automatic rollbacks. [{loop_rules.ROLLBACKS_MAX}]",
        ),
        typed.option(
            "--select/--no-select",
            "selects",
            default=None,
            setting=key("select"),
            help="At the end, copy the best iteration's files to .aiwg/output/.",
        ),
        _with_claims(key),
    )
    judged = packed(_judging, JudgingOptions._fields, "judged")
    return lambda function: options(judged(function))


def _with_claims(key: Callable[[str], str | None]) -> Callable[[Function], Function]:
    """Return a decorator that adds the options for claims."""
    return typed.several(
        typed.option(
            "--review",
            setting=key("review"),
            may_be_empty=True,
            metavar="CMD",
            help="Also ask this command about each claim that the measurement does not "
            "refuse; an empty text removes it.",
        ),
        typed.option(
            "--until",
            setting=key("until"),
            metavar="COND",
            help="Complete the goal only if a measurement meets this condition, such as "
            "`tests_failed=0 and coverage>=80`; `none` removes it.",
        ),
    )


def _judging(**given: Any) -> JudgingOptions:
    """Return the options; raise `click.UsageError` for incompatible options."""
    judged = JudgingOptions(**given)
    if judged.measures_not and (judged.commands or judged.reports):
        raise click.UsageError("--no-measure cannot be combined with --measure or --report")
    if judged.measure_builds and not judged.commands:
        raise click.UsageError("--measure-build requires --measure")
    return judged


def measured_by_file() -> JudgingOptions:
    """Return the options in the settings file's [measure] table."""
    found = said_by_file(commands="run", builds="build")
    return JudgingOptions(**found, measure_seconds=settings.setting("measure.timeout"))


def measure_rules(
    judged: JudgingOptions, *, root: Path | None
) -> loop_rules.MeasureRules | None:
    """Return the measurement rules with paths relative to the root, or None without rules.

    With `--measure-build`, the exit status of each command counts as the status of a build.
    """
    if not (judged.commands or judged.reports or judged.builds or judged.sources):
        return None
    commands = judged.commands if judged.measure_builds else ()
    seconds = judged.measure_seconds
    return loop_rules.MeasureRules(
        judged.commands,
        (*commands, *judged.builds),
        tuple(_from_root(report, root, is_report=True) for report in judged.reports),
        tuple(_from_root(source, root, is_report=False) for source in judged.sources),
        TIMEOUT_SECONDS if seconds is None else seconds,
    )


def change_of(
    judged: JudgingOptions, measure: loop_rules.MeasureRules | None
) -> ChangeRules | None:
    """Return the command that records the options as rules, or None without any options.

    If only exit statuses are measured, missing metrics and equal scores are ignored.
    """
    until, measures = judged.until, False if judged.measures_not else None
    until = "" if until == "none" else until
    change = made_from(
        loop_rules.LoopChange, judged, measure=measure, measures=measures, until=until
    )
    if change == loop_rules.LoopChange():
        return None
    limits: dict[str, float | None] = {}
    if measure is not None and not (measure.reports or measure.sources):
        limits = {"measured_share": 0.0, "stall_variance": 0.0}
    return ChangeRules(thresholds=limits, loop=change)


def _from_root(name: str, root: Path | None, *, is_report: bool) -> str:
    """Return a file's path relative to the work tree's root."""
    if root is None or (folder := here()) == root:
        return name
    # Imported here: the formats import the decoders of agent output.
    from sprintlog.engine.adapters.measurement.formats import is_format

    before, separator, rest = name.partition("=")
    is_named = is_report and bool(separator) and is_format(before)
    format_, file = (f"{before}=", rest) if is_named else ("", name)
    return format_ + os.path.relpath(folder / file, root)
