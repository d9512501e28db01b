"""The `sprintlog schema` command: the JSON Schema of a file, the events or the commands."""

import re
from typing import Any

import click
import msgspec

from sprintlog.engine.commands import schemas as schemas_of_commands
from sprintlog.engine.errors import NotFoundError, SprintlogError
from sprintlog.engine.extensions import installed
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.service.streams.extension_events import event_schema
from sprintlog.engine.sprint.plan import shape
from sprintlog.projections.views.answers import schemas as schemas_of_answers

from .. import typed
from ..output import print_document, warn

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


@typed.command("schema")
@typed.argument(
    "what",
    type=typed.Choice(
        [
            *("progress", "plan", "sprint", "workflow", "metrics", "journal", "config"),
            *("events", "commands", "answers"),
        ]
    ),
)
@typed.argument("name", nargs=-1, metavar="[NAME]")
def command(what: str, name: tuple[str, ...]) -> None:
    """Print the JSON Schema of a file, of all events' data, or of all commands.

    `progress` is PROGRESS.yaml, `plan` the input of `sprint create`, `sprint` SPRINT.yaml,
    `metrics` the input of `iteration end --metrics`, `journal` progress.json, and `config`
    sprintlog.toml. `answers` is the output of commands with --json; with NAME, such as
    `gate show`, it is the output of one command.

    Example: sprintlog schema progress > progress.schema.json
    """
    if name and what != "answers":
        raise click.UsageError(f"NAME can be used only with answers, not {what}")
    if what == "answers":
        print_document(answers_schema(name))
        return
    if what in ("events", "commands"):
        print_document(schema_of(what))
        return
    print_document({"$schema": _DRAFT, **_file_schema(what)})


def _file_schema(what: str) -> dict[str, Any]:
    """Return a file's schema, from msgspec if sprintlog writes it, else from pydantic."""
    if what in ("progress", "plan"):
        kind = shape.Progress if what == "progress" else shape.CompiledPlan
        _, parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
        whole = parts.pop(kind.__name__)
        schema: dict[str, Any] = without_codes({"$defs": parts, **whole})
        return {**schema, "title": what.capitalize()}
    import pydantic

    from ..intake import definition_models, journal, metrics
    from ..intake import settings as settings_models

    models: dict[str, type[pydantic.BaseModel]] = {
        "sprint": definition_models.SprintDefinition,
        "workflow": definition_models.Workflow,
        "metrics": metrics.MetricsModel,
        "journal": journal.JournalModel,
        "config": settings_models.Settings,
    }
    model = models[what]
    title = model.model_config.get("title") or what.capitalize()
    return {**model.model_json_schema(), "title": title}


def answers_schema(name: tuple[str, ...]) -> dict[str, object]:
    """Return the schema of the answers to every command, or to the given command."""
    found: click.Context | None = click.get_current_context().find_root()
    for word in name:
        found = found and typed.below(found, word)
    group = found.command if found else None
    is_alone = isinstance(group, click.Group) and not group.invoke_without_command
    if name and (found is None or is_alone):
        raise NotFoundError(
            f"there is no command {' '.join(name)[:60]!r}",
            hint="specify the full command, as in `sprintlog schema answers gate show`",
        )
    return schemas_of_answers(" ".join(name) or None)


def schema_of(what: str) -> dict[str, object]:
    """Return the schema of all `events`, `commands` or `answers`."""
    if what == "answers":
        return schemas_of_answers()
    return events_schema() if what == "events" else commands_schema()


def events_schema() -> dict[str, object]:
    """Return the schema of every event's data, by event type."""
    schemas, components = msgspec.json.schema_components(
        list(CODEC.events.values()), ref_template="#/$defs/{name}"
    )
    known = dict(zip(CODEC.events, schemas, strict=True))
    return _listed("events", known | _of_extensions(), components)


def _of_extensions() -> dict[str, Any]:
    """Return the schemas of installed event types; warn about invalid schemas."""
    found = {}
    for extension in installed("event"):
        try:
            # A separate schema, which contains its own references.
            own = {"$id": f"urn:sprintlog:event:{extension.name}"}
            found[extension.name] = own | event_schema(extension)
        except SprintlogError as error:
            warn(error.message)
    return found


def commands_schema() -> dict[str, object]:
    """Return the schema of every command, by name."""
    return _listed("commands", *schemas_of_commands())


CODES = re.compile(r" \([A-Z]{3,4}-\d{3}(?:(?:,| to) [A-Z]{3,4}-\d{3})*\)")
"""Matches rule ids, which have no meaning outside the documentation."""


def without_codes(schema: Any) -> Any:
    """Return a schema without the rule ids in its descriptions."""
    if isinstance(schema, dict):
        return {
            name: CODES.sub("", one)
            if name == "description" and isinstance(one, str)
            else without_codes(one)
            for name, one in schema.items()
        }
    return [*map(without_codes, schema)] if isinstance(schema, list) else schema


def _listed(
    what: str, schemas: dict[str, Any], components: dict[str, Any]
) -> dict[str, object]:
    return {
        "$schema": _DRAFT,
        "title": f"sprintlog {what}",
        "type": "object",
        "properties": without_codes(schemas),
        "$defs": without_codes(components),
    }
