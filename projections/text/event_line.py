"""What an event says, in one line for people: its name, figures with units, its text."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.judging.events import Metrics, Usage
from sprintlog.engine.judging.loop_rules import LoopRules
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import ExtensionEvent
from sprintlog.engine.sessions.events import SessionEvent
from sprintlog.engine.sprint.events import (
    BudgetWarned,
    EditObserved,
    GateChecked,
    RunEnded,
    RunStarted,
    Took,
)
from sprintlog.engine.sprint.iterations.budgets import limit_options

from ..history.edits import edited
from ..text import phrases
from ..views.events import described, event_of

ERASED = "[erased]"
"""The replacement of erased text."""
TEXTS = (
    *("text", "summary", "error", "reason", "reasoning", "why", "title", "goal", "prompt"),
    *("details", "problem"),
)
"""Fields with free text; the first one present is shown."""
NAMED = (
    *("phase", "number", "id", "request", "nodes", "into", "entry", "learning", "pattern"),
)
"""Fields that the name already contains, or states better."""
LEFT_OUT = {
    *("description", "document", "digest", "extra", "context", "injection"),
    *("output", "output_bytes", "output_sha256", "errors", "origins", "tree", "hash"),
    *("pid", "run", "process_started", "boot_id", "timeout_ms", "iteration"),
    *("worktree", "work_tree"),
    *("created_at", "learning_id", "because", "confidence", "metrics", "usage"),
    *("duration_ms", "exit_code", "timed_out", "discovered_in", "previous"),
    *("agent_version", "started", "error_kind", "lines", "unknown_lines"),
    *("git_before", "git_after", "since", "spent", "last_seen"),
    *("cause", "alerts", "evidence", "runs", "reports"),
    *("git", "best", "complete", "incomplete"),
    *("calls", "tools", "settled", "last_at"),
}
"""Fields that are shown differently, or only by `show event`."""
BARE = ("status", "priority", "request_type", "decision", "action", "place")
"""Fields with self-explanatory values."""
ID_CHARS = 12
"""As much of a snapshot's id is enough to name it."""
COUNTED = ("files", "bytes")
TO_SAY = {"rolled-back": "rolled-back to version"}
"""The word before the name if the type does not imply it."""


def what(recorded: RecordedEvent) -> str:
    """Return an event's type, subject and text."""
    mark = " (observed)" if recorded.observed else ""
    event = event_of(recorded)
    if event is None:
        return f"{recorded.type}{mark} {ERASED}"
    if isinstance(event, SessionEvent):
        # Imported here: most logs that are read are those of sprints.
        from .session_lines import said

        return f"{recorded.type}  {said(event)}".rstrip()
    kind = TO_SAY.get(recorded.type, recorded.type)
    head = described(recorded).replace(recorded.type, f"{kind}{mark}", 1)
    if isinstance(event, ExtensionEvent):
        return f"{head}  {', '.join(_of_extension(event))}".rstrip()
    data = msgspec.structs.asdict(event)
    if isinstance(event, EditObserved):
        by_hand = edited(data, of_journal=recorded.stream == JOURNAL)
        return f"{head}  {by_hand}; kept {event.kept}"
    facts = ", ".join(_facts(event, data))
    text = next((str(data[name]) for name in TEXTS if data.get(name)), "")
    if isinstance(event, GateChecked) and not text:
        text = event.output.strip().partition("\n")[0]
    line = f"{head}  {facts}" if facts else head
    return f"{line}: {text}" if text else line


def measured(metrics: Metrics) -> list[str]:
    """Return the measurement in words; unknown figures are left out."""
    # Imported here: exact numbers would cost every answer of a session their import.
    from sprintlog.engine.judging.metrics import named

    figures = named(metrics)
    known = {name: value for name, value in figures.items() if value is not None}
    said = []
    count, passed = known.pop("test_count", None), known.pop("tests_passed", None)
    if count is not None or passed is not None:
        said.append(f"tests {'?' if passed is None else passed}/{count or '?'}")
        known.pop("tests_failed", None)
        known.pop("pass_rate", None)
    if (coverage := known.pop("coverage_percentage", None)) is not None:
        said.append(f"coverage {coverage:g}%")
    return [*said, *(f"{_words(name)} {_plain(value)}" for name, value in known.items())]


