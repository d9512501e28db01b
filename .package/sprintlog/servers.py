"""The interface for long-running programs that serve a log and accept JSON."""

from .cli.intake.command_data import (
    append_event as append_event,
    record_command as record_command,
)
from .cli.intake.files import load as parse_json
from .cli.output import (
    error_answer as error_answer,
    exit_code as exit_code,
    json_line as json_line,
)
from .projections.resident_log import LogFollower as LogFollower, ResidentLog as ResidentLog

__all__ = [
    "LogFollower",
    "ResidentLog",
    "append_event",
    "error_answer",
    "exit_code",
    "json_line",
    "parse_json",
    "record_command",
]
