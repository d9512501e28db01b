"""What a sprint came to, on one page of Markdown: what a person wants in the morning."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sprintlog.engine.iterations.alerts import SEVERITIES, Alert
from sprintlog.engine.iterations.evaluation import Judgement
from sprintlog.engine.iterations.exact import plain, shown
from sprintlog.engine.iterations.loop_rules import ROLLBACK
from sprintlog.engine.iterations.select import said_score, unknown_parts
from sprintlog.engine.iterations.tracker import BASELINE_NUMBER
from sprintlog.engine.service.streams.judged import Failure, Judged, Unmeasured
from sprintlog.engine.sprint.state.sprint import Spent, Sprint

from ..markdown import bare, code, code_cell, table
from .iteration_report import MISSING, NOT_COMPARED, said
from .quality import pending_advice
from .sparkline import sparkline

SUMMARY_ROWS_MAX = 100
"""More iterations than this are only counted."""
ALERTS_MAX = 20
"""More alerts than this are only counted."""
_HEAD = (
    *("Iteration", "Class", "Score", "Tests", "Coverage", "Errors", "Alerts"),
    "What was reached",
)
_TOOK = ("Turns", "Tokens", "Cost")
_DONE = (("phases", "completed-phases", "total-phases"),
         ("steps", "completed-steps", "total-steps"))  # fmt: skip


class SummaryTexts(NamedTuple):
    """What the one who prints it says in their own words: times, costs, why it stopped."""

    time: str = ""
    cost: str = ""
    why: str | None = None


def summary_markdown(judged: Judged, told: SummaryTexts) -> str:
    """Return what a sprint came to on one page, fit for the summary of a CI step too."""
    base, failures = judged.baseline(), judged.failures()
    found = [*([base] if base else []), *judged.all()]
    lines = [f"## Sprint {code(judged.sprint.id)}", ""]
    lines += _state(judged.sprint, told)
    lines += _quality(judged, found, failures)
    others = judged.unmeasured()
    if told.cost:
        lines.append(f"- **Agents**: {told.cost}")
    elif found or failures or others:
        lines.append("- **Agents**: what they took is not known, no run was recorded")
    if not found and not failures:
        lines.append("- No iteration was measured")
        if not others:
            return "\n".join(lines) + "\n"
    lines += ["", *_rows(judged, found, failures, others), *_alerts(judged)]
    return "\n".join(lines) + "\n"


def _state(sprint: Sprint, told: SummaryTexts) -> list[str]:
    lines = [f"- **Status**: {code(str(sprint.document.get('status')))}"]
    if told.why:
        lines.append(f"- **Why it stopped**: {code(told.why)}")
    if told.time:
        lines.append(f"- **Time**: {told.time}")
    stats = sprint.document.get("stats")
    given: Mapping[str, Any] = stats if isinstance(stats, dict) else {}
    done = [
        f"{_bare(given.get(part))} of {_bare(given[whole])} {name}"
        for name, part, whole in _DONE
        if given.get(whole)
    ]
    return [*lines, f"- **Done**: {', '.join(done)}"] if done else lines


def _bare(value: object) -> str:
    """Return a number as it is, and what another tool may have written there as code."""
    return str(value) if isinstance(value, int) else code(str(value))


def _quality(
    judged: Judged, found: Sequence[Judgement], failures: Mapping[int, Failure]
) -> list[str]:
    turns = [one for one in found if one.number != BASELINE_NUMBER]
    lines = []
    if turns or failures:
        lines.append(f"- **Iterations**: {_counts(judged, turns, failures)}")
    if judged.tracker.baselines:
        event = judged.tracker.baselines[-1][1]
        why = f": {code(event.reason)}" if event.reason else ""
        lines.append(f"- **Baseline**: iteration {event.number}{why}")
    if values := [one.score.value for one in turns]:
        first, last = said(values[0], 2), said(values[-1], 2)
        lines.append(f"- **Quality**: {code(sparkline(values))} {first} → {last}")
    lines += _own(judged, turns)
    if (best := judged.best()) is not None:
        unknown = unknown_parts(best.score)
        score = said(best.score.value, 2) + (f"; {unknown}" if unknown else "")
        lines.append(f"- **Best**: iteration {best.number} ({score})")
    given = pending_advice(judged)
    if given is not None:
        typed = ""
        if given.action == ROLLBACK and given.target is not None:
            typed = f"`sprintlog rollback iter:{given.target}`"
            typed = f": {typed}; with --files the files alone"
        lines.append(f"- **Now**: {given.message} ({given.reason}){typed}")
    if (selection := judged.selected()) is not None:
        lines.append(f"- **Result**: {selection.message}")
    return lines


def _own(judged: Judged, turns: Sequence[Judgement]) -> list[str]:
    """Return how metrics of one's own went, a line each."""
    lines = []
    for one in judged.rules.metrics:
        values = [turn.figures.own.get(one.name) for turn in turns]
        known = [value for value in values if value is not None]
        if not known:
            continue
        counts = [f"{one.better} is better"] if one.better else []
        counts += [f"weight {one.weight:g}"] if one.weight else []
        said = f" ({', '.join(counts)})" if counts else ""
        went = f"{code(sparkline(values))} {plain(known[0])} → {plain(known[-1])}"
        lines.append(f"- **{bare(one.name)}**: {went}{said}")
    return lines


