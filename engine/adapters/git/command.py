"""Calls to git that ignore the settings of the tree and the caller.

The git directory is the snapshot store, or a temporary one with a repository's objects
(`untrusted.py`). Git therefore uses no hook, filter, attribute, monitor, remote or setting
from a tree, and fetches nothing.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from ...errors import RefusedError, SprintlogError

SECONDS_MAX = 600.0
"""The time limit for one call to git."""

_SETTINGS = (
    "core.bare=true",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.alternateRefsCommand=",
    "core.fsync=all",
    "core.fsyncMethod=fsync",
    "core.logAllRefUpdates=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "fastimport.unpackLimit=1",
    "gc.auto=0",
    "maintenance.auto=false",
    "pack.compression=1",
    "pack.threads=1",
    "safe.bareRepository=explicit",
    "safe.directory=*",
)
_KEPT = ("HOME", "XDG_CONFIG_HOME", "TMPDIR")
"""The caller's variables that git may read: they locate the user's ignore file."""
PERSONS_OWN: Mapping[str, None] = dict.fromkeys(
    ("GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL")
)
"""Variables for a call that reads the settings of the user and the machine."""


class Git:
    """Runs git commands on one git directory."""

    place = "the store of snapshots"
    purpose = "snapshots need git"

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = environment

    @cached_property
    def program(self) -> str:
        """Return git's absolute path; raise `RefusedError` if git is not installed.

        Only absolute entries of the search path are used: a tree must not provide its own
        git.
        """
        places = self.environment.get("PATH", os.defpath).split(os.pathsep)
        whole = os.pathsep.join(place for place in places if os.path.isabs(place))
        if (found := shutil.which("git", path=whole)) is None:
            raise RefusedError(
                f"{self.purpose}, but git was not found on the PATH",
                hint="install git; everything else works without it",
            )
        return found

    def settings(self, **more: str | None) -> dict[str, str]:
        """Return the environment for a call; `more` contains variables for this call only.

        A variable with the value None is omitted.
        """
        made = {
            **{n: self.environment[n] for n in _KEPT if n in self.environment},
            "PATH": self.environment.get("PATH", os.defpath),
            "LC_ALL": "C",
            "GIT_DIR": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            **more,
        }
        return {name: value for name, value in made.items() if value is not None}

    def command(self, *arguments: str, settings: Sequence[str] = ()) -> list[str]:
        """Return the command line for a call."""
        given = [part for one in (*_SETTINGS, *settings) for part in ("-c", one)]
        return [self.program, *given, "--no-pager", *arguments]

    def start(
        self,
        *arguments: str,
        stdin: int | IO[bytes] = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> "subprocess.Popen[bytes]":
        """Start a call with pipes; files created by the call are private to their owner."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            env=self.settings(),
            umask=0o077,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return a call's output; raise `GitError` if the call fails."""
        return self.run_in(self.folder, *arguments, given=given)

    def run_in(
        self,
        folder: Path,
        *arguments: str,
        given: bytes = b"",
        settings: Sequence[str] = (),
        variables: Mapping[str, str | None] | None = None,
        umask: int = 0o077,
        seconds: float = SECONDS_MAX,
    ) -> bytes:
        """Run git in another folder or with other settings, and return its output."""
        fed: dict[str, Any] = {"input": given} if given else {"stdin": subprocess.DEVNULL}
        try:
            done: subprocess.CompletedProcess[bytes] = subprocess.run(
                self.command(*arguments, settings=settings),
                cwd=folder,
                env=self.settings(**(variables or {})),
                umask=umask,
                **fed,
                capture_output=True,
                check=False,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as late:
            raise GitError(f"it took more than {seconds:.0f} s", self.place) from late
        # If objects are missing, some commands print an error and continue without them.
        if done.returncode or b"error: " in done.stderr:
            raise GitError(said_by(done.stderr, done.returncode), self.place)
        return done.stdout


class GitError(SprintlogError):
    """A call to git failed."""

    def __init__(self, said: str, place: str = Git.place) -> None:
        super().__init__(f"git failed in {place}: {said}")


def said_by(stderr: bytes, code: int) -> str:
    """Return the error that git printed, on one line."""
    lines = stderr.decode(errors="replace").strip().splitlines()
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return next(iter(fatal or lines), f"exit code {code}")
