"""Suggestions for a work tree: from the files and programs found to commands to type.

Nothing that is found is run, links are not followed, and only the beginning of a file is
read.
"""

import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.adapters.folders import opened, opened_below, read_plain
from sprintlog.engine.readable import quoted
from sprintlog.projections.views.log import Offer

TEXT_BYTES_MAX = 64 * 1024
ENTRIES_MAX = 200
"""How many entries of a folder of sprints are looked at."""
SPRINTS_MAX = 5
"""How many of its sprints are named."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
"""A name that needs no quoting."""


class Surroundings(NamedTuple):
    """The files and programs that were found."""

    files: frozenset[str]
    folders: frozenset[str]
    texts: dict[str, str]
    """The beginnings of the files that are read."""
    sprints: tuple[str, ...]
    """Folders that each hold the files of one sprint."""
    programs: frozenset[str]


class Wanted(NamedTuple):
    """The files and programs to look for, as paths below the root."""

    names: frozenset[str]
    read: frozenset[str]
    sprints_in: tuple[str, ...]
    sprint_files: tuple[str, ...]
    programs: frozenset[str]


def look(root: Path, wanted: Wanted, *, path: str) -> Surroundings:
    """Return what of the wanted is below a folder, and on a PATH outside of it."""
    with opened(root) as top:
        sprints = [s for folder in wanted.sprints_in for s in _sprints(top, folder, wanted)]
        inside = {f"{s}/{name}" for s in sprints for name in wanted.sprint_files}
        kinds = {name: _kind(top, name) for name in sorted(wanted.names | inside)}
        files = frozenset(name for name, kind in kinds.items() if kind == stat.S_IFREG)
        folders = frozenset(name for name, kind in kinds.items() if kind == stat.S_IFDIR)
        texts = {name: _beginning(top, name) for name in sorted(files & wanted.read)}
    programs = frozenset(_programs(wanted.programs, path, root=root))
    return Surroundings(files, folders, texts, tuple(sprints), programs)


def _kind(top: int, path: str) -> int | None:
    """Return the kind of file at a path without links on its way; None if there is none."""
    folder, _, name = path.rpartition("/")
    with suppress(OSError), opened_below(top, folder) as held:
        return stat.S_IFMT(os.stat(name, dir_fd=held, follow_symlinks=False).st_mode)
    return None


def _beginning(top: int, path: str) -> str:
    folder, _, name = path.rpartition("/")
    with suppress(OSError), opened_below(top, folder) as held:
        content = read_plain(name, at_most=TEXT_BYTES_MAX, folder=held)
        return content.decode(errors="replace")
    return ""


def _sprints(top: int, folder: str, wanted: Wanted) -> Iterator[str]:
    """Yield the folders below one that hold a sprint's file, those with plain names."""
    names: list[str] = []
    with suppress(OSError), opened_below(top, folder) as held, os.scandir(held) as entries:
        names = [entry.name for entry in islice(entries, ENTRIES_MAX)]
    plain = sorted(name for name in names if _PLAIN.fullmatch(name))
    found = (f"{folder}/{name}" for name in plain)
    holding = (s for s in found if any(_is_file(top, s, f) for f in wanted.sprint_files))
    yield from islice(holding, SPRINTS_MAX)


def _is_file(top: int, folder: str, name: str) -> bool:
    return _kind(top, f"{folder}/{name}") == stat.S_IFREG


def _programs(names: Iterable[str], path: str, *, root: Path) -> Iterator[str]:
    """Yield the programs on a PATH, except those inside the work tree."""
    tree = root.resolve()
    folders = [Path(one) for one in path.split(os.pathsep) if os.path.isabs(one)]
    for name in names:
        for folder in folders:
            program = folder / name
            if not (os.path.isfile(program) and os.access(program, os.X_OK)):
                continue
            if not program.resolve().is_relative_to(tree):
                yield name
                break


PROGRESS, SPRINT = "PROGRESS.yaml", "SPRINT.yaml"
JOURNALS = (".ralph/progress.json", "progress.json")
TEXTS = (
    *(".ralph/progress.txt", "scripts/ralph/progress.txt"),
    *("progress.txt", "claude-progress.txt"),
)
SPRINTS_IN = (".claude/sprints", "sprints")

_PLACES = tomllib.loads(
    files("sprintlog.cli.begin").joinpath("places.toml").read_text("utf-8")
)
LOOPS = {place: one for one in _PLACES["kinds"] if "what" in one for place in one["places"]}
"""Records of other tools, and the kind of import that reads them."""
EXTENDED: dict[str, str] = _PLACES["tools"]
"""Those that an importer of an extension reads, and its name."""

AGENTS: dict[str, tuple[str, list[str]]] = _PLACES["agents"]
"""How an agent is given a prompt (docs/reference/agents.md), and its signs in a tree."""

PYTEST = "iteration baseline --run 'pytest --junitxml=report.xml' --report report.xml"
BUILD = "iteration baseline --build {}"

CI: dict[str, str] = _PLACES["ci"]
TEST_FILES = {"pytest.ini", "conftest.py", "pyproject.toml", "setup.cfg", "tox.ini"} | {
    *("package.json", "go.mod", "Cargo.toml", "Makefile")
}

