"""The answers of the read-only commands, and recorded events in the same format."""

from .projections.questions import (
    QUESTIONS as QUESTIONS,
    answer as answer,
    next_action as next_action,
    number as number,
)
from .projections.sql.groups import grouped as grouped
from .projections.sql.query import ask as ask_sql
from .projections.sql.search import search_sprints as search_sprints
from .projections.text.briefing import briefing as briefing
from .projections.views.events import envelope as whole_event
from .projections.views.events import event_line as event_line

__all__ = [
    "QUESTIONS",
    "answer",
    "ask_sql",
    "briefing",
    "event_line",
    "grouped",
    "next_action",
    "number",
    "search_sprints",
    "whole_event",
]
