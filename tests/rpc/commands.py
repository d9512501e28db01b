"""An example of every command in a suitable situation, and as typed."""

from typing import Any, NamedTuple

from ..cli.conftest import PLAN

AT = "2026-01-15T12:00:00.000Z"
METRICS = {"test_count": 10, "tests_passed": 9}
TYPED_METRICS = ("--metric", "test_count=10", "--metric", "tests_passed=9")
NODES = [{"id": "more", "prompt": "Do more"}]
AT_END = {"type": "end-of-workflow"}
RAN = {"phase": "setup", "status": "completed", "exit_code": 0}
VERDICT = {"status": "completed", "summary": "made"}
SNAPSHOT = {"snapshot": "a" * 40, "iteration": 1, "tree": "b" * 40, "files": 1, "bytes": 1}
RESTORED = {"started": 1, "written": 0, "removed": 0}
PROCESS = {"pid": 1, "process_started": "1", "boot_id": "b"}
GATE = {"exit_code": 1, "output": "no"}
ENTRY = {
    "prd_id": "login",
    "status": "completed",
    "summary": "done",
    "observations": [{"type": "finding", "title": "t", "category": "documentation"}],
}
LEARNING = {"type": "codebase-pattern", "content": "ask first", "still_valid": True}
WHY = {"reasoning": "people wait"}

SITUATIONS: dict[str, tuple[tuple[str, ...], ...]] = {
    "empty": (),
    "created": (("sprint", "create", "auth", "--plan", "plan.yaml"),),
    "running": (
        ("sprint", "create", "auth", "--plan", "plan.yaml"),
        ("sprint", "start"),
        ("iteration", "baseline", *TYPED_METRICS),
        ("iteration", "start"),
        ("iteration", "end", *TYPED_METRICS),
        ("queue", "add", "Crash", "--priority", "high", "--type", "bug"),
        ("journal", "entry", "record", "login", "--status", "failed", "--summary", "stuck"),
        (
            "journal",
            "learning",
            "add",
            "tokens last",
            "--type",
            "codebase-pattern",
            "--prd",
            "login",
        ),
    ),
    "working": (
        ("sprint", "create", "auth", "--plan", "plan.yaml"),
        ("sprint", "start"),
        ("phase", "start", "setup"),
        ("iteration", "start"),
    ),
    "undone": (
        ("sprint", "create", "auth", "--plan", "plan.yaml"),
        ("sprint", "start"),
        ("phase", "skip", "setup", "--reason", "no"),
        ("undo", "--yes"),
    ),
    "skipped": (
        ("sprint", "create", "auth", "--plan", "plan.yaml"),
        ("sprint", "start"),
        ("phase", "skip", "setup", "--reason", "no"),
    ),
    "finished": (
        ("sprint", "create", "auth", "--plan", "plan.yaml"),
        ("sprint", "start"),
        *(("phase", "skip", phase, "--reason", "no") for phase in ("setup", "build")),
        ("phase", "skip", "review", "--reason", "no"),
    ),
    "done": (
        ("sprint", "create", "auth", "--plan", "plan.yaml"),
        ("sprint", "start"),
        *(("phase", "skip", phase, "--reason", "no") for phase in ("setup", "build")),
        ("phase", "skip", "review", "--reason", "no"),
        ("sprint", "complete"),
    ),
    "failed": (
        ("sprint", "create", "auth", "--plan", "plan.yaml"),
        ("sprint", "start"),
        ("phase", "start", "setup"),
        ("phase", "block", "setup", "--reason", "no"),
        ("sprint", "resume", "--by", "ana", "--why", "w"),
    ),
    "stopped": (
        ("sprint", "create", "auth", "--plan", "plan.yaml"),
        ("sprint", "start"),
        ("sprint", "needs-human", "--reason", "which key?"),
    ),
    "decided": (
        ("sprint", "create", "auth", "--plan", "plan.yaml"),
        ("sprint", "start"),
        ("queue", "add", "Crash", "--priority", "high", "--type", "bug"),
        ("queue", "reject", "req-1", "--reasoning", "no"),
    ),
    "gated": (
        ("sprint", "create", "auth", "--plan", "gated.yaml"),
        ("sprint", "start"),
        ("phase", "start"),
        ("phase", "complete"),
    ),
    "goal": (
        ("sprint", "create", "win", "--goal", "Win", "--max-iterations", "9"),
        ("sprint", "start"),
        ("iteration", "start"),
    ),
}
"""Commands that bring a log into a situation."""


class Example(NamedTuple):
    """A command in a situation."""

    situation: str
    fields: dict[str, Any]
    typed: tuple[str, ...] = ()
    """How the same is typed; without it the library does it for comparison."""


def plan() -> dict[str, Any]:
    """Return the plan as data."""
    from sprintlog.projections.state_files.yaml.reader import load

    found = load(PLAN.encode())
    assert isinstance(found, dict)
    return {**found, "sprint-id": "auth"}


