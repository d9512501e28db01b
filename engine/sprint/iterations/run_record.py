"""The commands that record the start, the end or the loss of a run of the loop."""

from collections.abc import Sequence

from ... import masking, usage
from ...command import Command
from ...errors import InvalidInputError
from ...log.event import Event, made_from
from ..events import Budgets, Price, RunEnded, RunStarted, Took
from ..state import times, transitions
from ..state.knowledge import Knowledge, Spent
from ..state.sprint import Sprint

LOST = "lost"
"""The reason for the end of a run whose process is gone."""
WORD_CHARS_MAX, WORDS_MAX = 200, 30
WHY_CHARS_MAX = 2_000


class BeginRun(Command, frozen=True):
    """Record that a process has started to run the sprint's loop."""

    run: str
    host: str
    pid: int
    process_started: str
    boot_id: str
    command: tuple[str, ...] = ()
    budgets: Budgets = Budgets()
    price: Price | None = None
    options: tuple[str, ...] = ()
    fallback: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_exists(sprint)
        words, options = words_of(self.command), words_of(self.options)
        fallback = self.fallback and masking.cut(self.fallback, WORD_CHARS_MAX)
        cuts = {"command": words, "options": options, "fallback": fallback}
        return [made_from(RunStarted, self, since=at, **cuts)]


def words_of(command: Sequence[str]) -> tuple[str, ...]:
    """Return the command to record; long commands and arguments are truncated."""
    return tuple(masking.cut(word, WORD_CHARS_MAX) for word in command[:WORDS_MAX])


class FinishRun(Command, frozen=True):
    """Record the end of a run, regardless of the sprint's status."""

    run: str
    because: str
    exit_code: int
    why: str | None = None
    cut_short: bool = False
    """Whether an agent was running when the run ended."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        why = self.why and masking.cut(self.why, WHY_CHARS_MAX)
        return [made_from(RunEnded, self, why=why, spent=spent_since(sprint, at))]


class LoseRun(Command, frozen=True):
    """Record that a run's process is gone; do nothing if the run has already ended."""

    run: str
    last_seen: str
    """The time of the run's last event."""
    cut_short: bool = False
    """Whether an agent was running, according to the log."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        if (started := sprint.knowledge.loops.open) is None or started.run != self.run:
            return []
        why = f"process {started.pid} on {started.host} is gone and left no end"
        spent = spent_since(sprint, self.last_seen)
        return [made_from(RunEnded, self, because=LOST, why=why, spent=spent)]


def spent_since(sprint: Sprint, now: str) -> Took:
    """Return the resources that the last run had used by a given time."""
    knowledge = sprint.knowledge
    loops, total = knowledge.loops, knowledge.spent
    before = loops.before
    is_paid = total.cost not in (None, before.cost)
    return Took(
        iterations=knowledge.begun - loops.begun_before,
        runs=total.runs - before.runs,
        duration_ms=run_ms(knowledge, now),
        **{n: _more(getattr(total, n), getattr(before, n)) for n in usage.TOKEN_FIGURES},
        at_least=tuple(n for n in total.at_least if _is_open(n, total, before)),
        cost_usd=float(usage.minus(total.cost or "0", before.cost)) if is_paid else None,
        unknown=total.without_cost - before.without_cost,
    )


def _is_open(name: str, total: Spent, before: Spent) -> bool:
    """Return whether a figure of the last run is a lower bound."""
    missing = total.missing.get(name, 0) - before.missing.get(name, 0)
    return missing > 0 or total.cut_short > before.cut_short


def run_ms(knowledge: Knowledge, now: str) -> int:
    """Return the duration of the last run in milliseconds; never less than 0."""
    loops = knowledge.loops
    if loops.started is None:
        return 0
    if loops.ended is not None:
        return loops.ended.spent.duration_ms
    try:
        took = times.parse(now) - times.parse(loops.started.since)
    except InvalidInputError:
        return 0
    # The clock may have been set back.
    return max(0, round(1000 * took.total_seconds()))


def _more(total: int | None, before: int | None) -> int | None:
    return None if total == before else (total or 0) - (before or 0)
