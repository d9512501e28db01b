"""Models of the settings in `sprintlog.toml`, from which its JSON Schema is generated."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.judging.events import EDIT_POLICIES
from sprintlog.engine.judging.loop_rules import ON_REGRESSION, ON_TAMPER
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
    """Stop recording; read commands still work."""
    actor: Text | None = None
    """The default actor of events."""


class LogSettings(SettingsTable):
    """The location of the log."""

    folder: Text | None = None
    """The log's folder: absolute, or relative to the settings file's folder or `~`."""
    url: Text | None = None
    """The log on a server, without a password: `postgresql://HOST/DATABASE?log=NAME`."""


class AgentSettings(SettingsTable):
    """The agent that `run` starts."""

    command: list[Text] | None = Field(default=None, min_length=1)
    """The command that `run` uses if none is given."""
    timeout: Seconds | None = None
    """The agent's time limit, in seconds."""
    idle_timeout: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """The agent's time limit without output, in seconds; 0 for none."""
    fallback: Text | None = None
    """The command to use while a limit blocks the main command."""
    hook_command: Text | None = None
    """The shell command for hooks that have no command."""
    environment: list[Name] | None = None
    """Variables passed to the agent and to hooks, in addition to those of gates."""
    prompt_file: Text | None = None
    """The agent's prompt template, relative to the settings file's folder."""
    snapshot: Flag | None = None
    """Save the files at the end of each iteration."""
    measure: Flag | None = None
    """Measure each iteration as specified in `[measure]`."""
    on_regression: Annotated[str, OneOf(ON_REGRESSION)] | None = None
    """The action after a regression."""
    on_tamper: Annotated[str, OneOf(ON_TAMPER)] | None = None
    """The action after a change to the tests or the measure."""
    select: Flag | None = None
    """Restore the best iteration's files at the end."""
    review: Text | None = None
    """The command that gives a second opinion on claims."""
    until: Text | None = None
    """The condition that a measurement must meet before the goal is completed."""


class MeasureSettings(SettingsTable):
    """The commands and reports of `--measure`."""

    run: list[Text] | None = None
    """Commands that generate the reports."""
    build: list[Text] | None = None
    """Build commands; the build succeeds if all exit with 0."""
    reports: list[Text] | None = None
    """Report files of tools, each as `[FORMAT=]FILE`."""
    sources: list[Text] | None = None
    """Source files to count."""
    timeout: Seconds | None = None
    """The time limit of each command, in seconds."""
    environment: list[Name] | None = None
    """Environment variables passed to the commands."""
    instruments: list[Text] | None = None
    """Patterns of further files that decide on measurements."""


class GateSettings(SettingsTable):
    """The environment of gate commands."""

    environment: list[Name] | None = None
    """Environment variables passed to gate scripts."""


class HookSettings(SettingsTable):
    """What agents' hooks do in addition to recording."""

    briefing: Annotated[int, Field(ge=0, le=30)] | Flag | None = None
    """The maximum number of lines that an agent receives about the sprint when a session
    starts; 0 or false for none."""
    block_stop: Flag | None = None
    """Whether an agent whose claim that the goal is reached was refused must continue, at
    most three times; requires a goal and a trusted measure."""
    copy_transcripts: Annotated[int, Field(ge=0)] | None = None
    """The size in MiB up to which masked copies of transcripts are kept; 0 for none."""


class SnapshotSettings(SettingsTable):
    """The contents and the number of snapshots."""

    include_ignored: list[Text] | None = None
    """Patterns of ignored files to include."""
    file_max: FromOne | None = None
    """The maximum size of a file in MiB; larger files are skipped."""
    keep: FromOne | None = None
    """The number of newest snapshots that `store prune` keeps."""
    remote: Text | None = None
    """The git remote (https or ssh) for sharing snapshots between machines."""


class NotifySettings(SettingsTable):
    """Notices sent by `run`."""

    command: Text | None = None
    """The shell command run for each notice, with JSON on its standard input."""
    of: list[Annotated[str, OneOf(tuple(NOTICES))]] | None = None
    """The kinds of notices to send, as in `run --notify-of`."""
    wait: Seconds | None = None
    """The duration in seconds above which a wait is reported."""


class BudgetSettings(SettingsTable):
    """The limits of a loop."""

    iterations: FromOne | None = None
    """The maximum number of iterations of a new sprint with a goal."""
    cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """The cost limit of a run, in US dollars."""
    tokens: FromOne | None = None
    """The token limit of a run: input, cache writes and output."""
    time: Text | FromOne | None = None
    """The time limit of a run, as `8h`, `90m`, or a number of seconds."""
    failures: FromOne | None = None
    """The maximum number of consecutive failures."""
    price: Text | None = None
    """The price per million input and output tokens in dollars, such as `3/15`."""


class RulesSettings(SettingsTable):
    """The rules that `iteration rules set --from-config` records."""

    weights: dict[str, Number] | None = None
    """The weights of the dimensions; their sum must be 1."""
    thresholds: dict[str, Number | Literal["none"]] | None = None
    """Thresholds by name; `"none"` removes a threshold."""
    verification: Flag | None = None
    """Whether only iterations whose tests pass may be selected."""
    progress_edits: Annotated[str, OneOf(EDIT_POLICIES)] | None = None
    """The policy for edits to PROGRESS.yaml."""


class Settings(SettingsTable):
    """The settings in sprintlog.toml, or in pyproject.toml's `[tool.sprintlog]` table."""

    record: RecordSettings = RecordSettings()
    log: LogSettings = LogSettings()
    agent: AgentSettings = AgentSettings()
    measure: MeasureSettings = MeasureSettings()
    gate: GateSettings = GateSettings()
    hooks: HookSettings = HookSettings()
    snapshot: SnapshotSettings = SnapshotSettings()
    notify: NotifySettings = NotifySettings()
    budget: BudgetSettings = BudgetSettings()
    rules: RulesSettings = RulesSettings()


def check_settings(given: Mapping[str, Any], wrong: Wrong) -> dict[str, Any]:
    """Return the values by key; for an error, raise the exception that `wrong` creates."""
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
            r"String should match pattern '\S'", "the value must not be empty"
        )
        raise wrong(key, f"{below}: {why}" if below else why) from error
    return {f"{t}.{n}": v for t, names in dumped.items() for n, v in names.items()}
