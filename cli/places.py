"""The locations of logs given by `--log`, and of a sprint's files in the work tree."""

import os
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.log.stores import is_served
from sprintlog.engine.service.place import location as locations
from sprintlog.engine.service.place.location import PROGRESS as PROGRESS
from sprintlog.engine.service.place.location import Location, wrong_journal, wrong_place
from sprintlog.engine.sprint.events import Place, Source

NAME_CHARS_MAX = 60


def log_names(logs: Iterable[str]) -> dict[str, str]:
    """Return the given logs by a name that is unique and needs no quotes in a URL.

    Each log is an absolute path or an address without secrets. The name is the last part of
    it; logs that share a name also have a digest, so that links remain valid.
    """
    found: dict[str, list[str]] = {}
    for log in dict.fromkeys(map(_whole, logs)):
        last = re.split("log=|/", log)[-1]
        name = re.sub(r"[^\w.-]+", "-", last)[:NAME_CHARS_MAX].strip(".-") or "log"
        found.setdefault(name, []).append(log)
    all_logs = [(name, log, len(each)) for name, each in found.items() for log in each]
    return {f"{x}-{_digest(log)}" if n > 1 else x: log for x, log, n in all_logs}


def _digest(log: str) -> str:
    return sha256(os.fsencode(log)).hexdigest()[:8]


def _whole(log: str) -> str:
    """Return a log's address or full path, which is the work tree's path if it has one."""
    if is_served(log):
        locations.check_named(log, field="--log")
        # Imported here: most logs are local.
        from sprintlog.engine.log.stores.postgres.address import parse

        return parse(log).shown
    path = os.path.abspath(os.path.expanduser(log))
    return re.sub(r"(/\.git/sprintlog|/\.sprintlog)?(/log\.db)?$", "", path) or "/"


def named_place(log: str) -> tuple[Path, str | None, str | None]:
    """Return where to look for a log of `log_names`, its folder and its address, if known.

    The local files of a log on a server are in the user's state folder. Raise
    `NotFoundError` if a folder contains no log.
    """
    if is_served(log):
        state = locations.state_folder(os.environ) or Path(os.devnull)
        return Path("/"), str(state / "logs" / _digest(log)), log
    if Location(path := Path(log), path, "").has_log:
        return path, log, None
    if not path.is_dir() or locations.find(path).root != path:
        raise NotFoundError(f"there is no log in {log}", file=log)
    return path, None, None


def place_in(location: Location, folder: Path | None, plan: Path | None = None) -> Place:
    """Return the place of PROGRESS.yaml in a folder, or in the folder of a plan.

    Raise `InvalidInputError` if the place is outside the work tree.
    """
    option = "--plan" if plan and not folder else "--sprint-dir"
    folder = folder or (plan.parent if plan else Path())
    place = place_of(location, folder / PROGRESS)
    if place is None:
        raise InvalidInputError(
            f"cannot write {PROGRESS} in {folder}: outside the work tree {location.root}",
            field=option,
            hint="use `--sprint-dir .` to write the file to this folder",
        )
    if problem := wrong_place(place.path):
        raise InvalidInputError(f"{place.path} {problem}", field="--sprint-dir")
    return place


def journal_place(location: Location, file: Path) -> str:
    """Return a journal file's place; raise an error if it is outside the work tree."""
    place = place_of(location, file)
    if place is None:
        raise InvalidInputError(
            f"{file} is outside the work tree {location.root}", field="--place"
        )
    if problem := wrong_journal(place.path):
        raise InvalidInputError(f"{place.path}: {problem}", field="--place")
    return place.path


def place_of(location: Location, file: Path) -> Place | None:
    """Return a file's place in the work tree, or None if it is outside."""
    root, absolute = location.root.resolve(), file.resolve()
    if not absolute.is_relative_to(root):
        return None
    return Place(absolute.relative_to(root).as_posix(), location.worktree)


def source_of(location: Location, file: Path, content: bytes) -> Source:
    """Return the source record of a file from which a plan was created."""
    place = place_of(location, file)
    path = place.path if place else file.resolve().as_posix()
    return Source(path, sha256(content).hexdigest())
