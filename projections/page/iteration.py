"""The view of one iteration: prompt, answer, figures, tests, files, calls, commands."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from sprintlog.facts import IterationFacts, PatchedFile, SessionStep, TestChange, ToolCalled
from sprintlog.formatting import UNKNOWN, counted, duration
from sprintlog.usage import tokens_of

from .iterations import chips, remarks
from .layout import WHOLE, percent
from .markup import NOTHING, Markup, joined, lines, row, table, tag, text, typed
from .numbers import cost, dollars_of, iteration_link, number, score, time, tokens, took

PATCH_CHARS_MAX, LINE_CHARS_MAX = 100_000, 240
FILES_MAX, TESTS_MAX, STEPS_MAX, REASONS_MAX, DECISIONS_MAX = 100, 40, 80, 20, 20
_NOT_SAVED, _NONE = "The files of this iteration were not saved.", "No file changed."
_SHARE = "The score is the weighted mean of the measured parts: `sprintlog help look`"
_BY = {
    "outside": "outside, before it began",
    "rollback": "by a rollback",
    "agent-or-outside": "agent or outside",
    "one-of": "one of several iterations",
    "one-of-or-outside": "one of several iterations, or outside",
}
_HOW = {"added": "A", "removed": "D", "changed": "M", "mode": "mode"}


class ViewSizes(NamedTuple):
    """The maximum lengths of texts, in characters and in lines of a patch."""

    prompt: int
    answer: int
    output: int
    patch: int


WHOLE_VIEW, SMALL_VIEW = (
    ViewSizes(8_000, 12_000, 8_000, 1_000),
    ViewSizes(3_000, 4_000, 2_500, 220),
)


def iteration(one: IterationFacts, sizes: ViewSizes = WHOLE_VIEW) -> Markup:
    """Return the view of an iteration, which the page's script shows."""
    left = [_tests(one), prompt(one, sizes.prompt), _answer(one, sizes.answer)]
    below = [_files(one, sizes.patch), _measurement(one, sizes.output), _steps(one)]
    return _article(one, left, [_figures(one), _ways(one), _decisions(one)], below)


def brief(one: IterationFacts) -> Markup:
    """Return a view without texts and patches; the script adds the figures of its row."""
    if found := one.listed:
        files = [_file(x, 0) for x in found[:FILES_MAX]]
    else:
        files = [tag("p", _NOT_SAVED if found is None else _NONE, class_="empty")]
    lines = (f"iteration diff {one.number} --patch", f"report {one.number}")
    more = [tag("p", typed(f"sprintlog {line}{one.facts.named}")) for line in lines]
    note = counted(len(found), "file") if found else ""
    rest = _part("Patch, tests and answer", *more, note="not in this file")
    left = [_part("Files", *files, note=note), _measurement(one, 0), rest]
    return _article(one, left, [_ways(one), _decisions(one)], [])


def _article(
    one: IterationFacts, left: list[Markup], right: list[Markup], below: list[Markup]
) -> Markup:
    """Return a view with its title, its times and the reasons for its class."""
    told = remarks(one.facts, replace(one.row, is_best=UNSET, is_on_path=UNSET))
    top = tag(
        "header",
        tag("h1", f"Iteration {one.number} ", *chips(one.facts, one.row)),
        tag("p", *_when(one), class_="note"),
        tag("p", text(told), class_="why") if told != UNKNOWN else NOTHING,
        *_reasons(one),
    )
    sides = tag("div", tag("div", *left), tag("div", *right), class_="sides")
    return tag("article", top, sides, *below, data_i=one.number)


def _part(title: object, *inside: object, note: object = "") -> Markup:
    small = tag("small", " ", note) if note else NOTHING
    return tag("section", tag("h2", title, small), *inside)


def _when(one: IterationFacts) -> Iterator[object]:
    begin, end = one.period
    yield joined(time(begin), " to ", time(end))
    if isinstance(one.row.previous, int):
        yield joined(", built on iteration ", iteration_link(one.row.previous))
    if one.row.work_tree:
        yield f", in {one.row.work_tree}"


