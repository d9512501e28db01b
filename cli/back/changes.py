"""Field changes as lines: truncated to a terminal's width, complete otherwise."""

from sprintlog.engine.sprint.state.patch import FieldChange
from sprintlog.projections.history.differences import told

from ..output import fitting
from ..screen.terminal import terminal

VALUE_CHARS_MIN, VALUE_CHARS_WHOLE = 12, 2**31


def changed(change: FieldChange, *, indent: str = "") -> str:
    """Return a line for a field change; on a terminal, long values are truncated."""
    width = terminal().width
    if width is None:
        return fitting(indent + told(change, chars_max=VALUE_CHARS_WHOLE))
    most = max(width - len(indent) - len(change.field) - 5, VALUE_CHARS_MIN)
    line = indent + told(change, chars_max=most)
    if change.what == "changed" and len(line) > width:
        line = indent + told(change, chars_max=max(most // 2, VALUE_CHARS_MIN))
    return fitting(line)
