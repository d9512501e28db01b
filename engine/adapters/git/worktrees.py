"""Linked worktrees for attempts: created at a commit, with copied files, and removed.

The repository belongs to the user, so git uses its settings, such as filters. Hooks,
monitors and the network are not used.
"""

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ...errors import InvalidInputError, RefusedError
from ..folders import opened_below
from .command import SECONDS_MAX, Git, said_by
from .repositories import git_directory

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.file.allow=always",
)
_ABOVE = 3
"""An attempt's worktree is `attempts/ID/RACE/N` in the folder of local state."""
_PROC = Path("/proc")


class OwnRepository:
    """The repository of a work tree, in which git creates worktrees."""

    def __init__(self, top: Path, environment: Mapping[str, str]) -> None:
        self.top = top
        self.held: tuple[int, ...] = ()
        """The descriptors that git inherits, such as locks."""
        self._program = Git(top, environment).program
        self._environment = {
            **{n: x for n, x in environment.items() if not n.startswith("GIT_")},
            **{n: x for n, x in environment.items() if n.startswith("GIT_CONFIG_")},
            "GIT_ALLOW_PROTOCOL": "file",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }

    def git(self, *arguments: str, settings: tuple[str, ...] = ()) -> str:
        """Return git's output; raise `RefusedError` if the call fails."""
        given = [part for one in (*_SETTINGS, *settings) for part in ("-c", one)]
        done = subprocess.run(
            [self._program, *given, "-C", str(self.top), *arguments],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            pass_fds=self.held,
            timeout=SECONDS_MAX,
        )
        if done.returncode:
            said = said_by(done.stderr, done.returncode)
            raise RefusedError(f"git {arguments[0]} failed in {self.top}: {said}")
        return done.stdout.decode(errors="surrogateescape")

    def commit(self) -> str:
        """Return the commit that is checked out; raise `RefusedError` before the first."""
        if not self.has("HEAD"):
            raise RefusedError(
                "attempts start from a commit, and this repository has none",
                hint="run `git commit` first",
            )
        return self.git("rev-parse", "HEAD").strip()

    def has(self, name: str) -> bool:
        """Return whether the repository has a commit, or a file `COMMIT:./PATH`."""
        try:
            return self.git("rev-parse", "--verify", "-q", f"{name}^{{object}}") != ""
        except RefusedError:
            return False

    def uncommitted(self) -> int:
        """Return the number of changed or untracked paths."""
        said = self.git("status", "--porcelain", "--ignore-submodules=dirty", "-z")
        return sum(part[2:3] == " " for part in said.split("\0"))

    def add(self, path: Path, commit: str) -> None:
        """Create a worktree at a commit, without a branch; replace a half-made one."""
        shutil.rmtree(path, ignore_errors=True)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        force = ("--force", "--force")
        self.git("worktree", "add", *force, "--detach", "--quiet", str(path), commit)
        path.chmod(0o700)

    def known(self, path: Path) -> dict[str, str] | None:
        """Return what git knows of a worktree, which need no longer exist.

        Keys are those of `git worktree list`, such as `HEAD`, `detached` and `locked`.
        """
        # The option -z requires git 2.36.
        for part in self.git("worktree", "list", "--porcelain").strip("\n").split("\n\n"):
            known = dict(line.partition(" ")[::2] for line in part.split("\n"))
            if _real(Path(known["worktree"])) == _real(path):
                return known
        return None

    def remove(self, path: Path, also: Sequence[str] = ()) -> None:
        """Remove an attempt's worktree without following links; it may be gone already.

        Files next to it with its name and the suffixes `also` are removed as well. Raise
        `RefusedError` if a file cannot be removed; a later call continues.
        """
        base, above = path.parents[_ABOVE], path.parent
        try:
            with opened_below(base, above.relative_to(base).as_posix()) as folder:
                if is_plain(path):
                    shutil.rmtree(path.name, dir_fd=folder)
                for suffix in also:
                    with suppress(FileNotFoundError):
                        os.unlink(f"{path.name}{suffix}", dir_fd=folder)
        except FileNotFoundError:
            # A part of the path does not exist, either.
            pass
        except OSError as error:
            where = os.fsencode(error.filename or path).decode(errors="backslashreplace")
            raise RefusedError(f"cannot remove {where}: {error.strerror}") from error
        if self.known(path) is not None:
            self.git("worktree", "remove", "--force", "--force", str(path))
        with suppress(OSError):
            above.rmdir()

    def submodules(self, tree: Path) -> Iterator[str]:
        """Create a worktree's submodules from their local clones; yield the omitted paths.

        Only submodules that this work tree uses are created.
        """
        if not (tree / ".gitmodules").is_file():
            return
        own = OwnRepository(tree, self._environment)
        own.held = self.held
        said = own.git("config", "-f", ".gitmodules", "-z", "--get-regexp", r"\.path$")
        for line in filter(None, said.split("\0")):
            key, _, path = line.partition("\n")
            place = git_directory(self.top / path / ".git")
            url = f"{key.removesuffix('.path')}.url={place and place.resolve()}"
            try:
                if place is None:
                    raise RefusedError("this work tree does not use it")
                own.git("submodule", "update", "--init", "-q", "--", path, settings=(url,))
            except RefusedError:
                yield path