def _reasons(one: IterationFacts) -> Iterator[Markup]:
    """Yield the reasons for its class, its alerts and its failures."""
    alerts = one.row.alerts or ()
    told = [f"{alert.severity}: {alert.message}" for alert in alerts]
    known_ones = {alert.message for alert in alerts}
    told += [x for x in one.row.reasons or () if x not in known_ones]
    told += one.facts.failures(one.number)
    if told:
        items = [tag("li", text(x)) for x in dict.fromkeys(told)]
        yield tag("ul", *_first(items, REASONS_MAX), class_="worse")


def _first(items: list[Markup], most: int) -> list[Markup]:
    """Return the first items of a list, and the number of the others."""
    more = len(items) - most
    left_out = [tag("li", f"{more:,} more", class_="quiet")] if more > 0 else []
    return [*items[:most], *left_out]


def _figures(one: IterationFacts) -> Markup:
    """Return each figure with its change since the previous iteration and the baseline."""
    row_, before, base = one.row, one.previous, one.facts.baseline
    then = before.row if before else None
    changes = [change(row_.score, x.score if x else None) for x in (then, base)]
    rows = [_figure("score", score(row_.score), *changes)]
    since, first = row_.from_previous or {}, row_.from_baseline or {}
    for name, value in (row_.figures or {}).items():
        cells = (_signed(since.get(name)), _signed(first.get(name)))
        rows.append(_figure(name.replace("_", " "), number(value), *cells))
    spent, earlier = row_.spent or None, (then.spent or None) if then else None
    for name, say, amount in (("tokens", tokens, tokens_of), ("cost", dollars_of, cost)):
        by = change(amount(spent), amount(earlier)) if spent and earlier else ""
        rows.append(_figure(name, say(spent), by))
    rows.append(_figure("time", took(spent)))
    rows += [
        _figure(name.replace("_", " "), number(count))
        for name in ("turns", "tool_calls")
        if isinstance(count := getattr(spent, name, None), int)
    ]
    head = ("figure", "value", "to previous", "to baseline")
    share, note = row_.measured_share, ""
    if isinstance(share, float) and share < 1:
        note = tag("span", f"{number(100 * share, 0)} % of the score was measured",
                   "; parts without a figure do not count", title=_SHARE)  # fmt: skip
    return _part("Figures", table(head, rows, label="figures", class_="facts"), note=note)


def _figure(name: str, *cells: str) -> Markup:
    first, *others = cells
    told = tag("span", "unknown", class_="quiet") if first == UNKNOWN else text(first)
    more = [tag("td", x, class_="num change") for x in [*others, "", ""][:2]]
    return row([tag("th", name, scope="row"), tag("td", told, class_="num"), *more])


def change(now: object, then: object) -> str:
    """Return the signed difference, or "" if a value is unknown or no number."""
    if isinstance(now, int | float) and isinstance(then, int | float):
        return _signed(now - then)
    return ""


def _signed(value: object) -> str:
    if not isinstance(value, int | float):
        return "" if value is None else str(value)
    said = number(abs(value))
    return "=" if said == "0" else f"{'+' if value > 0 else '-'}{said}"


def prompt(one: IterationFacts, size: int, name: object = "Prompt", of: str = "") -> Markup:
    """Return the prompt of an iteration, with its origin."""
    if (said := one.prompt) is None:
        return _part(name, tag("p", "The prompt was not recorded.", class_="empty"))
    return _part(name, _text(said.text, size, f"prompt{of}"), note=said.origin)


def _answer(one: IterationFacts, chars_max: int) -> Markup:
    if (said := one.answer) is None:
        return _part("Final answer", tag("p", "No answer was recorded.", class_="empty"))
    shown = _text(said.text, chars_max, "final answer")
    return _part("Final answer", shown, note=said.origin)


def _text(said: str, chars_max: int, label: str) -> Markup:
    """Return a text in a box that scrolls, also with the keyboard."""
    return tag("pre", lines(said, chars_max), tabindex="0", role="region", aria_label=label)


