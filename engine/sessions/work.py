"""The work that a process and its children belong to, by an environment variable.

It uses only the standard library: `wrap` imports it before it starts the command.
"""

from collections.abc import Mapping

CORRELATION = "SPRINTLOG_CORRELATION"
"""The variable that contains it."""
_NAME_CHARS_MAX = 128


def work_in(environment: Mapping[str, str]) -> str | None:
    """Return the work that an environment names, None if it names none."""
    work = environment.get(CORRELATION, "")
    is_name = work.isascii() and work.isprintable() and 0 < len(work) <= _NAME_CHARS_MAX
    return work if is_name else None
