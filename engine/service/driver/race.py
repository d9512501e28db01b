"""The supervisor of a race: runs attempts as `sprintlog run` processes, and decides.

Each attempt is a process with its own lock, so that several supervisors of a race, also on
other machines, never run the same attempt. Everything a supervisor knows is in the log: one
that was killed is replaced by the next.
"""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

import msgspec
from msgspec.structs import replace

from ... import races as f
from ...adapters.git.worktrees import OwnRepository, copy
from ...adapters.processes.loop_lock import hold, is_held, lock_of
from ...adapters.processes.process import host
from ...adapters.processes.programs import run_script
from ...adapters.processes.signals import Signals
from ...adapters.processes.supervisor import SET_PDEATHSIG, prctl
from ...errors import BusyError, ConflictError, RefusedError, SprintlogError
from ...races import BUDGET, VERIFIED, Race, decision, rank
from ...sprint.events import ClaimAccepted
from ...sprint.iterations.budgets import said
from ..workspace import ServiceWorkspace
from . import races

POLL_SECONDS = 0.2
GRACE_SECONDS = 30.0
"""How long a run may take to save its work after it was asked to end."""
PREPARE_SECONDS = 60 * 60.0
STARTS_MAX = 2
"""How often one process starts a run that is killed."""
WAITS_FOR_PERSON = (21, 22, 23, 24)
"""The exit statuses of runs that continue after a person has acted."""
ERROR_BYTES = 4096
_SPRINT = "SPRINTLOG_SPRINT"


