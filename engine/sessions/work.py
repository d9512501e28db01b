"""The unit of work that a process and its children belong to, from an environment variable.

This module uses only the standard library, because `wrap` imports it before it starts the
command.
"""

from collections.abc import Mapping

CORRELATION = "SPRINTLOG_CORRELATION"
"""The variable that contains the unit of work."""
WITHIN = "SPRINTLOG_WITHIN"
"""The variable that names the iteration to which a command belongs.

It contains `run`, or the idempotency key of the `wrap` that records the iteration.
"""
_NAME_CHARS_MAX = 128


def work_in(environment: Mapping[str, str]) -> str | None:
    """Return the unit of work named in an environment, or None."""
    work = environment.get(CORRELATION, "")
    is_name = work.isascii() and work.isprintable() and 0 < len(work) <= _NAME_CHARS_MAX
    return work if is_name else None
