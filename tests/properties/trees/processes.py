"""The same world with real processes: each command is one, and is killed from outside."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from .world import PATIENCE_SECONDS, Agent, Result, World

COMMAND = (sys.executable, "-m", "sprintlog.cli")
KILL_SECONDS = 0.4
"""A command that is to die is killed after a part of this time."""


class RealAgent(Agent):
    """A `wrap` as a process, whose recorder may be killed from outside."""

    def __init__(self, world: World, tree: Path, place: Path, script: str, *, dies: bool):
        self._world, self._tree, self._dies = world, tree, dies
        self._latest = self._now()
        self._said = open(place / "said", "wb")  # noqa: SIM115 (closed at the end)
        self._wrap = subprocess.Popen(
            [*COMMAND, "wrap", "--snapshot", "--", "/bin/sh", "-c", script],
            cwd=tree,
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._said,
        )
        super().__init__(self._wrap.pid, place)
        self._recorder = 0

    def _now(self) -> tuple[str, int]:
        """Return the sprint of the tree and its iteration; a new sprint may have none."""
        found = self._world.here(self._tree, "status", "--json")
        if found.code:
            return "", 0
        return found.json["sprint"], found.json["stats"].get("current-iteration", 0)

    def begin(self) -> bool:
        """Wait until its iteration is recorded; return False if its recorder was killed."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            self._recorder = self._recorder or self._find_recorder()
            if (self._place / "ready").exists():
                now = self._now()
                if self._is_at_work() and now[1] and now != self._latest:
                    (self._place / "begun").write_text(str(self._recorder))
                    return True
                if self.was_killed:
                    return False
            if self._dies and self._recorder and random.random() < 0.02:
                self._kill_recorder()
            if self._wrap.poll() is not None:
                break
            time.sleep(0.01)
        raise self._not_begun()

    def _not_begun(self) -> AssertionError:
        self.kill()
        return AssertionError(f"no agent has begun: {(self._place / 'said').read_text()}")

    def _is_at_work(self) -> bool:
        own = f"[{self._recorder},"
        found = self._world.folder.rglob("at-work/*.json")
        return any(own in file.read_text() for file in found)

    def _find_recorder(self) -> int:
        with suppress(OSError, ValueError, IndexError):
            path = f"/proc/{self.pid}/task/{self.pid}/children"
            return int(Path(path).read_text().split()[0])
        return 0

    def _kill_recorder(self) -> None:
        (self._place / "killed").touch()
        with suppress(OSError):
            os.kill(self._recorder, signal.SIGKILL)

    def end(self) -> str:
        """Let its command end; return the output of `wrap`."""
        self._let_go()
        if self._dies and self._recorder:
            time.sleep(random.random() * KILL_SECONDS / 2)
            self._kill_recorder()
        self._wrap.wait(PATIENCE_SECONDS)
        self._said.close()
        return (self._place / "said").read_text()

    def kill(self) -> None:
        """Kill `wrap` and its recorder together; let the command end."""
        self._kill_recorder()
        self._wrap.kill()
        self._wrap.wait()
        self._said.close()
        self._let_go()


class Processes(World):
    """The folders of a history, in which each command is a process."""

    def run(self, tree: Path, *words: str, die_at: int = 0) -> Result:
        """Run a command in a tree; kill it after a moment if requested."""
        ran = subprocess.Popen(
            [*COMMAND, *words],
            cwd=tree,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if die_at:
            time.sleep(random.random() * KILL_SECONDS)
            ran.kill()
        out, err = ran.communicate(timeout=PATIENCE_SECONDS)
        return Result(None if ran.returncode < 0 else ran.returncode, out, err)

    def _start(self, tree: Path, place: Path, script: str, die_at: int) -> Agent:
        return RealAgent(self, tree, place, script, dies=bool(die_at))
