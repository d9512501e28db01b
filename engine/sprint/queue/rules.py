"""The automatic rules for the operator queue, which are applied only on request."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ...command import Command
from ...errors import RefusedError
from ...log.event import Event, made_from
from ..events import InjectionPosition, RequestDecided, RequestInjection
from ..fold import fold_ahead
from ..plan.insertion_points import AFTER_CURRENT
from ..state import transitions, words
from ..state.queue import Data, takes_part
from ..state.sprint import Sprint
from .decisions import APPROVE, BACKLOG, DEFER, END_OF_PHASE, REJECT, decision_of
from .returns import copied


class Rule(msgspec.Struct, frozen=True):
    """A rule that decides requests of certain priorities and types."""

    name: str
    decision: str
    priorities: tuple[str, ...] = ()
    """The priorities; if empty, all."""
    types: tuple[str, ...] = ()
    """The types; if empty, all."""
    reasoning: str | None = None
    """The reasoning; defaults to a description of the rule."""
    position: InjectionPosition = InjectionPosition(AFTER_CURRENT)
    model: str | None = None
    deferred_until: str = END_OF_PHASE
    rejection_reason: str | None = None


DEFAULT_RULES = (
    Rule("urgent", APPROVE, ("critical", "high"), ("bug", "security")),
    Rule("low-docs", BACKLOG, ("low",), ("docs",)),
    Rule("rest", DEFER),
)


class Ruling(NamedTuple):
    """The result of applying the rules to a pending request."""

    request: str
    rule: str | None
    """The rule; None if no rule applies."""
    decision: str | None
    events: list[Event]
    problem: str | None = None
    """Why the request remains pending although a rule applies."""


def decide_by_rules(sprint: Sprint, *, rules: Sequence[Rule], at: str) -> list[Ruling]:
    """Return, for every pending request, the decision by the first rule that applies.

    If the decision is refused, the request stays pending.
    """
    state = copied(sprint)
    rulings = []
    for entry in sprint.queue:
        if not takes_part(entry) or entry["status"] != words.PENDING:
            continue
        identity = entry["id"]
        rule = next((rule for rule in rules if _fits(rule, entry)), None)
        if rule is None:
            rulings.append(Ruling(identity, None, None, []))
            continue
        events, problem = list[Event](), None
        try:
            events = _command(identity, rule).decide(state, at)
        except RefusedError as error:
            problem = error.message
        rulings.append(Ruling(identity, rule.name, rule.decision, events, problem))
        # The next decision depends on the work that this one injected.
        fold_ahead(state, events, at)
    return rulings


class DecideByRules(Command, frozen=True):
    """Decide on all pending requests by rules, in a single append."""

    rules: tuple[Rule, ...] = DEFAULT_RULES

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_exists(sprint)
        rulings = decide_by_rules(sprint, rules=self.rules, at=at)
        return [event for ruling in rulings for event in ruling.events]


def _fits(rule: Rule, entry: Data) -> bool:
    priority, kind = entry.get("priority"), entry.get("type")
    return (not rule.priorities or priority in rule.priorities) and (
        not rule.types or kind in rule.types
    )


def _command(request: str, rule: Rule) -> Command:
    position = rule.position
    injection = RequestInjection(position.type, position.ref, model=rule.model)
    reasoning = rule.reasoning or _said(rule)
    more = {"request": request, "rule": rule.name, "injection": injection}
    return decision_of(made_from(RequestDecided, rule, reasoning=reasoning, **more))


_DONE = {
    APPROVE: "is approved",
    REJECT: "is rejected",
    DEFER: "is deferred",
    BACKLOG: "goes into the backlog",
}


def _said(rule: Rule) -> str:
    """Return a description of a rule."""
    priority, kind = " or ".join(rule.priorities), " or ".join(rule.types)
    what = ", ".join(filter(None, (priority, kind))) or "whatever no other rule fits"
    return f"rule {rule.name}: {what} {_DONE[rule.decision]}"
