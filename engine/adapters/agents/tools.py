"""What the agents say of their tools in nearly the same way: commands, codes, lines."""

import re
from collections.abc import Iterable

from .items import FileChanged
from .values import Data, objects, text, texts

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
