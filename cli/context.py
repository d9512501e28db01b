"""The one place where the environment is read and things are put together."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
import msgspec

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.log.port import Expect, Expected, Wait
from sprintlog.projections.workspace import Workspace

from . import typed
from .named_sprint import telling
from .output import progress, visible, warn

if TYPE_CHECKING:
    from sprintlog.engine.sprint.state.sprint import Sprint

Function = TypeVar("Function", bound=Callable[..., Any])


def here() -> Path:
    """Return the folder the command runs in, links resolved."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise InvalidInputError("the current folder no longer exists") from error


def log_folder() -> str | None:
    """Return SPRINTLOG_DIR, where it is set."""
    return os.environ.get("SPRINTLOG_DIR") or None


def safe_list() -> Path:
    """Return the person's own list of folders whose logs are used, whoever owns them."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(home) / "sprintlog" / "safe"


def environment() -> dict[str, str]:
    """Return all of the environment, for scripts that get a part of it."""
    return dict(os.environ)


def open_workspace(*, check_head: bool = True) -> Workspace:
    """Open the log that this folder belongs to."""
    workspace = Workspace.open(
        here(),
        folder=log_folder(),
        safe=safe_list(),
        check_head=check_head,
        wait=Wait(say=progress),
    )
    workspace.environment, workspace.tell = os.environ, warn
    if named := os.environ.get("SPRINTLOG_JOURNAL"):
        # Imported here: hardly anybody sets it.
        from .places import journal_place

        file = workspace.location.root / named
        workspace.journal_place = journal_place(workspace.location, file)
    diagnose(
        "log opened",
        folder=str(workspace.location.folder),
        worktree=workspace.location.worktree or "main",
        **workspace.log.described(),
    )
    return workspace


def diagnose(event: str, **fields: object) -> None:
    """Tell on stderr what happens inside, where `--verbose` asks for it."""
    context = click.get_current_context(silent=True)
    if context is None or not context.find_root().params.get("verbose"):
        return
    # Imported here: it would cost every recording command more than its own work.
    import structlog

    logger = structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        processors=[structlog.dev.ConsoleRenderer(colors=False)],
    )
    said = {n: visible(v) if isinstance(v, str) else v for n, v in fields.items()}
    logger.info(event, **said)


with_json = typed.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
with_point = typed.option(
    "--at",
    metavar="POINT",
    help="As of position:N, version:N, iter:N, best, start, an ISO time, or '2h ago'.",
)


def with_sprint(function: Function) -> Function:
    """Add `--sprint`."""
    return _with_sprint_id(telling(function))


_with_sprint_id = typed.option(
    "--sprint",
    "sprint_id",
    envvar="SPRINTLOG_SPRINT",
    metavar="ID",
    help="Which sprint; needed only when several are unfinished. [SPRINTLOG_SPRINT]",
)


class ReadOptions(msgspec.Struct, frozen=True):
    """Which sprint is read, as of when, and whether a script gets the answer."""

    sprint_id: str | None
    at: str | None
    as_json: bool

    def sprint(self, workspace: Workspace) -> "Sprint":
        """Return the sprint as it was then."""
        return workspace.sprint(workspace.choose(self.sprint_id), at=self.at)


def with_reading(function: Function) -> Function:
    """Add `--at`, `--sprint` and `--json`; they arrive as `reading`."""

    @wraps(function)
    def packed(*args: Any, **given: Any) -> Any:
        reading = ReadOptions(
            **{name: given.pop(name) for name in ReadOptions.__struct_fields__}
        )
        return function(*args, reading=reading, **given)

    return with_point(with_sprint(with_json(cast(Function, packed))))


def with_recording(function: Function) -> Function:
    """Add the options that every command recording on a sprint has."""
    return with_sprint(with_envelope(function))


def _who_types() -> str:
    """Return who causes an event where nobody says so.

    No person's name: what is in an event's header can never be erased.
    """
    both = sys.stdin, sys.stdout
    on_terminal = all(file is not None and file.isatty() for file in both)
    return "operator" if on_terminal else "runtime"


with_actor = typed.option(
    "--actor",
    envvar="SPRINTLOG_ACTOR",
    default=_who_types,
    metavar="WHO",
    help="runtime, operator, operator:…, agent:… or import:…. "
    "[SPRINTLOG_ACTOR; operator on a terminal, else runtime]",
)


def with_envelope(function: Function) -> Function:
    """Add the options about the event itself, and `--json`."""
    for option in reversed(_ENVELOPE):
        function = option(function)
    return with_json(function)


def _expected(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Expected | None:
    return parse_expected(value)


_ENVELOPE = [
    with_actor,
    typed.option("--at", metavar="TIME", help="When it happened, ISO 8601. [now]"),
    typed.option("--key", metavar="KEY", help="Idempotency key: record only once."),
    typed.option(
        "--expect",
        metavar="N",
        callback=_expected,
        help="Refuse unless the stream is at version N, or none, exists, any.",
    ),
    typed.option("--correlation-id", metavar="ID", help="The work this belongs to."),
    typed.option("--no-mask", is_flag=True, help="Record secrets in texts as they are."),
    typed.option("--causation-id", metavar="ID", help="The event that caused this."),
]


def parse_expected(value: str | None) -> Expected | None:
    """Return an expected version from its text; raise `click.UsageError` otherwise."""
    if value is None:
        return None
    if value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    try:
        return Expect(value)
    except ValueError as error:
        raise click.UsageError(
            f"--expect {value[:40]!r}: give a version, none, exists or any"
        ) from error
