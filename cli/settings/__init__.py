"""The work tree's settings file, which is located once, and read if it exists.

The command line overrides the environment, which overrides the file, which overrides the
default. Every command imports this module and its imports.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .file import SettingsFile

NAME = "sprintlog.toml"
IN_PROJECT = "pyproject.toml"
OFF = "SPRINTLOG_OFF"
_FOUND = "sprintlog.settings"


def settings_file() -> "SettingsFile | None":
    """Return the validated settings file, or None if there is none.

    Raise `InvalidInputError` with the line of an invalid setting.
    """
    # A hook runs without click, and calls this once.
    click = sys.modules.get("click")
    context = click.get_current_context(silent=True) if click else None
    kept = {} if context is None else context.meta
    if _FOUND not in kept:
        try:
            kept[_FOUND] = _read(os.getcwd())
        except FileNotFoundError:
            # The folder was deleted; commands that need it raise an error.
            kept[_FOUND] = None
    found: SettingsFile | None = kept[_FOUND]
    return found


def forget() -> None:
    """Read the file again when it is next needed, because it may have changed."""
    if click := sys.modules.get("click"):
        click.get_current_context().meta.pop(_FOUND, None)


def setting(key: str) -> Any:
    """Return a key's value in the settings file, or None if it is not set.

    Raise `RefusedError` if the key requires trust and the file is not trusted.
    """
    found = settings_file()
    return None if found is None else found.value(key)


def off_by() -> str | None:
    """Return the setting that turns recording off, or None if recording is on."""
    named = os.environ.get(OFF, "")
    if named:
        return None if named == "0" else f"{OFF}={named[:20]}"
    found = settings_file()
    return f"`off` in {found.path}" if found and found.value("record.off") else None


def log_place(start: Path) -> tuple[Path, str | None]:
    """Return the folder in which to look for the log, and the log's folder if specified.

    The log's folder is specified by SPRINTLOG_DIR or else by the work tree's settings file.
    """
    if named := os.environ.get("SPRINTLOG_DIR"):
        return start, named
    found = settings_file()
    if found is None or (told := found.value("log.folder")) is None:
        return start, None
    return found.folder, str(found.folder / os.path.expanduser(told))


def log_address() -> str | None:
    """Return the address of a log on a server, or None for a log in a folder.

    The address is specified by SPRINTLOG_LOG or else by the settings file, which must not
    contain a password.
    """
    if named := os.environ.get("SPRINTLOG_LOG"):
        return named
    if os.environ.get("SPRINTLOG_DIR"):
        return None
    found = settings_file()
    if found is None or (told := found.value("log.url")) is None:
        return None
    # Imported here: most logs are local.
    from sprintlog.engine.service.place.location import check_named

    check_named(told, file=str(found.path), field="log.url")
    return str(told)


def _read(start: str) -> "SettingsFile | None":
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    # Search the work tree's root only; outside a work tree, search all parent folders.
    folders: list[str] = []
    folder = start
    while folder not in folders:
        folders.append(folder)
        marks = os.path.join(folder, ".git"), os.path.join(folder, ".sprintlog")
        if os.path.lexists(marks[0]) or os.path.lexists(marks[1]):
            folders = [folder]
            break
        folder = os.path.dirname(folder)
    for folder in folders:
        for name in (NAME, IN_PROJECT):
            path = os.path.join(folder, name)
            try:
                # Links are not followed, and a pipe does not block.
                held = os.open(path, flags)
            except FileNotFoundError:
                continue
            except OSError as error:
                if name == IN_PROJECT:
                    # The file belongs to other tools; an unreadable file is not our
                    # concern.
                    continue
                from .file import unreadable

                raise unreadable(path, error) from error
            # Imported here: most work trees have no such file.
            from .file import read_settings

            if found := read_settings(held, Path(path), in_project=name == IN_PROJECT):
                return found
    return None
