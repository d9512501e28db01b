"""Play the terminal sessions of a page in a separate folder, like a reader would.

Every `console` block is part of one session: a line `$ command` is typed, and the lines
below it are the expected output, `…` standing for anything on a line and alone for any
lines. A block that begins with a comment that names a file (`# plan.yaml`) is saved as
that file. A command must succeed unless the next one is `echo $?`.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
ANYTHING = "…"
SECONDS_MAX = 300
"""A session that takes longer hangs."""

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"(?:#|//) ([\w-]+\.\w+)\n")
_BEGIN, _END = "\x1d", "\x1e"
_MARKS = r"""
__begin() { __code=$?; printf '\x1d'; return $__code; }
__end() { __code=$?; printf '\x1e%d\n' $__code; return $__code; }
"""


class Typed(NamedTuple):
    """One command of a session, and the output shown on its page."""

    command: str
    shown: list[str]


class Session(NamedTuple):
    """The files that a page makes its reader save, and the commands to type."""

    files: dict[str, str]
    commands: list[Typed]


class Answer(NamedTuple):
    """The result of a command."""

    code: int
    output: str


def session_of(page: Path) -> Session:
    """Return the session of a page."""
    session = Session({}, [])
    for kind, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if named := _FILE.match(text):
            session.files[named[1]] = text
        elif kind == "console":
            session.commands.extend(_commands(text))
    return session


def begin(
    session: Session, folder: Path, *, commands: Path | None = None
) -> subprocess.Popen[str]:
    """Start to play a session in a folder; `commands` contains the `sprintlog` to use."""
    for name, text in session.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    script = _MARKS + "".join(
        f"__begin\n{typed.command}\n__end\n" for typed in session.commands
    )
    return subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder,
        env=_environment(folder, commands),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )


def answers(playing: subprocess.Popen[str]) -> list[Answer]:
    """Return the answer of each command of a session."""
    try:
        printed, _ = playing.communicate(timeout=SECONDS_MAX)
    finally:
        playing.kill()
        playing.wait()
    found = []
    for piece in printed.split(_BEGIN)[1:]:
        output, _, code = piece.rpartition(_END)
        found.append(Answer(int(code), output))
    return found


def differences(session: Session, given: list[Answer]) -> list[str]:
    """Return where a session differs from its page."""
    wrong = [] if len(given) == len(session.commands) else ["the session broke off"]
    following = [typed.command for typed in session.commands[1:]] + [""]
    for typed, answer, after in zip(session.commands, given, following, strict=False):
        if answer.code and not after.startswith("echo $?"):
            wrong.append(f"{typed.command}: exit code {answer.code}\n{answer.output}")
        elif not _matches(typed.shown, answer.output):
            shown = "\n".join(typed.shown)
            wrong.append(f"{typed.command}\nshown:\n{shown}\nanswered:\n{answer.output}")
    return wrong


def _commands(text: str) -> list[Typed]:
    found: list[Typed] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(Typed(line[2:], []))
        elif line.startswith("> ") and not found[-1].shown:
            found[-1] = Typed(f"{found[-1].command}\n{line[2:]}", [])
        else:
            found[-1].shown.append(line)
    return [typed for typed in found if _can_run(typed.command)]


def _can_run(command: str) -> bool:
    return not command.startswith("node ") or shutil.which("node") is not None


def _matches(shown: list[str], output: str) -> bool:
    lines = [r"(?:.*\n)*" if line == ANYTHING else _line(line) + r"\n" for line in shown]
    return re.fullmatch("".join(lines), output) is not None


def _line(line: str) -> str:
    return ".*".join(map(re.escape, line.split(ANYTHING)))


def _environment(folder: Path, commands: Path | None) -> dict[str, str]:
    first = [str(commands)] if commands else []
    path = [*first, str(Path(sys.executable).parent), os.environ["PATH"]]
    # No log is created in HOME itself.
    home = folder.with_name(f"{folder.name}-home")
    home.mkdir(exist_ok=True)
    return {
        "PATH": os.pathsep.join(path),
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ana",
        "GIT_AUTHOR_EMAIL": "ana@example.com",
        "GIT_COMMITTER_NAME": "Ana",
        "GIT_COMMITTER_EMAIL": "ana@example.com",
    }
