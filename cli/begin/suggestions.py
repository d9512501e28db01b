"""Suggestions for a work tree: commands that match the files and programs found.

Programs and files found are not run, links are not followed, and only the beginning of
each file is read.
"""

import json
import os
import re
import shutil
import stat
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.engine.adapters.folders import opened, opened_below, read_plain
from sprintlog.engine.adapters.hooks import forms
from sprintlog.engine.adapters.hooks.files import SCOPES, HookFile, HookLocation
from sprintlog.engine.readable import quoted
from sprintlog.projections.views.log import Offer

TEXT_BYTES_MAX = 64 * 1024
ENTRIES_MAX = 200
"""The maximum number of entries examined in a folder of sprints."""
SPRINTS_MAX = 5
"""The maximum number of sprints named per folder."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
"""Matches names that require no quoting."""


class Surroundings(NamedTuple):
    """The relevant files, folders and programs that were found."""

    files: frozenset[str]
    folders: frozenset[str]
    texts: dict[str, str]
    """The beginnings of the relevant files."""
    sprints: tuple[str, ...]
    """Folders that contain the files of one sprint each."""
    programs: frozenset[str]


def look(root: Path, *, path: str) -> Surroundings:
    """Return the relevant files and folders below a folder, and the agents on a PATH."""
    with opened(root) as top:
        sprints = [sprint for folder in SPRINTS_IN for sprint in _sprints(top, folder)]
        inside = {f"{sprint}/{name}" for sprint in sprints for name in SPRINT_FILES}
        kinds = {name: _kind(top, name) for name in sorted(NAMES | inside)}
        files = frozenset(name for name, kind in kinds.items() if kind == stat.S_IFREG)
        folders = frozenset(name for name, kind in kinds.items() if kind == stat.S_IFDIR)
        texts = {name: _beginning(top, name) for name in sorted(files & READ)}
    programs = frozenset(_programs(AGENTS, path, root=root))
    return Surroundings(files, folders, texts, tuple(sprints), programs)


def _kind(top: int, path: str) -> int | None:
    """Return a path's file type, or None if the path is missing or a parent is a link."""
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


def _sprints(top: int, folder: str) -> Iterator[str]:
    """Yield the subfolders that have plain names and contain a sprint's file."""
    names: list[str] = []
    with suppress(OSError), opened_below(top, folder) as held, os.scandir(held) as entries:
        names = [entry.name for entry in islice(entries, ENTRIES_MAX)]
    plain = sorted(name for name in names if _PLAIN.fullmatch(name))
    found = (f"{folder}/{name}" for name in plain)
    holding = (
        one
        for one in found
        if stat.S_IFREG in [_kind(top, f"{one}/{name}") for name in SPRINT_FILES]
    )
    yield from islice(holding, SPRINTS_MAX)


def _programs(names: Iterable[str], path: str, *, root: Path) -> Iterator[str]:
    """Yield the named programs found on a PATH outside the work tree."""
    tree = root.resolve()
    folders = [one for one in path.split(os.pathsep) if os.path.isabs(one)]
    for name in names:
        found = [one for folder in folders if (one := shutil.which(name, path=folder))]
        if any(not Path(one).resolve().is_relative_to(tree) for one in found):
            yield name


PROGRESS, SPRINT = SPRINT_FILES = ("PROGRESS.yaml", "SPRINT.yaml")
SPRINTS_IN = (".claude/sprints", "sprints")

PLACES = tomllib.loads(files(__package__).joinpath("places.toml").read_text("utf-8"))
"""The locations of other tools' records, and how their contents are recognized."""
KINDS: list[dict[str, Any]] = PLACES["kinds"]
LOOPS = {place: one for one in KINDS if "what" in one for place in one["places"]}
"""The kind of import for each location of another tool's records."""
EXTENDED: dict[str, str] = PLACES["tools"]
"""The importer extension for each location that only an extension can read."""

AGENTS: dict[str, tuple[str, list[str]]] = PLACES["agents"]
"""How each agent receives a prompt (docs/reference/agents.md), and its files in a tree."""

OFFERS: list[dict[str, Any]] = PLACES["offers"]
"""Further offers, each with the file and the line by which it is recognized."""
SIGNS = {sign: line for one in OFFERS for sign, line in one["signs"].items()}
OWN_TEXTS = {"CLAUDE.md", "GEMINI.md"}
"""The files of instructions that may import AGENTS.md."""
NAMES = {*SPRINT_FILES, *LOOPS, *EXTENDED, *SIGNS, *OWN_TEXTS} | {
    sign for _, signs in AGENTS.values() for sign in signs
}
NAMES |= {one["also"] for one in OFFERS if "also" in one}
READ = {sign for sign, line in SIGNS.items() if line} | OWN_TEXTS


def offers(found: Surroundings, *, prefix: str = "") -> list[Offer]:
    """Return suggested commands; `prefix` is the path from this folder to the root."""
    there = (*_documents(found, prefix), *_stated(found, prefix, "state", "loop"))
    there += (*_loops(found, prefix), *_agents(found))
    return [*there, *_stated(found, prefix, "tests", "ci")]


