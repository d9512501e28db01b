"""Output of answers, each in a single write, as text for people or as JSON for scripts."""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from sprintlog.engine import errors
from sprintlog.engine.log.stores.descriptors import write_whole
from sprintlog.projections.markdown import visible as visible

from .typed import FIELDS

if TYPE_CHECKING:
    from .screen.terminal import Terminal

STDOUT, STDERR = 1, 2
CUT = "sprintlog.cut"
LONG_SECONDS = 1.0
PROBLEMS_SHOWN_MAX = 100
"""The maximum number of a definition's problems shown on a terminal; the rest are counted.
"""

REFUSED, USAGE, NOT_FOUND, INTEGRITY, CONFLICT, GATE_FAILED = 1, 2, 3, 4, 5, 6
"""Exit statuses; 0 means success."""


def exit_code(error: errors.SprintlogError) -> int:
    """Return the exit status for an error."""
    match error:
        case errors.NotFoundError():
            return NOT_FOUND
        case errors.InvalidOptionError():
            return USAGE
        case errors.UnreadableError():
            return INTEGRITY
        case _ if error.kind == errors.ConflictError.kind:
            return CONFLICT
        case _:
            return REFUSED


def print_error(error: errors.SprintlogError, *, as_json: bool) -> int:
    """Print an error for people or scripts on stderr, and return its exit status."""
    if as_json:
        _write(STDERR, json_line(error_answer(error)))
    elif problems := error.fields.get("problems"):
        print_problems(problems)
    else:
        differences = error.fields.get("differences", ())[:PROBLEMS_SHOWN_MAX]
        lines = [("error", error.message), *(("difference", one) for one in differences)]
        _tell([*lines, ("hint", _hint_of(error))])
    return exit_code(error)


def print_problems(problems: Sequence[Mapping[str, Any]]) -> None:
    """Print all problems in the user's files, each with its code."""
    lines: list[tuple[str, str | None]] = []
    for problem in problems[:PROBLEMS_SHOWN_MAX]:
        line = f":{problem['line']}" if problem["line"] else ""
        path = f"{problem['path']}: " if problem["path"] else ""
        place = f"{problem['file']}{line}: {path}"
        word = "warning" if problem["warning"] else "error"
        lines.append((word, f"{place}{problem['message']} [{problem['code']}]"))
        lines.append(("hint", problem["hint"]))
    if (more := len(problems) - PROBLEMS_SHOWN_MAX) > 0:
        lines.append(("error", f"{counted(more, 'problem')} more"))
        lines.append(("hint", "--json has all of them"))
    _tell(lines)


def _tell(lines: Sequence[tuple[str, str | None]]) -> None:
    """Write messages for people to stderr in a single write, each after its label."""
    # Imported here: most commands print no message.
    from sprintlog.engine.masking import mask

    said = [f"{word}: {visible(mask(text))}" for word, text in lines if text]
    if sys.stderr is not None and sys.stderr.isatty():
        # Imported here: messages written to a pipe are not wrapped.
        from .screen.tables import wrapped as fold
        from .screen.terminal import width_of

        columns = width_of(STDERR)
        said = [part for line in said for part in fold(line, columns, indent="  ")]
    _write(STDERR, "".join(f"{line}\n" for line in said).encode(errors="backslashreplace"))


def error_answer(error: errors.SprintlogError) -> dict[str, Any]:
    """Return an error as a JSON answer: its kind, message, hint and fields."""
    known = {name: value for name, value in error.fields.items() if value is not None}
    told = {"error": error.kind, "message": error.message, "hint": _hint_of(error)}
    # Imported here: most commands do not fail.
    from sprintlog.engine.masking import mask_all

    answer: dict[str, Any] = mask_all({**told, **known})
    return answer


def _hint_of(error: errors.SprintlogError) -> str | None:
    """Return an error's hint, preceded by a suggestion if a word is unknown."""
    if error.unknown is None:
        return error.hint
    # Imported here: few commands contain an unknown word.
    from .suggest import did_you_mean

    return " ".join(filter(None, (did_you_mean(*error.unknown), error.hint))) or None


def warn(text: str) -> None:
    """Print a warning."""
    _tell([("warning", text)])


def note(text: str) -> None:
    """Print a note on how to interpret an answer, or how to see more of it."""
    _tell([("note", text)])


def hint(text: str | None) -> None:
    """Print a hint."""
    _tell([("hint", text)])


def progress(text: str) -> None:
    """Print the progress of long-running work on stderr."""
    # Imported here: few commands run that long.
    from sprintlog.engine.masking import mask

    _write(STDERR, f"{visible(mask(text))}\n".encode(errors="backslashreplace"))


