"""The `sprintlog uninstall` command: remove sprintlog's files and, on request, the log."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import click
from msgspec.structs import replace

from sprintlog.engine import errors
from sprintlog.engine.adapters.hooks.files import SCOPES, HookFile, HookLocation
from sprintlog.engine.adapters.hooks.forms import EVERYBODY, FILES, HOOKS, MCP
from sprintlog.engine.log.stores.descriptors import lock_holders
from sprintlog.engine.service.place.location import ADDRESS, Location
from sprintlog.engine.service.place.location import INSTALLED as KEPT
from sprintlog.engine.service.place.trust import home, owned_by_another
from sprintlog.projections.health.findings import in_units, sizes
from sprintlog.projections.health.kept_text import entry_of
from sprintlog.projections.views.log import Uninstalled

from .. import typed
from ..context import find_log, here, with_json
from ..output import note, on_terminal, print_json, print_text
from ..settings import trust

MARK = b"_SPRINTLOG_COMPLETE"
"""A string that every completion script of sprintlog contains."""
_SCRIPT_BYTES_MAX = 64 * 1024
SCRIPTS = (
    ".local/share/bash-completion/completions/sprintlog",
    ".config/fish/completions/sprintlog.fish",
    ".zfunc/_sprintlog",
)
"""The usual paths of completion scripts, relative to the user's home."""
STARTS = (".bashrc", ".bash_profile", ".zshrc", ".config/fish/config.fish")
"""The user's shell start-up files; lines in them are listed but not changed."""


class Installed(NamedTuple):
    """An installed component and the function that removes it."""

    what: str
    remove: Callable[[], object]


def _completion() -> Iterator[Installed]:
    for name in SCRIPTS:
        path = Path.home() / name
        try:
            if path.stat().st_size <= _SCRIPT_BYTES_MAX and MARK in path.read_bytes():
                yield Installed(f"completion script {path}", path.unlink)
        except OSError:
            # The file does not exist or is not readable.
            continue


def _trust() -> Iterator[Installed]:
    folder = here()
    if trust.trusted_for(folder):
        said = f"the trust entry for {folder} in {home() / 'trusted'}"
        yield Installed(said, lambda: trust.forget(folder))


def around_here() -> HookLocation:
    """Return where agents' files are: the project, the home folder and the environment."""
    try:
        location = find_log()
    except errors.NotFoundError:
        start = here()
        tops = (at for at in (start, *start.parents) if (at / ".git").exists())
        return HookLocation(next(tops, start), Path.home(), os.environ)
    return HookLocation(location.root, Path.home(), os.environ, location.folder / KEPT)


def removals(files: Iterable[HookFile]) -> Iterator[tuple[HookFile, str | None]]:
    """Yield the installed files, each with the reason why it stays, or None."""
    for file in files:
        problem = None
        try:
            if not file.uninstall(is_dry=True):
                problem = "has changed since, and is not removed"
        except errors.InvalidInputError as error:
            problem = error.message
        if problem is None or (file.remembered() and os.path.lexists(file.path)):
            yield file, problem


def _hooks() -> Iterator[Installed]:
    """Yield the recorded files of agents, and this project's other files of agents."""
    around = around_here()
    files = [*around.files(*SCOPES), *around.remembered()]
    by_place = {([*FILES].index(file.what), file.path): file for file in files}
    # The reverse order of installation restores files and folders that several share.
    order = sorted(by_place.items(), reverse=True)
    for file, problem in removals(file for _, file in order):
        if problem is None:
            said = {HOOKS: "hook", MCP: "server"}.get(file.what, file.what)
            whose = "" if file.form.agent == EVERYBODY else f" of {file.form.agent}"
            yield Installed(f"{said}{whose} in {file.path}", file.uninstall)


INSTALLED: tuple[Callable[[], Iterator[Installed]], ...] = (_completion, _hooks, _trust)
"""One function per kind of installation; each yields what is installed."""


