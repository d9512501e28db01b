"""Runs that could not be recorded: a newer version wrote the log, or the log was moved.

Each run is stored in a file next to the log, with secrets masked. The first `wrap` that can
read the log records the run as an iteration, under its original idempotency key.
"""

from collections.abc import Mapping

import msgspec

from ...adapters.agents.output import OutputReader, with_errors
from ...adapters.processes.output import Output
from ...errors import BusyError, SprintlogError, UnreadableError
from ...masking import mask
from ...readable import as_json, originals
from ...service import wrap
from ..agent_sessions.spool import keep_odd, put, waiting
from ..place.location import Location, spool_folders
from ..workspace import ServiceWorkspace

SUFFIX = ".run"


class SpooledRun(msgspec.Struct, frozen=True):
    """A completed command, and the stored part of its output."""

    key: str
    sprint_id: str | None
    command: str
    exit_code: int | None
    duration_ms: int | None
    began: str
    output: str
    errors: str


def keep(location: Location, run: SpooledRun, environment: Mapping[str, str]) -> bool:
    """Spool a run until it can be recorded; return whether it could be written."""
    told = {name: mask(getattr(run, name)) for name in ("command", "output", "errors")}
    content = as_json(msgspec.structs.replace(run, **told))
    beside, *others = spool_folders(location, environment)
    # A folder that was moved away is not created again.
    places = [beside, *others] if location.folder.exists() else others
    return put(places, content, suffix=SUFFIX)


def take_in(workspace: ServiceWorkspace) -> None:
    """Record the spooled runs, oldest first."""
    location = workspace.location
    for path in waiting(spool_folders(location, workspace.environment), SUFFIX):
        content = b""
        try:
            content = path.read_bytes()
            _record(workspace, msgspec.convert(originals(content), SpooledRun))
        except OSError:
            continue
        except (BusyError, UnreadableError):
            # The next command tries again.
            break
        except (ValueError, SprintlogError) as error:
            keep_odd(location.folder, "wrap", str(error), content)
        path.unlink(missing_ok=True)


def _record(workspace: ServiceWorkspace, run: SpooledRun) -> None:
    since, began = workspace.log.head().position, run.began
    # The run's iteration may have been started before the log was busy.
    if (begun := wrap.begun(workspace, run.key)) is not None:
        sprint_id, number = begun
    else:
        sprint_id = wrap.sprint_for(
            workspace, run.sprint_id, place=None, actor="runtime", at=run.began
        )
        number = wrap.begin(
            *(workspace, sprint_id),
            at=began,
            actor="runtime",
            key=run.key,
            correlation_id=run.key,
        )
    output, errors, hearing = Output(), Output(), OutputReader()
    for feed in (output.feed, hearing.feed):
        feed(run.output.encode("utf-8", "surrogateescape"))
    errors.feed(run.errors.encode("utf-8", "surrogateescape"))
    heard = with_errors(hearing.heard(), run.errors, exit_code=run.exit_code)
    how = run.exit_code, run.duration_ms
    wrapped = wrap.Wrapped(run.command, *how, output, errors, *heard, None, None)
    ended = wrap.ended(workspace, wrapped, number=number, ends=True, now=began, since=since)
    workspace.handle_with(
        sprint_id, ended, actor="runtime", at=began, observed=True, correlation_id=run.key
    )