def _real(path: Path) -> str:
    return os.path.join(os.path.realpath(path.parent), path.name)


def in_use(tree: Path) -> str | None:
    """Return why a worktree must not be removed: a process or a mounted file system."""
    top = os.path.realpath(tree)
    for name in filter(str.isdigit, os.listdir(_PROC) if _PROC.is_dir() else ()):
        with suppress(OSError):
            if Path(os.readlink(_PROC / name / "cwd")).is_relative_to(top):
                return f"process {name} is working in it"
    with suppress(OSError):
        mounts = (_PROC / "self/mountinfo").read_text("utf-8", "surrogateescape")
        for line in mounts.splitlines():
            point = re.sub(r"\\([0-7]{3})", lambda x: chr(int(x[1], 8)), line.split(" ")[4])
            if Path(point).is_relative_to(top):
                return f"a file system is mounted at {point}"
    return None


def is_plain(path: Path) -> bool:
    """Return whether an attempt's worktree exists; raise `RefusedError` for a link."""
    base = path.parents[_ABOVE]
    try:
        with opened_below(base, path.parent.relative_to(base).as_posix()) as folder:
            found = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise RefusedError(f"{path} cannot be removed: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode):
        raise RefusedError(
            f"{path} cannot be removed: it is a link or a file, not a work tree",
            hint="look where it leads, and remove it yourself",
            file=str(path),
        )
    return True


def copy(path: str, source: Path, target: Path) -> None:
    """Copy a file or folder to the same place in another tree; links remain links.

    Raise `InvalidInputError` if the path is not in the tree or does not exist.
    """
    check_inside(path, source)
    here, there = source / path, target / path
    if target.resolve() not in (there.parent.resolve(), *there.parent.resolve().parents):
        raise InvalidInputError(f"{path}: a link leads out of the worktree", field="--copy")
    there.parent.mkdir(parents=True, exist_ok=True)
    if there.is_dir() and not there.is_symlink():
        shutil.rmtree(there)
    else:
        there.unlink(missing_ok=True)
    if here.is_dir() and not here.is_symlink():
        shutil.copytree(here, there, symlinks=True)
    else:
        shutil.copy2(here, there, follow_symlinks=False)


def check_inside(path: str, root: Path) -> None:
    """Raise `InvalidInputError` unless a path is a file or folder in a work tree."""
    parts = Path(path).parts
    is_inside = parts and not Path(path).is_absolute() and not {"..", ".git"} & {*parts}
    if not is_inside or (root / path).parent.resolve() != (root.resolve() / path).parent:
        raise InvalidInputError(f"{path[:200]} is not in the work tree", field="--copy")
    if not os.path.lexists(root / path):
        raise InvalidInputError(f"{path[:200]} does not exist", field="--copy")
