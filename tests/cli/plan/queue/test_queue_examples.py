"""The operator's examples in the PROGRESS.yaml reference, by real commands only.

The texts are our own; ids, statuses, times and the shape of every field are the
document's.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

PLAN = """\
phases:
  - id: development
    steps:
      - {id: step-1, prompt: One, phases: [{id: implement, prompt: Write one}]}
      - {id: step-2, prompt: Two, phases: [{id: implement, prompt: Write two}]}
"""
FIRST = {
    "id": "req-abc123",
    "title": "Crash on login",
    "description": "The page fails without an address",
    "priority": "high",
    "type": "bug",
    "status": "pending",
    "created-at": "2026-01-20T10:30:00Z",
    "discovered-in": "development > step-2 > implement",
    "context": {"relatedFiles": ["src/login.ts"], "codeSnippet": "user.mail.trim()"},
}
SECOND = {
    "id": "req-xyz789",
    "title": "Check what is typed",
    "description": "...",
    "priority": "medium",
    "type": "improvement",
    "status": "approved",
    "created-at": "2026-01-20T10:25:00Z",
    "discovered-in": "development > step-1 > implement",
    "decided-at": "2026-01-20T10:26:00Z",
    "decision": {
        "decision": "approve",
        "reasoning": "It is about security",
        "injection": {
            "position": {"type": "after-current"},
            "prompt": "Check all that is typed...",
            "idPrefix": "fix-req-xyz789",
        },
    },
}


def same(found: Any, expected: Any) -> bool:
    """Return whether two values are equal, with keys in the same order."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return list(found) == list(expected) and all(
            same(found[key], expected[key]) for key in expected
        )
    return bool(found == expected)


def test_queue_comes_out_of_commands(
    folder: Path, done: Any, state: Callable[[], Any]
) -> None:
    """Both requests of the example, field for field, in the order of recording."""
    (folder / "plan.yaml").write_text(PLAN)
    done("init")
    done("sprint", "create", "s", "--plan", "plan.yaml")
    for command in (["sprint", "start"], ["phase", "start"], ["phase", "complete"]):
        done(*command, "--at", "2026-01-20T10:00:00Z")
    context = '{"relatedFiles": ["src/login.ts"], "codeSnippet": "user.mail.trim()"}'
    done(
        *("queue", "add", FIRST["title"], "--description", FIRST["description"]),
        *("--priority", "high", "--type", "bug", "--id", "req-abc123"),
        *("--context", context, "--at", FIRST["created-at"]),
    )
    done(
        *("queue", "add", SECOND["title"], "--description", "...", "--type", "improvement"),
        *("--priority", "medium", "--id", "req-xyz789", "--at", SECOND["created-at"]),
        *("--discovered-in", SECOND["discovered-in"]),
    )
    done(
        *("queue", "approve", "req-xyz789", "--reasoning", "It is about security"),
        *("--prompt", "Check all that is typed...", "--at", SECOND["decided-at"]),
    )
    queue = state()["operator-queue"]
    assert len(queue) == 2
    assert same(queue[0], FIRST)
    assert same(queue[1], SECOND)


def test_injected_phase_comes_out_of_an_approval(
    folder: Path, done: Any, state: Callable[[], Any]
) -> None:
    """The injected phase of the example: id, model, and the time of the decision."""
    (folder / "plan.yaml").write_text("phases: [{id: development, prompt: Write it}]")
    done("init")
    done("sprint", "create", "s", "--plan", "plan.yaml")
    done("sprint", "start")
    done("queue", "add", "x", "--priority", "low", "--type", "test", "--id", "req-xyz789")
    done(
        *("queue", "approve", "req-xyz789", "--reasoning", "It is small", "--model"),
        *("sonnet", "--prompt", "Check it...", "--at", "2026-01-20T10:26:00Z"),
    )
    document = state()
    assert same(
        document["phases"][1],
        {
            "id": "fix-req-xyz789-0",
            "status": "pending",
            "prompt": "Check it...",
            "model": "sonnet",
            "injected": True,
            "injected-at": "2026-01-20T10:26:00Z",
        },
    )
    decided = document["operator-queue"][0]
    assert decided["decided-at"] == document["phases"][1]["injected-at"]
    assert decided["decision"]["injection"]["model"] == "sonnet"


def test_human_intervention_comes_out_of_commands(
    folder: Path, done: Any, state: Callable[[], Any]
) -> None:
    """The leaf is blocked with `error` and `human-needed`; the sprint can be resumed."""
    (folder / "plan.yaml").write_text("phases: [{id: implement, prompt: Write it}]")
    done("init")
    done("sprint", "create", "s", "--plan", "plan.yaml")
    done("sprint", "start")
    done("phase", "start")
    done(
        *("sprint", "needs-human", "--error", "The build lacks a part"),
        *("--reason", "Two parts do not fit", "--details", "foo 2.0 wants another bar"),
    )
    document = state()
    leaf = document["phases"][0]
    leaf.pop("started-at")
    leaf.pop("prompt")
    assert document["status"] == "needs-human"
    assert same(
        leaf,
        {
            "id": "implement",
            "status": "blocked",
            "error": "The build lacks a part",
            "human-needed": {
                "reason": "Two parts do not fit",
                "details": "foo 2.0 wants another bar",
            },
        },
    )


def test_intervention_is_told_and_resolved(sprint: Path, run: Any, done: Any) -> None:
    """Status and next print phase, reason and details; resume records who, why and how."""
    done("sprint", "needs-human", "--reason", "Which one?", "--details", "There are two")
    (needed,) = done("status", "--json").json["human_needed"]
    assert needed == {
        "phase": "setup",
        "reason": "Which one?",
        "details": "There are two",
        "error": "Which one?",
    }
    assert "needs a person at setup: Which one?\n  There are two\n" in done("status").out
    action = done("next", "--json").json
    assert (action["do"], action["phase"]) == ("stop", "setup")
    assert (action["why"], action["details"]) == ("Which one?", "There are two")
    assert "  details: There are two\n" in done("next").out
    assert run("sprint", "resume").code == 1
    done("sprint", "resume", "--by", "ana", "--why", "The first", "--done", "Wrote it down")
    resumed = done("log", "--json").lines[-1]
    assert resumed["data"] == {"by": "ana", "why": "The first", "done": "Wrote it down"}
    assert done("next", "--json").json["do"] == "stop"
    done("phase", "retry")
    assert done("status", "--json").json["human_needed"] == []
    assert done("next", "--json").json["do"] == "work"
