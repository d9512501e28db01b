"""A repository with two worktrees and a submodule, and everybody who works in it.

Commands run in this process. An agent is a fork of it that runs `wrap`; the test edits the
files while its command waits. A command to be killed is also a fork, which kills itself at
one of its file operations, appends or starts of programs.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from sprintlog.cli.main import main
from sprintlog.cli.wrapping import frames, recorder, start
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

from ...adapters.trees import git

TREES = {"main": "main", "left": "left", "right": "right", "sub": "main/sub"}
LARGE = 1 << 20
"""Files that are larger are left out of snapshots, by the setting `file-max`."""
SETTINGS = "[snapshot]\nfile-max = 1\n"
PATIENCE_SECONDS = 60.0
"""How long a busy machine may take for what takes a moment; then the test fails."""
OWN = (".git", ".sprintlog")
LEFT_OUT = b"\0"
"""Begins what stands for the content of a path that no snapshot holds."""

Stats = dict[str, tuple[int, int, int]]
Files = dict[str, bytes]


class Result(NamedTuple):
    """The output of a command, and its exit status; None for a killed command."""

    code: int | None
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return the answer of `--json`."""
        return json.loads(self.out)


class Agent:
    """A `wrap` whose command waits until it may end."""

    def __init__(self, pid: int, place: Path) -> None:
        self.pid = pid
        self._place = place

    def begin(self) -> bool:
        """Wait until its iteration is recorded; return False if its recorder was killed."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if (self._place / "ready").exists():
                if (self._place / "begun").exists():
                    return True
                if (self._place / "killed").exists():
                    return False
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
            time.sleep(0.001)
        raise self._not_begun()

    def _not_begun(self) -> AssertionError:
        """End all processes; return the problem."""
        os.kill(self.pid, signal.SIGKILL)
        status_of(self.pid)
        with suppress(OSError):
            self._let_go(0)
        return AssertionError(f"no agent has begun: {(self._place / 'said').read_text()}")

    @property
    def was_killed(self) -> bool:
        """Return whether its recorder killed itself."""
        return (self._place / "killed").exists()

    def end(self) -> str:
        """Let its command end; return the output of `wrap`."""
        self._let_go()
        status_of(self.pid)
        return (self._place / "said").read_text()

    def kill(self) -> None:
        """Kill `wrap` and its recorder together; let the command end."""
        with suppress(OSError, ValueError):
            process = os.pidfd_open(int((self._place / "begun").read_text()))
            signal.pidfd_send_signal(process, signal.SIGKILL)
            # The process continues until the signal reaches it.
            select.select([process], [], [], PATIENCE_SECONDS)
            os.close(process)
        os.kill(self.pid, signal.SIGKILL)
        status_of(self.pid)
        self._let_go()

    def _let_go(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Let the command end, which is about to open its pipe.

        Raise `OSError` if it does not.
        """
        end = time.monotonic() + seconds
        while True:
            try:
                go = os.open(self._place / "go", os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.001)
            else:
                break
        os.write(go, b"x\n")
        os.close(go)


def status_of(pid: int) -> int:
    """Return how a child ended; one that does not end is killed, and the test fails."""
    process = os.pidfd_open(pid)
    has_ended = select.select([process], [], [], PATIENCE_SECONDS)[0]
    os.close(process)
    if not has_ended:
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    assert has_ended, f"process {pid} has not ended in {PATIENCE_SECONDS} seconds"
    return status


