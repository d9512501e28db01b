"""The budgets of a run and of the sprint: their use, warnings, prices, and remedies.

Everything is computed from the log and the current time. A budget is checked before an
action that costs something, so work that is already running may exceed the budget; the
excess is shown. If an agent does not report its cost, the cost is computed from the given
price.
"""

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from ... import usage
from ...command import Command, Events
from ...errors import RefusedError
from ...log.event import Event
from ..events import Budgets, BudgetsSet, BudgetWarned, Price, RunStarted
from ..state import document_fields, transitions
from ..state.knowledge import COST as COST
from ..state.knowledge import Knowledge, says_cost
from ..state.sprint import Sprint, open_iteration
from .loop import counted
from .run_record import WORD_CHARS_MAX, WORDS_MAX, run_ms

MILLION = 6
"""The power of ten for a million; prices are per million tokens."""
TIME, FAILURES, ITERATIONS = "time", "failures", "iterations"
OF_RUN, OF_SPRINT, OF_RACE = "run", "sprint", "race"
FIELDS = {
    COST: "cost_usd",
    usage.TOKENS: "tokens",
    TIME: "seconds",
    FAILURES: "failures",
    ITERATIONS: "iterations",
}
"""Every budget, with the field of `Budgets` that limits it."""
WHOSE = {OF_RUN: "this run", OF_SPRINT: "the sprint", OF_RACE: "the race"}
WARNED_PERCENT = 80
_MOST = {"cost_usd": 1e9, "tokens": 1e15, "seconds": 1e9, "failures": 1e6}
_Took = dict[str, tuple[str, int]]
"""For each budget, the amount spent and the number of runs that did not report it."""
UNKNOWN = "COMMAND"
"""The placeholder for a command that is not fully known."""
UNKNOWN_OPTIONS = "OPTIONS"
"""The placeholder for options that are not fully known."""
_MASKED = "[masked: "
_NOT_UTF8 = r"\\x[89a-f][0-9a-f]"
"""The escape of a byte that is not UTF-8; a shell does not understand such an escape."""


class BudgetState(msgspec.Struct, frozen=True):
    """The use of a budget; amounts are exact decimal strings."""

    of: str
    """`run` or `sprint`."""
    budget: str
    """A key of `FIELDS`."""
    limit: str
    spent: str
    unknown: int = 0
    """The number of agent runs whose share is unknown."""

    @property
    def left(self) -> str:
        """Return the remaining amount; negative if the budget was exceeded."""
        return usage.minus(self.limit, self.spent)

    @property
    def percent(self) -> int:
        """Return the percentage spent, rounded down."""
        return usage.percent(self.spent, self.limit)

    @property
    def is_spent(self) -> bool:
        """Return whether the budget is used up."""
        return not usage.is_less(self.spent, self.limit)

    def name(self) -> str:
        """Return the key that ensures that the budget's warning is recorded only once."""
        return f"{self.of} {self.budget} {self.limit}"


def priced(used: usage.Usage | None, price: Price | None) -> usage.Usage | None:
    """Return a run's usage, with the cost computed if the run reports only tokens.

    Tokens written to a cache cost as much as input tokens.
    """
    if (
        price is None
        or used is None
        or says_cost(used)
        or usage.TOKENS in usage.open_figures(used)
    ):
        return used
    from_cache = price.given if price.cached is None else price.cached
    parts = (
        (used.input_tokens, price.given),
        (used.cache_creation_tokens, price.given),
        (used.cache_read_tokens, from_cache),
        (used.output_tokens, price.written),
    )
    total: str | None = None
    for tokens, each in parts:
        total = usage.plus(total, usage.product(max(tokens or 0, 0), each, places=MILLION))
    return replace(used, cost_usd=float(total or "0"))


def price_of(text: str) -> Price:
    """Return the price in a text of the form `IN/OUT` or `IN/OUT/CACHED`.

    Prices are in dollars per million tokens. Raise `RefusedError` for any other text.
    """
    parts = text.strip().split("/")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or not all(0 <= number <= 1e6 for number in numbers):
        raise RefusedError(
            f"invalid price {text[:40]!r}: must be IN/OUT or IN/OUT/CACHED, in dollars "
            "per million tokens, for example 3/15",
            field="price",
        )
    return Price(*numbers)


