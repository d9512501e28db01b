"""The `sprintlog iteration rules` commands: weights, limits, policies, custom metrics."""

from collections.abc import Iterator
from typing import Any

import click
from msgspec import structs

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.judging.events import OwnMetric
from sprintlog.engine.judging.loop_rules import MeasureRules
from sprintlog.engine.sprint.iterations.decisions import ChangeRules
from sprintlog.projections.views import quality as views

from .. import context, output, settings, typed
from ..record import record
from .budgets import taken_from, with_sprint_budgets
from .file_rules import differing, rules_of_file
from .loop_rules import JudgingOptions, change_of, measure_rules, with_judging
from .options import number_or_word

DIRECTIONS = ("higher", "lower")


@typed.group("rules")
def command() -> None:
    """Show or change the rules for judging iterations."""


@command.command("set")
@typed.list_option(
    "--weight",
    "weights",
    metavar="[NAME=]NUMBER",
    help="The weight of a dimension; all weights add up to 1. Without NAME: the weight of "
    "the --metric in the whole score, 0 for none.",
)
@typed.list_option(
    "--threshold",
    "thresholds",
    metavar="NAME=NUMBER",
    help="A limit; `target=none` removes the target.",
)
@typed.option(
    "--verification/--no-verification",
    "verification",
    default=None,
    help="Whether only iterations whose tests pass may be selected.",
)
@typed.choice_option(
    "--progress-edits",
    of=("observe", "adopt", "refuse"),
    help="The reaction to an edit of PROGRESS.yaml: save a copy and overwrite it, adopt it "
    "as events where possible, or reject commands until it is reverted.",
)
@typed.option(
    "--metric",
    metavar="NAME",
    help="Declare or change a custom metric: it is shown, and if it has a weight, it is "
    "part of the score.",
)
@typed.choice_option("--better", of=DIRECTIONS, help="Which --metric values are better.")
@typed.option(
    "--target",
    metavar="NUMBER",
    help="The reference value of the --metric instead of the baseline's; `none` removes "
    "it.",
)
@typed.option(
    "--pointer",
    metavar="POINTER",
    help="The place of the --metric in a JSON report, such as /latency/p95; or `none`.",
)
@typed.list_option("--no-metric", "dropped", metavar="NAME", help="Remove a custom metric.")
@typed.flag(
    "--from-config", help="Record [rules] from sprintlog.toml; options take precedence."
)
@with_judging(by_file=False)
@with_sprint_budgets
@context.with_recording
@context.packed(dict, ("metric", "better", "target", "pointer"), "own")
def set_(
    weights: tuple[str, ...],
    thresholds: tuple[str, ...],
    verification: bool | None,
    progress_edits: str | None,
    own: dict[str, str | None],
    dropped: tuple[str, ...],
    from_config: bool,
    judged: JudgingOptions,
    **given: Any,
) -> None:
    """Change the rules for all later measurements.

    Other rules do not change, and a rollback does not discard rules. A custom metric scores
    100 if it reaches the target or the baseline, and proportionally less otherwise. Budgets
    apply to all runs of the sprint together.

    Examples: sprintlog iteration rules set --threshold target=0.9

    sprintlog iteration rules set --weight validation=0.4 --weight efficiency=0

    sprintlog iteration rules set --metric p95_ms --better lower --weight 0.2
    """
    budgets = taken_from(given)
    told = rules_of_file() if from_config else ChangeRules()
    if told is None:
        raise NotFoundError(
            f"--from-config: {settings.NAME} has no [rules]",
            hint="run `sprintlog config` to show the settings",
        )
    named = tuple(pair for pair in weights if "=" in pair)
    weight = tuple(pair for pair in weights if "=" not in pair)
    metrics = _metric(weight, **own)
    loop = _loop_change(judged)
    typed = {n: x for n, x in _numbers("weight", named).items() if x is not None}
    limits = told.thresholds | (loop.thresholds if loop else {})
    command = ChangeRules(
        told.weights | typed,
        limits | _numbers("threshold", thresholds),
        told.verification_required if verification is None else verification,
        progress_edits or told.progress_edits,
        {**metrics, **dict.fromkeys(dropped)},
        loop.loop if loop else None,
        budgets=budgets,
    )
    # Idempotency keys from before loops and metrics had rules must remain valid.
    said = ("weights", "thresholds", "verification_required", "progress_edits")
    given_ = (("loop", loop), ("budgets", budgets), ("metrics", command.metrics))
    more = [name for name, one in given_ if one]
    record("rules set", given, command, typed=(*said, *more))


