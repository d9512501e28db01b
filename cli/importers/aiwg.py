"""Reader for the files of AIWG loops: state, analytics and measurements."""

from itertools import product
from pathlib import Path

from sprintlog.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.extensions import ForeignFile, Imported, Unread

from .aiwg_loop import DOCUMENT, AiwgLoop

FILES_MAX = 10_000
"""The maximum number of files in a folder; folders with more are refused."""
_BELOW = ("", "ralph-external/", "ralph/")
_FILES = (
    "session-state.json",
    "state.json",
    "loops/*/session-state.json",
    "loops/*/state.json",
    "analytics/*.json",
    "progress/iteration-*",
    "iterations/iteration-*/metrics.*",
    "*/progress/iteration-*",
    "*/iterations/iteration-*/metrics.*",
)
_SUFFIXES = (".json", ".yaml", ".yml")


def read_aiwg(path: Path) -> list[Imported]:
    """Return the loops in a folder or in a single file.

    Raise `NotFoundError` if there is no such file, or `InvalidInputError` naming the
    invalid file and field.
    """
    loops: dict[str, AiwgLoop] = {}
    unread = []
    folder = path if path.is_dir() else None
    for file in _files(path):
        if _read(loops, ForeignFile(file, below=folder)):
            continue
        problem = "is not a state, analytics or measurement file"
        if folder is None:
            raise InvalidInputError(problem, file=str(file))
        unread.append(Unread(str(file), 0, problem, ""))
    if not loops:
        raise NotFoundError(f"{path}: contains no loop data", file=str(path))
    first, *others = [loop.found(name) for name, loop in loops.items()]
    return [first._replace(unread=[*first.unread, *unread]), *others]


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    root = path / ".aiwg" if (path / ".aiwg").is_dir() else path
    found: dict[Path, None] = {}
    for below, pattern in product(_BELOW, _FILES):
        named = sorted(root.glob(f"{below}{pattern}"))
        found |= dict.fromkeys(file for file in named if file.suffix in _SUFFIXES)
        if len(found) > FILES_MAX:
            raise RefusedError(f"{path}: more than {FILES_MAX} files", file=str(path))
    if not found:
        problem = f"{path}: contains no state, analytics or measurement of a loop"
        raise NotFoundError(problem, file=str(path))
    return [*found]


def _read(loops: dict[str, AiwgLoop], source: ForeignFile) -> bool:
    """Add a file's data to its loop; return whether the file belongs to a loop."""
    given = source.data()
    if not isinstance(given, dict):
        return False
    if DOCUMENT in given:
        loop = loops.setdefault(_loop_of(source.file), AiwgLoop())
        loop.take_document(given[DOCUMENT], source)
    elif isinstance(given.get("loopId"), str):
        loops.setdefault(given["loopId"], AiwgLoop()).take_state(given, source)
    elif isinstance(given.get("loop_id"), str) and "iterations" in given:
        loops.setdefault(given["loop_id"], AiwgLoop()).take_analytics(given, source)
    else:
        return False
    return True


def _loop_of(file: Path) -> str:
    """Return the id of a measurement's loop, derived from its folder."""
    parts = file.resolve().parts[:-1]
    for inner in ("iterations", "progress"):
        if inner in parts[1:]:
            return parts[len(parts) - parts[::-1].index(inner) - 2]
    return "iterations"
