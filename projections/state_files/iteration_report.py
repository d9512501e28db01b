"""The report on a judged iteration, or the reason why it was not measured.

Numbers are rounded here, with halves rounded away from zero. A missing value is printed as
missing, never as zero.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.judging.evaluation import Judgement
from sprintlog.engine.judging.events import MeasurementFailed
from sprintlog.engine.judging.exact import Number, plain, shown
from sprintlog.engine.judging.loop_rules import ESCALATE
from sprintlog.engine.judging.metrics import Figures
from sprintlog.engine.judging.recommend import Recommendation
from sprintlog.engine.judging.score import DIMENSIONS, Score, score_text, unknown_parts
from sprintlog.engine.judging.tracker import BASELINE_NUMBER
from sprintlog.engine.service.streams.evaluation import Judged
from sprintlog.engine.sprint.answers.limit_table import NETWORK_DOWN, OVERLOAD, USAGE
from sprintlog.engine.sprint.iterations.described import Description
from sprintlog.engine.sprint.iterations.outcomes import RunSeen, is_lost
from sprintlog.engine.sprint.iterations.snapshots import has_snapshot

from ..markdown import bare, code, table, visible

LIMITS = {
    USAGE: "a usage limit",
    OVERLOAD: "the model did not answer",
    NETWORK_DOWN: "no network",
}
"""The limits that can stop a run from working, whether or not it waits."""
NAMED_MAX = 5
"""The maximum number of runs that are named; the rest are only counted."""


def notes_of(seen: Iterable[RunSeen]) -> list[str]:
    """Return the obstacles encountered during an iteration's runs, without duplicates."""
    said = []
    for one in seen:
        if one.limit is not None:
            said.append(LIMITS.get(one.limit, one.limit))
        if one.cut_by is not None:
            said.append("a run was lost" if is_lost(one) else "a run was cut short")
    return list(dict.fromkeys(said))


