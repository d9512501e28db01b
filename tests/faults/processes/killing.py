"""The kill tester: writers that die at any moment, and a log that must be unaffected.

Every command has a token in its key and its payload. A command whose answer was read must
be in the log once, at the answered position; a command repeated under its key after a kill,
once; and any other command at most once.
"""

import heapq
import os
import random
import re
import selectors
import signal
import time
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

from .. import children
from ..ledger import Ledger, Line, make_line, make_sprints, unlike_the_log
from ..runner import is_slow
from . import writers
from .slots import Slot, plan_death

LIFE_SECONDS_MAX = 60.0
COMMAND_SECONDS_MAX = 1.0
FLIGHT_MAX = 3
"""How many lines a coprocess is given before it has answered the first."""
ABANDONED = 0.2
_WAITS = re.compile(r"waiting for .* at most$")
"""The message of a waiting command: no complaint if many write, some of them stopped."""


class Counts(NamedTuple):
    """The result of a run of the kill tester."""

    kills: int
    in_flight: int
    """Kills that hit a writer which had not answered all it was asked."""
    stops: int
    events: int
    committed: int
    """Repeated commands that turned out to have been recorded before their writer died."""
    commands: int
    slowest: float
    """The slowest command right after a kill of all, in seconds."""
    leftovers: int
    """Temporary files of killed processes."""
    problems: list[str]