def _tests(one: IterationFacts) -> Markup:
    """Return the tests whose outcome changed, or their numbers if names are unknown."""
    found = one.test_changes
    if not found:
        figures = one.row.figures or {}
        count, passed = (figures.get(x) for x in ("test_count", "tests_passed"))
        said = "No test result was recorded."
        if isinstance(count, int | float):
            said = f"{number(passed)} of {number(count)} tests passed. "
            said += "No test changed its outcome." if one.tests else "No names are stored."
        return _part("Tests that changed", tag("p", said, class_="empty"))
    worse = sum(x.after == "failed" for x in found)
    items = tag("ul", *_first([_test(x) for x in found], TESTS_MAX), class_="tests")
    note = f"{worse} fail now, {len(found) - worse} others, since iteration "
    return _part("Tests that changed", items, note=f"{note}{one.row.previous}")


def _test(one: TestChange) -> Markup:
    tone = {"failed": "bad", "passed": "good"}.get(one.after or "", "steady")
    how = f"{one.before or 'new'} \N{RIGHTWARDS ARROW} {one.after or 'removed'}"
    return tag("li", tag("b", how, class_=f"word {tone}"), " ", text(one.name))


def _ways(one: IterationFacts) -> Markup:
    items = [tag("li", typed(line), tag("small", " ", why)) for line, why in one.ways]
    return _part("Return to it, or see more", tag("ul", *items, class_="ways"))


def _decisions(one: IterationFacts) -> Markup:
    """Return the decisions and claims, each with its reason and evidence."""
    items = []
    if one.row.claim:
        items.append(tag("li", tag("b", "claim "), text(one.row.claim)))
    for each in one.decisions:
        told = one.facts.decision_words(each)
        why = tag("small", " because: ", text(told.why)) if told.why else NOTHING
        off = None if each.in_force else "off"
        items.append(tag("li", text(told.what), why, class_=off))
    whole = tag("ul", *_first(items, DECISIONS_MAX), class_="cards")
    return _part("Decisions and claims", whole) if items else NOTHING


def _files(one: IterationFacts, lines_max: int) -> Markup:
    """Return the changed files with their authors and lines."""
    title = "Files"
    if (found := one.files) is None or not one.patched:
        told = _NOT_SAVED if found is None else _NONE
        return _part(title, tag("p", told, class_="empty"))
    left = lines_max
    shown: list[Markup] = []
    for file in one.patched[:FILES_MAX]:
        shown.append(_file(file, left, is_open=len(shown) < 6))
        left = max(left - len(file.lines), 0)
    total = sum(len(x.lines) for x in one.patched)
    notes = [counted(len(one.patched), "file")]
    if total > lines_max:
        notes.append(f"{lines_max} of {total:,} lines of the patch")
    if found.others:
        notes.append(f"some may belong to iteration {', '.join(found.others)}")
    line = f"sprintlog iteration diff {one.number} --patch{one.facts.named}"
    commits = [
        tag("li", f"commit {x.id[:12]} by ", text(x.author), ": ", text(x.subject))
        for x in found.commits
    ]
    more = tag("ul", *commits, class_="note") if commits else NOTHING
    whole = tag("p", typed(line), tag("small", " the whole patch"))
    return _part(title, *shown, more, whole, note=", ".join(notes))


def _file(file: PatchedFile, lines_max: int, *, is_open: bool = False) -> Markup:
    added, removed = file.counts or (0, 0)
    counts = [
        tag("ins", f"+{added}"), " ", tag("del", f"\N{MINUS SIGN}{removed}")
    ] if file.counts else []  # fmt: skip
    kind = f"chip {'steady' if file.by in ('outside', 'rollback') else 'plain'}"
    name = joined(tag("b", _HOW.get(file.how, file.how)), " ", text(file.path), " ")
    head = joined(name, *counts, " ", tag("span", _BY.get(file.by, file.by), class_=kind))
    if not file.lines or not lines_max:
        return tag("p", head, class_="file")
    label = f"changed lines of {file.path}"
    given = {"tabindex": "0", "role": "region", "aria_label": label}
    shown = tag("pre", _patch(file.lines[:lines_max]), class_="diff", **given)
    return tag("details", tag("summary", head), shown, class_="file", open=is_open)


