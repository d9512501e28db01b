"""Which facts are decisions, and how each is read as one: one line for each wire tag."""

from collections.abc import Sequence
from typing import NamedTuple

GATE, ROLLBACK, EDIT, HUMAN, BREAKPOINT = "gate", "rollback", "edit", "human", "breakpoint"
SKIP, BLOCK, INJECTION, REQUEST, SELECTION = (
    *("skip", "block", "injection", "request", "selection"),
)
RECOMMENDATION, GOAL, PLAN, RULES = "recommendation", "goal", "plan", "rules"
KINDS = {
    GATE: "a gate passed, failed or blocked",
    ROLLBACK: "a rollback, an undo or a redo",
    EDIT: "somebody changed a state file, or such a change was adopted",
    HUMAN: "a person was needed, stopped the sprint, went on or opened something again",
    BREAKPOINT: "the sprint stopped for a review, or went on after one",
    SKIP: "something is left out on purpose",
    BLOCK: "something cannot go on",
    INJECTION: "work came into the plan while it was carried out",
    REQUEST: "a request of the operators' queue was decided, or came back",
    SELECTION: "the best iteration was selected, or its files were applied",
    RECOMMENDATION: "what to do next was recommended",
    GOAL: "the goal was set, claimed or reached",
    PLAN: "a plan or a document came in, or a fork began",
    RULES: "the rules in force were set",
}
"""The kinds of decisions, and what each of them means."""


IN_FORCE = "in force"


class How(NamedTuple):
    """How a fact is read as a decision."""

    kind: str
    said: Sequence[str] = ("reason",)
    """The fields that say what was decided; those that are there."""
    evidence: Sequence[str] = ()
    """The fields that it was decided on."""
    about: str = "phase"
    """The field with the address that it is about."""
    looks_back: bool = False
    """Whether what went wrong there before is evidence too."""
    judges: str = ""
    """What is judged for it: the iteration `in force`, or the one that a field names."""
    stops: bool = False
    """Whether the sprint waits then: whatever comes next is what followed."""


DECISIONS: dict[str, How] = {
    "sprint-compiled": How(PLAN, ("sources",)),
    "sprint-imported": How(PLAN, ("source",)),
    "fork-created": How(PLAN, ("source", "reason"), ("version", "hash")),
    "gate-checked": How(
        GATE, (), ("attempt", "exit_code", "timed_out", "duration_ms", "output_sha256")
    ),
    "gate-blocked": How(GATE, ("error",), stops=True),
    "rolled-back": How(
        ROLLBACK, ("to", "undoes", "reason"), looks_back=True, judges=IN_FORCE
    ),
    "edit-observed": How(EDIT, ("path", "problem"), ("since", "digest")),
    "edit-adopted": How(EDIT, ("path", "adopted", "left"), ("edit", "digest")),
    "human-needed": How(
        HUMAN, ("reason", "details"), ("error",), looks_back=True, stops=True
    ),
    "sprint-paused": How(HUMAN, stops=True),
    "sprint-interrupted": How(HUMAN, stops=True),
    "sprint-resumed": How(HUMAN, ("by", "why"), looks_back=True),
    "sprint-reopened": How(HUMAN),
    "phase-reopened": How(HUMAN),
    "phase-retried": How(HUMAN, looks_back=True),
    "breakpoint-reached": How(BREAKPOINT, (), stops=True),
    "phase-skipped": How(SKIP, looks_back=True),
    "phase-blocked": How(BLOCK, looks_back=True),
    "sprint-blocked": How(BLOCK, looks_back=True, stops=True),
    "phase-injected": How(INJECTION, ("nodes", "into", "after", "before"), ("sources",)),
    "step-injected": How(INJECTION, ("nodes", "into", "after", "before"), ("sources",)),
    "request-decided": How(
        REQUEST,
        ("request", "decision", "reasoning", "rejection_reason", "deferred_until"),
        ("rule",),
    ),
    "request-returned": How(REQUEST, ("request", "until")),
    "request-reopened": How(REQUEST, ("request", "reason")),
    "recommendation-given": How(
        RECOMMENDATION,
        ("number", "action", "reason", "target"),
        ("confidence", "because"),
        judges="number",
    ),
    "best-selected": How(
        SELECTION,
        ("number", "final", "is_verified"),
        ("score", "final_score"),
        judges="number",
    ),
    "artifacts-applied": How(SELECTION, ("source", "destination"), ("files_copied",)),
    "goal-set": How(GOAL, ("goal",)),
    "iterations-limited": How(GOAL, ("max_iterations",)),
    "goal-claimed": How(GOAL, ("reason", "summary"), ("iteration",)),
    "goal-completed": How(GOAL, ("summary",), ("iteration", "open_steps")),
    "rules-set": How(RULES, ("weights", "thresholds", "verification_required")),
}
"""Every fact that is a decision, by its wire tag."""

EVIDENCE: dict[str, How] = {
    "phase-failed": How("", ("category", "error")),
    "gate-checked": DECISIONS["gate-checked"],
    "gate-blocked": How("", ("error",)),
    "human-needed": How("", ("reason",)),
    "phase-blocked": How("", ("reason",)),
    "sprint-blocked": How("", ("reason",)),
    "iteration-failed": How("", ("category", "error")),
    "measurement-failed": How("", ("error",)),
    "breakpoint-reached": How("", ()),
    "recommendation-given": How("", ("action", "reason")),
}
"""What a later decision is made on: what went wrong, or stopped the sprint."""

QUIET = {"activity-seen", "note-added", "agent-ran", "gate-started"}
"""What does not count as following: signs of life, remarks, and reports of runs."""

UNDOABLE = {HUMAN, SKIP, BLOCK, INJECTION, REQUEST}
"""The kinds that `undo --decision` takes back."""
