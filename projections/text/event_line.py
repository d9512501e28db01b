"""One-line descriptions of events: name, figures with units, and text.

Consecutive events of an agent session share a line.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.judging.events import MeasurementChanged, Metrics, Usage
from sprintlog.engine.judging.loop_rules import WARN, LoopRules
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import ExtensionEvent
from sprintlog.engine.service.agent_sessions.known_sessions import event_of as session_event
from sprintlog.engine.sessions import events as sessions
from sprintlog.engine.sessions.names import session_of
from sprintlog.engine.sessions.summary import Summary, summary_of
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.iterations.budgets import limit_options

from ..history.edits import edited
from ..text import phrases
from ..views.events import described, event_of
from ..views.sessions import SessionAnswer

ERASED = "[erased]"
"""The replacement of erased text."""
TEXTS = (
    *("text", "summary", "error", "reason", "reasoning", "why", "title", "goal", "prompt"),
    *("details", "problem"),
)
"""Fields with free text; only the first non-empty field is shown."""
NAMED = (
    *("phase", "number", "id", "request", "nodes", "into", "entry", "learning", "pattern"),
)
"""Fields that the event's name already contains or describes better."""
LEFT_OUT = {
    *("description", "document", "digest", "extra", "context", "injection"),
    *("output", "output_bytes", "output_sha256", "errors", "origins", "tree", "hash"),
    *("pid", "run", "process_started", "boot_id", "timeout_ms", "iteration"),
    *("worktree", "work_tree"),
    *("created_at", "learning_id", "because", "confidence", "usage"),
    *("duration_ms", "exit_code", "timed_out", "discovered_in", "previous"),
    *("agent_version", "started", "error_kind", "lines", "unknown_lines"),
    *("git_before", "git_after", "changed_files", "since", "spent", "last_seen"),
    *("cause", "alerts", "evidence", "runs", "reports"),
    *("git", "best", "complete", "incomplete"),
    *("calls", "tools", "settled", "last_at"),
    *("attempts", "ranking"),
}
"""Fields that are shown differently, or only by `show event`."""
BARE = ("status", "priority", "request_type", "decision", "action", "place")
"""Fields with self-explanatory values."""
ID_CHARS = 12
"""The number of characters that identify a snapshot."""
COUNTED = ("files", "bytes")
TO_SAY = {"rolled-back": "rolled-back to version"}
"""The word before the name if the type does not imply it."""


def what(recorded: RecordedEvent) -> str:
    """Return an event's type, subject and text."""
    mark = " (observed)" if recorded.observed else ""
    event = event_of(recorded)
    if event is None:
        return f"{recorded.type}{mark} {ERASED}"
    if isinstance(event, sessions.SessionEvent):
        return f"{recorded.type}  {said(event)}".rstrip()
    kind = TO_SAY.get(recorded.type, recorded.type)
    head = described(recorded).replace(recorded.type, f"{kind}{mark}", 1)
    if isinstance(event, ExtensionEvent):
        return f"{head}  {', '.join(_of_extension(event))}".rstrip()
    data = msgspec.structs.asdict(event)
    if isinstance(event, f.EditObserved):
        by_hand = edited(data, of_journal=recorded.stream == JOURNAL)
        return f"{head}  {by_hand}; kept {event.kept}"
    facts = ", ".join(_facts(event, data))
    text = next((str(data[name]) for name in TEXTS if data.get(name)), "")
    if isinstance(event, f.GateChecked) and not text:
        text = event.output.strip().partition("\n")[0]
    line = f"{head}  {facts}" if facts else head
    return f"{line}: {text}" if text else line


def measured(metrics: Metrics) -> list[str]:
    """Return a measurement as phrases, omitting unknown figures."""
    # Imported here: answers about sessions must not import exact numbers.
    from sprintlog.engine.judging.metrics import named

    known = {name: value for name, value in named(metrics).items() if value is not None}
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
    """Yield the scalar fields of an extension's event."""
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
        and not isinstance(value, Metrics)
        and value != defaults[name]
    }
    if isinstance(event, f.RunStarted):
        yield f"process {event.pid}"
        yield f"{_words('host')} {given.pop('host', '')}"
        yield " ".join(given.pop("command", ()))
    if isinstance(event, MeasurementChanged):
        yield event.words
        given = {}
    if isinstance(event, f.BudgetWarned):
        yield f"{event.budget} {event.spent:g} of {event.limit:g} of the {event.of}"
        given = {}
    if (limits := given.pop("budgets", None)) is not None:
        yield " ".join(limit_options(limits)).replace("--budget-", "")
    if isinstance(event, f.RunEnded):
        yield event.because
    if "usage" in data:
        # The result precedes the details, because the line may be truncated.
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
    if isinstance(took_all := data.get("spent"), f.Took):
        yield from spent_words(took_all)
    used = data.get("usage")
    took = data.get("duration_ms")
    yield from phrases.usage(used if isinstance(used, Usage) else None, duration_ms=took)


def spent_words(spent: f.Took) -> list[str]:
    """Return the usage of a loop run, with units."""
    words = phrases.usage(spent, duration_ms=spent.duration_ms)
    if spent.unknown:
        words.append(f"the cost of {phrases.counted(spent.unknown, 'run')} is unknown")
    return [f"{phrases.counted(spent.iterations, 'iteration')} begun", *words]


def _words(name: str) -> str:
    return name.replace("_", " ").removeprefix("is ")


