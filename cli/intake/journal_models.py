"""progress.json as its document specifies it; its JSON Schema is made from this.

Six closed objects. The code that reads the file distinguishes fields of a later schema
version from mistakes, since that depends on the version (JRN-111).
"""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sprintlog.engine.journal.state import ids, words

from .fields import OneOf, Text


def _whole(value: object) -> object:
    """Take 1.0 for 1, as the schema does."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _pattern(pattern: str) -> Any:
    # Of digits it means the ten of ASCII, as in the schema's own dialect.
    return Field(strict=True, pattern=pattern.replace(r"\d", "[0-9]"))


Whole = BeforeValidator(_whole)
Count = Annotated[int, Field(strict=True, ge=0), Whole]
FromOne = Annotated[int, Field(strict=True, ge=1), Whole]
Moment = Annotated[str, Field(strict=True, json_schema_extra={"format": "date-time"})]
Status = Annotated[str, OneOf(words.STATUSES)]
ObservationType = Annotated[str, OneOf(words.OBSERVATION_TYPES)]
Category = Annotated[str, OneOf(words.CATEGORIES)]
Severity = Annotated[str, OneOf(words.SEVERITIES)]
Action = Annotated[str, OneOf(words.ACTIONS)]
Recovery = Annotated[str, OneOf(words.RECOVERY_ACTIONS)]
LearningType = Annotated[str, OneOf(words.LEARNING_TYPES)]
PatternType = Annotated[str, OneOf(words.PATTERN_TYPES)]
Confidence = Annotated[str, OneOf(words.CONFIDENCES)]


class Closed(BaseModel):
    """An object without any other property."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, json_schema_serialization_defaults_required=False
    )


class ObservationModel(Closed):
    """A finding captured during execution."""

    type: ObservationType
    title: Text
    description: Text = ""
    file: Text = ""
    category: Category = ""
    severity: Severity = ""
    action_taken: Action = ""
    related_learning_id: Text = ""


class IterationContext(Closed):
    """How an iteration came about."""

    retry_count: Count = 0
    previous_failure_reason: Text = ""
    recovery_action: Recovery = ""
    recovery_guidance: Text = ""
    dependencies_completed: list[Text] = []
    blocker_verified: Annotated[bool, Field(strict=True)] = False
    blocker_valid: Annotated[bool, Field(strict=True)] = False


class ProgressEntry(Closed):
    """A single iteration's progress record."""

    id: Annotated[str, _pattern(ids.ENTRY_ID)]
    timestamp: Moment
    prd_id: Text
    iteration: FromOne
    status: Status
    duration_seconds: Count = 0
    summary: Text = ""
    observations: list[ObservationModel]
    files_modified: list[Text] = []
    git_commits: list[Text] = []
    context: IterationContext = IterationContext()


class LearningModel(Closed):
    """A persistent learning that applies across iterations."""

    id: Annotated[str, _pattern(ids.LEARNING_ID)]
    type: LearningType
    content: Text
    context: Text = ""
    source_prd_id: Text
    source_entry_id: Text = ""
    created_at: Moment
    times_referenced: Count = 0
    still_valid: Annotated[bool, Field(strict=True)] = True


class PatternModel(Closed):
    """A codebase pattern discovered during execution."""

    id: Annotated[str, _pattern(ids.PATTERN_ID)]
    name: Text
    type: PatternType
    description: Text = ""
    examples: list[Text] = []
    discovered_at: Moment
    source_prd_id: Text = ""
    confidence: Confidence = ""


class JournalModel(Closed):
    """Structured progress tracking for Ralph CLI execution history."""

    model_config = ConfigDict(
        title="Ralph Progress",
        json_schema_extra={"$id": "https://ralph.dev/schemas/progress.json"},
    )

    version: Annotated[str, _pattern(r"^\d+\.\d+$")]
    created_at: Moment
    project_name: Text = ""
    entries: list[ProgressEntry]
    learnings: list[LearningModel] = []
    patterns: list[PatternModel] = []