class Killer:
    """Runs the writers, kills them, and maintains the ledger."""

    def __init__(
        self,
        root: Path,
        *,
        slots: int,
        sprints: int,
        seed: int,
        command_seconds_max: float = COMMAND_SECONDS_MAX,
    ) -> None:
        self.root = root
        self.ledger = Ledger()
        self.kills = self.in_flight = self.stops = self.commands = 0
        self.slowest = 0.0
        self.command_seconds_max = command_seconds_max
        self.errors = root / "errors"
        self._chance = random.Random(seed)
        self._sprints = [f"sprint-{number}" for number in range(sprints)]
        self._slots = [Slot(f"w{n}", self._sprints[n % sprints]) for n in range(slots)]
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Slot, int, int]] = []
        self._order = count()
        make_sprints(root, self._sprints)

    def run(self, *, kills: int, kills_a_round: int, seconds: float) -> Counts:
        """Kill a number of writers in rounds; each ends with all killed together."""
        until = time.monotonic() + seconds
        checked = 0
        try:
            while self.kills < kills and time.monotonic() < until:
                self._round(min(self.kills + kills_a_round, kills), until)
                self._record_after_death()
                if self.kills >= checked + 20 * kills_a_round:
                    checked = self.kills
                    self.ledger.problems += self.ledger.judge(self.root)
                if self.ledger.problems:
                    break
        finally:
            self._kill_all()
            self._selector.close()
        problems = self._last_words()
        if self.kills < kills and not problems:
            problems = [f"only {self.kills} kills in {seconds:.0f} seconds"]
        leftovers = list(self.root.rglob(".PROGRESS*"))
        return Counts(
            self.kills, self.in_flight, self.stops, len(self.ledger.answers),
            self.ledger.duplicates, self.commands, self.slowest, len(leftovers), problems,
        )  # fmt: skip

    def _round(self, kills: int, until: float) -> None:
        for slot in self._slots:
            self._start(slot)
        while self.kills < kills and time.monotonic() < until:
            self._fire_timers()
            wait = self._timers[0][0] - time.monotonic() if self._timers else 0.05
            for key, _ in self._selector.select(min(max(wait, 0.0), 0.05)):
                self._hear(key.data)
            for slot in self._slots:
                if slot.child is None:
                    self._start(slot)
                elif time.monotonic() > slot.until:
                    self.ledger.problems.append(f"a {slot.kind} hung")
                    return
        self._kill_all()

    def _start(self, slot: Slot) -> None:
        """Start the next process of a slot, and decide how it ends."""
        slot.begin_life(self._chance, time.monotonic() + LIFE_SECONDS_MAX)
        alone = slot.kind in (writers.COMMAND, writers.PROCESS)
        line = self._next_line(slot) if alone else None
        slot.child = writers.start_writer(
            slot.kind,
            line,
            seed=self._chance.randrange(2**32),
            root=self.root,
            errors=self.errors,
        )
        os.set_blocking(slot.child.stdout, False)
        self._feed(slot)
        for blow in plan_death(slot, self._chance):
            at = time.monotonic() + blow.seconds
            timer = (at, next(self._order), slot, slot.life, blow.signal)
            heapq.heappush(self._timers, timer)
        if not slot.deaf:
            self._selector.register(slot.child.stdout, selectors.EVENT_READ, slot)

    def _next_line(self, slot: Slot) -> Line:
        slot.left -= 1
        if slot.again:
            line = slot.again.popleft()
        else:
            number = slot.next_number()
            line = make_line(f"{slot.name}-{number}", slot.sprint, number)
            self.ledger.ask(line)
        slot.flight.append(line)
        return line

    def _feed(self, slot: Slot) -> None:
        """Keep a coprocess busy, and close its input after its last line."""
        child = slot.child
        if child is None or child.stdin < 0:
            return
        try:
            while slot.left > 0 and len(slot.flight) < FLIGHT_MAX:
                os.write(child.stdin, writers.written_for(slot.kind, self._next_line(slot)))
        except BrokenPipeError:
            # The process is already dead, as its other pipe will show.
            slot.left = 0
        if slot.left == 0:
            os.close(child.stdin)
            slot.child = child._replace(stdin=-1)

    def _fire_timers(self) -> None:
        while self._timers and self._timers[0][0] <= time.monotonic():
            _, _, slot, life, number = heapq.heappop(self._timers)
            if slot.life != life or slot.child is None:
                continue
            slot.child.signal(number)
            self.stops += number == signal.SIGSTOP
            if number == signal.SIGKILL:
                self._bury(slot)

    def _hear(self, slot: Slot) -> None:
        """Read answers as they arrive; the end of the output is the end of the writer."""
        if slot.child is None:
            return
        chunk = os.read(slot.child.stdout, 1 << 16)
        self._take(slot, chunk)
        if chunk and slot.kill_after != 0:
            self._feed(slot)
            return
        if chunk:
            slot.child.signal(signal.SIGKILL)
        self._bury(slot)

    def _take(self, slot: Slot, chunk: bytes) -> None:
        *answers, slot.heard = (slot.heard + chunk).split(b"\n")
        for answer in answers:
            if not slot.flight:
                self.ledger.problems.append(f"an answer to nothing: {answer[:200]!r}")
                return
            self.ledger.hear(slot.flight.popleft().token, answer)
            if slot.kill_after:
                slot.kill_after -= 1

    def _bury(self, slot: Slot) -> None:
        """Read the last answers of a dying writer, and its exit status."""
        child = slot.child
        if child is None:
            return
        if not slot.deaf:
            self._selector.unregister(child.stdout)
            os.set_blocking(child.stdout, True)
            while chunk := os.read(child.stdout, 1 << 16):
                self._take(slot, chunk)
        os.close(child.stdout)
        if child.stdin >= 0:
            os.close(child.stdin)
        code = child.wait()
        slot.child = None
        if code == -signal.SIGKILL:
            self.kills += 1
            self.in_flight += bool(slot.flight)
        elif code != 0 or (slot.flight and not slot.deaf):
            self.ledger.problems.append(
                f"a {slot.kind} ended with {code}, {len(slot.flight)} lines unanswered"
            )
        if slot.heard:
            self.ledger.problems.append(f"a torn answer: {slot.heard[:200]!r}")
        repeated = [line for line in slot.flight if self._chance.random() >= ABANDONED]
        slot.again.extend(repeated)
        slot.flight.clear()

    def _kill_all(self) -> None:
        living = [slot for slot in self._slots if slot.child is not None]
        for slot in living:
            if slot.child is not None:
                slot.child.signal(signal.SIGKILL)
        for slot in living:
            self._bury(slot)

    def _record_after_death(self) -> None:
        """Run a command on each sprint: it must work and leave the file correct."""
        for sprint, slot in zip(self._sprints, self._slots, strict=False):
            alone = sprint == self._sprints[self.commands % len(self._sprints)]
            self._command(slot, writers.PROCESS if alone else writers.COMMAND)
        self.ledger.problems += unlike_the_log(self.root, self._sprints)

    def _command(self, slot: Slot, kind: str) -> None:
        """Run a command right after a death; it must not take longer because of it."""
        seconds = self._time_command(slot, kind)
        self.slowest = max(self.slowest, seconds)
        if seconds > self.command_seconds_max:
            usual = self._time_command(slot, kind)
            if is_slow(seconds, limit=self.command_seconds_max, usual=usual):
                self.ledger.problems.append(
                    f"the next command took {seconds:.2f} s, the one after {usual:.2f} s"
                )

    def _time_command(self, slot: Slot, kind: str) -> float:
        line = self._next_line(slot)
        began = time.monotonic()
        code, answer = children.run(
            partial(writers.run_writer, kind, line), root=self.root, errors=self.errors
        )
        seconds = time.monotonic() - began
        self.commands += 1
        slot.flight.clear()
        if code != 0:
            self.ledger.problems.append(f"the next command ended with {code}")
        else:
            self.ledger.hear(line.token, answer.rstrip(b"\n"))
        return seconds

    def _last_words(self) -> list[str]:
        """Repeat all unanswered commands, then compare the log with the ledger."""
        for slot in self._slots:
            while slot.again and not self.ledger.problems:
                self._command(slot, writers.COMMAND)
        problems = self.ledger.judge(self.root)
        text = self.errors.read_text(errors="replace") if self.errors.exists() else ""
        said = [line for line in text.splitlines() if line and not _WAITS.search(line)]
        if said:
            problems.append(f"somebody complained: {' '.join(said)[-600:]}")
        verify = partial(children.command_line, ["verify", "--json"])
        code, report = children.run(verify, root=self.root, errors=self.errors)
        if code != 0:
            problems.append(f"verify ended with {code}: {report[:300]!r}")
        return problems