def standings(sprint: Sprint, now: str, *, of: str) -> list[BudgetState]:
    """Return the state of each budget that applies to the last run or to the sprint."""
    knowledge = sprint.knowledge
    loops = knowledge.loops
    limits = loops.budgets
    if of == OF_RUN:
        limits = loops.started.budgets if loops.started is not None else Budgets()
    took = _of_run(knowledge, now) if of == OF_RUN else _of_sprint(knowledge, now)
    found = []
    for budget, field in FIELDS.items():
        limit = getattr(limits, field)
        if budget == ITERATIONS and of == OF_SPRINT:
            limit = document_fields.max_iterations(sprint.plan.document)
        if limit is not None:
            spent, unknown = took[budget]
            found.append(BudgetState(of, budget, usage.plus(None, limit), spent, unknown))
    return found


def together(sprints: Sequence[Sprint], limits: Budgets, now: str) -> list[BudgetState]:
    """Return the state of the limits that several sprints share, as sums of their use.

    Consecutive failures are counted by each run. An open iteration is not counted yet,
    because its result is still expected.
    """
    took = [_of_sprint(one.knowledge, now) for one in sprints]
    still = sum(open_iteration(one.plan) is not None for one in sprints)
    found = []
    for budget, field in FIELDS.items():
        if (limit := getattr(limits, field)) is None or budget == FAILURES:
            continue
        spent: str | None = None
        for one in took:
            spent = usage.plus(spent, one[budget][0])
        if budget == ITERATIONS:
            spent = str(sum(one.knowledge.begun for one in sprints) - still)
        unknown = sum(one[budget][1] for one in took)
        of = OF_RACE, budget, usage.plus(None, limit)
        found.append(BudgetState(*of, spent or "0", unknown))
    return found


class ChangeBudgets(Command, frozen=True):
    """Change the sprint's budgets; null removes a limit."""

    budgets: dict[str, float | None]
    """The new limits, by `Budgets` field name."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_exists(sprint)
        before = sprint.knowledge.loops.budgets
        after = budgets_of(self.budgets, before)
        return [] if after == before else [BudgetsSet(after)]


def _sets(event: BudgetsSet) -> ChangeBudgets:
    return ChangeBudgets(msgspec.structs.asdict(event.budgets))


def budgets_of(given: dict[str, float | None], before: Budgets | None = None) -> Budgets:
    """Return budgets with limits replaced; raise `RefusedError` for an invalid limit."""
    for name, limit in given.items():
        if name not in Budgets.__struct_fields__:
            known = ", ".join(Budgets.__struct_fields__)
            raise RefusedError(f"there is no budget {name[:40]!r}; known: {known}")
        most = _MOST.get(name, 1e9)
        if limit is not None and not 0 < limit <= most:
            raise RefusedError(
                f"invalid budget {limit:g}: must be greater than 0 and at most {most:g}",
                field=name,
            )
        if limit is not None and name != "cost_usd" and limit != int(limit):
            raise RefusedError(f"{name} {limit:g} must be a whole number", field=name)
    exact = {
        name: limit if limit is None or name == "cost_usd" else int(limit)
        for name, limit in given.items()
    }
    return msgspec.structs.replace(before or Budgets(), **exact)


class WarnOfBudgets(Command, frozen=True):
    """Record one warning for each budget that is nearly spent."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        return [
            BudgetWarned(one.budget, one.of, float(one.spent), float(one.limit))
            for one in to_warn_of(sprint, at)
        ]


def to_warn_of(sprint: Sprint, now: str) -> list[BudgetState]:
    """Return the nearly spent budgets for which no warning has been recorded yet.

    A budget with nothing left needs no warning, because the loop stops.
    """
    loops = sprint.knowledge.loops
    scopes = (OF_RUN, OF_SPRINT) if loops.open is not None else (OF_SPRINT,)
    return [
        one
        for of in scopes
        for one in standings(sprint, now, of=of)
        if one.percent >= WARNED_PERCENT
        and not one.is_spent
        and one.name() not in loops.warned
    ]


def said(one: BudgetState) -> str:
    """Return a description of a budget's use."""
    spent, limit = amount(one.budget, one.spent), amount(one.budget, one.limit)
    name = "failures in a row" if one.budget == FAILURES else one.budget
    bound = "at least " if one.unknown else ""
    words = f"{name} {bound}{spent} of {limit} in {WHOSE[one.of]}"
    if usage.is_less(one.limit, one.spent):
        words += f", {amount(one.budget, usage.minus(one.spent, one.limit))} too much"
    elif not one.is_spent:
        words += f", {'at most ' if one.unknown else ''}{amount(one.budget, one.left)} left"
    if one.unknown:
        runs = f"{one.unknown} run{'' if one.unknown == 1 else 's'}"
        is_cost = one.budget == COST
        words += f"; the {one.budget} of {runs} {'is' if is_cost else 'are not fully'} "
        words += "unknown" if is_cost else "known"
    return words


