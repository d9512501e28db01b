"""Lenient readers for agents' JSON: values, figures, commands and diffs.

The input is untrusted: a missing or malformed value counts as absent and is not an error.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from sprintlog.usage import Usage

from .items import Called, FileChanged, Returned

Data = dict[str, Any]
"""A JSON object."""
TOKENS = (
    *("input_tokens", "output_tokens"),
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
)
"""The names of token counts in the Anthropic API."""
_COUNT_MAX, _AMOUNT_MAX = 10**13, 10**9
"""The maximum values, chosen so that sums of a million counts fit in 64 bits."""
_LITERAL_CHARS = 6
"""How far before the end of a truncated text the parser may stop, as in `fals`."""
_BEGIN = re.compile(r'[{\[]\s*(?:["{\[]|\Z)')
_EXIT = re.compile(
    r"^(?:Error: )?Exit code:? (-?\d{1,9})\b"
    r"|^(?:Process exited with code|Exit Code:) (-?\d{1,9})\b",
    re.MULTILINE,
)
_EXIT_AT_END = re.compile(
    r"(?:Command exited with code |\[Process exited with code )(-?\d{1,9})\]?\s*\Z"
)
_OUTPUT_CHARS = 400
"""The number of characters at the start or end of an output searched for an exit code."""
_KINDS = {
    **dict.fromkeys(("add", "create", "created", "write"), "created"),
    **dict.fromkeys(("delete", "deleted", "remove"), "deleted"),
}


def parse(content: bytes) -> object:
    """Return the JSON value in the bytes; None if they are not JSON."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # msgspec rejects invalid UTF-8 and the lone surrogates of truncated texts.
        if content.isascii() and b"\\u" not in content:
            return None
        try:
            return json.loads(content.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None


def is_cut(content: bytes) -> bool:
    """Return whether the bytes are a truncated JSON object or list."""
    text = content.decode("utf-8", "replace").strip()
    if not _BEGIN.match(text):
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        ends = error.pos >= len(text) - _LITERAL_CHARS and error.msg != "Extra data"
        return ends or error.msg.startswith("Unterminated")
    except (ValueError, RecursionError):
        return False
    return False


def count(value: object) -> int | None:
    """Return the value if it is a count, otherwise None."""
    return value if type(value) is int and 0 <= value < _COUNT_MAX else None


def counts(figures: Data, *names: str) -> list[int | None]:
    """Return the counts stored under the given names."""
    return [count(figures.get(name)) for name in names]


def integer(value: object) -> int | None:
    """Return the value if it is an integer, such as an exit code, otherwise None."""
    return value if type(value) is int else None


def amount(value: object) -> float | None:
    """Return the value if it is an amount of money, otherwise None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if 0 <= number < _AMOUNT_MAX else None


def text(value: object) -> str:
    """Return a string without lone surrogates; an empty string for other values."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def word(of: Data, key: str) -> str | None:
    """Return a string field of an object; None if it is missing or empty."""
    return text(of.get(key)) or None


def mapping(value: object) -> Data:
    """Return the value if it is a JSON object, otherwise an empty object."""
    return value if isinstance(value, dict) else {}


def inner(of: Data, key: str) -> Data:
    """Return the object in a field, or an empty one."""
    return mapping(of.get(key))


def objects(value: object) -> list[Data]:
    """Return the objects in a list."""
    return [one for one in _list(value) if isinstance(one, dict)]


def texts(value: object) -> list[str]:
    """Return the strings in a list."""
    return [text(one) for one in _list(value) if text(one)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def less(whole: int | None, part: int | None) -> int | None:
    """Return a count minus part of it; None if the part is larger than the whole."""
    if whole is None or part is None:
        return whole
    return whole - part if part <= whole else None


def between(began: int | None, ended: int | None) -> int | None:
    """Return the time between two timestamps; None if either is unknown."""
    return None if began is None or ended is None else ended - began


def added(values: Iterable[int | None]) -> int | None:
    """Return the sum of the known counts; None if all are unknown."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def tokens(figures: Data, *names: str) -> Usage:
    """Return the token usage; `names` are its input, output and two cache fields."""
    given, written, cached, kept = counts(figures, *names)
    return Usage(given, written, cached, kept)


def tokens_in(figures: Data, *names: str) -> Usage:
    """Return the token usage; `names` are its input, output and two cache fields.

    If all figures are zero, the usage is unknown, because every model uses tokens.
    """
    return tokens(figures, *names) if any(counts(figures, *names)) else Usage()


def command_of(given: Data) -> str | None:
    """Return the command in a tool's input, or None."""
    for name in ("command", "cmd"):
        value = given.get(name)
        if isinstance(value, list):
            # A program with its arguments; those of a shell itself are omitted.
            words = [text(word) for word in value]
            value = words[-1] if words[1:2] in (["-lc"], ["-c"]) else " ".join(words)
        if text(value):
            return text(value)
    return None


def called(
    key: str | None, tool: str, given: Data, *, by: str | None = None, at: str | None = None
) -> Called:
    """Return the item for a tool call, with the tool's input."""
    return Called(key, tool, command_of(given), by, at, given)


def stated(result: Returned) -> dict[str, Any]:
    """Return the known parts of a tool call's result by name."""
    known = {n: getattr(result, n) for n in ("ok", "exit_code", "duration_ms")}
    return {name: value for name, value in known.items() if value is not None}


def path_of(given: Data) -> str | None:
    """Return the file path in a tool's input, or None."""
    for name in ("file_path", "filePath", "path"):
        if text(given.get(name)):
            return text(given.get(name))
    return None


def exit_code_in(output: str) -> int | None:
    """Return the exit code at the start of a tool's output, or None."""
    found = _EXIT.search(output[:_OUTPUT_CHARS])
    return int(found[1] or found[2]) if found else None


def exit_code_at_end(output: str) -> int | None:
    """Return the exit code at the end of a tool's output, or None."""
    found = _EXIT_AT_END.search(output[-_OUTPUT_CHARS:])
    return int(found[1]) if found else None


def kind_of(word: object) -> str | None:
    """Return the normalized type of a file change; None if it is not stated."""
    said = text(word).lower()
    return _KINDS.get(said, "changed") if said else None


def changed_by_diff(key: str | None, path: str, kind: str | None, diff: str) -> FileChanged:
    """Return a file change with the line counts from the file's unified diff."""
    added, removed = lines_of_diff(diff.split("\n"))
    return FileChanged(key, path, kind, added, removed)


def changed_by_patch(key: str | None, result: Data) -> list[FileChanged]:
    """Return the file change in a Claude Code tool result, if the result has hunks."""
    path = text(result.get("filePath"))
    if not path or not isinstance(result.get("structuredPatch"), list):
        return []
    patch = objects(result.get("structuredPatch"))
    kind = kind_of(result.get("type")) or "changed"
    added, removed = lines_of_diff(x for hunk in patch for x in texts(hunk.get("lines")))
    if not patch and kind == "created":
        added = line_count(text(result.get("content")))
    return [FileChanged(key, path, kind, added, removed)]


def lines_of_diff(lines: Iterable[str]) -> tuple[int, int]:
    """Return the numbers of lines added and removed by a unified diff of one file."""
    added = removed = 0
    is_head = False
    for line in lines:
        if line.startswith(("diff ", "Index: ", "--- ")) and not line.startswith("--- -"):
            is_head = True
        elif line.startswith("@@"):
            is_head = False
        if is_head:
            continue
        added += line.startswith("+")
        removed += line.startswith("-")
    return added, removed


def line_count(content: str) -> int:
    """Return the number of lines, including a last line without a newline."""
    return content.count("\n") + (content != "" and not content.endswith("\n"))
