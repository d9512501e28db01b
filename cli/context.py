"""The only module that reads the environment and connects the components."""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import msgspec

from sprintlog.engine.errors import InvalidInputError, SprintlogError
from sprintlog.engine.log.port import Expect, Expected, Wait
from sprintlog.engine.service.place.location import REDACTION, Location, find
from sprintlog.engine.service.place.trust import safe_list
from sprintlog.projections.workspace import Workspace

from . import settings, typed
from .output import hint, note, on_terminal, progress, visible, warn
from .typed import READING, RECORDING
from .typed import Function as Function

if TYPE_CHECKING:
    from sprintlog.engine.sprint.state.sprint import Sprint


def here() -> Path:
    """Return the current folder's path with links resolved."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise InvalidInputError("the current folder no longer exists") from error


def log_place() -> tuple[Path, str | None]:
    """Return where to look for the log, and the log's folder if one was specified."""
    return settings.log_place(here())


def environment() -> dict[str, str]:
    """Return the full environment, part of which is passed to scripts."""
    return dict(os.environ)


def open_workspace(named: str | None = None, *, check_head: bool = True) -> Workspace:
    """Open the log of the current folder, or a log of `log_names`."""
    if named is None:
        start, folder, address = *log_place(), settings.log_address()
    else:
        # Imported here: most commands use the log of the current folder.
        from .places import named_place

        start, folder, address = named_place(named)
    workspace = Workspace.open(
        start,
        folder=folder,
        address=address,
        safe=safe_list(),
        check_head=check_head,
        wait=Wait(say=progress),
    )
    workspace.environment, workspace.tell = os.environ, warn
    if named is None:
        workspace.stands_in, workspace.setting = here(), settings.setting
    if check_head and os.path.lexists(workspace.location.folder / REDACTION):
        _finish_redaction(workspace)
    if named is None and (journal := os.environ.get("SPRINTLOG_JOURNAL")):
        # Imported here: the variable is rarely set.
        from .places import journal_place

        file = workspace.location.root / journal
        try:
            workspace.journal_place = journal_place(workspace.location, file)
        except SprintlogError:
            workspace.close()
            raise
    diagnose(
        "log opened",
        lambda: {
            "folder": str(workspace.location.folder),
            "worktree": workspace.location.worktree or "main",
            **workspace.log.described(),
        },
    )
    return workspace


def _finish_redaction(workspace: Workspace) -> None:
    """Finish an interrupted redaction before any other work."""
    # Imported here: a redaction is almost never interrupted.
    from sprintlog.projections.health.redaction import finish

    try:
        if finish(workspace):
            note("an interrupted redaction was completed")
    except SprintlogError as error:
        # Only a warning, because every command retries this.
        warn(f"an interrupted redaction cannot be completed: {error.message}")


def find_log() -> Location:
    """Return the location of the log without opening it."""
    start, folder = log_place()
    if (address := settings.log_address()) is None:
        return find(start, folder=folder)
    # Imported here: most logs are local.
    from sprintlog.engine.service.place.served import find_served

    return find_served(start, address, folder=folder)


def diagnose(event: str, fields: Callable[[], Mapping[str, object]]) -> None:
    """Print an event and its fields on stderr if `--verbose` is given."""
    context = click.get_current_context(silent=True)
    if context is None or not context.find_root().params.get("verbose"):
        return
    # Imported here: the import takes longer than a recording command.
    import structlog

    logger = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[structlog.dev.ConsoleRenderer(colors=False)],
    )
    said = {n: visible(v) if isinstance(v, str) else v for n, v in fields().items()}
    logger.info(event, **said)


_OF_ENGINE = (
    r"(?s)best|start|(position|version|iter|snapshot):.*|\d{4}-.*([zZ]|[+-]\d\d:?\d\d)"
)
"""Matches points and times that the engine itself parses or rejects."""


