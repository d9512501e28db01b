"""The `sprintlog demo` command: a small sprint in a new folder."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from sprintlog.engine.errors import RefusedError

from .. import typed
from ..output import coloured, print_styled, print_text, visible
from ..screen.terminal import ATTENTION, GOOD

PLAN = """\
phases:
  - id: setup
    prompt: Make a branch and read the code
  - id: build
    steps:
      - id: login
        prompt: Let people log in
        phases:
          - id: implement
            prompt: Implement the login
          - id: check
            prompt: Run the tests of the login
  - id: review
    prompt: Read the whole change once more
"""
STATE_FILE = "PROGRESS.yaml"
COMMAND = [sys.executable, "-P", "-m", "sprintlog.cli"]


@typed.command("demo")
@typed.path_argument("folder", required=False)
def command(folder: Path | None) -> None:
    """Play a short sprint in a new folder to show every command.

    The demo records events, simulates a crash, rebuilds the same bytes, detects a manual
    edit, rolls back, restores the files of an iteration, and verifies the log. The folder
    remains for inspection.

    Example: sprintlog demo
    """
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="sprintlog-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise RefusedError(f"{folder} is not empty", hint="specify a new folder")
    _Demo(folder).play()


class _Demo:
    """One run of the demo in its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._login = folder, folder / "login.py"
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SPRINTLOG_", "_SPRINTLOG"))
        }
        self._place: dict[str, Any] = {"cwd": folder, "env": environment}

    def play(self) -> None:
        """Run every scene; raise `RefusedError` if a scene does not end as expected."""
        self._record()
        self._crash()
        self._edit()
        self._roll_back()
        self._bring_back()
        self._say("Is the record still what was recorded?")
        self._run("verify")
        print_text("", f"to explore the demo: cd {self._folder}")

    def _record(self) -> None:
        self._say(f"A plan in {self._folder}/plan.yaml")
        (self._folder / "plan.yaml").write_text(PLAN)
        print_text(*PLAN.splitlines())
        self._say("Record what happens")
        self._run("init", "--here")
        self._run("sprint", "create", "demo", "--plan", "plan.yaml")
        self._run("sprint", "start")
        self._run("iteration", "start")
        self._run("phase", "start", "setup")
        self._run("phase", "complete", "setup", "--summary", "on branch login")
        self._run("iteration", "start")
        self._run("phase", "start", "build/login/implement", "--model", "sonnet")
        self._run("status")

    def _crash(self) -> None:
        self._say("A recording process is killed with SIGKILL after its last answer")
        piped = subprocess.PIPE
        recorder = subprocess.Popen(
            [*COMMAND, "append"], stdin=piped, stdout=piped, **self._place
        )
        assert recorder.stdin is not None
        assert recorder.stdout is not None
        line = b'{"type": "note-added", "data": {"text": "about to crash"}}\n'
        print_text(f"$ sprintlog append <<< '{line.decode().strip()}'")
        recorder.stdin.write(line)
        recorder.stdin.flush()
        print_text(recorder.stdout.readline().decode().rstrip())
        os.kill(recorder.pid, signal.SIGKILL)
        recorder.communicate()
        before = self._digest()
        print_text(f"PROGRESS.yaml  sha256 {before}")
        self._say("... and the state file is lost with it")
        print_text(f"$ rm {STATE_FILE}")
        (self._folder / STATE_FILE).unlink()
        self._run("rebuild")
        after = self._digest()
        print_text(f"PROGRESS.yaml  sha256 {after}")
        self._check(before == after, "the rebuilt file is not the same")
        print_styled(coloured("the same bytes", GOOD))
        self._run("log", "--last", "2")

    def _edit(self) -> None:
        self._say("Somebody edits the state file by hand")
        path = self._folder / STATE_FILE
        path.write_text(
            path.read_text().replace("status: in-progress", "status: completed")
        )
        print_text(f"$ sed -i 's/status: in-progress/status: completed/' {STATE_FILE}")
        self._run("phase", "complete", "build/login/implement", "--summary", "done")
        self._run("log", "--type", "edit-observed")
        kept = list((self._folder / ".sprintlog" / "edits").iterdir())
        self._check(len(kept) == 1, "the edit was not kept")

    def _roll_back(self) -> None:
        self._say("Go back to the end of iteration 1, look, and take that back")
        before = self._digest()
        self._run("rollback", "iter:1", "--reason", "wrong direction")
        self._run("status")
        self._run("undo")
        self._check(self._digest() == before, "the undone rollback is not as before")
        self._run("status")

    def _bring_back(self) -> None:
        if shutil.which("git") is None:
            self._say("Snapshots need git, and there is none here")
            return
        self._say("Keep the files of a good iteration, then go wrong")
        self._save("print('it works')")
        self._run("iteration", "end", "--snapshot")
        self._run("iteration", "start")
        self._run("phase", "start", "build/login/check")
        self._save("print('over-refined')")
        self._run("iteration", "end", "--snapshot")
        self._say("Get plan and files of iteration 2 back, then take even that back")
        self._run("rollback", "iter:2", "--yes")
        self._check("it works" in self._login.read_text(), "the good file is not back")
        before = self._digest()
        self._run("undo", "--yes")
        self._check("over-refined" in self._login.read_text(), "the other is not back")
        self._check(self._digest() != before, "the state is not back")

    def _save(self, text: str) -> None:
        print_text(f'$ echo "{text}" > {self._login.name}')
        self._login.write_text(f"{text}\n")

    def _say(self, text: str) -> None:
        print_styled("\n" + coloured(f"# {visible(text)}", ATTENTION))

    def _run(self, *arguments: str) -> None:
        print_text(f"$ sprintlog {shlex.join(arguments)}")
        done = subprocess.run(
            [*COMMAND, *arguments], stdin=subprocess.DEVNULL, check=False, **self._place
        )
        self._check(done.returncode == 0, f"`{arguments[0]}` ended with {done.returncode}")

    def _digest(self) -> str:
        return sha256((self._folder / STATE_FILE).read_bytes()).hexdigest()

    def _check(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise RefusedError(f"the demo failed: {otherwise}", folder=str(self._folder))
