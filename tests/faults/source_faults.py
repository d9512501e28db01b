"""Small faults in the rules, each with the tests that must detect it.

A fault is located in the sources by its line, not by its file, so that it survives a move.
The line must exist exactly once; if it is rewritten, so is the fault.
"""

from pathlib import Path
from typing import NamedTuple

ROOMS = ("engine", "projections", "cli")


class Fault(NamedTuple):
    """One wrong line, and the tests that must detect it."""

    name: str
    right: str
    """The line, which exists once in the sources."""
    wrong: str
    """Its replacement."""
    tests: tuple[str, ...]
    """The names of the test files of which at least one must fail."""

    def paths(self, root: Path) -> list[Path]:
        """Return its test files, wherever they are below `tests`."""
        return [path for name in self.tests for path in (root / "tests").rglob(name)]


FAULTS = (
    Fault(
        "a gate may be tried once more than allowed",
        "if attempt < gates.gate_of(node).attempts_max or not gates.is_due(node):",
        "if attempt <= gates.gate_of(node).attempts_max or not gates.is_due(node):",
        ("test_gate_checks.py",),
    ),
    Fault(
        "a gate that ran out of time passes",
        "if event.exit_code == 0 and not event.timed_out:",
        "if event.exit_code == 0 or event.timed_out:",
        ("test_gate_checks.py", "test_gate_results.py"),
    ),
    Fault(
        "a failure is retried once more than allowed",
        "if category not in policy.retry_on or tried >= policy.attempts_max:",
        "if category not in policy.retry_on or tried > policy.attempts_max:",
        ("test_retry.py",),
    ),
    Fault(
        "a sprint pauses at breakpoints that it has not reached",
        'if status == words.COMPLETED and node.data.get("break") is True:',
        'if node.data.get("break") is True:',
        ("test_breakpoint.py",),
    ),
    Fault(
        "a parent with a failed child goes on",
        "    if tally[words.FAILED]:\n        return words.FAILED\n",
        "",
        ("test_derived_parents.py",),
    ),
    Fault(
        "a run that went wrong counts as done",
        "    elif exit_code != 0:\n",
        "    elif exit_code is None:\n",
        ("test_answers.py",),
    ),
    Fault(
        "a rule of the queue is met by half of it",
        "return (not rule.priorities or priority in rule.priorities) and (",
        "return (not rule.priorities or priority in rule.priorities) or (",
        ("test_queue_rules.py",),
    ),
    Fault(
        "a request deferred to the next sprint returns in this one",
        'entry["status"] == words.DEFERRED and entry.get("deferred-until") != NEXT_SPRINT',
        'entry["status"] == words.DEFERRED',
        ("test_queue_at_the_goal.py",),
    ),
    Fault(
        "a deferred request never returns at the end of the sprint",
        "if ended or said.deferred_until == END_OF_SPRINT:",
        "if ended and said.deferred_until != END_OF_SPRINT:",
        ("test_queue_returns.py",),
    ),
    Fault(
        "a rollback to the version before a rollback loses its path",
        "        if to < at <= last:\n            stretches.append((at, last))",
        "        if to < at < last:\n            stretches.append((at, last))",
        ("test_rollback.py",),
    ),
    Fault(
        "the first version of a stretch does not count",
        "place = bisect_left(stretches, (version + 1,))",
        "place = bisect_left(stretches, (version,))",
        ("test_rollback.py", "test_planted_rules.py"),
    ),
    Fault(
        "a payload is read whatever its digest",
        "and (payload is None or sha256(salt + payload).digest() == digest)",
        "and (payload is None or True)",
        ("test_chain.py",),
    ),
    Fault(
        "a gap in the log is accepted",
        "if event.position != before.position + 1:",
        "if event.position <= before.position:",
        ("test_chain.py",),
    ),
    Fault(
        "a key answers for another command",
        "if first.key_digest != key_digest:",
        "if first.key_digest is None:",
        ("test_keys.py",),
    ),
    Fault(
        "a torn head file is believed",
        "if not is_whole or crc32(record[:44]) != int.from_bytes(record[44:]):",
        "if not is_whole:",
        ("test_damage.py", "test_head_file.py", "test_sqlite_log.py"),
    ),
    Fault(
        "a saved state with a flipped bit is used",
        "if saved[:_SUM_BYTES] != crc32(state).to_bytes(_SUM_BYTES):",
        "if len(saved) < _SUM_BYTES:",
        ("test_checkpoint_state.py", "test_damaged_columns.py"),
    ),
    Fault(
        "an event of a newer version is read as ours",
        "if event is None or shape > event.schema_version:",
        "if event is None:",
        ("test_upcast.py", "test_events.py"),
    ),
    Fault(
        "a log with a second name is opened",
        "if found.st_nlink > 1:",
        "if found.st_nlink > 2:",
        ("test_identity.py",),
    ),
    Fault(
        "a password in an address is recorded",
        'SHORT = ("://", ',
        'SHORT = (":///", ',
        ("test_masking.py",),
    ),
    Fault(
        "a digest reveals a chosen password",
        "        if is_chosen:\n",
        "        if not is_chosen:\n",
        ("test_masking.py",),
    ),
    Fault(
        "a restore writes into git's own folder",
        'any(part in ("", ".", "..") or is_gits_own(part) for part in path.split("/"))',
        'any(part in ("", ".", "..") for part in path.split("/"))',
        ("test_hostile_trees.py", "test_state_places.py"),
    ),
    Fault(
        "a restore of some files removes others",
        "        if path in wanted.files or not is_meant(path):\n",
        "        if path in wanted.files:\n",
        ("test_restoring_snapshots.py",),
    ),
    Fault(
        "somebody else's file is taken for ours",
        "return self.content is not None and self.since is None",
        "return self.content is None and self.since is None",
        ("test_state_files.py",),
    ),
    Fault(
        "where edits are refused nobody looks",
        "if edit_policy(action.state) != judged.REFUSE or",
        "if edit_policy(action.state) == judged.REFUSE or",
        ("test_adopt.py", "test_state_files.py"),
    ),
    Fault(
        "a copy of the log is believed unread",
        'return found if found and b"".join(found) == kept else None',
        "return found or None",
        ("test_query.py",),
    ),
    Fault(
        "the copy of the log forgets discarded events",
        "for counts, stretches in ((0, gone), (1, back)):",
        "for counts, stretches in ((1, gone), (1, back)):",
        ("test_query.py",),
    ),
    Fault(
        "more tests lost than were there is no alert",
        "if tests <= passed < 0:",
        "if tests < passed < 0:",
        ("test_alerts.py",),
    ),
    Fault(
        "the limit of the variance stalls, too",
        "if spread >= exact(limits.stall_variance):",
        "if spread > exact(limits.stall_variance):",
        ("test_classes.py",),
    ),
    Fault(
        "the target is reached only beyond it",
        "if target is not None and value is not None and value >= exact(target):",
        "if target is not None and value is not None and value > exact(target):",
        ("test_recommendation.py",),
    ),
    Fault(
        "a high alert alone asks for a rollback",
        "or (d.HIGH in severities and behind > 0)",
        "or (d.HIGH in severities and behind >= 0)",
        ("test_rollback_target.py", "test_recommendation.py"),
    ),
    Fault(
        "an incomplete iteration becomes the best",
        "if found.value is not None and not is_incomplete and _replaces(found, best):",
        "if found.value is not None and _replaces(found, best):",
        ("test_tracker.py",),
    ),
    Fault(
        "idle iterations are borne for one longer",
        "return turns.idle >= idle_threshold(plan.document)",
        "return turns.idle > idle_threshold(plan.document)",
        ("test_idle_iterations.py",),
    ),
    Fault(
        "a goal may be claimed one iteration early",
        "if number < (minimum := document_fields.",
        "if number + 1 < (minimum := document_fields.",
        ("test_ralph_goal.py",),
    ),
    Fault(
        "an entry of the journal may have any id",
        "if entry.id != entry_id(entry.prd_id, entry.iteration):",
        "if not entry.id:",
        ("test_journal_rules.py",),
    ),
    Fault(
        "a log that git tracks is used",
        "    is_tracked = stranger is None and _is_tracked(folder)\n",
        "    is_tracked = False\n",
        ("test_init.py",),
    ),
)


def place_of(fault: Fault, root: Path) -> list[Path]:
    """Return the files that contain the right line, once per occurrence."""
    return [
        path
        for room in ROOMS
        for path in sorted((root / room).rglob("*.py"))
        for _ in range(path.read_text(encoding="utf-8").count(fault.right))
    ]


def plant(fault: Fault, root: Path) -> Path:
    """Plant a fault in a copy of the sources; return the changed file."""
    (path,) = place_of(fault, root)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")
    return path
