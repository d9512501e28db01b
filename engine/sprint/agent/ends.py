"""What a run of the loop can end because of."""

from ..runs.record import LOST as LOST
from .actions import STOPS, WAIT

DONE, ERROR, SIGNAL = "done", "error", "signal"
ENDS = {
    DONE: "the sprint is done",
    **STOPS,
    WAIT: "a retry is to be waited for",
    ERROR: "it failed",
    SIGNAL: "a signal ended it",
    LOST: "its process is gone: it was killed, or the machine went down",
}
"""Every word, and what it means."""