def _patch(found: Sequence[str]) -> Markup:
    """Return the lines of a patch; equal kinds of lines share an element."""
    kinds = {"+": "ins", "-": "del", "@": "b"}
    parts: list[tuple[str, list[str]]] = []
    for line in found:
        kind = kinds.get(line[:1], "")
        if not parts or parts[-1][0] != kind:
            parts.append((kind, []))
        parts[-1][1].append(line[:LINE_CHARS_MAX])
    made = [
        tag(kind, said) if kind else said
        for kind, several in parts
        for said in [lines("\n".join(several), PATCH_CHARS_MAX)]
    ]
    return Markup("\n".join(made))


def _measurement(one: IterationFacts, chars_max: int) -> Markup:
    """Return the commands of its measurement with their output."""
    runs = one.measured.runs if one.measured else ()
    parts = []
    for run in runs:
        how = "at its time limit" if run.timed_out else f"exit status {run.exit_code}"
        ms = "" if run.duration_ms is None else f", {duration(run.duration_ms)}"
        tone = "bad" if run.exit_code else "good"
        status = tag("span", f"{how}{ms}", class_=f"chip {tone}")
        parts.append(tag("p", typed(run.command), " ", status))
        if chars_max:
            said = run.output or "(no output)"
            parts.append(_text(said, chars_max, "output of the measurement"))
    return _part("Measurement", *parts) if parts else NOTHING


def _steps(one: IterationFacts) -> Markup:
    """Return the tool calls and subagents with their times, as a timeline."""
    kinds = ("tool-called", "subagent-started", "subagent-ended", "context-compacted")
    found = [x for x in one.steps if x.event.type in kinds]
    if not found:
        return NOTHING
    whole = max(max(x.at for x in found), 1)
    rows = [_step(x, whole) for x in found[:STEPS_MAX]]
    notes = [counted(sum(x.event.type == "tool-called" for x in found), "call")]
    if more := len(found) - len(rows):
        notes.append(f"{more} more are not shown")
    head = ("after", "when", "what", "with", "result")
    made = table(head, rows, label="tool calls", class_="steps")
    return _part("Tool calls and subagents", made, note=", ".join(notes))


def _step(step: SessionStep, whole: int) -> Markup:
    one = step.event
    took_ms = getattr(one, "duration_ms", None) or 0
    begin = max(step.at - took_ms, 0)
    name, said, result, tone = one.type.replace("-", " "), "", "", "steady"
    if isinstance(one, ToolCalled):
        name, tone = one.tool, "good"
        said = one.command or ", ".join(x.path for x in one.files)
        result = "ok" if one.ok else "unknown"
        result += "" if not took_ms else f", {duration(took_ms)}"
        if one.ok is False:
            code = "" if one.exit_code is None else f" {one.exit_code}"
            result, tone = f"failed{code}{result.removeprefix('unknown')}", "bad"
    if who := getattr(one, "subagent", None):
        name = f"{name} ({getattr(one, 'role', None) or who})"
    width = max((step.at - begin) * WHOLE // whole, 100)
    x = min(begin * WHOLE // whole, WHOLE - width)
    given = {"x": percent(x), "width": percent(width), "height": 8, "rx": 2, "y": 4}
    bar = tag("svg", tag("rect", **given, class_=tone), width="100%", height=16)
    return row([
        tag("td", duration(begin), class_="num"),
        tag("td", bar, aria_hidden="true"),
        tag("td", text(name, 60)),
        tag("td", tag("code", text(said, 160)) if said else "", class_="t"),
        tag("td", text(result) if result else "", class_="bad" if tone == "bad" else None),
    ])  # fmt: skip
