"""The closed word lists of progress.json."""

COMPLETED = "completed"
FAILED = "failed"
BLOCKED = "blocked"

PARTIAL = "partial"

STATUSES = (COMPLETED, FAILED, BLOCKED, PARTIAL)

BLOCKER = "blocker"
FINDING = "finding"
OBSERVATION_TYPES = (BLOCKER, FINDING, "completion")
CATEGORIES = (
    "bug",
    "stub",
    "dependency",
    "scope-creep",
    "api-issue",
    "test-failure",
    "tooling-friction",
    "architecture",
    "documentation",
    "performance",
    "security",
)
SEVERITIES = ("critical", "high", "medium", "low", "info")
ACTIONS = ("fixed", "deferred", "escalated", "documented", "none")

RETRY = "retry"
MANUAL = "manual"
RECOVERY_ACTIONS = (RETRY, "fix-state", "break-chunks", "skip", MANUAL)

CODEBASE_PATTERN = "codebase-pattern"
ERROR_WORKAROUND = "error-workaround"
LEARNING_TYPES = (
    CODEBASE_PATTERN,
    "build-command",
    "test-pattern",
    "api-convention",
    ERROR_WORKAROUND,
    "tool-usage",
    "architecture-constraint",
    "dependency-quirk",
)
PATTERN_TYPES = (
    "file-structure",
    "naming-convention",
    "api-pattern",
    "test-pattern",
    "error-handling",
    "state-management",
    "build-pattern",
    "deployment-pattern",
)
CONFIDENCES = ("high", "medium", "low")
