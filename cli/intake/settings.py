"""Models of the settings in `sprintlog.toml`, from which its JSON Schema is generated."""

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


class SettingsTable(BaseModel):
    """A table in `sprintlog.toml`; unknown keys are errors."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=kebab, use_attribute_docstrings=True
    )


class RecordSettings(SettingsTable):
    """Recording of events."""

    off: Flag | None = None
    """Record nothing; reading works normally."""
    actor: Text | None = None
    """The actor of events."""


class LogSettings(SettingsTable):
    """The location of the log."""

    folder: Text | None = None
    """The log's folder: an absolute path, or relative to the file's folder or `~`."""
    url: Text | None = None
    """The log on a server: `postgresql://HOST/DATABASE?log=NAME`, without a password."""


class AgentSettings(SettingsTable):
    """The agent that `run` starts."""

    command: list[Text] | None = Field(default=None, min_length=1)
    """The command of `run` if none is typed."""
    timeout: Seconds | None = None
    """Its time limit in seconds."""
    idle_timeout: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Its time limit without output in seconds; 0 for none."""
    fallback: Text | None = None
    """The command that works while a limit blocks the other one."""
    hook_command: Text | None = None
    """The shell command of hooks without a command."""
    environment: list[Name] | None = None
    """The variables that it and hooks get in addition to those of gates."""
    prompt_file: Text | None = None
    """The template of its prompt, relative to the file's folder."""
    snapshot: Flag | None = None
    """Keep the files at each iteration's end."""
    measure: Flag | None = None
    """Measure each iteration by `[measure]`."""
    on_regression: Annotated[str, OneOf(ON_REGRESSION)] | None = None
    """The reaction to a regression."""
    select: Flag | None = None
    """Put the best iteration's files in place at the end."""


class MeasureSettings(SettingsTable):
    """The commands and reports of `--measure`."""

    run: list[Text] | None = None
    """Commands that write the reports."""
    build: list[Text] | None = None
    """Commands; the build is a success when they end with 0."""
    reports: list[Text] | None = None
    """Reports of tools: `[FORMAT=]FILE` each."""
    sources: list[Text] | None = None
    """Source files to count."""
    timeout: Seconds | None = None
    """The time limit of each in seconds."""
    environment: list[Name] | None = None
    """Variables that are passed on to them."""


class GateSettings(SettingsTable):
    """The environment of gate commands."""

    environment: list[Name] | None = None
    """Variables that are passed on to a gate's script."""


class SnapshotSettings(SettingsTable):
    """Contents and number of snapshots."""

    include_ignored: list[Text] | None = None
    """Patterns of ignored files that are included."""
    file_max: FromOne | None = None
    """Larger files are left out, in MiB."""
    keep: FromOne | None = None
    """The number of newest ones that `store prune` keeps."""
    remote: Text | None = None
    """A git remote, over https or ssh, through which machines share them."""


class NotifySettings(SettingsTable):
    """Notices from `run`."""

    command: Text | None = None
    """The shell command for each notice, with JSON on its input."""
    of: list[Annotated[str, OneOf(tuple(NOTICES))]] | None = None
    """The notices: some of the words of `run --notify-of`."""
    wait: Seconds | None = None
    """A longer wait in seconds is reported."""


class BudgetSettings(SettingsTable):
    """Limits of a loop."""

    iterations: FromOne | None = None
    """The limit of iterations of a new sprint with a goal."""
    cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """The limit of cost of a run in US dollars."""
    tokens: FromOne | None = None
    """The limit of tokens of a run: input, cache writes and output."""
    time: Text | FromOne | None = None
    """The time limit of a run: `8h`, `90m`, or seconds."""
    failures: FromOne | None = None
    """The limit of failures in a row."""
    price: Text | None = None
    """Dollars for a million input and output tokens, like `3/15`."""


class RulesSettings(SettingsTable):
    """The rules that `iteration rules set --from-config` records."""

    weights: dict[str, Number] | None = None
    """The weights of dimensions; their sum is 1."""
    thresholds: dict[str, Number | Literal["none"]] | None = None
    """Limits by name; `"none"` removes one."""
    verification: Flag | None = None
    """Whether only iterations whose tests pass may be selected."""
    progress_edits: Annotated[str, OneOf(EDIT_POLICIES)] | None = None
    """The policy for edits of PROGRESS.yaml."""


class Settings(SettingsTable):
    """sprintlog.toml, or the `[tool.sprintlog]` table in pyproject.toml."""

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
    """Return the values by key; raise the exception that `wrong` creates from an error."""
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