def amount(budget: str, text: str) -> str:
    """Return an amount formatted for display."""
    if budget == COST:
        return usage.dollars(text)
    whole = int(text.partition(".")[0])
    if budget != TIME:
        return f"{whole:,}"
    minutes, seconds = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


def typed(budget: str, text: str) -> str:
    """Return a limit in the format of the option that sets it."""
    whole, _, part = text.partition(".")
    if budget == TIME:
        seconds = int(whole) + bool(part)
        return f"{seconds // 3600}h" if seconds % 3600 == 0 else f"{seconds}s"
    return text if budget == COST else whole


def options(started: RunStarted) -> str:
    """Return the options that set the same budgets and price as a given run."""
    words = limit_options(started.budgets)
    if (price := started.price) is not None:
        each = (price.given, price.written, price.cached)
        said = "/".join(usage.plus(None, one) for one in each if one is not None)
        words.append(f"--price {said}")
    return " ".join(words)


def limit_options(budgets: Budgets) -> list[str]:
    """Return the options that set these limits."""
    return [
        f"--budget-{name} {typed(name, usage.plus(None, limit))}"
        for name, field in FIELDS.items()
        if (limit := getattr(budgets, field)) is not None
    ]


def run_again(started: RunStarted | None, *, with_budgets: bool = True) -> str:
    """Return the command that starts the loop again, with the options of the given run.

    The command and the options are included only if they were recorded completely: not
    truncated, and without masked secrets. Settings that became rules are omitted.
    """
    if started is None:
        return f"sprintlog run -- {UNKNOWN}"
    budgets = options(started) if with_budgets else ""
    typed = _joined(started.options, UNKNOWN_OPTIONS) if started.options else ""
    command = _joined(started.command, UNKNOWN) if started.command else UNKNOWN
    return " ".join(filter(None, ("sprintlog run", typed, budgets, "--", command)))


def _of_sprint(knowledge: Knowledge, now: str) -> _Took:
    total, loops = knowledge.spent, knowledge.loops
    ms = loops.duration_ms + (run_ms(knowledge, now) if loops.open is not None else 0)
    return {
        COST: (total.cost or "0", total.without_cost + total.cut_short),
        usage.TOKENS: (str(total.tokens or 0), total.without_tokens + total.cut_short),
        TIME: (usage.text_of(ms, 3), 0),
        FAILURES: (str(loops.failures), 0),
        ITERATIONS: (str(counted(knowledge)), 0),
    }


def _of_run(knowledge: Knowledge, now: str) -> _Took:
    total, loops = knowledge.spent, knowledge.loops
    before = loops.before
    tokens = (total.tokens or 0) - (before.tokens or 0)
    cut = total.cut_short - before.cut_short
    if (ended := loops.ended) is not None:
        # Later events are not part of the run.
        took = ended.spent
        cost = "0" if took.cost_usd is None else usage.plus(None, took.cost_usd)
        return {
            COST: (cost, took.unknown + ended.cut_short),
            usage.TOKENS: (
                str(usage.tokens_of(took) or 0),
                int(usage.TOKENS in usage.lower_bounds(took)),
            ),
            TIME: (usage.text_of(took.duration_ms, 3), 0),
            FAILURES: (str(loops.failures_in_run), 0),
            ITERATIONS: (str(took.iterations), 0),
        }
    return {
        COST: (
            usage.minus(total.cost or "0", before.cost),
            total.without_cost - before.without_cost + cut,
        ),
        usage.TOKENS: (str(tokens), total.without_tokens - before.without_tokens + cut),
        TIME: (usage.text_of(run_ms(knowledge, now), 3), 0),
        FAILURES: (str(loops.failures_in_run), 0),
        ITERATIONS: (str(knowledge.begun - loops.begun_before), 0),
    }


def _joined(words: Sequence[str], unknown: str) -> str:
    """Return the words quoted for a shell, or the placeholder if a word is incomplete."""
    if len(words) >= WORDS_MAX or not all(map(_is_whole, words)):
        return unknown
    # Imported here: recording an event never requires it.
    from shlex import join

    return join(words)


def _is_whole(word: str) -> bool:
    """Return whether a word was recorded completely and can be put in backticks."""
    is_cut = len(word) >= WORD_CHARS_MAX or _MASKED in word or re.search(_NOT_UTF8, word)
    return not is_cut and word.isprintable() and "`" not in word


CAUSED: Events = {BudgetsSet: _sets}
