"""`sprintlog schema`: the JSON Schema of a file or of the events."""

from typing import TYPE_CHECKING

import click

from ..output import print_json

if TYPE_CHECKING:
    from pydantic import BaseModel


@click.command("schema", epilog="Example: sprintlog schema progress > progress.schema.json")
@click.argument(
    "what",
    type=click.Choice(
        ["progress", "plan", "sprint", "workflow", "metrics", "journal", "events"]
    ),
)
def command(what: str) -> None:
    """Print the JSON Schema of a file that people write, or of every event's data.

    `progress` is PROGRESS.yaml, `plan` what `sprint create` takes, `sprint` SPRINT.yaml,
    `metrics` what `iteration end --metrics` takes, `journal` progress.json.
    """
    if what == "events":
        print_json(events_schema())
        return
    from ..intake import definition_models, journal_models, metrics, progress_models

    models: dict[str, type[BaseModel]] = {
        "progress": progress_models.Progress,
        "plan": progress_models.CompiledPlan,
        "sprint": definition_models.SprintDefinition,
        "workflow": definition_models.Workflow,
        "metrics": metrics.MetricsModel,
        "journal": journal_models.JournalModel,
    }
    schema = models[what].model_json_schema() | {"title": what.capitalize()}
    print_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


def events_schema() -> dict[str, object]:
    """Return the schema of every event's data, by wire tag."""
    import msgspec

    from sprintlog.engine.service.streams.catalogue import CODEC

    events = list(CODEC.events.values())
    schemas, components = msgspec.json.schema_components(
        events, ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sprintlog events",
        "type": "object",
        "properties": dict(zip(CODEC.events, schemas, strict=True)),
        "$defs": components,
    }