class World:
    """The folders of a history, and the possible actions in them."""

    is_thorough = False
    """Whether the log and some lines are checked after each step that records."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(template(), folder, symlinks=True, dirs_exist_ok=True)
        _point_to_each_other(folder, template())
        self._agents = 0

    def run(self, tree: Path, *words: str, die_at: int = 0) -> Result:
        """Run a command in a tree, optionally killed after a number of operations."""
        return self.here(tree, *words, die_at=die_at)

    def here(self, tree: Path, *words: str, die_at: int = 0) -> Result:
        """Run a command in a tree, in this process or a fork of it."""
        with _captured(self.folder / "printed") as printed, _inside(tree):
            code = _forked(words, die_at) if die_at else _called(words)
        out, err = printed
        return Result(code, out.read_text(), err.read_text())

    def agent(self, tree: Path, *, die_at: int = 0) -> Agent:
        """Start an agent in a tree; its recorder may be killed after some operations."""
        self._agents += 1
        place = self.folder / f"agent-{self._agents}"
        place.mkdir()
        os.mkfifo(place / "go")
        script = f': >"{place}/ready"; read x <"{place}/go"'
        return self._start(tree, place, script, die_at)

    def _start(self, tree: Path, place: Path, script: str, die_at: int) -> Agent:
        with _quiet():
            pid = os.fork()
        if pid == 0:
            _be_wrap(tree, place, script, die_at)
        return Agent(pid, place)


def _be_wrap(tree: Path, place: Path, script: str, die_at: int) -> NoReturn:
    """Run `wrap` in a separate process, which reports when the iteration has started."""
    try:
        os.chdir(tree)
        said = os.open(place / "said", os.O_WRONLY | os.O_CREAT)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, to in ((nothing, 0), (said, 1), (said, 2)):
            os.dup2(number, to)
        recorded: Any = vars(recorder)["_Recorded"]
        settle = recorded._settle

        def settle_then(*given: Any) -> None:
            settle(*given)
            if not (place / "begun").exists():
                (place / "begun-").write_text(str(os.getpid()))
                os.rename(place / "begun-", place / "begun")

        recorded._settle = settle_then
        vars(start)["BEFORE_SECONDS"] = PATIENCE_SECONDS
        vars(frames)["FILES_SECONDS"] = PATIENCE_SECONDS
        if die_at:
            fork = os.fork

            def fork_one_that_dies() -> int:
                # Only the recorder; starting and supervising the command is excluded.
                os.fork = fork
                if (pid := fork()) == 0:
                    _die_at(die_at, lambda: (place / "killed").touch())
                return pid

            os.fork = fork_one_that_dies
        start.main(["--snapshot", "--", "/bin/sh", "-c", script])
    finally:
        os._exit(99)


def _called(words: Sequence[str]) -> int:
    before, sys.argv = sys.argv, ["sprintlog", *words]
    try:
        main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    finally:
        sys.argv = before
    return 0


def _forked(words: Sequence[str], die_at: int) -> int | None:
    with _quiet():
        pid = os.fork()
    if pid == 0:
        try:
            _die_at(die_at)
            os._exit(_called(words))
        finally:
            os._exit(99)
    status = status_of(pid)
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def _die_at(number: int, last: Callable[[], object] = lambda: None) -> None:
    """Make this process kill itself before its operation of this number."""
    left = number
    kill, touches = os.kill, last

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                touches()
                kill(os.getpid(), signal.SIGKILL)
            return real(*given, **named)

        return call

    for name in ("replace", "rename", "unlink", "mkdir", "fsync", "link"):
        setattr(os, name, counted(getattr(os, name)))
    SqliteLog.append = counted(SqliteLog.append)  # type: ignore[method-assign]
    popen: Any = subprocess.Popen
    popen.__init__ = counted(popen.__init__)


@contextmanager
def _quiet() -> Iterator[None]:
    """Fork despite threads, none of which is needed in the fork."""
    sys.stdout.flush()
    sys.stderr.flush()
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@contextmanager
def _inside(tree: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(tree)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _captured(place: Path) -> Iterator[tuple[Path, Path]]:
    """Redirect standard output and error to two files."""
    files = (place.with_suffix(".out"), place.with_suffix(".err"))
    sys.stdout.flush()
    sys.stderr.flush()
    before = [os.dup(number) for number in (1, 2)]
    streams = sys.stdout, sys.stderr
    try:
        for number, file in zip((1, 2), files, strict=True):
            to = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(to, number)
            os.close(to)
        with open(1, "w", closefd=False) as out, open(2, "w", closefd=False) as err:
            sys.stdout, sys.stderr = out, err
            yield files
    finally:
        sys.stdout, sys.stderr = streams
        for number, kept in zip((1, 2), before, strict=True):
            os.dup2(kept, number)
            os.close(kept)


# --- Contents of the disk -----------------------------------------------------------------


def files(tree: Path, *, nested: Sequence[str] = ()) -> Files:
    """Return the files of a tree, as digests if they are outside snapshots."""
    found = {path: LEFT_OUT + _checked_out(tree / path) for path in nested}
    for folder, folders, names in os.walk(tree):
        here = Path(folder).relative_to(tree)
        folders[:] = [
            n for n in folders if n not in OWN and (here / n).as_posix() not in nested
        ]
        for name in names:
            path = Path(folder, name)
            if name in OWN or name.endswith(".log"):
                continue
            if (seen := path.stat()).st_size > LARGE:
                content = LEFT_OUT + b"%d %d" % (seen.st_ino, seen.st_ctime_ns)
            else:
                content = path.read_bytes()
            found[(here / name).as_posix()] = content
    return found


def _checked_out(tree: Path) -> bytes:
    """Return the commit that a submodule has checked out."""
    folder = tree / (tree / ".git").read_text().split()[1]
    head = (folder / "HEAD").read_text().split()[-1]
    if (folder / head).is_file():
        return (folder / head).read_bytes().strip()
    packed = (folder / "packed-refs").read_text().splitlines()
    return next((x for x in packed if x.endswith(f" {head}")), head).split()[0].encode()


def stats(top: Path) -> Stats:
    """Return the statuses of all files below a folder, which change on every write."""
    found: Stats = {}
    for folder, folders, names in os.walk(top):
        folders[:] = [n for n in folders if n not in ("sprintlog", "objects", *OWN[1:])]
        for name in names:
            # A killed process may leave a draft of the tree's file.
            if name.startswith(("sprintlog-tree", ".sprintlog-tree")):
                continue
            path = os.path.join(folder, name)
            seen = os.lstat(path)
            found[path] = (seen.st_ino, seen.st_size, seen.st_mtime_ns)
    return found


# --- The repository ----------------------------------------------------------------------


@cache
def template() -> Path:
    """Return a folder with the repository as every history finds it."""
    top = Path(tempfile.mkdtemp(prefix="sprintlog-trees-"))
    _make(top / "library", "sub")
    _make(top / "main", "main")
    allowed = ("-c", "protocol.file.allow=always")
    git(top / "main", *allowed, "submodule", "--quiet", "add", "../library", "sub")
    git(top / "main", "commit", "-qm", "use a library")
    for name in ("left", "right"):
        git(top / "main", "worktree", "add", "-q", f"../{name}", "-b", name)
    for path in TREES.values():
        git(top / path, "config", "user.name", "A Person")
        git(top / path, "config", "user.email", "person@example.org")
        git(top / path, "config", "gc.auto", "0")
    return top


def remove_template() -> None:
    """Remove the folder of the repository as every history finds it."""
    if template.cache_info().currsize:
        shutil.rmtree(template())
        template.cache_clear()


def _make(folder: Path, name: str) -> None:
    (folder / "src").mkdir(parents=True)
    for file in ("a.txt", "b.txt", "src/c.txt"):
        lines = (f"line {n} of {file} in {name}, from the start\n" for n in range(5))
        (folder / file).write_text("".join(lines))
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "sprintlog.toml").write_text(SETTINGS)
    git(folder, "init", "-q", "-b", name)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "start")


def _point_to_each_other(folder: Path, before: Path) -> None:
    """Make the worktrees of a copied repository belong to the copy."""
    private = folder / "main" / ".git" / "worktrees"
    for path in (*private.glob("*/gitdir"), *folder.glob("*/.git")):
        if path.is_file():
            path.write_text(path.read_text().replace(f"{before}/", f"{folder}/"))