def unknown_costs(found: Mapping[int, Sequence[RunSeen]]) -> str:
    """Return the runs with unknown costs as text, or "" if there are none."""
    named = []
    for number, seen in found.items():
        for at, one in enumerate(seen, 1):
            if not one.says_cost:
                which = f", run {at} of {len(seen)}" if len(seen) > 1 else ""
                why = next(iter(notes_of([one])), "it did not say")
                named.append(
                    f"iteration {number}{which} ({why.removeprefix('a run was ')})"
                )
    more = len(named) - NAMED_MAX
    return ", ".join(named[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


MISSING = "missing"
NOT_COMPARED = "nothing to compare with"
"""The class of the first iteration if no baseline was measured."""
AWAITING = "await_iteration_1"
_METRICS_HEAD = (
    *("Metric", "Current", "Previous", "Delta"),
    *("Baseline", "Delta from Baseline"),
)
_SCORE_HEAD = ("Dimension", "Score", "Weight", "Contribution")


class IterationReport(NamedTuple):
    """The content of an iteration's report."""

    judgement: Judgement
    metrics: tuple[tuple[str, ...], ...]
    """The cells of each metric, compared with the previous iteration and the baseline."""
    best: Judgement | None
    is_best_preserved: bool
    """Whether a snapshot contains the files of the best iteration."""
    recommendation: Recommendation | None
    """None for the baseline, which requires no decision."""


def iteration_report(judged: Judged, number: int) -> IterationReport:
    """Return the report on the iteration that was measured last in `judged`."""
    one = judged.one(number)
    is_compared = one.previous is not None and one.from_previous is not None
    previous = judged.one(one.previous or BASELINE_NUMBER) if is_compared else None
    base = judged.base_figures(one.version) if one.from_baseline is not None else None
    rows = {**_ROWS, **{bare(name): name for name in one.figures.own}}
    return IterationReport(
        one,
        tuple(_cells(name, field, one, previous, base) for name, field in rows.items()),
        judged.best(),
        is_best_preserved(judged),
        None if number == BASELINE_NUMBER else judged.advice(number),
    )


def is_best_preserved(judged: Judged) -> bool:
    """Return whether a snapshot contains the files of the best iteration."""
    best = judged.tracker.best
    return best is not None and has_snapshot(judged.sprint, best.number)


def ended(judged: Judged, number: int) -> list[str]:
    """Return how an iteration's last run ended, and its summary, as separate lines."""
    left = judged.endings().get(number)
    summary = judged.summaries().get(number) or (left and left.summary)
    told = {
        "Ended": "" if left is None else bare(left.words),
        "Error": code(" ".join(left.error.split())) if left and left.error else "",
        "Said last": code(" ".join(summary.split())) if summary else "",
        "On the way": ", ".join(notes_of(judged.runs_seen().get(number, ()))),
    }
    return _labelled(told)


def _labelled(told: Mapping[str, str]) -> list[str]:
    return [f"**{name}**: {text}" for name, text in told.items() if text]


def done_after(judged: Judged, number: int) -> list[str]:
    """Return the reaction to an iteration's recommendation; empty if there was none.

    A rollback before the next iteration counts as the reaction, whoever requested it.
    """
    if number == BASELINE_NUMBER or judged.tracker.entry(number) is None:
        return []
    since = judged.one(number).version
    begun = ((at, n) for n, at in judged.sprint.knowledge.iterations if at > since)
    at_next, following = min(begun, default=(None, None))
    for at, moment, to in judged.rollbacks():
        if at > since and (at_next is None or at < at_next):
            return [f"**Then**: rolled back to {to}, at {bare(moment)}"]
    if following is None:
        return []
    said = f"**Then**: the loop went on with iteration {following}"
    if judged.advice(number).action == ESCALATE:
        said += "; `escalate` says that a person should look, and asks nobody by itself"
    return [said]


def made_with(said: Description | None) -> list[str]:
    """Return the description of an iteration, one line per field."""
    if said is None:
        return []
    params = (f"{bare(name)} {code(value)}" for name, value in said.params.items())
    commit = ""
    if said.git is not None and said.git.head:
        commit = bare(said.git.head) + (", changed since" if said.git.is_dirty else "")
    told = {
        "Made with": ", ".join(params),
        "Commit": commit,
        "Tags": ", ".join(map(bare, said.tags)),
        "Notes": "; ".join(map(code, said.notes)),
    }
    return _labelled(told)


def iteration_markdown(
    report: IterationReport,
    took: str = "",
    said: Sequence[str] = (),
    then: Sequence[str] = (),
) -> str:
    """Return a report in the format that the tracker's document defines.

    `took` is the agents' usage, `said` contains additional lines, and `then` is the
    reaction to the recommendation. All three are empty in a loop's own report files.
    """
    one = report.judgement
    alerts = [f"- **{a.severity}** {a.type}: {a.message}" for a in one.alerts]
    lines = [
        f"## Iteration {one.number} Progress Report",
        "",
        f"**Timestamp**: {bare(one.at)}",
        f"**Classification**: {one.classification or NOT_COMPARED}",
        f"**Quality Score**: {_score(one.score)}",
        *([f"**Agents**: {took}"] if took else []),
        *said,
        *section("Metrics", table(_METRICS_HEAD, report.metrics)),
        *section("Quality Score Breakdown", _breakdown(one.score)),
        *section("Alerts", alerts or ["No alerts"]),
        *section("Best Iteration Tracker", _tracker(report)),
        *section("Recommendation", _advice(report.recommendation)),
        *then,
    ]
    return "\n".join(lines) + "\n"


def section(title: str, lines: Iterable[str]) -> list[str]:
    """Return a section of a report, preceded by its heading."""
    return ["", f"### {title}", "", *lines]


_ROWS = {
    "Test Count": "test_count",
    "Pass Rate": "pass_rate",
    "Coverage": "coverage",
    "Errors": "error_count",
}
_RATES = ("pass_rate", "coverage")


def _cells(
    name: str, field: str, one: Judgement, previous: Judgement | None, base: Figures | None
) -> tuple[str, ...]:
    is_own = field in one.figures.own
    places, unit = (1, "%") if field in _RATES else (0, "")
    sources = (
        one.figures,
        previous and previous.figures,
        one.from_previous,
        base,
        one.from_baseline,
    )
    values = [source and source.known().get(field) for source in sources]
    # The third and the last value are changes, shown with a sign.
    return (
        name,
        *(
            MISSING
            if value is None
            else plain(value, signed=at in (2, 4))
            if is_own
            else shown(value, places, signed=at in (2, 4)) + unit
            for at, value in enumerate(values)
        ),
    )


def _breakdown(score: Score) -> list[str]:
    rows = [
        (
            part.name.capitalize() if part.name in DIMENSIONS else bare(part.name),
            # Points range to 100, but the score to 1.
            said(None if part.points is None else part.points / 100, 2),
            said(part.applied, 2),
            said(part.contribution, 2),
        )
        for part in score.dimensions
    ]
    total = f"**{said(score.value, 2)}**"
    weight = sum((part.applied or 0 for part in score.dimensions), Fraction(0))
    return table(_SCORE_HEAD, [*rows, ("**Total**", total, shown(weight, 2), total)])


def _tracker(report: IterationReport) -> list[str]:
    one, best = report.judgement, report.best
    current = "none"
    if best is not None:
        current = f"Iteration {best.number} (quality: {score_text(best.score)})"
    mine = f"Iteration {one.number} (quality: {score_text(one.score)})"
    return [
        f"- **Current Best**: {current}",
        f"- **This Iteration**: {mine}",
        f"- **Best Preserved**: {'yes' if report.is_best_preserved else 'no'}",
    ]


def _advice(given: Recommendation | None) -> list[str]:
    if given is None:
        parts = (AWAITING, "The baseline is stored", MISSING)
    else:
        because = "; ".join(reason.text for reason in given.reasons)
        reason = f"{given.reason} ({because})" if because else given.reason
        parts = (given.action, reason, shown(given.confidence, 2))
    names = ("Action", "Reason", "Confidence")
    return [f"**{name}**: {text}" for name, text in zip(names, parts, strict=True)]


def _score(score: Score) -> str:
    text = said(score.value, 2)
    if score.is_given:
        return f"{text} (a judgement from elsewhere)"
    unknown = unknown_parts(score)
    return f"{text} ({unknown})" if unknown else text


def said(number: Number | None, places: int) -> str:
    """Return a formatted number, or a placeholder if it is missing."""
    return MISSING if number is None else shown(number, places)


OUTPUT_LINES_MAX = 40
"""The maximum number of last output lines that are shown for a command."""


def unmeasured_markdown(
    judged: Judged, number: int, took: str = "", tree: Sequence[str] = ()
) -> str:
    """Return the report on an iteration without an effective measurement.

    Raise `NotFoundError` if the iteration never started. `took` is the agents' usage;
    `tree` contains the lines that describe where the iteration started.
    """
    failure = judged.failures().get(number)
    if failure is None and number not in dict(judged.sprint.knowledge.iterations):
        raise NotFoundError(
            f"there is no iteration {number}",
            hint="run `sprintlog list` to list the iterations",
            iteration=number,
        )
    why = "nobody measured it" if failure is None else failure.why
    told = {
        "Timestamp": "" if failure is None else bare(failure.at),
        "Not measured": code(_line(why)),
        "Agents": took,
    }
    lines = [f"## Iteration {number} Progress Report", "", *_labelled(told), *tree]
    lines += [*ended(judged, number), *made_with(judged.described().get(number))]
    if failure is not None and isinstance(failure.event, MeasurementFailed):
        lines += _command(failure.event)
    return "\n".join(lines) + "\n"


def _command(event: MeasurementFailed) -> list[str]:
    """Return the measuring command, its result, and the end of its output."""
    if event.command is None:
        return []
    ended = "no exit code" if event.exit_code is None else f"exit code {event.exit_code}"
    if event.timed_out:
        ended = f"timed out, {ended}"
    lines = section("Commands", [f"{code(_line(event.command))}: {ended}"])
    printed = event.output.rstrip("\n").split("\n")[-OUTPUT_LINES_MAX:]
    return lines if printed == [""] else [*lines, "", *_block(printed)]


def _line(text: str) -> str:
    return " ".join(text.split())


def _block(lines: Sequence[str]) -> list[str]:
    """Return the lines as a code block, in which no markup is interpreted."""
    shown = [visible(line) for line in lines]
    longest = max((len(run) for x in shown for run in re.findall("`+", x)), default=0)
    marks = "`" * max(longest + 1, 3)
    return [f"{marks}text", *shown, marks]
