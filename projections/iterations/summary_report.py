"""All iterations of a sprint on one page of Markdown."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sprintlog.engine.iterations.evaluation import Judgement
from sprintlog.engine.iterations.exact import shown
from sprintlog.engine.iterations.recommend import Recommendation
from sprintlog.engine.iterations.select import Selection, said_score
from sprintlog.engine.iterations.tracker import BASELINE_NUMBER
from sprintlog.engine.service.streams.judged import Failure
from sprintlog.engine.sprint.state.sprint import Spent

from ..markdown import code, code_cell, table
from .iteration_report import MISSING, said
from .sparkline import sparkline

SUMMARY_ROWS_MAX = 100
"""More iterations than this are only counted."""
_HEAD = (
    *("Iteration", "Class", "Score", "Tests", "Coverage", "Errors", "Alerts"),
    "What was reached",
)
_TOOK = ("Turns", "Tokens", "Cost")


def summary_markdown(
    name: str,
    judged: Sequence[Judgement],
    *,
    summaries: dict[int, str],
    best: Judgement | None,
    given: Recommendation | None,
    selection: Selection | None,
    failures: Mapping[int, Failure] = MappingProxyType({}),
    spent: Mapping[int, Spent] = MappingProxyType({}),
) -> str:
    """Return all iterations of a sprint on one page, fit for the summary of a CI step."""
    lines = [f"## Iterations of {code(name)}", ""]
    turns = [one for one in judged if one.number != BASELINE_NUMBER]
    if values := [one.score.value for one in turns]:
        first, last = said(values[0], 2), said(values[-1], 2)
        lines += [f"- **Quality**: {code(sparkline(values))} {first} → {last}"]
    if best is not None:
        lines += [f"- **Best**: iteration {best.number} ({said_score(best.score)})"]
    if given is not None:
        lines += [f"- **Now**: {given.message} ({given.reason})"]
    if selection is not None:
        lines += [f"- **Result**: {selection.message}"]
    if not judged and not failures:
        lines += ["No iteration was measured"]
        return "\n".join(lines) + "\n"
    rows = {one.number: _row(one, summaries) for one in judged}
    rows |= {number: _failed_row(one) for number, one in failures.items()}
    numbers = sorted(rows)[-SUMMARY_ROWS_MAX:]
    head: tuple[str, ...] = _HEAD
    shown_rows = [rows[number] for number in numbers]
    if spent:
        head = (*_HEAD[:-1], *_TOOK, _HEAD[-1])
        shown_rows = [
            (*rows[number][:-1], *_took(spent.get(number)), rows[number][-1])
            for number in numbers
        ]
    lines += ["", *table(head, shown_rows)]
    if (more := len(rows) - SUMMARY_ROWS_MAX) > 0:
        lines += ["", f"{more} earlier ones are not shown."]
    return "\n".join(lines) + "\n"


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
    said = code_cell(f"not measured: {failure.event.error}")
    return (str(failure.event.number), *(MISSING,) * (len(_HEAD) - 3), "", said)


def _row(one: Judgement, summaries: dict[int, str]) -> tuple[str, ...]:
    now = one.figures
    passed = MISSING if now.tests_passed is None else str(now.tests_passed)
    return (
        str(one.number),
        one.classification or MISSING,
        MISSING if one.score.value is None else said_score(one.score),
        MISSING if now.test_count is None else f"{passed}/{now.test_count}",
        MISSING if now.coverage is None else f"{shown(now.coverage, 1)}%",
        said(now.error_count, 0),
        ", ".join(alert.type for alert in one.alerts),
        code_cell(summaries.get(one.number, "")),
    )
