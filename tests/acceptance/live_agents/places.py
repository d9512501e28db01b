"""New repositories in which a real agent works, with an installed sprintlog."""

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..commands import run
from .model_server import ModelServer
from .programs import Environment, Program, environment
from .runs import git

_SETTLES_SECONDS = 60


class Place(NamedTuple):
    """A repository, and the environment in which its owner works."""

    program: Program
    work: Path
    env: Environment

    def run(self, *arguments: str) -> str:
        """Return the output of a sprintlog command; raise `AssertionError` if it fails."""
        return run(self.work, *arguments, **self.env).decode()

    def ask(self, *arguments: str) -> Any:
        """Return the answers of a sprintlog command: a list, one for each line."""
        return [json.loads(line) for line in self.run(*arguments, "--json").splitlines()]

    def iterations(self, count: int, *, measured: bool = True) -> list[Any]:
        """Return the iterations once `count` of them are finished, or those after 60 s."""
        ends = time.monotonic() + _SETTLES_SECONDS
        while True:
            try:
                found: list[Any] = self.ask("list")[0]
            except AssertionError:
                found = []
            done = [
                x for x in found if x.get("status") and (x.get("metrics") or not measured)
            ]
            if len(done) >= count or time.monotonic() > ends:
                return found
            time.sleep(0.1)


@contextmanager
def new_place(
    program: Program,
    server: ModelServer,
    folder: Path | None,
    files: Mapping[str, str] | None = None,
) -> Iterator[Place]:
    """Make a repository whose first commit contains the files, trusted by the agent."""
    # A turn may still be recorded in the background when its place is removed.
    with tempfile.TemporaryDirectory("", "sprintlog-live-", None, True) as name:
        home, work = Path(name) / "home", Path(name) / "work"
        home.mkdir()
        work.mkdir()
        git(work, "init", "-q")
        for path, content in (files or {}).items():
            (work / path).write_text(content)
            (work / path).chmod(0o755 if path.endswith(".sh") else 0o644)
        git(work, "add", ".")
        git(work, "commit", "-q", "--allow-empty", "-m", "first")
        env = environment(program, home, server.url, folder=folder)
        env["PATH"] = f"{_our_program(Path(name) / 'bin')}:{env['PATH']}"
        env["COPILOT_ALLOW_ALL"] = "true"
        trust(program, home, work)
        server.ledger.taken()
        server.lingers.clear()
        yield Place(program, work, env)


def trust(program: Program, home: Path, work: Path) -> None:
    """Allow an agent to use settings from a work tree, as a user would."""
    if program.name == "codex":
        with (home / ".codex" / "config.toml").open("a") as file:
            file.write(f'[projects."{work}"]\ntrust_level = "trusted"\n')


def _our_program(folder: Path) -> Path:
    """Return a folder in which hooks find sprintlog."""
    folder.mkdir()
    program = folder / "sprintlog"
    python = sys.executable
    program.write_text(f"#!/bin/sh\nexec '{python}' -m sprintlog.cli \"$@\"\n")
    program.chmod(0o755)
    return folder