def _counts(
    judged: Judged, turns: Sequence[Judgement], failures: Mapping[int, Failure]
) -> str:
    """Return how many iterations there are of each class, and how many were left behind."""
    of_class = Counter(one.classification or NOT_COMPARED for one in turns)
    counts = [f"{count} {name}" for name, count in of_class.most_common()]
    if failures:
        counts.append(f"{len(failures)} not measured")
    if gone := len(judged.off_path()):
        counts.append(f"{gone} off the path")
    return f"{len(turns) + len(failures)}: {', '.join(counts)}"


def _rows(
    judged: Judged,
    found: Sequence[Judgement],
    failures: Mapping[int, Failure],
    others: Sequence[Unmeasured],
) -> list[str]:
    summaries, spent = judged.summaries(), judged.spent()
    # Where all lack the same it is said once, with the best one.
    is_same = len({one.score.share for one in found}) == 1
    off_path = judged.off_path()
    rows = {
        one.number: _row(one, summaries, is_same=is_same, is_off=one.number in off_path)
        for one in found
    }
    rows |= {number: _failed_row(one) for number, one in failures.items()}
    rows |= {one.number: _unmeasured_row(one) for one in others}
    numbers = sorted(rows)[-SUMMARY_ROWS_MAX:]
    head: tuple[str, ...] = _HEAD
    shown_rows = [rows[number] for number in numbers]
    if spent:
        head = (*_HEAD[:-1], *_TOOK, _HEAD[-1])
        shown_rows = [
            (*rows[number][:-1], *_took(spent.get(number)), rows[number][-1])
            for number in numbers
        ]
    lines = table(head, shown_rows)
    if (more := len(rows) - SUMMARY_ROWS_MAX) > 0:
        lines += ["", f"{more} earlier ones are not shown."]
    return lines


def _alerts(judged: Judged) -> list[str]:
    """Return what got worse, the worst first, and of equals the newest."""
    found: list[Alert] = [alert for one in judged.all() for alert in one.alerts]
    if not found:
        return []
    found.sort(key=lambda one: (SEVERITIES.index(one.severity), -one.triggered_at))
    lines = [
        f"- **{one.severity}** iteration {one.triggered_at}, {one.type}: {one.message}"
        for one in found[:ALERTS_MAX]
    ]
    if (more := len(found) - ALERTS_MAX) > 0:
        lines.append(f"- {more} more: `sprintlog alerts --all`")
    return ["", "### What got worse", "", *lines]


def _took(spent: Spent | None) -> tuple[str, ...]:
    """Return turns, tokens and cost of an iteration; empty where nobody said."""
    if spent is None:
        return ("",) * len(_TOOK)
    tokens = (spent.input_tokens or 0) + (spent.output_tokens or 0)
    return (
        "" if spent.turns is None else f"{spent.turns:,}",
        f"{tokens:,}" if tokens else "",
        "" if spent.cost_usd is None else f"${spent.cost_usd:,.2f}",
    )


def _failed_row(failure: Failure) -> tuple[str, ...]:
    why = code_cell(failure.why)
    return (str(failure.event.number), "not measured", *("",) * (len(_HEAD) - 3), why)


def _unmeasured_row(one: Unmeasured) -> tuple[str, ...]:
    said = ": ".join(filter(None, (one.status, one.error or one.summary)))
    return (str(one.number), "not measured", *("",) * (len(_HEAD) - 3), code_cell(said))


def _row(
    one: Judgement, summaries: dict[int, str], *, is_same: bool, is_off: bool
) -> tuple[str, ...]:
    now = one.figures
    passed = MISSING if now.tests_passed is None else str(now.tests_passed)
    score = said(one.score.value, 2) if is_same else said_score(one.score)
    return (
        str(one.number),
        (one.classification or NOT_COMPARED) + (", off the path" if is_off else ""),
        MISSING if one.score.value is None else score,
        MISSING if now.test_count is None else f"{passed}/{now.test_count}",
        MISSING if now.coverage is None else f"{shown(now.coverage, 1)}%",
        said(now.error_count, 0),
        ", ".join(alert.type for alert in one.alerts),
        code_cell(summaries.get(one.number, "")),
    )