def _plain(value: Any) -> str:
    """Return a short form of a value."""
    if isinstance(value, list | tuple):
        return ",".join(map(_plain, value))
    for name in ("path", "id", "sprint", "name"):
        if (found := getattr(value, name, None)) is not None:
            return str(found)
    if isinstance(value, f.TurnFacts):
        return value.words
    if isinstance(value, LoopRules):
        return "; ".join(_of_loop(value)) or "nothing by itself"
    if isinstance(value, msgspec.Struct):
        said = msgspec.to_builtins(value)
        if any(isinstance(part, str) for part in said.values()):
            return ":".join(map(str, said.values()))
        return " ".join(f"{_words(name)} {_plain(part)}" for name, part in said.items())
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return value[:ID_CHARS] if re.fullmatch("[0-9a-f]{40,}", value) else value
    return msgspec.json.encode(value).decode()


def _of_loop(loop: LoopRules) -> Iterator[str]:
    """Yield a description of each automatic action of a loop."""
    if (measure := loop.measure) is not None:
        named = (*measure.runs, *measure.builds, *measure.reports, *measure.sources)
        yield f"measures {', '.join(named)}"
        yield f"on regression {loop.on_regression}"
        if loop.on_tamper != WARN:
            yield f"on tampering {loop.on_tamper}"
    if loop.keeps_files:
        yield "keeps files"
    if loop.selects:
        yield "selects"
    if loop.until is not None:
        yield f"until {loop.until}"


SESSION_CHARS = 13
"""Time-based ids differ in later characters only if they were created within 1 ms."""
FILES_SHOWN = 3


class Folded(NamedTuple):
    """Events of one session, consecutive or interleaved with events of other sessions."""

    events: list[RecordedEvent]

    @property
    def position(self) -> str:
        """Return the first and last positions."""
        return f"{self.events[0].position}-{self.events[-1].position}"

    @property
    def said(self) -> str:
        """Return a one-line summary of the events."""
        last = self.events[-1]
        found = summary_of((event.at, session_event(event)) for event in self.events)
        return f"{short_name(last.stream)}  {figures(found)}"


def folded(events: Iterable[RecordedEvent]) -> Iterator["RecordedEvent | Folded"]:
    """Yield events; neighbouring events of the same session are combined."""
    for is_session, group in groupby(events, lambda e: session_of(e.stream) is not None):
        if not is_session:
            yield from group
            continue
        streams: dict[str, list[RecordedEvent]] = {}
        for event in group:
            streams.setdefault(event.stream, []).append(event)
        for found in streams.values():
            yield found[0] if len(found) == 1 else Folded(found)


def short_name(stream: str) -> str:
    """Return a session's agent and the distinguishing part of its id."""
    agent, _, id_ = (session_of(stream) or stream).partition("-")
    return f"{agent}-{id_[:SESSION_CHARS]}"


def figures(found: "Summary | SessionAnswer", *, ends: bool = True) -> str:
    """Return a summary of a session's activity, and whether it started and ended."""
    words = [phrases.counted(found.tool_calls, "tool call")] if found.tool_calls else []
    words += [f"{found.failed_calls} failed"] if found.failed_calls else []
    words += [f"{found.erased} [erased]"] if found.erased else []
    words += [phrases.counted(found.prompts, "prompt")] if found.prompts else []
    words += [phrases.counted(found.subagents, "subagent")] if found.subagents else []
    if found.files_changed:
        lines = f"+{found.lines_added} -{found.lines_removed}"
        words.append(f"{phrases.counted(len(found.files_changed), 'file')} {lines}")
    words += [phrases.counted(found.failed_turns, "failed turn")] * bool(found.failed_turns)
    words += ["started"] if ends and found.starts else []
    words += ["ended"] if ends and found.ended_at else []
    return ", ".join(words) or phrases.counted(found.events, "event")


def said(event: sessions.SessionEvent) -> str:
    """Return the text that follows the type of a session event."""
    match event:
        case sessions.ToolCalled():
            return _call(event)
        case sessions.PromptGiven():
            return "" if event.chars is None else f"{event.chars} characters"
        case sessions.AboutSubagent():
            return " ".join(filter(None, (event.role, event.subagent)))
        case sessions.TurnEnded():
            waits = f"waits for {event.waits_for}" if event.waits_for else ""
            failed = "failed" if event.failed else ""
            loop = f"loop {event.loop_iteration}" if event.loop_iteration else ""
            words = ", ".join(filter(None, (failed, waits, loop)))
            return f"{words}: {event.error}" if event.error else words
        case sessions.ContextCompacted():
            return event.trigger or ""
        case sessions.SessionStarted():
            return " ".join(filter(None, (event.how, event.model, event.version)))
        case _:
            return event.name()


def _call(call: sessions.ToolCalled) -> str:
    words = [{True: "", False: "failed", None: "outcome unknown"}[call.ok]]
    if call.is_unfinished:
        words = ["end not known"]
    words += ["interrupted"] if call.is_interrupted else []
    words += [f"exit {call.exit_code}"] if call.exit_code is not None else []
    if call.duration_ms is not None:
        words.append(phrases.duration(call.duration_ms))
    words += [_file(one) for one in call.files[:FILES_SHOWN]]
    if (more := len(call.files) - FILES_SHOWN) > 0:
        words.append(f"{more} more")
    words += ["by a subagent"] if call.subagent else []
    words += [f"found in the {call.found_in}"] if call.found_in else []
    line = f"{call.tool}  {', '.join(filter(None, words))}".rstrip()
    return f"{line}: {' '.join(call.command.split())}" if call.command else line


def _file(file: sessions.TouchedFile) -> str:
    if file.added is None and file.removed is None:
        return file.path
    return f"{file.path} +{file.added or 0} -{file.removed or 0}"