@typed.command("uninstall")
@typed.flag("--dry-run", help="Show what would be removed; change nothing.")
@typed.flag("--yes", help="Skip the confirmation prompt.")
@typed.flag("--and-log", help="With --yes: also remove the log.")
@with_json
def command(dry_run: bool, yes: bool, and_log: bool, as_json: bool) -> None:
    """Remove the completion and the list of trusted files; on request, also remove the log.

    The command shows the installed files first and asks about the log separately. State
    files such as PROGRESS.yaml and other files in the log's folder are not removed.

    Examples: sprintlog uninstall --dry-run

    sprintlog uninstall --yes --and-log
    """
    if and_log and not (yes or dry_run):
        raise click.UsageError("--and-log requires --yes")
    found = [one for look in INSTALLED for one in look()]
    location = None
    with suppress(errors.NotFoundError):
        location = find_log()
    answer = Uninstalled(
        [one.what for one in found], None if location is None else str(location.folder)
    )
    if not as_json:
        _show(found, location)
    asks = on_terminal() and not as_json
    if not (dry_run or yes or asks):
        raise errors.RefusedError(
            "nothing was removed: stdin is not a terminal",
            hint="run `sprintlog uninstall --yes`; add --and-log to remove the log as well",
        )
    if not dry_run:
        answer = _remove(found, location, answer, yes=yes, and_log=and_log)
    if as_json:
        print_json(answer)
        return
    for name in answer.left:
        note(f"{name} was not created by sprintlog and was not removed")
    if answer.is_removed and found:
        print_text(f"removed: {', '.join(answer.installed)}")
    if answer.is_log_removed:
        print_text(f"removed the log in {answer.log}")


def _remove(
    found: list[Installed],
    location: Location | None,
    answer: Uninstalled,
    *,
    yes: bool,
    and_log: bool,
) -> Uninstalled:
    """Remove each component if the user confirms it; return the removed components."""
    if found and (yes or click.confirm("remove these?", default=False)):
        for one in found:
            one.remove()
        answer = replace(answer, is_removed=True)
    if location is None or not (and_log or (not yes and _is_sure(location))):
        return answer
    left = [str(location.folder / name) for name in remove_log(location)]
    return replace(answer, is_log_removed=True, left=left)


def remove_log(location: Location) -> list[str]:
    """Remove a log; return the names of third-party files that remain in its folder.

    Raise `BusyError` while another process uses the log.
    """
    folder = location.folder
    first = folder / ADDRESS if location.is_joined else location.database
    _check_free(folder, first)
    if stranger := owned_by_another(folder, first):
        raise errors.RefusedError(f"{stranger} belongs to another user", file=str(stranger))
    # Without its first file, the log is not found, so no other process starts to use it.
    first.rename(aside := first.with_name("log.db-gone"))
    try:
        _check_free(folder, aside)
    except errors.BusyError:
        aside.rename(first)
        raise
    aside.unlink()
    left = []
    for path in sorted(folder.rglob("*"), reverse=True):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif entry_of(name) is None:
            left.append(name)
        else:
            path.unlink(missing_ok=True)
    if not left:
        folder.rmdir()
    return left


def _show(found: list[Installed], location: Location | None) -> None:
    for one in found:
        print_text(f"installed: {one.what}")
    if not found:
        print_text("installed: nothing")
    for path, number in _lines_of_shells():
        note(f"{path}:{number} is not managed by sprintlog; remove the line yourself")
    if location is not None:
        size = in_units(sum(sizes(location.folder).values()))
        print_text(f"log: {location.folder}, {size}; all its work trees use it")


def _lines_of_shells() -> Iterator[tuple[Path, int]]:
    for name in STARTS:
        path = Path.home() / name
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError:
            continue
        for number, line in enumerate(lines, 1):
            if b"sprintlog completion" in line:
                yield path, number


def _is_sure(location: Location) -> bool:
    said = f"permanently remove the log in {location.folder}? Type the folder's name"
    return bool(click.prompt(said, default="", show_default=False) == location.folder.name)


def _check_free(folder: Path, database: Path) -> None:
    for path in (database, *folder.glob("*.lock"), folder / "snapshots" / "lock"):
        if path.exists() and (holders := lock_holders(path)):
            raise errors.BusyError(
                f"{path} is in use by {', '.join(holders)}",
                hint="wait for the process to finish, or stop it; the log was not removed",
                path=str(path),
                holders=holders,
            )