def _of_extension(event: ExtensionEvent) -> Iterator[str]:
    """Yield the plain fields of an event that an extension knows more of."""
    name = event.name()
    for field, value in event.data.items():
        if isinstance(value, str | int | float) and value not in (name, "", False):
            yield _words(field) if value is True else f"{_words(field)} {_plain(value)}"


def _facts(event: Any, data: Mapping[str, Any]) -> Iterator[str]:
    names = event.subject.names
    told = {*NAMED, *TEXTS, *LEFT_OUT, *(name.partition(".")[0] for name in names)}
    defaults = {field.name: field.default for field in msgspec.structs.fields(event)}
    given = {
        name: value
        for name, value in data.items()
        if name not in told
        and value not in (None, (), [], {}, "")
        and value != defaults[name]
    }
    if isinstance(event, RunStarted):
        yield f"process {event.pid}"
        yield f"{_words('host')} {given.pop('host', '')}"
        yield " ".join(given.pop("command", ()))
    if isinstance(event, BudgetWarned):
        yield f"{event.budget} {event.spent:g} of {event.limit:g} of the {event.of}"
        given = {}
    if (limits := given.pop("budgets", None)) is not None:
        yield " ".join(limit_options(limits)).replace("--budget-", "")
    if isinstance(event, RunEnded):
        yield event.because
    if "usage" in data:
        # The result comes before the details: a line may be cut.
        yield from (_plain(given.pop(name)) for name in BARE if name in given)
        yield from _figures(data)
    for name, value in given.items():
        if name in ("patch", "changes"):
            yield phrases.counted(len(value), "change")
        elif name in COUNTED:
            yield phrases.counted(value, name.removesuffix("s"))
        elif name == "said_by":
            yield f'known from "{value}"'
        elif value is True:
            yield _words(name)
        else:
            yield _plain(value) if name in BARE else f"{_words(name)} {_plain(value)}"
    if "usage" not in data:
        yield from _figures(data)


def _figures(data: Mapping[str, Any]) -> Iterator[str]:
    if (code := data.get("exit_code")) is not None:
        yield f"exit {code}"
    if data.get("timed_out"):
        yield "timed out"
    if isinstance(metrics := data.get("metrics"), Metrics):
        yield from measured(metrics)
    if isinstance(took_all := data.get("spent"), Took):
        yield from spent_words(took_all)
    used = data.get("usage")
    took = data.get("duration_ms")
    yield from phrases.usage(used if isinstance(used, Usage) else None, duration_ms=took)


def spent_words(spent: Took) -> list[str]:
    """Return the usage of a run of the loop, with units."""
    words = phrases.usage(spent, duration_ms=spent.duration_ms)
    if spent.unknown:
        words.append(f"the cost of {phrases.counted(spent.unknown, 'run')} is unknown")
    return [f"{phrases.counted(spent.iterations, 'iteration')} begun", *words]


def _words(name: str) -> str:
    return name.replace("_", " ").removeprefix("is ")


def _plain(value: Any) -> str:
    """Return a value in few words."""
    if isinstance(value, list | tuple):
        return ",".join(map(_plain, value))
    for name in ("path", "id", "sprint"):
        if (found := getattr(value, name, None)) is not None:
            return str(found)
    if isinstance(value, LoopRules):
        return "; ".join(_of_loop(value)) or "nothing by itself"
    if isinstance(value, msgspec.Struct):
        said = msgspec.to_builtins(value)
        return ":".join(map(str, said.values())) if said else "as before"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return value[:ID_CHARS] if re.fullmatch("[0-9a-f]{40,}", value) else value
    return msgspec.json.encode(value).decode()


def _of_loop(loop: LoopRules) -> Iterator[str]:
    """Yield the automatic actions of a loop."""
    if (measure := loop.measure) is not None:
        named = (*measure.runs, *measure.builds, *measure.reports, *measure.sources)
        yield f"measures {', '.join(named)}"
        yield f"on regression {loop.on_regression}"
    if loop.keeps_files:
        yield "keeps files"
    if loop.selects:
        yield "selects"