def _documents(found: Surroundings, prefix: str) -> Iterator[Offer]:
    """Yield an offer for each sprint file."""
    for folder in ("", *(f"{sprint}/" for sprint in found.sprints)):
        file = quoted(f"{prefix}{folder}{PROGRESS}")
        if f"{folder}{PROGRESS}" in found.files:
            said = "a sprint's state, imported unchanged"
            yield _offer("state", folder + PROGRESS, said, f"import progress {file}", True)
        elif f"{folder}{SPRINT}" in found.files:
            file = quoted(f"{prefix}{folder}{SPRINT}")
            said = "a sprint that can be compiled"
            yield _offer("plan", folder + SPRINT, said, f"compile {file}")


def _stated(found: Surroundings, prefix: str, *kinds: str) -> Iterator[Offer]:
    """Yield an offer for the first match of each table row of the given kinds."""
    for one, sign in _matches(found, *kinds):
        command = one["command"].format(file=quoted(prefix + sign))
        yield _offer(one["kind"], one.get("found", sign), one["says"], command)


def _matches(found: Surroundings, *kinds: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the matching table rows of the given kinds, each with its first sign."""
    told: set[tuple[str, str]] = set()
    for one in (one for one in OFFERS if one["kind"] in kinds):
        there = found.files | (found.folders if one["kind"] == "ci" else set())
        if one.get("also", "") not in {"", *there}:
            continue
        for sign, line in one["signs"].items():
            text = found.texts.get(sign, "")
            if sign in there and (not line or re.search(line, text, re.MULTILINE)):
                if one["kind"] != "tests" or ("tests", sign) not in told:
                    yield one, sign
                told.add((one["kind"], sign))
                break


def measure_of(found: Surroundings) -> str | None:
    """Return the command that runs the tests of a work tree, or None."""
    return next((one["found"] for one, _ in _matches(found, "tests")), None)


def agents_of(found: Surroundings) -> list[str]:
    """Return the agents with a program on the PATH or with files in the tree."""
    # Several agents read AGENTS.md, and `setup` creates it.
    there = (found.files | found.folders) - {"AGENTS.md"}
    return [
        name.partition("-")[0]
        for name, (_, signs) in AGENTS.items()
        if name in found.programs or there & {*signs}
    ]


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
            said = f"a file of {tool}; requires an extension's importer"
            yield _offer("loop", sign, said, f"import {quoted(prefix or '.')}")


def _agents(found: Surroundings) -> Iterator[Offer]:
    """Yield an offer for each agent, starting with agents that have files in the tree."""
    there = found.files | found.folders
    signs = {name: sorted(there & {*signs}) for name, (_, signs) in AGENTS.items()}
    for name in sorted(AGENTS, key=lambda name: not signs[name]):
        command, _ = AGENTS[name]
        if name in found.programs:
            made = f", and {signs[name][0]} is for it" if signs[name] else ""
            said = f"an installed agent{made}"
            yield _offer("agent", name, said, f"run -- {command}")
        elif signs[name]:
            said = f"a file of the agent {name}, which is not on the PATH"
            yield Offer("agent", signs[name][0], said)


def _offer(kind: str, found: str, says: str, command: str, is_safe: bool = False) -> Offer:
    return Offer(kind, found, says, f"sprintlog {command}", is_safe)


TRANSCRIPTS_MB = 200
_IMPORTS_AGENTS = ("@AGENTS.md", "@./AGENTS.md")


class AgentFiles(NamedTuple):
    """The files of a work tree or of a user that `setup` changes."""

    around: HookLocation
    found: Surroundings
    agents: list[str]
    copies: bool
    """Whether to copy transcripts."""
    scope: str
    root: Path
    """The work tree's root, or the user's home folder."""

    @property
    def is_own(self) -> bool:
        """Return whether only the user's own files are changed."""
        return self.scope != SCOPES[0]

    def file(self, agent: str, what: str) -> HookFile:
        """Return one of the files, with the content to install."""
        content = ""
        if what == forms.SKILL:
            content = files(__package__).joinpath("skill.md").read_text("utf-8")
        elif what == forms.TRANSCRIPTS:
            content = f"copy-transcripts = {TRANSCRIPTS_MB}\n"
        elif what == forms.MEASURE and (command := measure_of(self.found)):
            if command.startswith("./") and not os.access(self.root / command, os.X_OK):
                command = f"sh {command}"
            content = f"run = {json.dumps([command])}\n"
        return self.around.file(agent, self.scope, what=what, content=content)

    def section(self, agent: str) -> HookFile:
        """Return the file of instructions that an agent reads.

        An agent that reads CLAUDE.md or GEMINI.md may import or link AGENTS.md there.
        """
        common = self.file(forms.EVERYBODY, forms.SECTION)
        if agent not in forms.FILES[forms.SECTION]:
            links = {
                form.project: name for name, form in forms.FILES[forms.SECTION].items()
            }
            return self.file(links.get(_link(common.path), forms.EVERYBODY), forms.SECTION)
        own = self.file(agent, forms.SECTION)
        words = self.found.texts.get(own.below, "").split()
        imports = any(word.rstrip(".,;:)") in _IMPORTS_AGENTS for word in words)
        return common if imports or _link(own.path) == common.below else own


def _link(path: Path) -> str:
    """Return the target of a link next to a file, or an empty text."""
    return os.readlink(path).removeprefix("./") if path.is_symlink() else ""
