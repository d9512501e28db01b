"""A sprint's summary as one page of Markdown, with sparklines of its figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from sprintlog.engine.judging.changes import CLASS_MEANS, SEVERITIES, Alert
from sprintlog.engine.judging.evaluation import Judgement
from sprintlog.engine.judging.events import MeasurementFailed
from sprintlog.engine.judging.exact import plain, shown
from sprintlog.engine.judging.loop_rules import ROLLBACK, UNCERTAIN
from sprintlog.engine.judging.score import score_text, unknown_parts
from sprintlog.engine.judging.tracker import BASELINE_NUMBER
from sprintlog.engine.service.streams.evaluation import Failure, Judged, RunEnding
from sprintlog.engine.sprint.agent.prompt import one_line
from sprintlog.engine.sprint.state.sprint import Spent, Sprint
from sprintlog.engine.sprint.state.words import COMPLETED
from sprintlog.engine.usage import COST, bounded

from ..markdown import bare, code, code_cell, table
from ..state_files import iteration_report as reports
from ..views import iteration_quality

BARS = "▁▂▃▄▅▆▇█"
PLAIN = "_.-=+*#@"
"""Characters for terminals that cannot display the bars."""
WIDTH_MAX = 60
"""If there are more numbers, only the last ones are drawn."""


def sparkline(values: Sequence[Fraction | None], marks: str = BARS) -> str:
    """Return the numbers as marks, scaled from the smallest to the largest number.

    A missing value leaves a gap; if all values are equal, they are drawn in the middle.
    """
    drawn = values[-WIDTH_MAX:]
    known = [value for value in drawn if value is not None]
    if not known:
        return " " * len(drawn)
    low, span, top = min(known), max(known) - min(known), len(marks) - 1
    return "".join(
        " "
        if value is None
        else marks[int((value - low) / span * top + Fraction(1, 2)) if span else top // 2]
        for value in drawn
    )


SUMMARY_ROWS_MAX = 100
"""More iterations than this are only counted."""
ALERTS_MAX = 20
"""More alerts than this are only counted."""
LINE_CHARS = 100
"""The maximum length of a table line, if the figures leave enough room."""
NOTE_CHARS_MIN = 24
_HEAD = ("#", "Class", "Score", "Tests", "Coverage", "Errors", "Turns", "Tokens", "Cost")
_NOTES = "What happened"
_MAY_GO = ("Turns", "Tokens", "Errors")
"""The columns omitted, in this order, if they leave no room for text."""


class SummaryTexts(NamedTuple):
    """Text formatted by the caller: times, costs and the outcome."""

    time: str = ""
    cost: str = ""
    outcome: str = ""
    left: str = ""
    """The files that the newest snapshot omits."""
    tree: str = ""
    """The location of the sprint's work tree, if the log has several."""


def summary_markdown(judged: Judged, told: SummaryTexts) -> str:
    """Return the one-page summary of a sprint, suitable for a CI step."""
    base, failures = judged.baseline(), judged.failures()
    found = [*([base] if base else []), *judged.all()]
    lines = [f"## Sprint {code(judged.sprint.id)}", ""]
    lines += _state(judged.sprint, told)
    lines += _quality(judged, found, failures)
    others = judged.unmeasured()
    if told.cost:
        is_said = judged.sprint.knowledge.spent.cost is not None
        unknown = reports.unknown_costs(judged.runs_seen()) if is_said else ""
        lines.append(f"- **Agents**: {': '.join(filter(None, (told.cost, unknown)))}")
    elif found or failures or others:
        lines.append("- **Agents**: what they took is not known, no run was recorded")
    if told.left:
        lines.append(f"- **Files**: {code(told.left)}")
    if not found and not failures:
        lines.append("- No iteration was measured")
        if not others:
            return "\n".join(lines) + "\n"
    lines += ["", *_rows(judged, found, failures, others)]
    lines += [*_legend(found), *_alerts(judged)]
    return "\n".join(lines) + "\n"


