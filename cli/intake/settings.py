"""The forms of what `sprintlog.toml` says, and their JSON Schema."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.iterations.events import EDIT_POLICIES
from sprintlog.engine.iterations.loop_rules import ON_REGRESSION
from sprintlog.engine.sprint.agent.notices import NOTICES

from .fields import Flag, OneOf

Text = Annotated[str, Field(strict=True, min_length=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Name = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Wrong = Callable[[str, str], InvalidInputError]


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class SettingsTable(BaseModel):
    """A table of the file; what it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=_kebab)


class RecordSettings(SettingsTable):
    """What is recorded."""

    off: Flag | None = Field(
        default=None, description="Record nothing; reading works as ever."
    )
    actor: Text | None = Field(default=None, description="Who causes events.")


class LogSettings(SettingsTable):
    """Where the log is."""

    folder: Text | None = Field(
        default=None,
        description="The log's folder: a whole path, or one from the file's folder or `~`.",
    )
    url: Text | None = Field(
        default=None,
        description="The log on a server: `postgresql://HOST/DATABASE?log=NAME`, without "
        "a password.",
    )


class AgentSettings(SettingsTable):
    """What `run` works with."""

    command: list[Text] | None = Field(
        default=None,
        min_length=1,
        description="What `run` without a command hands prompts to.",
    )
    timeout: Seconds | None = Field(
        default=None, description="How many seconds it may take."
    )
    hook_command: Text | None = Field(
        default=None,
        description="What a shell runs for a hook without a command of its own.",
    )
    environment: list[Name] | None = Field(
        default=None,
        description="All that it and hooks get of the environment, beside what gates get.",
    )
    prompt_file: Text | None = Field(
        default=None,
        description="What it is handed: a template, by its path from the file's folder.",
    )
    snapshot: Flag | None = Field(
        default=None, description="Keep the files at each iteration's end."
    )
    measure: Flag | None = Field(
        default=None, description="Measure each iteration as `[measure]` says."
    )
    on_regression: Annotated[str, OneOf(ON_REGRESSION)] | None = Field(
        default=None, description="What to do about a regression."
    )
    select: Flag | None = Field(
        default=None, description="Put the best iteration's files in place at the end."
    )


class MeasureSettings(SettingsTable):
    """What `--measure` runs and reads."""

    run: list[Text] | None = Field(
        default=None, description="Commands that write the reports."
    )
    build: list[Text] | None = Field(
        default=None, description="Commands; the build is a success when they end with 0."
    )
    reports: list[Text] | None = Field(
        default=None, description="What tools wrote: `[FORMAT=]FILE` each."
    )
    sources: list[Text] | None = Field(default=None, description="Sources to be counted.")
    timeout: Seconds | None = Field(
        default=None, description="How many seconds each may take."
    )
    environment: list[Name] | None = Field(
        default=None, description="Variables that are passed on to them."
    )


class GateSettings(SettingsTable):
    """What gates are run with."""

    environment: list[Name] | None = Field(
        default=None, description="Variables that are passed on to a gate's script."
    )


class SnapshotSettings(SettingsTable):
    """What snapshots take, and how many stay."""

    include_ignored: list[Text] | None = Field(
        default=None, description="Patterns of ignored files that are taken too."
    )
    file_max: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="Larger files are left out, in MiB."
    )
    keep: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="How many of the newest `prune` leaves."
    )
    remote: Text | None = Field(
        default=None,
        description="A git remote, over https or ssh, through which machines share them.",
    )


class NotifySettings(SettingsTable):
    """What `run` tells of itself."""

    command: Text | None = Field(
        default=None, description="What a shell runs for each notice, JSON on its input."
    )
    of: list[Annotated[str, OneOf(tuple(NOTICES))]] | None = Field(
        default=None, description="What is told: some of the words of `run --notify-of`."
    )
    wait: Seconds | None = Field(
        default=None, description="A wait of more seconds than this is told."
    )


class BudgetSettings(SettingsTable):
    """How far a loop may go."""

    iterations: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="How many iterations a new sprint with a goal may take."
    )
    cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="What a run may cost, in US dollars."
    )
    tokens: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="How many tokens a run may take, given and written."
    )
    time: Text | Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="How long a run may take: `8h`, `90m`, or seconds."
    )
    failures: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="After how many failures in a row a run stops."
    )
    price: Text | None = Field(
        default=None,
        description="Dollars for a million tokens that are given and written, like `3/15`.",
    )


class RulesSettings(SettingsTable):
    """What `rules set --from-config` records."""

    weights: dict[str, Number] | None = Field(
        default=None, description="What dimensions count; together they are 1."
    )
    thresholds: dict[str, Number | Literal["none"]] | None = Field(
        default=None, description='Limits by name; `"none"` takes one away.'
    )
    verification: Flag | None = Field(
        default=None,
        description="Whether only iterations whose tests pass may be selected.",
    )
    progress_edits: Annotated[str, OneOf(EDIT_POLICIES)] | None = Field(
        default=None, description="What becomes of an edit of PROGRESS.yaml."
    )


class Settings(SettingsTable):
    """sprintlog.toml, or `[tool.sprintlog]` of pyproject.toml."""

    record: RecordSettings = RecordSettings()
    log: LogSettings = LogSettings()
    agent: AgentSettings = AgentSettings()
    measure: MeasureSettings = MeasureSettings()
    gate: GateSettings = GateSettings()
    snapshot: SnapshotSettings = SnapshotSettings()
    notify: NotifySettings = NotifySettings()
    budget: BudgetSettings = BudgetSettings()
    rules: RulesSettings = RulesSettings()


def check_settings(given: Mapping[str, Any], wrong: Wrong) -> dict[str, Any]:
    """Return the values by key; raise what `wrong` makes of the first mistake."""
    tables: dict[str, dict[str, Any]] = {}
    for key, value in given.items():
        table, _, name = key.partition(".")
        tables.setdefault(table, {})[name] = value
    try:
        dumped = Settings.model_validate(tables).model_dump(by_alias=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"][:2]))
        below = ", ".join(map(str, first["loc"][2:]))
        said = str(first["msg"]).replace("Input should be", "must be")
        raise wrong(key, f"{below}: {said}" if below else said) from error
    return {f"{t}.{n}": v for t, names in dumped.items() for n, v in names.items()}
