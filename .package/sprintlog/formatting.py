"""Numbers, durations and text in the format in which sprintlog prints them."""

from .engine.masking import cut as cut, mask_all as mask_all
from .projections.markdown import visible as visible
from .projections.text.phrases import (
    MONTHS as MONTHS,
    NOISE as NOISE,
    UNKNOWN as UNKNOWN,
    counted as counted,
    dollars as dollars,
    duration as duration,
    group_rows as group_rows,
)

from .engine.sprint.state import times

parse_time = times.parse
"""Return a recorded time as a `datetime`; raise `InvalidInputError` for invalid text."""