def _state(sprint: Sprint, told: SummaryTexts) -> list[str]:
    lines = [f"- **Status**: {code(str(sprint.document.get('status')))}"]
    facts = {"Work tree": told.tree and code(told.tree)}
    facts |= {"Outcome": told.outcome and code(told.outcome), "Time": told.time}
    lines += [f"- **{name}**: {text}" for name, text in facts.items() if text]
    for identity, note in sprint.knowledge.notes.items():
        said = one_line(f"{identity} {note.state}: {note.text}")
        lines.append(f"- **Note to the agent**: {code(said)}")
    tree = sprint.plan.tree
    done = [
        f"{nodes[COMPLETED]} of {total} {name}"
        for name, nodes in (("phases", tree.phases), ("steps", tree.steps))
        if (total := sum(nodes.values()))
    ]
    return [*lines, f"- **Done**: {', '.join(done)}"] if done else lines


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
        off = judged.off_path()
        # Discarded iterations are not part of the result.
        kept = [one.score.value for one in turns if one.number not in off] or values
        first, last = reports.said(kept[0], 2), reports.said(kept[-1], 2)
        without = ", without discarded iterations" if len(kept) < len(values) else ""
        lines.append(f"- **Quality**: {code(sparkline(kept))} {first} → {last}{without}")
    lines += _own(judged, turns)
    if (best := judged.best()) is not None:
        unknown = unknown_parts(best.score)
        score = reports.said(best.score.value, 2) + (f"; {unknown}" if unknown else "")
        lines.append(f"- **Best**: iteration {best.number} ({score})")
        if equals := iteration_quality.equals_by_exit_code(judged):
            lines.append(f"- **Equal**: {equals}")
        if removed := iteration_quality.removed_tests(judged, best):
            lines.append(f"- **Tests**: {removed}")
    given = iteration_quality.pending_advice(judged)
    if given is not None:
        typed = ""
        if given.action == ROLLBACK and given.target is not None:
            typed = f"`sprintlog rollback iter:{given.target}`"
            typed = f": {typed}; with --files, only the files"
            if which := iteration_quality.as_the_best(judged, given.target):
                typed += f"; {which}, and later"
        if given.cause == UNCERTAIN:
            typed = "; to measure more, see `sprintlog help record`"
        lines.append(f"- **Now**: {given.message} ({given.reason}){typed}")
    if (selection := judged.selected()) is not None:
        lines.append(f"- **Result**: {selection.message}")
    return lines


def _own(judged: Judged, turns: Sequence[Judgement]) -> list[str]:
    """Return one line for each user-defined metric, with its values over time."""
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
    """Return the number of iterations in each class, and the number discarded."""
    classes = {one.number: one.classification or reports.NOT_COMPARED for one in turns}
    gone = judged.left_behind()
    back = Counter(name for number, name in classes.items() if number in gone)
    counts = [
        f"{count} {name}{_taken_back(back[name], count)}"
        for name, count in Counter(classes.values()).most_common()
    ]
    if count := len(failures):
        counts.append(
            f"{count} not measured{_taken_back(len(gone & failures.keys()), count)}"
        )
    return f"{len(turns) + len(failures)}: {', '.join(counts)}"


def _taken_back(gone: int, count: int) -> str:
    """Return a note if a rollback discarded some or all of `count` iterations."""
    if not gone:
        return ""
    return " (discarded)" if gone == count else f" ({gone} discarded)"


def _rows(
    judged: Judged,
    found: Sequence[Judgement],
    failures: Mapping[int, Failure],
    others: Sequence[RunEnding],
) -> list[str]:
    # If all scores lack the same part, a note at the best iteration is sufficient.
    is_same = len({one.score.share for one in found}) == 1
    figures = {one.number: _figures(one, is_same=is_same) for one in found}
    figures |= dict.fromkeys((*failures, *(one.number for one in others)), _NO_FIGURES)
    numbers = sorted(figures)[-SUMMARY_ROWS_MAX:]
    spent = judged.spent()
    rows = [(*figures[number], *_took(spent.get(number))) for number in numbers]
    columns = [[name, *cells] for name, *cells in zip(_HEAD[1:], *rows, strict=True)]
    columns = [
        one for one in columns if any(x not in ("", reports.MISSING) for x in one[1:])
    ]
    columns.insert(0, [_HEAD[0], *map(str, numbers)])
    notes = _notes(judged, failures, others, LINE_CHARS)
    needed = min(max(map(len, notes.values()), default=0), NOTE_CHARS_MIN)
    for name in _MAY_GO:
        if _room(columns) < needed:
            columns = [one for one in columns if one[0] != name]
    notes = _notes(judged, failures, others, max(_room(columns), NOTE_CHARS_MIN))
    columns.append([_NOTES, *(notes.get(number, "") for number in numbers)])
    widths = [max(map(len, one)) for one in columns]
    widths[-1] = 0
    head, *cells = (
        [text.ljust(width) for text, width in zip(row, widths, strict=True)]
        for row in zip(*columns, strict=True)
    )
    lines = table(head, cells)
    if (more := len(figures) - SUMMARY_ROWS_MAX) > 0:
        lines += ["", f"{more} earlier ones are not shown."]
    return lines


