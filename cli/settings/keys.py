"""Every key that the file may have, and what else says the same."""

from typing import NamedTuple


class Key(NamedTuple):
    """What there is to know of a key but for its type."""

    default: str = "none"
    """In words: what holds where nobody says anything."""
    option: str | None = None
    """The option that comes before it."""
    variable: str | None = None
    """The variable of the environment that comes before it."""
    needs_trust: bool = False
    """Whether it runs something, hands something on, or says where and who."""


KEYS = {
    "record.off": Key("false", variable="SPRINTLOG_OFF"),
    "record.actor": Key(
        "operator on a terminal, else runtime", "--actor", "SPRINTLOG_ACTOR", True
    ),
    "log.folder": Key("found upwards", variable="SPRINTLOG_DIR", needs_trust=True),
    "log.url": Key("in the folder", "init --log", "SPRINTLOG_LOG", True),
    "agent.command": Key(option="run -- COMMAND", needs_trust=True),
    "agent.timeout": Key("3600", "run --timeout"),
    "agent.idle-timeout": Key("600 for an agent that streams", "run --idle-timeout"),
    "agent.fallback": Key(option="run --fallback", needs_trust=True),
    "agent.hook-command": Key(option="run --hook-command", needs_trust=True),
    "agent.environment": Key("all of it"),
    "agent.prompt-file": Key(option="run --prompt-file", needs_trust=True),
    "agent.snapshot": Key("false", "run --snapshot"),
    "agent.measure": Key("false", "run --measure"),
    "agent.on-regression": Key("stop", "run --on-regression"),
    "agent.select": Key("false", "run --select"),
    "measure.run": Key(option="--run", needs_trust=True),
    "measure.build": Key(option="--build", needs_trust=True),
    "measure.reports": Key(option="--report"),
    "measure.sources": Key(option="--source"),
    "measure.timeout": Key("600", "--timeout"),
    "measure.environment": Key(option="--env", needs_trust=True),
    "gate.environment": Key(option="gate run --env", needs_trust=True),
    "snapshot.include-ignored": Key(option="--include-ignored"),
    "snapshot.file-max": Key("64", "--file-max"),
    "snapshot.keep": Key("50", "prune --keep"),
    "snapshot.remote": Key(needs_trust=True),
    "notify.command": Key(option="run --notify", needs_trust=True),
    "notify.of": Key("all of them", "run --notify-of"),
    "notify.wait": Key("600", "run --notify-wait"),
    "budget.iterations": Key("no limit", "sprint create --max-iterations"),
    "budget.cost": Key("no limit", "run --budget-cost"),
    "budget.tokens": Key("no limit", "run --budget-tokens"),
    "budget.time": Key("no limit", "run --budget-time"),
    "budget.failures": Key("no limit", "run --budget-failures"),
    "budget.price": Key(option="run --price", needs_trust=True),
    "rules.weights": Key("as recorded", "rules set --weight"),
    "rules.thresholds": Key("as recorded", "rules set --threshold"),
    "rules.verification": Key("as recorded", "rules set --verification"),
    "rules.progress-edits": Key("as recorded", "rules set --progress-edits"),
}
"""Every key with its table, in the order in which they are shown."""

TABLES = tuple(dict.fromkeys(key.partition(".")[0] for key in KEYS))