def _spoken(
    *, is_since: bool = False, takes_days: bool = True, has_sprint: bool = False
) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a callback that parses a point or a time in natural notation.

    A date means the end of that day or, for `--since`, its start; if a time is required, a
    date is invalid. A sprint and `@` may precede the value.
    """

    def read(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        sprint, at, text = (
            value.rpartition("@") if value and has_sprint else ("", "", value)
        )
        if not text or context.resilient_parsing or re.fullmatch(_OF_ENGINE, text):
            return value
        # Imported here: scripts and recording commands use ISO 8601, or specify no time.
        from .moments import read_moment

        field = parameter.opts[0] if parameter.opts else str(parameter.name)
        moment = read_moment(text, field=field, is_since=is_since, takes_days=takes_days)
        return f"{sprint}{at}{moment}"

    return read


AT_POINT = _spoken()
SINCE_POINT = _spoken(is_since=True)
HAPPENED = _spoken(takes_days=False)
SPRINT_POINT = _spoken(has_sprint=True)


def _named_logs(context: click.Context, _: click.Parameter, value: Any) -> Any:
    # Imported here: most commands use the log of the current folder.
    from .places import log_names

    return {} if context.resilient_parsing else log_names(value)


_for_reading = partial(typed.option, topic=READING)
_for_recording = partial(typed.option, topic=RECORDING)


def _keep_fields(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is None or context.resilient_parsing:
        return
    # Imported here: few commands specify fields.
    from .screen.fields import read

    context.meta[typed.FIELDS] = read(" ".join(typed.words_of(context)), value)


_as_json = typed.flag("--json", "as_json", topic=READING, help="Print JSON.")
_fields = _for_reading(
    "--fields",
    "answer_fields",
    metavar="NAMES",
    expose_value=False,
    callback=_keep_fields,
    help="With --json: print only these fields, such as a,b.c.",
)
with_json = typed.several(_as_json, _fields)
"""The `--json` and `--fields` options."""
_at_point = _for_reading(
    "--at",
    metavar="POINT",
    callback=AT_POINT,
    help="Show the state as of position:N, version:N, iter:N, best, start, a time, "
    "yesterday, '2h ago'.",
)


with_logs = typed.list_option(
    "--log",
    "logs",
    metavar="LOG",
    callback=_named_logs,
    help="A folder with a log, a log file or postgresql://HOST/DATABASE?log=NAME; can be "
    "repeated. [the log here]",
)


@contextmanager
def open_logs(logs: Mapping[str, str]) -> Iterator[dict[str, Workspace]]:
    """Open the logs of `--log` by name, or else the log of the current folder as ''."""
    with ExitStack() as stack:
        given: Mapping[str, str | None] = logs or {"": None}
        yield {x: stack.enter_context(open_workspace(log)) for x, log in given.items()}


with_sprint = _for_reading(
    "--sprint",
    "sprint_id",
    envvar="SPRINTLOG_SPRINT",
    metavar="ID",
    help="The sprint; required if several are unfinished. [SPRINTLOG_SPRINT]",
)


with_point = typed.several(_at_point, with_json)
"""The `--at` and `--json` options."""


class ReadOptions(msgspec.Struct, frozen=True):
    """A reading command's options: the sprint, the point in time and the output format."""

    sprint_id: str | None
    at: str | None
    as_json: bool

    def sprint(self, workspace: Workspace) -> "Sprint":
        """Return the sprint's state at the given point."""
        return workspace.sprint(workspace.choose(self.sprint_id), at=self.at)

    @contextmanager
    def opened(self) -> "Iterator[tuple[Workspace, Sprint]]":
        """Open the log of the current folder, and yield it with the sprint's state."""
        with open_workspace() as workspace:
            yield workspace, self.sprint(workspace)


def packed(
    kind: Callable[..., Any], names: Collection[str], into: str
) -> Callable[[Function], Function]:
    """Return a decorator that packs several options into one argument of type `kind`."""

    def decorated(function: Function) -> Function:
        @wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            made = kind(**{name: given.pop(name) for name in names if name in given})
            return function(*args, **{into: made}, **given)

        return cast(Function, call)

    return decorated


def with_reading(function: Function) -> Function:
    """Add the `--at`, `--sprint` and `--json` options, passed together as `reading`."""
    reading = packed(ReadOptions, ReadOptions.__struct_fields__, "reading")
    return _at_point(with_sprint(with_json(reading(function))))


def default_actor() -> str:
    """Return the default actor of events.

    The actor does not contain a person's name, because an event's header cannot be erased.
    """
    if (found := settings.settings_file()) and "record.actor" in found.given:
        if found.is_trusted:
            return str(found.value("record.actor"))
        # The event is still recorded, with the actor that applies without the file.
        refused = found.untrusted("record.actor")
        warn(refused.message)
        hint(refused.hint)
    return "operator" if on_terminal() else "runtime"


def doing_when_off(act: Callable[..., None]) -> Callable[[Function], Function]:
    """Return a decorator that sets a recording command's action while recording is off."""

    def named(function: Function) -> Function:
        vars(function)["when_off"] = partial(_state_off, act)
        return function

    return named


def _state_off(act: Callable[..., None], off: str, **given: Any) -> None:
    note(f"nothing is recorded: {off}")
    act(**given)


_actor_option = _for_recording(
    "--actor",
    envvar="SPRINTLOG_ACTOR",
    default=default_actor,
    metavar="WHO",
    help="The actor: runtime, operator, operator:…, agent:… or "
    "import:…. [SPRINTLOG_ACTOR; operator on a terminal, otherwise runtime]",
)


def with_actor(function: Function) -> Function:
    """Add the `--actor` option, and make the command do nothing while recording is off."""
    vars(function).setdefault("when_off", partial(_state_off, lambda **_: None))
    return _actor_option(function)


with_envelope = typed.several(
    with_json,
    with_actor,
    _for_recording(
        "--at",
        metavar="TIME",
        callback=HAPPENED,
        help="When it happened: ISO 8601, 9:00, 'yesterday 23:10'. [now]",
    ),
    _for_recording(
        "--key",
        metavar="KEY",
        help="Idempotency key: repeating the command records nothing.",
    ),
    _for_recording(
        "--expect",
        metavar="N",
        callback=lambda _, __, value: parse_expected(value),
        help="The required stream version: N, none, exists or any.",
    ),
    _for_recording(
        "--correlation-id",
        metavar="ID",
        help="The correlation id of the related work. [SPRINTLOG_CORRELATION]",
    ),
    _for_recording("--causation-id", metavar="ID", help="The id of the causing event."),
    typed.flag("--no-mask", topic=RECORDING, help="Do not mask secrets in recorded texts."),
)
"""`--json` and the options about the event itself."""
with_recording = typed.several(with_sprint, with_envelope)
"""The options shared by all commands that record to a sprint."""


def parse_expected(value: str | None) -> Expected | None:
    """Parse an expected version; raise `click.UsageError` if it is invalid."""
    if value is None:
        return None
    if value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    try:
        return Expect(value)
    except ValueError as error:
        raise click.UsageError(
            f"--expect {value[:40]!r}: must be a version, none, exists or any"
        ) from error