WANTED = Wanted(
    names=frozenset(
        {PROGRESS, SPRINT, *JOURNALS, *TEXTS, *LOOPS, *EXTENDED, *CI, *TEST_FILES}
        | {sign for _, signs in AGENTS.values() for sign in signs}
    ),
    read=frozenset({*JOURNALS, *TEST_FILES} - {"go.mod", "Cargo.toml"}),
    sprints_in=SPRINTS_IN,
    sprint_files=(PROGRESS, SPRINT),
    programs=frozenset(AGENTS),
)


def offers(found: Surroundings, *, prefix: str = "") -> list[Offer]:
    """Return what fits what was found; `prefix` leads from where one stands to the root."""
    there = (*_documents(found, prefix), *_loops(found, prefix), *_agents(found))
    return [*there, *_tests(found), *_ci(found)]


def _documents(found: Surroundings, prefix: str) -> Iterator[Offer]:
    """Yield the files that are read: of sprints, and of a journal."""
    for folder in ("", *(f"{sprint}/" for sprint in found.sprints)):
        file = quoted(f"{prefix}{folder}{PROGRESS}")
        if f"{folder}{PROGRESS}" in found.files:
            said = "the state of a sprint, imported as it is; --git: all its commits"
            yield _offer("state", folder + PROGRESS, said, f"import progress {file}", True)
        elif f"{folder}{SPRINT}" in found.files:
            file = quoted(f"{prefix}{folder}{SPRINT}")
            said = "a sprint that can be compiled"
            yield _offer("plan", folder + SPRINT, said, f"compile {file}")
    for name in JOURNALS:
        # Another tool has a file of this name with other fields.
        if name in found.files and '"entries"' in found.texts.get(name, ""):
            said, file = "a journal of what was tried and learned", quoted(prefix + name)
            yield _offer("state", name, said, f"import journal {file}")
            return
    for name in TEXTS:
        if name in found.files:
            said, file = "what a loop wrote down, as text", quoted(prefix + name)
            yield _offer("state", name, said, f"journal migrate {file}")
            return


def _loops(found: Surroundings, prefix: str) -> Iterator[Offer]:
    there, told = found.files | found.folders, set[str]()
    for sign, one in LOOPS.items():
        named = prefix or "." if "is_folder" in one else f"{prefix}{sign}"
        command = f"import {one['kind']} {quoted(named)}"
        if sign in there and command not in told:
            told.add(command)
            yield _offer("loop", sign, one["what"], command)
    for sign, tool in EXTENDED.items():
        if sign in there:
            said = f"of {tool}; an importer that an extension brings reads it"
            yield _offer("loop", sign, said, f"import {quoted(prefix or '.')}")


def _agents(found: Surroundings) -> Iterator[Offer]:
    """Yield the agents that can be started, those that the tree is made for first."""
    there = found.files | found.folders
    signs = {name: sorted(there & {*signs}) for name, (_, signs) in AGENTS.items()}
    for name in sorted(AGENTS, key=lambda name: not signs[name]):
        command, _ = AGENTS[name]
        if name in found.programs:
            made = f", and {signs[name][0]} is for it" if signs[name] else ""
            said = f"an agent that can be started{made}"
            yield _offer("agent", name, said, f"run -- {command}")
        elif signs[name]:
            said = f"of the agent {name}, which is not on the PATH"
            yield Offer("agent", signs[name][0], said)


def _tests(found: Surroundings) -> Iterator[Offer]:
    texts = found.texts
    in_settings = "[tool.pytest" in texts.get("pyproject.toml", "")
    in_settings |= "[tool:pytest]" in texts.get("setup.cfg", "")
    in_settings |= "[pytest]" in texts.get("tox.ini", "")
    if in_settings or found.files & {"pytest.ini", "conftest.py"}:
        yield _offer("tests", "pytest", "measures the state before any change", PYTEST)
    script = re.search(r'"scripts"\s*:\s*\{[^}]*"test"\s*:', texts.get("package.json", ""))
    makes = re.search(r"^test\s*:", texts.get("Makefile", ""), re.MULTILINE)
    for command, is_there in (
        ("npm test", script is not None),
        ("go test ./...", "go.mod" in found.files),
        ("cargo test", "Cargo.toml" in found.files),
        ("make test", makes is not None),
    ):
        if is_there:
            said = "for a loop: what it says now is where you begin"
            yield _offer("tests", command, said, BUILD.format(quoted(command)))


def _ci(found: Surroundings) -> Iterator[Offer]:
    for sign, name in CI.items():
        if sign not in found.files | found.folders:
            continue
        if sign == ".github/workflows":
            said = f"of {name}: a step can show the report"
            command = 'report >> "$GITHUB_STEP_SUMMARY"'
            yield _offer("ci", sign, said, command)
        else:
            said = f"of {name}: a step can check the log"
            yield _offer("ci", sign, said, "verify")


def _offer(kind: str, found: str, says: str, command: str, is_safe: bool = False) -> Offer:
    return Offer(kind, found, says, f"sprintlog {command}", is_safe)