class Child(NamedTuple):
    """A running attempt."""

    pid: int
    lock: ExitStack
    starts: int

    def code(self) -> int | None:
        """Return the exit status, or None if the attempt is running; call it only once."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None


class RaceSupervisor(msgspec.Struct):
    """Runs the attempts of a race that no other process runs."""

    workspace: ServiceWorkspace
    race_id: str
    definition: f.RaceStarted
    """The definition, with the commands as typed; recorded commands may be masked."""
    folder: Path
    """The folder for the worktrees of the race on this host."""
    inside: str
    """The folder in each worktree in which its run is started."""
    environment: Mapping[str, str]
    program: Sequence[str]
    """The words that start sprintlog."""
    show: Callable[[Race], None]
    """Shows the race after each change."""
    parallel: int
    actor: str
    only: int | None = None
    """The only attempt to run; None for all."""
    stops: dict[int, int] = {}
    """The exit statuses of attempts that wait for a person."""
    children: dict[int, Child] = {}
    seen: int = -1
    """The position of the last event that was shown."""

    def race(self) -> Race:
        """Return the current state of the race."""
        return races.read_race(self.workspace.log, self.race_id)

    def path(self, number: int) -> Path:
        """Return the place of an attempt's worktree on this host."""
        return self.folder / str(number)

    def run(self, signals: Signals) -> Race:
        """Run attempts until the race is decided or only a person can continue it.

        With `only`, return once that attempt has ended. A signal ends all attempts.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise RefusedError(f"cannot create {self.folder}: {error.strerror}") from error
        try:
            while not self._is_over(race := self._step()):
                if (position := self.workspace.log.last_position()) != self.seen:
                    self.seen = position
                    self.show(race)
                with signals.interruptible():
                    time.sleep(POLL_SECONDS)
        finally:
            # Their runs keep the work; the next process continues them.
            self._end_children()
        self.show(race)
        return race

    def _step(self) -> Race:
        if self.race().decided is None:
            self._reap()
        if (race := self.race()).decided is not None:
            self._end_others("the race is decided")
            return self.race()
        known = races.spending(self.workspace, race)
        spent = next((said(one) for one in known if one.is_spent), None)
        if (ends := race.ends_by(is_spent=spent is not None)) is None:
            self._start(race)
            return self.race()
        why = spent or "all attempts ended"
        if ends == VERIFIED:
            why = f"attempt {race.verified[0]} is verified"
        self._end_others(why)
        return self._decide(ends, why)

    def _is_over(self, race: Race) -> bool:
        if race.decided is not None or self.children:
            return race.decided is not None
        if (only := self.only) is not None:
            return race.attempt(only).ended is not None or only in self.stops
        left = (n for n, one in race.attempts.items() if one.ended is None)
        return bool(self.stops) and self.stops.keys() >= {*left}

    # --- Starting -----------------------------------------------------------------------

    def _start(self, race: Race) -> None:
        """Start attempts while places are free, those of a killed process first."""
        only, busy = self.only, {*self.children, *self.stops}
        for one in sorted(race.attempts.values(), key=lambda one: one.started is None):
            if len(self.children) >= self.parallel:
                return
            if one.ended or one.number in busy or only not in (None, one.number):
                continue
            there, here = one.started, (host(), str(self.path(one.number)))
            if there is not None and (there.host, there.path) != here:
                if only is None:
                    continue
                why = f"attempt {only} was started on {there.host} in {there.path}"
                raise RefusedError(why, hint="continue it there")
            if self._start_one(race, one.number, starts=1) and there is None:
                # The stream has changed.
                return

    def _start_one(self, race: Race, number: int, *, starts: int) -> bool:
        """Start an attempt unless another process runs it; return whether it started."""
        name, folder = f"race/{race.id}/{number}", self.workspace.location.folder
        if is_held(lock_of(folder, name)):
            # Another process runs the attempt, or its killed run is ending.
            return False
        with ExitStack() as stack:
            try:
                now = self.workspace.now()
                held, _ = stack.enter_context(hold(folder, name, now=now))
                if race.attempt(number).started is None:
                    path, commit = self.path(number), self.definition.commit
                    if path.exists():
                        said = f"{path} belongs to an earlier race: move it away"
                        raise RefusedError(said)
                    at = race.sprint_of(number), str(path), host(), commit
                    self._append(race, f.AttemptStarted(number, *at))
            except (BusyError, ConflictError):
                return False
            lock = stack.pop_all()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT))
        if (pid := os.fork()) == 0:
            self._become(number, held, before, os.getppid())
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.children[number] = Child(pid, lock, starts)
        return True

    def _append(self, race: Race, event: f.RaceEvent) -> None:
        races.record(self.workspace, race, event, actor=self.actor)

    def _become(self, number: int, held: int, mask: set[int], parent: int) -> NoReturn:
        """Replace this new process with the run of an attempt, after preparing its tree."""
        try:
            # A supervisor that is killed ends its runs, which keep their work.
            for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(one, signal.SIG_DFL)
            prctl(SET_PDEATHSIG, signal.SIGTERM)
            os.setsid()
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            output = os.open(f"{self.path(number)}.log", flags, 0o600)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for stream in (1, 2):
                os.dup2(output, stream)
            if os.getppid() == parent:
                self._prepare(number, held)
                os.set_inheritable(held, True)
                os.chdir(self.path(number) / self.inside)
                defined, sprint = self.definition, f"{self.race_id}-{number}"
                words = [*self.program, "run", "--sprint", sprint, *defined.options]
                words += ["--", *defined.attempts[number - 1].command]
                os.execve(words[0], words, self._environment(number))
        except (SprintlogError, OSError) as error:
            with suppress(OSError):
                os.write(2, f"error: {error}\n".encode(errors="backslashreplace"))
        finally:
            os._exit(1)

    def _prepare(self, number: int, held: int) -> None:
        """Create an attempt's worktree unless it is complete; raise an error on failure."""
        definition, path = self.definition, self.path(number)
        ready = Path(f"{path}.ready")
        if ready.exists():
            if not (path / ".git").exists():
                raise RefusedError("its worktree was deleted")
            return
        own = OwnRepository(self.workspace.location.root, self.environment)
        own.held = (held,)
        own.add(path, definition.commit)
        for omitted in own.submodules(path):
            os.write(2, f"note: submodule {omitted} is omitted\n".encode(errors="replace"))
        for one in definition.copies:
            copy(one, self.workspace.location.root, path)
        if definition.prepare is not None:
            found = run_script(
                definition.prepare,
                folder=path,
                environment=self._environment(number),
                timeout_seconds=PREPARE_SECONDS,
                held=[held],
            )
            os.write(2, found.output.encode(errors="replace"))
            if found.exit_code:
                raise RefusedError(f"--prepare exited with {found.exit_code}")
        ready.touch(mode=0o600)

    def _environment(self, number: int) -> dict[str, str]:
        given = {n: x for n, x in self.environment.items() if n != _SPRINT}
        given["SPRINTLOG_DIR"] = str(self.workspace.location.folder)
        return {**given, "SPRINTLOG_RACE": self.race_id, "SPRINTLOG_ATTEMPT": str(number)}

    # --- Ending -------------------------------------------------------------------------

    def _reap(self) -> None:
        """Record the ends of attempts whose processes have ended."""
        for number, child in [*self.children.items()]:
            if (code := child.code()) is None:
                continue
            del self.children[number]
            child.lock.close()
            if code in WAITS_FOR_PERSON:
                self.stops[number] = code
            elif code < 0 and child.starts < STARTS_MAX:
                self._start_one(self.race(), number, starts=child.starts + 1)
            else:
                self._record_end(number, code, None)

    def _end_children(self) -> dict[int, int]:
        """Ask all runs to end, and return their exit statuses by attempt."""
        for child in self.children.values():
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)
        found, until = dict[int, int](), time.monotonic() + GRACE_SECONDS
        for number, child in self.children.items():
            while (code := child.code()) is None:
                if time.monotonic() > until:
                    os.kill(child.pid, signal.SIGKILL)
                time.sleep(POLL_SECONDS / 10)
            found[number] = code
            child.lock.close()
        self.children.clear()
        return found

    def _end_others(self, why: str) -> None:
        for number, code in self._end_children().items():
            self._record_end(number, code, why if code else None)
        for number, code in self.stops.items():
            self._record_end(number, code, None)
        self.stops.clear()

    def _record_end(self, number: int, code: int, why: str | None) -> None:
        """Record the end of an attempt, with the iteration that represents it."""
        status, why = code if code >= 0 else 128 - code, why or self._reason(number, code)
        while (attempt := (race := self.race()).attempt(number)).ended is None:
            found = races.candidate_of(self.workspace, race, attempt).ranked
            size = found.iteration, found.files, found.lines
            is_verified = code == 0 and self._decided(number) is not None
            with suppress(ConflictError):
                self._append(race, f.AttemptEnded(number, status, why, is_verified, *size))

    def _decided(self, number: int) -> ClaimAccepted | None:
        sprint = self.workspace.sprint(f"{self.race_id}-{number}")
        return races.verified(sprint)

    def _reason(self, number: int, code: int) -> str:
        """Return why a run ended, from its records or else from its output."""
        if code == 0:
            decided = self._decided(number)
            return "done, but not verified" if decided is None else decided.reason
        if not self.path(number).exists() and Path(f"{self.path(number)}.ready").exists():
            return "its worktree was deleted"
        if code < 0:
            return f"its process was ended by {signal.Signals(-code).name}"
        ended = self.workspace.sprint(f"{self.race_id}-{number}").knowledge.loops.ended
        if ended is not None and ended.exit_code == code and ended.why:
            return ended.why
        return _last_error(Path(f"{self.path(number)}.log")) or f"exit status {code}"

    def _decide(self, because: str, why: str) -> Race:
        """Record the result of the race, unless another process has recorded it."""
        while (race := self.race()).decided is None:
            attempts = race.attempts.values()
            found = [races.candidate_of(self.workspace, race, one) for one in attempts]
            decided = decision(because, rank(found))
            if because == BUDGET:
                decided = replace(decided, reason=f"{why}; {decided.reason}")
            with suppress(ConflictError):
                self._append(race, decided)
        return race


def _last_error(file: Path) -> str | None:
    """Return the last error in the output of a run, or its last line."""
    try:
        with file.open("rb") as held:
            held.seek(max(file.stat().st_size - ERROR_BYTES, 0))
            lines = held.read().decode(errors="replace").splitlines()
    except OSError:
        return None
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return next(reversed(errors or [*filter(str.strip, lines)]), None)
