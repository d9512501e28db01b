"""The forms of what `sprintlog.toml` says, and their JSON Schema."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.judging.events import EDIT_POLICIES
from sprintlog.engine.judging.loop_rules import ON_REGRESSION
from sprintlog.engine.sprint.agent.actions import NOTICES

from .fields import Flag, OneOf, kebab

Text = Annotated[str, Field(strict=True, pattern=r"\S")]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
FromOne = Annotated[int, Field(strict=True, ge=1)]
Name = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Wrong = Callable[[str, str], InvalidInputError]


def _key(description: str, **limits: Any) -> Any:
    """Return a key that may be left out, with its description for the JSON Schema."""
    return Field(default=None, description=description, **limits)


class SettingsTable(BaseModel):
    """A table of the file; what it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=kebab)


class RecordSettings(SettingsTable):
    """What is recorded."""

    off: Flag | None = _key("Record nothing; reading works as ever.")
    actor: Text | None = _key("Who causes events.")


class LogSettings(SettingsTable):
    """Where the log is."""

    folder: Text | None = _key(
        "The log's folder: a whole path, or one from the file's folder or `~`."
    )
    url: Text | None = _key(
        "The log on a server: `postgresql://HOST/DATABASE?log=NAME`, without a password."
    )


class AgentSettings(SettingsTable):
    """What `run` works with."""

    command: list[Text] | None = _key(
        "What `run` without a command hands prompts to.", min_length=1
    )
    timeout: Seconds | None = _key("How many seconds it may take.")
    idle_timeout: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = _key(
        "How many seconds it may print nothing; 0 for any time."
    )
    fallback: Text | None = _key(
        "The command that gets prompts while a limit prevents the other one."
    )
    hook_command: Text | None = _key(
        "What a shell runs for a hook without a command of its own."
    )
    environment: list[Name] | None = _key(
        "All that it and hooks get of the environment, beside what gates get."
    )
    prompt_file: Text | None = _key(
        "What it is handed: a template, by its path from the file's folder."
    )
    snapshot: Flag | None = _key("Keep the files at each iteration's end.")
    measure: Flag | None = _key("Measure each iteration as `[measure]` says.")
    on_regression: Annotated[str, OneOf(ON_REGRESSION)] | None = _key(
        "What to do about a regression."
    )
    select: Flag | None = _key("Put the best iteration's files in place at the end.")


class MeasureSettings(SettingsTable):
    """What `--measure` runs and reads."""

    run: list[Text] | None = _key("Commands that write the reports.")
    build: list[Text] | None = _key(
        "Commands; the build is a success when they end with 0."
    )
    reports: list[Text] | None = _key("What tools wrote: `[FORMAT=]FILE` each.")
    sources: list[Text] | None = _key("Sources to be counted.")
    timeout: Seconds | None = _key("How many seconds each may take.")
    environment: list[Name] | None = _key("Variables that are passed on to them.")


class GateSettings(SettingsTable):
    """What gates are run with."""

    environment: list[Name] | None = _key(
        "Variables that are passed on to a gate's script."
    )


class SnapshotSettings(SettingsTable):
    """What snapshots take, and how many stay."""

    include_ignored: list[Text] | None = _key(
        "Patterns of ignored files that are taken too."
    )
    file_max: FromOne | None = _key("Larger files are left out, in MiB.")
    keep: FromOne | None = _key("How many of the newest `store prune` leaves.")
    remote: Text | None = _key(
        "A git remote, over https or ssh, through which machines share them."
    )


class NotifySettings(SettingsTable):
    """What `run` tells of itself."""

    command: Text | None = _key("What a shell runs for each notice, JSON on its input.")
    of: list[Annotated[str, OneOf(tuple(NOTICES))]] | None = _key(
        "What is told: some of the words of `run --notify-of`."
    )
    wait: Seconds | None = _key("A wait of more seconds than this is told.")


class BudgetSettings(SettingsTable):
    """How far a loop may go."""

    iterations: FromOne | None = _key(
        "How many iterations a new sprint with a goal may take."
    )
    cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = _key(
        "What a run may cost, in US dollars."
    )
    tokens: FromOne | None = _key("How many tokens a run may take, given and written.")
    time: Text | FromOne | None = _key("How long a run may take: `8h`, `90m`, or seconds.")
    failures: FromOne | None = _key("After how many failures in a row a run stops.")
    price: Text | None = _key(
        "Dollars for a million tokens that are given and written, like `3/15`."
    )


class RulesSettings(SettingsTable):
    """What `iteration rules set --from-config` records."""

    weights: dict[str, Number] | None = _key("What dimensions count; together they are 1.")
    thresholds: dict[str, Number | Literal["none"]] | None = _key(
        'Limits by name; `"none"` takes one away.'
    )
    verification: Flag | None = _key(
        "Whether only iterations whose tests pass may be selected."
    )
    progress_edits: Annotated[str, OneOf(EDIT_POLICIES)] | None = _key(
        "What becomes of an edit of PROGRESS.yaml."
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
        why = str(first["msg"]).replace("Input should be", "must be")
        why = why.replace(
            r"String should match pattern '\S'", "an empty text is not a value"
        )
        raise wrong(key, f"{below}: {why}" if below else why) from error
    return {f"{t}.{n}": v for t, names in dumped.items() for n, v in names.items()}
