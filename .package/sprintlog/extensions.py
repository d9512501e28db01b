"""The interface for packages that extend sprintlog; `sprintlog.testing` tests them."""

from .cli.intake.foreign_files import Unread as Unread, name_from as name_from
from .cli.intake.imported import (
    Imported as Imported,
    ImportedLoop as ImportedLoop,
    ImportedSprint as ImportedSprint,
    Iteration as Iteration,
    Remark as Remark,
)
from .cli.intake.foreign_files import (
    Checkbox as Checkbox,
    ForeignFile as ForeignFile,
    checkboxes as checkboxes,
    load_json as load_json,
    load_json_lines as load_json_lines,
    load_yaml as load_yaml,
    read_text as read_text,
)
from .engine.adapters.agents.items import (
    AgentEnded as AgentEnded,
    Called as Called,
    CallsCounted as CallsCounted,
    FigureSpan as FigureSpan,
    FileChanged as FileChanged,
    Item as Item,
    Prompted as Prompted,
    Refused as Refused,
    Returned as Returned,
    Said as Said,
    Session as Session,
    Used as Used,
)
from .engine.adapters.reports.report import (
    Coverage as Coverage,
    Found as Found,
    Report as Report,
)
from .engine.extensions import GROUPS as GROUPS, ExtensionError as ExtensionError
from .engine.judging.events import Usage as Usage
from .engine.log.event import ExtensionEvent as ExtensionEvent
from .engine.service.streams.extension_events import extension_event as extension_event
from .engine.sprint.commands import RecordExtensionEvent as RecordExtensionEvent
from .projections.extended import SprintReading as SprintReading, projected as projected
from .projections.runner import Happened as Happened
