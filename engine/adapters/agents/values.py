"""Reads a stranger's JSON: nothing in it is relied on, and what is not there is absent."""

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from ...usage import FIGURES, Usage
from .items import FileChanged

Data = dict[str, Any]
"""An object of JSON."""
_COUNT_MAX, _AMOUNT_MAX = 10**13, 10**9
"""Larger ones are no figures: sums of a million counts fit in 64 bits."""
_LITERAL_CHARS = 6
"""How far before the end of a cut text its reader may stop: `fals`, or half an escape."""
_BEGIN = re.compile(r'[{\[]\s*(?:["{\[]|\Z)')


def parse(content: bytes) -> object:
    """Return the JSON value that the bytes are; None when they are none."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # It is strict about halves of surrogate pairs, which cut texts have, and bytes.
        if content.isascii() and b"\\u" not in content:
            return None
        try:
            return json.loads(content.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None


def is_cut(content: bytes) -> bool:
    """Tell whether the bytes are a JSON object or list without its end."""
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
    """Return a count, None for anything else."""
    return value if type(value) is int and 0 <= value < _COUNT_MAX else None


def amount(value: object) -> float | None:
    """Return an amount of money, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if 0 <= number < _AMOUNT_MAX else None


def text(value: object) -> str:
    """Return a text in which every character can be written; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def mapping(value: object) -> Data:
    """Return an object of JSON; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[Data]:
    """Return the objects in a list."""
    return [one for one in _list(value) if isinstance(one, dict)]


def texts(value: object) -> list[str]:
    """Return the texts in a list."""
    return [text(one) for one in _list(value) if text(one)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def less(whole: int | None, part: int | None) -> int | None:
    """Return a count without a part of it; None where that makes no sense."""
    if whole is None or part is None:
        return whole
    return whole - part if part <= whole else None


def added(values: Iterable[int | None]) -> int | None:
    """Return the sum of the counts that are known; None when none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def together(usages: Iterable[Usage]) -> Usage:
    """Return the figures of several things that complement each other."""
    sums: dict[str, Any] = {}
    for usage in usages:
        for name in FIGURES:
            if (value := getattr(usage, name)) is not None:
                sums[name] = sums.get(name, 0) + value
    return Usage(**sums)


def tokens_in(figures: Data, *names: str) -> Usage:
    """Return the tokens by the names of input, output, cache reads and cache writes.

    If all are zero, the agent has not learned them: no model works with no tokens.
    """
    tokens = [count(figures.get(name)) for name in names]
    given, written, cached, kept = tokens if any(tokens) else [None] * 4
    return Usage(given, written, cached, kept)


_EXIT = re.compile(
    r"^(?:Error: )?Exit code:? (-?\d{1,9})\b"
    r"|^(?:Process exited with code|Exit Code:) (-?\d{1,9})\b",
    re.MULTILINE,
)
_EXIT_AT_END = re.compile(
    r"(?:Command exited with code |\[Process exited with code )(-?\d{1,9})\]?\s*\Z"
)
_OUTPUT_CHARS = 400
"""How far from its beginning a tool's own remark on its exit code stands."""
_KINDS = {
    "add": "created",
    "create": "created",
    "created": "created",
    "write": "created",
    "delete": "deleted",
    "deleted": "deleted",
    "remove": "deleted",
}


def command_of(given: Data) -> str | None:
    """Return the command that a tool was given to run, if it runs any."""
    for name in ("command", "cmd"):
        value = given.get(name)
        if isinstance(value, list):
            # A program with its arguments; a shell's own are left out.
            words = [text(word) for word in value]
            value = words[-1] if words[1:2] in (["-lc"], ["-c"]) else " ".join(words)
        if text(value):
            return text(value)
    return None


def path_of(given: Data) -> str | None:
    """Return the file that a tool was given, if it was."""
    for name in ("file_path", "filePath", "path"):
        if text(given.get(name)):
            return text(given.get(name))
    return None


def exit_code_in(output: str) -> int | None:
    """Return the exit code that a tool's answer begins with in words."""
    found = _EXIT.search(output[:_OUTPUT_CHARS])
    return int(found[1] or found[2]) if found else None


def exit_code_at_end(output: str) -> int | None:
    """Return the exit code that a tool's answer ends with in words."""
    found = _EXIT_AT_END.search(output[-_OUTPUT_CHARS:])
    return int(found[1]) if found else None


def kind_of(word: object) -> str | None:
    """Return what became of a file, in our words; None when that is not said."""
    said = text(word).lower()
    return _KINDS.get(said, "changed") if said else None


def changed_by_diff(key: str | None, path: str, kind: str | None, diff: str) -> FileChanged:
    """Return a change with the lines that a unified diff of it shows."""
    added, removed = lines_of_diff(diff.split("\n"))
    return FileChanged(key, path, kind, added, removed)


def changed_by_patch(key: str | None, result: Data) -> list[FileChanged]:
    """Return the change that Claude Code tells with its hunks, if it is one."""
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
    """Return how many lines came in and went out by a unified diff of one file."""
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
    """Return how many lines a text has; a last one without its end is one, too."""
    return content.count("\n") + (content != "" and not content.endswith("\n"))
