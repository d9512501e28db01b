"""Figures, durations and texts as sprintlog prints them."""

from .projections.markdown import visible as visible
from .projections.text.phrases import (
    UNKNOWN as UNKNOWN,
    counted as counted,
    dollars as dollars,
    duration as duration,
    milliseconds as milliseconds,
)
