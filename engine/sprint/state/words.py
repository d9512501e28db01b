"""The fixed word lists of PROGRESS.yaml (SPR-040, SPR-050)."""

from collections.abc import Sequence

NOT_STARTED = "not-started"
IN_PROGRESS = "in-progress"
COMPLETED = "completed"
BLOCKED = "blocked"
PAUSED = "paused"
PAUSED_AT_BREAKPOINT = "paused-at-breakpoint"
NEEDS_HUMAN = "needs-human"
INTERRUPTED = "interrupted"

PENDING = "pending"
SKIPPED = "skipped"
FAILED = "failed"
DEFERRED = "deferred"

SPAWNED = "spawned"
RUNNING = "running"
PASSED = "passed"
RETRYING = "retrying"

SPRINT_STATUSES = (
    *(NOT_STARTED, IN_PROGRESS, COMPLETED, BLOCKED, PAUSED),
    *(PAUSED_AT_BREAKPOINT, NEEDS_HUMAN, INTERRUPTED),
)
STOPPED = frozenset({BLOCKED, PAUSED, PAUSED_AT_BREAKPOINT, NEEDS_HUMAN, INTERRUPTED})
"""The sprint statuses in which no work starts although the sprint is not completed."""
PHASE_STATUSES = (PENDING, IN_PROGRESS, COMPLETED, BLOCKED, SKIPPED, FAILED)
FINISHED = frozenset({COMPLETED, SKIPPED})
USER_STOPPED, UNKNOWN = "stopped", "unknown"
RUN_STATUSES = (COMPLETED, FAILED, NEEDS_HUMAN, USER_STOPPED, UNKNOWN)
"""The outcomes of an agent run; unknown if the output lacks the agent's end of turn."""
NO_SUCCESS = frozenset({FAILED, USER_STOPPED, UNKNOWN})
"""The run statuses after which a loop repeats the work."""

DYNAMIC_STEP_STATUSES = (PENDING, IN_PROGRESS, COMPLETED, BLOCKED)

MODELS = ("sonnet", "opus", "haiku")
MODES = ("standard", "ralph")
GATE_STATUSES = (PENDING, RUNNING, PASSED, RETRYING, FAILED, BLOCKED)
PRIORITIES = ("critical", "high", "medium", "low")
REQUEST_TYPES = ("bug", "improvement", "refactor", "test", "docs", "security")
REQUEST_STATUSES = ("pending", "approved", "rejected", "deferred", "backlog")
DECISIONS = ("approve", "reject", "defer", "backlog")
DEFERRALS = ("end-of-phase", "end-of-sprint", "next-sprint")
HOOK_TASK_STATUSES = (SPAWNED, RUNNING, COMPLETED, FAILED)
FAILURE_CATEGORIES = ("network", "rate-limit", "timeout", "validation", "logic")
WAITS_FOR = {
    "usage-limit": "the usage limit",
    "overload": "the model to answer again",
    "network": "the network",
}
"""The descriptions of limits in messages: `waits until 05:00 for …`."""

AGENTS = (
    *("antigravity", "claude", "codex", "copilot", "copilot-chat", "cursor", "droid"),
    *("gemini", "opencode", "pi"),
)
"""The agents whose output sprintlog can parse."""


def is_agent(program: str) -> bool:
    """Return whether a program is an agent whose output sprintlog can parse."""
    name = program.rpartition("/")[2]
    return name == "agy" or name.removesuffix("-agent") in AGENTS


_JSON = {
    "claude": (("-p", "--print"), "--output-format json"),
    "codex": (("exec", "e"), "--json"),
    "copilot": (("-p", "--prompt"), "--output-format json"),
    "cursor-agent": (("-p", "--print"), "--output-format json"),
    "gemini": (("-p", "--prompt"), "-o json"),
    "opencode": (("run",), "--format json"),
}
"""For each agent the words that make it print, and the option for output with tokens."""


def missing_json(command: Sequence[str]) -> str | None:
    """Return the option with which an agent would report tokens, unless it is given."""
    prints, option = _JSON.get(command[0].rpartition("/")[2], ((), ""))
    given = {word.partition("=")[0] for word in command[1:]}
    is_given = given & {option.partition(" ")[0], "--output-format"}
    return option if given & {*prints} and not is_given else None