DOCUMENT = {
    "sprint-id": "auth",
    "status": "in-progress",
    "phases": [{"id": "setup", "status": "pending", "prompt": "Make a branch"}],
}
R, W, G = "running", "working", "goal"
EXAMPLES: dict[str, Example] = {
    "accept-instruments": Example(R, {"number": 1, "reason": "x"}),
    "add-extracted-learnings": Example(R, {"proposals": [[1, LEARNING]]}),
    "add-learning": Example(R, {"learning": {**LEARNING, "source_prd_id": "login"}}),
    "add-note": Example(R, {"text": "hi"}, ("note", "hi")),
    "add-step": Example(G, {"prompt": "One more"}, ("step", "add", "--prompt", "One more")),
    "adopt-edit": Example(
        R,
        {
            "edit": 1,
            "observed": {"path": "PROGRESS.yaml", "digest": "", "kept": "", "since": 1},
            "base": {},
            "by": "x",
        },
    ),
    "apply-artifacts": Example(R, {"source": "a", "destination": "b"}),
    "approve-request": Example(
        R,
        {"request": "req-1", **WHY},
        ("queue", "approve", "req-1", "--reasoning", *WHY.values()),
    ),
    "backlog-request": Example(
        R,
        {"request": "req-1", **WHY},
        ("queue", "backlog", "req-1", "--reasoning", *WHY.values()),
    ),
    "begin-run": Example(R, {"run": "r", "host": "h", **PROCESS}),
    "block-phase": Example(
        W, {"reason": "x", "phase": "setup"}, ("phase", "block", "setup", "--reason", "x")
    ),
    "block-sprint": Example(W, {"reason": "x"}, ("sprint", "block", "--reason", "x")),
    "capture-baseline": Example(W, {"metrics": METRICS}),
    "change-budgets": Example(W, {"budgets": {"iterations": 3}}),
    "change-rules": Example(
        W,
        {"progress_edits": "adopt"},
        ("iteration", "rules", "set", "--progress-edits", "adopt"),
    ),
    "check-gate": Example("gated", {"phase": "build", "run": "r", "result": GATE}),
    "complete-goal": Example(
        G, {"summary": "won"}, ("goal", "complete", "--summary", "won")
    ),
    "complete-hook": Example(G, {"hook_id": "h"}),
    "complete-phase": Example(
        W,
        {"phase": "setup", "summary": "s"},
        ("phase", "complete", "setup", "--summary", "s"),
    ),
    "complete-sprint": Example(
        "finished", {"summary": "s"}, ("sprint", "complete", "--summary", "s")
    ),
    "create-sprint": Example("empty", {"plan": plan()}),
    "decide-claim": Example(R, {}),
    "defer-request": Example(
        R,
        {"request": "req-1", "until": "end-of-phase", **WHY},
        (
            "queue",
            "defer",
            "req-1",
            "--until",
            "end-of-phase",
            "--reasoning",
            *WHY.values(),
        ),
    ),
    "describe-iteration": Example(R, {"number": 1, "note": "n", "tags": ["t"]}),
    "discover-pattern": Example(
        R, {"pattern": {"name": "p", "type": "file-structure", "description": "d"}}
    ),
    "end-iteration": Example(W, {"summary": "s"}),
    "end-measured-iteration": Example(W, {"metrics": METRICS}),
    "end-repair": Example("gated", {"ran": RAN, "verdict": VERDICT}),
    "end-restore": Example(R, {"ended": RESTORED}),
    "end-run": Example(W, {"ran": RAN, "verdict": VERDICT}),
    "end-turn": Example(G, {"ran": RAN, "verdict": VERDICT}),
    "end-work": Example(W, {"summary": "s"}),
    "end-wrapped": Example(W, {"ran": RAN}),
    "fail-hook": Example(G, {"hook_id": "h", "error": "e"}),
    "fail-iteration": Example(G, {"error": "e"}),
    "fail-measurement": Example(W, {"error": "e"}),
    "fail-phase": Example(
        W,
        {"error": "e", "category": "network", "phase": "setup"},
        ("phase", "fail", "setup", "--error", "e", "--category", "network"),
    ),
    "finish-run": Example(R, {"run": "r", "because": "done", "exit_code": 0}),
    "give-recommendation": Example(R, {}),
    "give-restore-up": Example(R, {"ended": RESTORED}),
    "go-on": Example(R, {"reason": "r"}),
    "hand-over-learnings": Example(
        R, {"learning_ids": ["learning-0001"], "prd_id": "login", "iteration": 1}
    ),
    "import-document": Example("empty", {"document": DOCUMENT, "source": "PROGRESS.yaml"}),
    "inject-phases": Example(R, {"nodes": NODES, "position": AT_END}),
    "inject-steps": Example(
        R, {"nodes": NODES, "position": {"type": "end-of-phase", "ref": "build"}}
    ),
    "interrupt-gate": Example("gated", {"phase": "build", "run": "r", "reason": "x"}),
    "interrupt-sprint": Example(W, {"reason": "x"}),
    "limit-iterations": Example(G, {"max_iterations": 12}),
    "lose-run": Example(R, {"run": "r", "last_seen": AT}),
    "measure-iteration": Example(R, {"metrics": METRICS, "number": 1}),
    "need-human": Example(
        W,
        {"reason": "x", "details": "y"},
        ("sprint", "needs-human", "--reason", "x", "--details", "y"),
    ),
    "open-journal": Example(
        "empty", {"project_name": "auth"}, ("journal", "open", "--project-name", "auth")
    ),
    "pause-sprint": Example(W, {"reason": "x"}, ("sprint", "pause", "--reason", "x")),
    "prune-snapshots": Example(R, {"keep": 1}),
    "queue-requests": Example(
        W,
        {"requests": [{"title": "Crash", "priority": "high", "request_type": "bug"}]},
        ("queue", "add", "Crash", "--priority", "high", "--type", "bug"),
    ),
    "record-entry": Example(R, {"entry": ENTRY}),
    "record-gate": Example("gated", {"result": GATE, "phase": "build"}),
    "record-heartbeat": Example(W, {}),
    "record-run": Example(W, {"ran": RAN}),
    "redo": Example("undone", {"reason": "x"}, ("redo", "--reason", "x", "--yes")),
    "reference-learning": Example(R, {"learning_id": "learning-0001", "prd_id": "login"}),
    "reject-request": Example(
        R,
        {"request": "req-1", **WHY},
        ("queue", "reject", "req-1", "--reasoning", *WHY.values()),
    ),
    "reopen-phase": Example(
        "skipped",
        {"phase": "setup", "reason": "x"},
        ("phase", "reopen", "setup", "--reason", "x"),
    ),
    "record-review": Example(R, {"accepts": True, "reason": "x", "command": "y"}),
    "reopen-request": Example("decided", {"request": "req-1", "reason": "x"}),
    "reopen-sprint": Example(
        "done", {"reason": "x"}, ("sprint", "reopen", "--reason", "x")
    ),
    "repair-gate": Example("gated", {"phase": "build"}),
    "replace-baseline": Example(R, {"number": 1, "reason": "x"}),
    "report-work": Example(W, {"outcome": "done", "summary": "s"}),
    "resume-sprint": Example(
        "stopped",
        {"by": "ana", "why": "w"},
        ("sprint", "resume", "--by", "ana", "--why", "w"),
    ),
    "retire-learning": Example(R, {"learning_id": "learning-0001", "reason": "x"}),
    "retract-measurement": Example(R, {"number": 1, "reason": "x"}),
    "retry-phase": Example(
        "failed",
        {"phase": "setup", "reason": "x"},
        ("phase", "retry", "setup", "--reason", "x"),
    ),
    "roll-back": Example(
        "skipped",
        {"to": 2, "reason": "x"},
        ("rollback", "version:2", "--plan", "--reason", "x"),
    ),
    "run-hook": Example(G, {"hook_id": "h", "pid": 1}),
    "schedule-retry": Example(
        W, {"next_retry_at": "2026-01-15T13:00:00Z", "phase": "setup"}
    ),
    "select-best": Example(R, {}),
    "set-goal": Example(G, {"goal": "Win more"}),
    "set-rules": Example(W, {"rules": {"progress_edits": "adopt"}}),
    "skip-phase": Example(
        W, {"phase": "setup", "reason": "x"}, ("phase", "skip", "setup", "--reason", "x")
    ),
    "spawn-hook": Example(G, {"hook_id": "h", "pid": 1}),
    "start-gate": Example("gated", {"run": "r", "phase": "build", **PROCESS}),
    "start-iteration": Example(R, {}, ("iteration", "start")),
    "start-phase": Example(R, {"phase": "setup"}, ("phase", "start", "setup")),
    "start-repair": Example("gated", {"phase": "build"}),
    "start-restore": Example(
        R, {"before": SNAPSHOT, "restore": {"snapshot": "a" * 40, "before": "b" * 40}}
    ),
    "start-run": Example(R, {"phase": "setup"}),
    "start-sprint": Example("created", {}, ("sprint", "start")),
    "start-turn": Example(G, {}),
    "start-wrapped": Example(R, {}),
    "take-over-request": Example(
        W,
        {
            "entry": {"id": "req-9", "title": "Crash", "priority": "high", "type": "bug"},
            "origin": {"sprint": "old", "request": "req-9"},
        },
    ),
    "take-plan": Example("empty", {"plan": plan()}),
    "take-said": Example(R, {"said": {"learnings": [{"content": "ask first"}]}}),
    "take-snapshot": Example(R, {"taken": SNAPSHOT}),
    "undo": Example("skipped", {"reason": "x"}, ("undo", "--reason", "x", "--yes")),
    "update-step": Example(G, {"step": "step-1", "status": "completed"}),
    "warn-of-budgets": Example(R, {}),
}
"""By the command's name."""
NOTHING = {
    *("adopt-edit", "complete-hook", "fail-hook", "run-hook", "spawn-hook"),
    *("end-restore", "give-restore-up", "interrupt-gate", "lose-run", "prune-snapshots"),
    *("measure-iteration", "repair-gate", "start-repair", "start-turn", "warn-of-budgets"),
    *("add-extracted-learnings", "apply-artifacts", "check-gate", "go-on", "update-step"),
    *("accept-instruments", "decide-claim", "record-review"),
}
"""Commands inside a running loop, which have no effect here."""
