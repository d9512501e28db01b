"""What a journal consists of, field by field and in the order of progress.json.

Empty fields are omitted, as by the specification's own writer: absent values, "", [] and
counters at 0. `false` is a statement and is written.
"""

from typing import Any

import msgspec


class ClosedObject(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A closed object of progress.json."""

    extra: dict[str, Any] = {}
    """Fields of a later version of the schema, kept unchanged."""


class Observation(ClosedObject, frozen=True, kw_only=True):
    """Something noticed while working on an entry."""

    type: str
    """`blocker` (cannot go on), `finding` (noticed) or `completion` (was there already)."""
    title: str
    """What it is, in a few words."""
    description: str = ""
    """What was noticed, and what the agent thought of it."""
    file: str = ""
    """The file it is about."""
    category: str = ""
    """What kind of thing it is, of the list in the specification."""
    severity: str = ""
    """`critical`, `high`, `medium`, `low` or `info`."""
    action_taken: str = ""
    """What was done about it: `fixed`, `deferred`, `escalated`, `documented` or `none`."""
    related_learning_id: str = ""
    """The learning that it led to."""


class Context(ClosedObject, frozen=True, kw_only=True):
    """How an iteration came about."""

    retry_count: int = 0
    """How often this PRD was tried again before."""
    previous_failure_reason: str = ""
    """Why the iteration before failed."""
    recovery_action: str = ""
    """`retry`, `fix-state`, `break-chunks`, `skip` or `manual`."""
    recovery_guidance: str = ""
    """What was advised for this iteration."""
    dependencies_completed: tuple[str, ...] = ()
    """PRDs completed before; they need no entry of their own."""
    blocker_verified: bool | None = None
    """Whether somebody checked what is said to block."""
    blocker_valid: bool | None = None
    """Whether it was found to block."""


class Entry(ClosedObject, frozen=True, kw_only=True):
    """One iteration's work on a PRD, as it ended."""

    id: str = ""
    """`{prd_id}-{iteration}`, in small letters, digits and dashes."""
    timestamp: str = ""
    """When it ended: RFC 3339, as it was given."""
    prd_id: str = ""
    """The PRD that was worked on, as it was given."""
    iteration: int = 0
    """The how many-th of this PRD, from 1."""
    status: str = ""
    """`completed`, `failed`, `blocked` or `partial`."""
    duration_seconds: int = 0
    """How long it took."""
    summary: str = ""
    """What happened, in one line."""
    observations: tuple[Observation, ...]
    """What was noticed."""
    files_modified: tuple[str, ...] = ()
    """Paths of the files it changed."""
    git_commits: tuple[str, ...] = ()
    """The commits it made, in whatever form they were given."""
    context: Context | None = None
    """How it came about."""


class Learning(ClosedObject, frozen=True, kw_only=True):
    """Something that holds beyond the iteration in which it was learned."""

    id: str = ""
    """`learning-` and four digits."""
    type: str = ""
    """Its kind, of the list in the specification."""
    content: str = ""
    """What was learned."""
    context: str = ""
    """Where it applies."""
    source_prd_id: str = ""
    """The PRD it was learned from."""
    source_entry_id: str = ""
    """The entry it was learned from."""
    created_at: str = ""
    """When it was learned: RFC 3339, as it was given."""
    times_referenced: int = 0
    """How often it had been used when it came in; its references are added to that."""
    still_valid: bool
    """Whether it held when it came in."""


class Pattern(ClosedObject, frozen=True, kw_only=True):
    """Something that the codebase does in the same way again and again."""

    id: str = ""
    """`pattern-` and four digits."""
    name: str = ""
    """What it is called."""
    type: str = ""
    """Its kind, of the list in the specification."""
    description: str = ""
    """What it is, and how to follow it."""
    examples: tuple[str, ...] = ()
    """Paths or pieces of code that show it."""
    discovered_at: str = ""
    """When it was discovered: RFC 3339, as it was given."""
    source_prd_id: str = ""
    """The PRD it was discovered in."""
    confidence: str = ""
    """`high`, `medium` or `low`."""
