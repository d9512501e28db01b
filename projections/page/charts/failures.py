"""What failed in an iteration, in the words that it left: gates, phases, its own. Pure."""

from collections import OrderedDict

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f

FAILED_MAX = 400
"""Of so many of the newest iterations it is known what failed."""
NOTES_MAX = 3
"""Of more that failed in an iteration only the last is told."""
NOTE_CHARS_MAX = 240


class IterationFailures:
    """What failed in each iteration, and whether the last one still fails."""

    def __init__(self) -> None:
        self.is_failing = False
        """Whether nothing has gone well since something failed in the last iteration."""
        self._notes: OrderedDict[int, list[str]] = OrderedDict()
        self._number = 0

    def take(self, event: Event) -> None:
        """Take the next event."""
        match event:
            case f.IterationStarted():
                self._number, self.is_failing = event.number, False
            case f.GateChecked() if event.exit_code:
                self._note(gate_failed(event))
            case f.PhaseFailed():
                self._note(f"{event.phase} failed: {event.error}")
            case f.IterationFailed():
                self._note(event.error)
            case f.PhaseStarted() | f.PhaseCompleted() | f.PhaseRetried() | f.GateChecked():
                self.is_failing = False
            case f.RolledBack():
                self.is_failing = False
            case _:
                pass

    def of(self, number: int) -> tuple[str, ...]:
        """Return what failed in an iteration, the first first."""
        return tuple(self._notes.get(number, ()))

    def _note(self, said: str) -> None:
        self.is_failing = True
        notes = self._notes.setdefault(self._number, [])
        note = said if len(said) <= NOTE_CHARS_MAX else f"{said[:NOTE_CHARS_MAX]}…"
        if note not in notes:
            notes[NOTES_MAX - 1 :] = [note]
        while len(self._notes) > FAILED_MAX:
            self._notes.popitem(last=False)


def gate_failed(event: f.GateChecked) -> str:
    """Return how a gate failed, with the last line that it printed."""
    how = "at its time limit" if event.timed_out else f"with exit code {event.exit_code}"
    last = event.output.rstrip().rpartition("\n")[2].strip()
    return f"the gate of {event.phase} failed {how}" + (f": {last}" if last else "")
