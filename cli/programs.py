"""External commands: `sprintlog-foo` on the PATH runs as `sprintlog foo`.

The folder must be absolute, and neither the folder nor the program may be inside the work
tree; otherwise, the author of an untrusted repository could run a program.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import click

from sprintlog.engine.errors import RefusedError

PREFIX = "sprintlog-"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
MARKS = (".git", ".sprintlog")
"""Names of folders that mark the root of a work tree."""


def program_command(name: str) -> click.Command | None:
    """Return the command that runs a program, or None if there is no such program.

    If the program exists only in the work tree, the command refuses to run it.
    """
    if not NAME.fullmatch(name):
        return None
    found = (folder / f"{PREFIX}{name}" for folder in _folders())
    places = [place for place in found if _can_run(place)]
    if not places:
        return None
    trees = [*_trees()]
    safe = [place for place in places if not _is_below(place, trees)]
    return _command(name, (safe or places)[0], is_safe=bool(safe))


def programs() -> list[tuple[str, Path]]:
    """Return the names and paths of the programs that can be run."""
    trees = [*_trees()]
    found: dict[str, Path] = {}
    for folder in _folders():
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            short = name.removeprefix(PREFIX)
            if name.startswith(PREFIX) and NAME.fullmatch(short) and short not in found:
                place = folder / name
                if _can_run(place) and not _is_below(place, trees):
                    found[short] = place
    return sorted(found.items())


def _folders() -> Iterator[Path]:
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        # Empty and relative entries depend on the current folder.
        if os.path.isabs(entry):
            yield Path(entry)


def _can_run(place: Path) -> bool:
    return os.path.isfile(place) and os.access(place, os.X_OK)


def _trees() -> Iterator[Path]:
    """Yield the current folder and the root of its work tree."""
    here = Path.cwd().resolve()
    yield here
    for folder in (here, *here.parents):
        if any((folder / mark).exists() for mark in MARKS):
            yield folder
            return


def _is_below(place: Path, trees: list[Path]) -> bool:
    """Return whether a program, or a folder on its path, is inside one of the trees."""
    ways = (place, place.parent.resolve(), place.resolve())
    return any(way == tree or tree in way.parents for way in ways for tree in trees)


def _command(name: str, place: Path, *, is_safe: bool) -> click.Command:
    # No options are added: all arguments after the name belong to the program.
    @click.command(
        name,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
        add_help_option=False,
    )
    @click.argument("words", nargs=-1, type=click.UNPROCESSED)
    def command(words: tuple[str, ...]) -> None:
        if not is_safe:
            raise RefusedError(
                f"refusing to run {place}: it is in the work tree",
                hint="move the program to a folder on your PATH outside the work tree",
                file=str(place),
            )
        os.execv(place, [str(place), *words])

    return command
