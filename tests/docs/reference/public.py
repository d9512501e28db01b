"""The public names of events and commands, generated from the engine."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, get_args, get_type_hints

import msgspec

from sprintlog.cli.upkeep.schema import CODES
from sprintlog.engine.command import Command
from sprintlog.engine.commands import registered
from sprintlog.engine.journal.events import JOURNAL_EVENTS
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.erasures import ERASURE_EVENTS
from sprintlog.engine.log.event import Event, Kind
from sprintlog.engine.races import RACE_EVENTS
from sprintlog.engine.sessions.events import SESSION_EVENTS
from sprintlog.engine.sprint.events import EVENTS

COMMANDS_SAY = """\
All commands: requests, as data, that `handle` turns into events.

The most common commands are `CreateSprint`, `StartSprint`, `StartPhase`, `CompletePhase`,
`FailPhase`, `RetryPhase`, `SkipPhase`, `StartIteration`, `EndIteration`, `AddNote`,
`CompleteSprint`, and `RollBack(to)`, which goes back to a version of the sprint's stream.
If an optional phase is omitted, the phase at the pointer is used. Use `help()` on a command
to list its fields.
"""
EVENTS_SAY = "All events, and the types of their fields; `decode` decodes a recorded event."
DECODE = '''\
from .engine.service.streams.catalogue import CODEC

decode = CODEC.decode
"""Return the event of a `RecordedEvent`; raise `UnreadableError` if it is damaged."""
'''

LINE_WIDTH = 92
"""That of the formatter."""


def structs_in(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """Yield the structs that a type names."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for part in get_args(kind):
        yield from structs_in(part)


def with_parts(structs: Sequence[type[msgspec.Struct]]) -> list[type[msgspec.Struct]]:
    """Return structs with all structs that their fields name."""
    wanted = [*structs]
    for struct in wanted:
        known = get_type_hints(struct)
        for kind in (known[name] for name in struct.__struct_fields__):
            wanted += [part for part in structs_in(kind) if part not in wanted]
    return wanted


def events_module() -> str:
    """Return the text of `sprintlog.events`."""
    named: list[type] = [*_events(), Event, Kind, RecordedEvent]
    return "".join([f'"""{EVENTS_SAY}"""\n\n', *_imports(named), DECODE])


def commands_module() -> str:
    """Return the text of `sprintlog.commands`, which includes parts shared with events."""
    own = [x for x in with_parts([*registered().values()]) if x not in _events()]
    return "".join([f'"""{COMMANDS_SAY}"""\n\n', *_imports([*own, Command])])


def _events() -> list[type[msgspec.Struct]]:
    return with_parts(
        [*EVENTS, *JOURNAL_EVENTS, *SESSION_EVENTS, *ERASURE_EVENTS, *RACE_EVENTS]
    )


def _imports(named: Iterable[type]) -> Iterator[str]:
    inside = [x for x in named if x.__module__.startswith("sprintlog.")]
    found = sorted((x.__module__, x.__name__) for x in inside)
    for module, names in groupby(found, key=lambda pair: pair[0]):
        passed_on = [f"{name} as {name}" for _, name in names]
        start = f"from .{module.removeprefix('sprintlog.')} import "
        line = start + ", ".join(passed_on)
        lines = "".join(f"    {one},\n" for one in passed_on)
        yield f"{line}\n" if len(line) <= LINE_WIDTH else f"{start}(\n{lines})\n"


COMMANDS_HEAD = """\
# Commands in Python

{note}

This page lists the commands of `sprintlog.commands` for `handle`, with their arguments in
order, types and defaults. Structs in arguments, such as `Learning`, are in
`sprintlog.events` ([events](events.md)). `sprintlog schema commands`
prints the JSON Schema."""
_MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")


def without_codes(page: Callable[[], str]) -> Callable[[], str]:
    """Return a page on which no rule of the specification is named by its number."""
    return lambda: CODES.sub("", page())


def commands_page(note: str) -> str:
    """Return the page: every command by name, its effect, and its arguments."""
    parts = [COMMANDS_HEAD.format(note=note)]
    for command in sorted(registered().values(), key=lambda c: c.__name__):
        parts += [f"## `{command.__name__}`", inspect.cleandoc(command.__doc__ or "")]
        parts.append(f"`{command.name()}`" + _arguments(command))
    return "\n\n".join(parts) + "\n"


def _arguments(command: type[Command]) -> str:
    """Return the table of a command's arguments, or nothing."""
    rows = []
    for name, one in inspect.signature(command).parameters.items():
        kind = _MODULES.sub("", inspect.formatannotation(one.annotation)).replace(
            "|", "\\|"
        )
        default = "needed" if one.default is one.empty else f"`{one.default!r}`"
        rows.append(f"| `{name}` | {kind} | {default.replace('<factory>', 'empty')} |")
    if not rows:
        return ", without arguments."
    return "\n".join([":\n", "| argument | type | without it |", "|---|---|---|", *rows])