@contextmanager
def progress_if_long(text: str) -> Iterator[None]:
    """Print a progress line on a terminal's stderr if the block takes over a second."""
    if not shows_counting():
        yield
        return
    # Imported here: few commands run that long.
    from threading import Timer

    timer = Timer(LONG_SECONDS, progress, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def counting(what: str) -> Callable[[int], None]:
    """Return a function that updates a progress line, `1,000 WHAT`, on a terminal's stderr.

    Later output clears the line.
    """

    def tell(count: int) -> None:
        if shows_counting():
            counting_line(f"{count:,} {what}")

    return tell


def shows_counting() -> bool:
    """Return whether stderr is a terminal on which a line can be cleared."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def counting_line(text: str) -> None:
    """Write a line to the terminal of stderr; later output clears the line."""
    # Imported here: few commands run that long.
    from .screen.tables import cut
    from .screen.terminal import width_of

    line = cut(visible(text), width_of(STDERR) - 1)
    _write(STDERR, line.encode(errors="backslashreplace"))
    _counting.append(line)


_counting: list[str] = []
"""The countdown line shown on the terminal; empty if there is none."""


def redraw(lines: Sequence[str], above: int) -> None:
    """Replace the last `above` lines on the terminal of stderr with other lines."""
    up = f"\x1b[{above}A\r\x1b[J" if above else ""
    text = "".join(f"{line}\n" for line in lines)
    _write(STDERR, f"{up}{text}".encode(errors="backslashreplace"))


def clear_counting() -> None:
    """Clear the progress line, if there is one."""
    if _counting:
        _counting.clear()
        _write(STDERR, b"\r\x1b[K")


def print_document(answer: Any) -> None:
    """Print a JSON document: indented on a terminal, otherwise on one line."""
    content = json_line(answer)
    is_read = sys.stdout is not None and sys.stdout.isatty()
    _write(STDOUT, msgspec.json.format(content) if is_read else content)


def print_json(answer: Any) -> None:
    """Print a JSON document on one line in one write, with the selected or all fields."""
    context = click.get_current_context(silent=True)
    fields = None if context is None else context.meta.get(FIELDS)
    if fields is not None:
        # Imported here: only a few scripts specify fields.
        from .screen.fields import chosen

        answer = chosen(msgspec.json.decode(json_line(answer)), fields)
    _write(STDOUT, json_line(answer))


def json_line(answer: Any) -> bytes:
    """Return an answer as JSON on one line."""
    try:
        return msgspec.json.encode(answer, enc_hook=str) + b"\n"
    except UnicodeEncodeError:
        # Imported here: almost all file names are valid UTF-8.
        from sprintlog.engine.readable import as_json

        return as_json(answer, str) + b"\n"


def print_answer(answer: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print an answer as JSON or, for people, as lines."""
    if as_json:
        print_json(answer)
    else:
        print_text(*lines)


def print_text(*lines: str) -> None:
    """Print lines for people; control characters and line breaks are made visible."""
    text = ""
    for line in lines:
        # Lines of another type are already escaped, and may contain colours.
        is_ready = type(line) is not str or line.isprintable()
        text += f"{line if is_ready else visible(line)}\n"
    _write(STDOUT, text.encode())


def print_styled(text: str) -> None:
    """Print text that has already been escaped by `visible` and may contain colours."""
    _write(STDOUT, f"{text}\n".encode())


def print_rendered(answer: Any, render: Callable[[], bytes], *, as_json: bool) -> None:
    """Print an answer as JSON, or as a file's text, which is shown in the pager if long."""
    if as_json:
        print_json(answer)
        return
    # Imported here: few commands print whole files.
    from .screen.pager import paged

    with paged():
        print_bytes(render())


def print_bytes(content: bytes) -> None:
    """Print the exact bytes, such as those of a state file."""
    _write(STDOUT, content)


def terminal() -> "Terminal":
    """Return the capabilities of standard output."""
    # Imported here and below: recording commands print one line without colours.
    from .screen.terminal import terminal as found

    return found()


def coloured(text: str, tone: str | None) -> str:
    """Return text in the colour of a tone if stdout supports colours.

    The text must already be escaped, because the colour codes are not.
    """
    return terminal().toned(text, tone)


def wrapped(text: str, *, indent: str = "") -> list[str]:
    """Return text wrapped to the terminal width; all lines but the first are indented."""
    from .screen.tables import wrapped as fold
    from .screen.terminal import Ready

    return [*map(Ready, fold(visible(text), terminal().width, indent=indent))]


def fitting(text: str, taken: int = 0) -> str:
    """Return text truncated to fit on a line of which `taken` columns are already used."""
    from .screen.tables import cut
    from .screen.terminal import Ready

    width = terminal().width
    said = visible(text)
    return Ready(said if width is None else cut(said, max(width - taken, 1)))


def on_terminal() -> bool:
    """Return whether stdin and stdout are terminals."""
    shown = sys.stdin is not None and sys.stdin.isatty()
    return shown and sys.stdout is not None and sys.stdout.isatty()


def shows_bars() -> bool:
    """Return whether stdout supports non-ASCII characters; a file always does."""
    if not sys.stdout.isatty():
        return True
    named = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return "UTF" in next(filter(None, named), "").upper()


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 event`, `2 events`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def first(lines: Sequence[str], most: int, more: str) -> list[str]:
    """Return at most `most` lines, then the line `more` with the number of the others."""
    left = len(lines) - most
    return [*lines[:most], *([more.format(left)] if left > 0 else [])]


def table(
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    whole: Collection[int] = (),
    spare: Sequence[int] = (),
    least: int = 12,
) -> list[str]:
    """Return rows as lines of columns that fit the terminal; see `FittedTable`."""
    from .screen.tables import FittedTable

    made = FittedTable(terminal(), right=right, whole=whole, spare=spare, least=least)
    lines = made.lines(rows)
    context = click.get_current_context(silent=True)
    if made.is_cut and context is not None and not context.meta.get(CUT):
        # Printed at the end, after all truncated output.
        context.meta[CUT] = True
        context.call_on_close(lambda: note("cut to fit: use --json or a pipe to see all"))
    return [*lines]


def _write(descriptor: int, content: bytes) -> None:
    """Write all the content, in a single system call if possible."""
    clear_counting()
    try:
        write_whole(descriptor, content)
    except OSError:
        # An error that cannot be printed must not cause another one.
        if descriptor != STDERR:
            raise
