"""The function that probes call: it records which test reaches which mutation's line.

Every Python process in the environment of a copy imports this module at its start and then
has the builtin that probes call; it must not import anything slow.
"""

import builtins
import os

_HERE = os.path.dirname(os.path.abspath(__file__))
CURRENT = os.path.join(_HERE, "current")
"""The test that runs now, for processes that were started without its environment."""
REACHED = os.path.join(_HERE, "reached")
VARIABLE = "PYTEST_CURRENT_TEST"

_seen: set[tuple[int, str | None]] = set()
_open, _write, _close = os.open, os.write, os.close
"""Kept, as a test may replace them."""


def append(path: str, text: str) -> None:
    """Append one line, unless this process may not write it."""
    try:
        file = _open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return
    try:
        _write(file, text.encode("utf-8", "surrogateescape") + b"\n")
    except OSError:
        return
    finally:
        _close(file)


def _current() -> str:
    try:
        file = _open(CURRENT, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(file, 10_000).decode("utf-8", "surrogateescape")
    finally:
        _close(file)


def reached(number: int) -> None:
    """Record that the current test reaches the line of a mutation."""
    test = os.environ.get(VARIABLE)
    if (number, test) not in _seen:
        _seen.add((number, test))
        append(REACHED, f"{number}\t{test or _current()}")


setattr(builtins, "__reached__", reached)  # noqa: B010 - no module declares it