def _room(columns: Sequence[Sequence[str]]) -> int:
    """Return the number of characters per line that remain for notes."""
    return LINE_CHARS - sum(max(map(len, one)) + 3 for one in columns) - len("|  |")


def _notes(
    judged: Judged, failures: Mapping[int, Failure], others: Sequence[RunEnding], room: int
) -> dict[int, str]:
    """Return notes on the events in each iteration, truncated to the available space."""
    seen, said, claims = judged.runs_seen(), judged.summaries(), judged.claims()
    best, off_path = judged.tracker.best, judged.left_behind()
    known, turns = {one.number for one in others}, {}
    for one in judged.endings().values():
        why = one.error or one.summary
        if one.number in known or one.outcome != COMPLETED:
            said[one.number] = ": ".join(filter(None, (one.words, why)))
            continue
        if one.turn is not None:
            turns[one.number] = one.turn.words
        if why:
            said.setdefault(one.number, why)
    said |= {number: in_few_words(one) for number, one in failures.items()}
    notes = {}
    unfit = {one.number: one.unfit for one in judged.all() if one.unfit}
    shown = {*claims, *turns, *seen, *said, *off_path, *unfit}
    for number in sorted(shown | ({best.number} if best else set())):
        words = ["best"] if best is not None and best.number == number else []
        words += ["discarded"] if number in off_path else []
        words += [unfit[number]] if number in unfit else []
        words += [by[number] for by in (turns, claims) if number in by]
        words += reports.notes_of(seen.get(number, ()))
        left = room - sum(len(word) + 2 for word in words)
        text = said.get(number, "").strip().partition("\n")[0]
        notes[number] = "; ".join([*words, *filter(None, [_cut_code(text, left)])])
    return notes


def _cut_code(text: str, room: int) -> str:
    """Return text as code for a table cell, truncated to fit; empty if nothing fits."""
    cell = code_cell(text)
    most = len(text)
    while len(cell) > room and most > 1:
        most = min(most - 1, most - (len(cell) - room))
        cell = code_cell(f"{text[:most].rstrip()}…") if most > 1 else ""
    return cell


def in_few_words(failure: Failure) -> str:
    """Return the reason why there is no measurement, such as the failed command."""
    event = failure.event
    if isinstance(event, MeasurementFailed) and event.command is not None:
        if event.timed_out:
            return f"timed out: {event.command}"
        if event.exit_code:
            return f"exit {event.exit_code}: {event.command}"
    return failure.why


def _legend(found: Sequence[Judgement]) -> list[str]:
    """Return explanations of the classes that are technical terms."""
    there = {one.classification for one in found}
    told = [f"`{name}`: {CLASS_MEANS[name]}" for name in CLASS_MEANS if name in there]
    return ["", f"{'; '.join(told)}."] if told else []


def _alerts(judged: Judged) -> list[str]:
    """Return the alerts, sorted by severity and then from newest to oldest."""
    found: list[Alert] = [alert for one in judged.all() for alert in one.alerts]
    if not found:
        return []
    found.sort(key=lambda one: (SEVERITIES.index(one.severity), -one.triggered_at))
    lines = [
        f"- **{one.severity}** iteration {one.triggered_at}, {one.type}: {one.message}"
        for one in found[:ALERTS_MAX]
    ]
    if (more := len(found) - ALERTS_MAX) > 0:
        lines.append(f"- {more} more: `sprintlog iteration alerts --all`")
    return ["", "### What got worse", "", *lines]


def _took(spent: Spent | None) -> tuple[str, ...]:
    """Return an iteration's turns, tokens and cost; empty if they are unknown."""
    if spent is None:
        return ("",) * 3
    tokens = spent.tokens
    return (
        "" if spent.turns is None else f"{spent.turns:,}",
        bounded(f"{tokens:,}", spent) if tokens else "",
        "" if spent.cost_usd is None else bounded(f"${spent.cost_usd:,.2f}", spent, COST),
    )


_NO_FIGURES = ("not measured", "", "", "", "")


def _figures(one: Judgement, *, is_same: bool) -> tuple[str, ...]:
    now = one.figures
    passed = reports.MISSING if now.tests_passed is None else str(now.tests_passed)
    score = reports.said(one.score.value, 2) if is_same else score_text(one.score)
    return (
        one.classification or reports.NOT_COMPARED,
        reports.MISSING if one.score.value is None else score,
        reports.MISSING if now.test_count is None else f"{passed}/{now.test_count}",
        reports.MISSING if now.coverage is None else f"{shown(now.coverage, 1)}%",
        reports.said(now.error_count, 0),
    )
