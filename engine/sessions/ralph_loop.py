"""The file in which the `ralph-loop` plugin of Claude Code counts its iterations."""

import re
from typing import NamedTuple

PLACE = (".claude", "ralph-loop.local.md")
"""Its folder in the work tree, and its name."""
BYTES_MAX = 64 * 1024
_LINE = r"(?m)^(iteration|max_iterations|session_id): *\"?([^\s\"]{1,80})\"? *$"


class PluginLoop(NamedTuple):
    """Where the plugin's loop stands."""

    iteration: int | None = None
    iterations_max: int | None = None
    """0 for no limit."""
    session: str | None = None


def loop_in(content: bytes) -> PluginLoop:
    """Return what the head of the file says."""
    head = content.decode("utf-8", "replace").partition("\n---")[0]
    said = dict(re.findall(_LINE, head))
    counts = [said.get(name, "") for name in ("iteration", "max_iterations")]
    known = [int(x) if re.fullmatch("[0-9]{1,9}", x) else None for x in counts]
    return PluginLoop(known[0], known[1], said.get("session_id"))
