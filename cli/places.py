"""The locations of a sprint's files, as paths relative to the work tree."""

from hashlib import sha256
from pathlib import Path

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.service.place.location import PROGRESS as PROGRESS
from sprintlog.engine.service.place.location import Location, wrong_journal, wrong_place
from sprintlog.engine.sprint.events import Place, Source


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
