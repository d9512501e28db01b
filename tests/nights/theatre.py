"""The folder in which a night is played, and the commands typed there."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.workspace import Workspace

from .project import write_project
from .scripts import OUTSIDE, Night

SPRINTLOG = (sys.executable, "-m", "sprintlog.cli")
PATIENCE_SECONDS = 60.0


class Theatre:
    """A folder with a project, in which a night is played."""

    def __init__(self, folder: Path, night: Night) -> None:
        self.night = night
        self.printed = ""
        self.tree = write_project(folder, night.script, night.files)
        for name, text in OUTSIDE.items():
            (folder / name).write_text(text)
        self._mark = f"STARTED_IN={folder}"
        ours = {
            k: v for k, v in os.environ.items() if not k.startswith(("SPRINTLOG_", "GIT_"))
        }
        home = str(folder / "home")
        self.environment = {**ours, "STARTED_IN": str(folder), "HOME": home}
        if night.git:
            for line in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "begin")):
                subprocess.run(
                    ["git", "-c", "user.name=A", "-c", "user.email=a@b.invalid", *line],
                    cwd=self.tree,
                    env=self.environment,
                    check=True,
                )

    def type(self, *words: str, check: bool = True) -> int:
        """Type a command as a person; return its exit status."""
        return self._ended(self.start(*words), check=check)

    def type_killed(self, *words: str) -> None:
        """Type a command, and kill it and its recorder once `../reached` exists."""
        process = self.start(*words)
        self.kill(lambda: process.poll() is None)
        process.communicate()

    def kill(self, is_running: Callable[[], bool]) -> None:
        """Kill the recorder once `../reached` exists."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not (self.tree / "../reached").exists():
            assert is_running(), self.printed
            assert time.monotonic() < until
            time.sleep(0.02)
        for pid in self.ours():
            os.kill(pid, signal.SIGKILL)
        (self.tree / "../go").touch()

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start a command of sprintlog in the work tree."""
        return subprocess.Popen(
            [*SPRINTLOG, *words], cwd=self.tree, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def _ended(self, process: "subprocess.Popen[str]", *, check: bool) -> int:
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
        self.printed += said
        assert not check or process.returncode == 0, said
        return process.returncode

    def ours(self) -> list[int]:
        """Return the processes of sprintlog that belong to this night."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                is_ours = self._mark.encode() in (folder / "environ").read_bytes()
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if is_ours and b"sprintlog.cli" in command:
                found.append(int(folder.name))
        return found

    def read(self) -> Sprint | None:
        """Return the newest sprint, or None without a sprint."""
        with Workspace.open(self.tree) as workspace:
            names = [*workspace.sprints()]
            return workspace.sprint(names[-1]) if names else None
