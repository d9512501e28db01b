"""A changed field as a line: cut to the width of a terminal, complete elsewhere."""

from sprintlog.engine.sprint.state.patch import FieldChange
from sprintlog.projections.history.differences import told

from ..output import fitting
from ..screen.terminal import terminal

VALUE_CHARS_MIN, VALUE_CHARS_WHOLE = 12, 2**31


def changed(change: FieldChange, *, indent: str = "") -> str:
    """Return what became of a field: its values are cut until both are on the line."""
    width = terminal().width
    if width is None:
        return fitting(indent + told(change, chars_max=VALUE_CHARS_WHOLE))
    most = max(width - len(indent) - len(change.field) - 5, VALUE_CHARS_MIN)
    line = indent + told(change, chars_max=most)
    if change.what == "changed" and len(line) > width:
        line = indent + told(change, chars_max=max(most // 2, VALUE_CHARS_MIN))
    return fitting(line)