@command.command()
@context.with_reading
def show(reading: context.ReadOptions) -> None:
    """Show the current weights, limits, policies, budgets and custom metrics.

    Example: sprintlog iteration rules show --json
    """
    with reading.opened() as (_, sprint):
        rules = sprint.knowledge.tracker.rules_at(sprint.version)
        budgets = sprint.knowledge.loops.budgets
    answer = views.rules(rules, budgets)
    loop, spent = structs.asdict(answer.loop), structs.asdict(budgets)
    parts: dict[str, dict[str, Any]] = {
        "weight": answer.weights,
        "threshold": answer.thresholds,
        "policy": structs.asdict(answer.policies),
        "loop": {n: x for n, x in loop.items() if n != "measure" or not x},
        "budget": {n: x for n, x in spent.items() if x is not None},
    }
    rows = [
        (f"{word} {name}", _shown(value))
        for word, values in parts.items()
        for name, value in values.items()
    ]
    rows += [(f"metric {one.name}", _declared(one)) for one in answer.metrics]
    measure = rules.loop.measure
    rows += [] if measure is None else list(_measured_rows(measure))
    output.print_answer(answer, output.table(rows), as_json=reading.as_json)
    if line := differing(rules):
        output.note(line)


def _metric(
    weights: tuple[str, ...], metric: str | None, better: str | None, **more: str | None
) -> dict[str, dict[str, Any] | None]:
    """Return the given options of a custom metric."""
    target, pointer = more["target"], more["pointer"]
    said: dict[str, Any] = {} if better is None else {"better": better}
    for option, given in (("weight", weights), ("target", (target,) if target else ())):
        if len(given) > 1:
            raise click.UsageError(f"--{option}: must be one number")
        for text in given:
            is_none = text == "none" and option == "target"
            number = None if is_none else number_or_word(text)
            if isinstance(number, str):
                raise click.UsageError(f"--{option} {text[:60]!r}: must be a number")
            said[option] = number
    if pointer is not None:
        said["pointer"] = None if pointer == "none" else pointer
    if metric is None and said:
        raise click.UsageError(f"--{next(iter(said))} requires --metric NAME")
    return {} if metric is None else {metric: said}


def _declared(one: OwnMetric) -> str:
    """Return a description of a declared custom metric."""
    known = [
        one.better and f"{one.better} is better",
        f"weight {one.weight:g}" if one.weight else "not part of the score",
        None if one.target is None else f"target {one.target:g}",
        one.pointer and f"at {one.pointer}",
    ]
    return ", ".join(filter(None, known))


def _loop_change(judged: JudgingOptions) -> ChangeRules | None:
    """Return the change to the loop rules that the options specify."""
    if not any((judged.reports, judged.sources)):
        return change_of(judged, measure_rules(judged, root=None))
    with context.open_workspace() as workspace:
        measure = measure_rules(judged, root=workspace.location.root)
    return change_of(judged, measure)


def _numbers(option: str, given: tuple[str, ...]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for pair in given:
        name, _, text = pair.partition("=")
        value = None if text == "none" and option == "threshold" else number_or_word(text)
        if isinstance(value, str) or name in found:
            raise click.UsageError(f"--{option} {pair[:60]!r}: must be one NAME=NUMBER")
        found[name.replace("-", "_")] = value
    return found


def _measured_rows(measure: MeasureRules) -> Iterator[tuple[str, str]]:
    """Yield a row for each measuring rule."""
    for name in ("runs", "builds", "reports", "sources"):
        for value in getattr(measure, name):
            yield f"loop measure {name.removesuffix('s')}", value
    yield "loop time limit", _shown(measure.timeout_seconds)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return "none" if value is None else f"{value:g}"
