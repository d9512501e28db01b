"""To which work belongs what a process and its children record.

The standard library alone: it is imported before a wrapped command starts.
"""

from collections.abc import Mapping

CORRELATION = "SPRINTLOG_CORRELATION"
"""The variable that says it."""
_NAME_CHARS_MAX = 128


def work_in(environment: Mapping[str, str]) -> str | None:
    """Return the work that an environment names; None where it names none."""
    said = environment.get(CORRELATION, "")
    is_name = said.isascii() and said.isprintable() and 0 < len(said) <= _NAME_CHARS_MAX
    return said if is_name else None
