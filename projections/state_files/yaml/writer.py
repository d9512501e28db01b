"""Block YAML that every reader parses identically, in the style of js-yaml 4.

The text equals js-yaml's `dump(document, {lineWidth: -1, noRefs: true})`, except where
another reader would not return the same value. Floats have a point and a sign in their
exponent (`1.0`, `1.0e+22`). Words that a reader would take for a number (`+.5`, `1_`,
`1e400`) are quoted, as are blocks that both start and end with spaces. Keys remain in
insertion order, including keys that JavaScript would treat as indices.
"""

import re
from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any

from sprintlog.engine.errors import InvalidInputError

from . import scalars

DEPTH_MAX = 64
NODES_MAX = 1_000_000
"""The maximum number of keys and values; a sprint of 10,000 phases has 135,000."""
LONG = 256
"""The length above which a list should be written in blocks; see `blocks`."""
INTEGER_MAX = 2**63 - 1
INTEGER_MIN = -(2**63)

_PIECES_MAX = 512
_KNOWN_MAX = 256
_PAD_MAX = len("\n") + len(scalars.LINE_STEP) * (DEPTH_MAX - 1)
# Parsers search at most this far for a key's colon; js-yaml counts UTF-16 units.
_LOOK_AHEAD_MAX = 1024
_SHOWN_KEY_MAX = 40
_SIMPLE_KEY = r"[A-Za-z_][A-Za-z0-9_-]*"
_TOO_DEEP = f"nested deeper than {DEPTH_MAX} levels"


def dump(document: Mapping[str, Any]) -> str:
    """Return the document as YAML; raise an error naming a field that cannot be written."""
    return dump_bytes(document).decode()


def dump_bytes(document: Mapping[str, Any]) -> bytes:
    """Return the same text as `dump`, as bytes, which is how it is generated."""
    return _rendered(dict(document), indent=0) if document else b"{}\n"


def dump_entry(key: str, value: object) -> str:
    """Return one `key: value` entry; joining a document's entries produces its `dump`."""
    return _rendered({key: value}, indent=0).decode()


def dump_items(values: list[Any]) -> bytes:
    """Return the items of a top-level sequence, each as `- value`."""
    return _rendered(values, indent=2)


def has_long_list(document: Mapping[str, Any]) -> bool:
    """Return whether any top-level list in a document should be written in blocks."""
    return bool([x for x in document.values() if type(x) is list and len(x) > LONG])


def is_long(value: object) -> bool:
    """Return whether a value is a list that should be written in blocks."""
    return type(value) is list and len(value) > LONG


def field_path(parts: Iterable[str | int]) -> str:
    """Return a path in its usual notation, such as `phases[3].steps[0].prompt`."""
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif len(part) <= _SHOWN_KEY_MAX and re.fullmatch(_SIMPLE_KEY, part):
            path += f".{part}" if path else part
        else:
            # Imported here: only error messages about unusual keys require it.
            import json

            shown = json.dumps(part[:_SHOWN_KEY_MAX], ensure_ascii=not part.isprintable())
            path += f"[{shown}]"
    return path


_Lines = tuple[str, dict[str, str]]
"""A key with the start of its line, and its complete lines by their short values."""


class _Page:
    """The pieces of the text; each line break precedes its line."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.written = BytesIO()
        """The finished text; pieces are joined while they are in the CPU cache."""
        self.lines: dict[str, dict[str, _Lines]] = {}
        """The lines by line start and key; words recur, so most lines are generated
        once."""

    def content(self) -> bytes:
        """Return all pieces added so far."""
        self.pieces.append("\n")
        self.join()
        return self.written.getvalue()

    def join(self) -> None:
        """Write the pieces, without the line break that precedes the first line."""
        first = 0 if self.written.tell() else 1
        # Memory for the text is allocated once, because new pages cost more than all the
        # rest.
        self.written.write("".join(self.pieces)[first:].encode())
        self.pieces.clear()

    def collection(self, node: dict[Any, Any] | list[Any], lead: str, pad: str) -> None:
        """Add a collection's lines; the first starts with `lead`, the others with `pad`."""
        if len(pad) > _PAD_MAX:
            raise scalars.UnwritableError(_TOO_DEEP)
        if isinstance(node, dict):
            of = self.lines.setdefault
            self.mapping(node, lead, pad, of(lead or pad, {}), of(pad, {}))
        else:
            self.sequence(node, lead, pad)

    def lines_at(self, lead: str) -> dict[Any, _Lines]:
        """Return the known lines, by key, that start with `lead`."""
        return self.lines.setdefault(lead, {})

    def mapping(
        self,
        node: dict[Any, Any],
        lead: str,
        pad: str,
        now: dict[Any, _Lines],
        behind: dict[Any, _Lines],
    ) -> None:
        """Add `key: value` for each entry; the first line starts with `lead`."""
        add = self.pieces.append
        key: Any = None
        try:
            for key, value in node.items():
                try:
                    head, known = now[key]
                except (KeyError, TypeError):
                    # Most keys are plain words, for which `line_of` is unnecessary.
                    is_plain = type(key) is str and key.isascii() and key[:1] != "-"
                    is_plain = is_plain and key.replace("-", "_").isidentifier()
                    is_plain = (
                        is_plain
                        and len(key) <= scalars.WORD_MAX
                        and key not in scalars.WORDS
                    )
                    head = f"{pad}{key}: " if is_plain else _head(key, pad)
                    if now is not behind:
                        head = lead + head[len(pad) :]
                    head, known = now[key] = head, {}
                now = behind
                if type(value) is str:
                    if value in known:
                        add(known[value])
                    elif "\n" in value:
                        add(head + scalars.block_of(value, pad + scalars.LINE_STEP))
                    else:
                        line = head + scalars.line_of(value)
                        add(line)
                        if len(known) < _KNOWN_MAX and len(value) <= scalars.WORD_MAX:
                            known[value] = line
                elif value and isinstance(value, (dict, list)):
                    if head.endswith(f"{pad}: "):
                        # After `? key`, a collection starts on the line of the colon.
                        self.collection(value, head, pad + scalars.LINE_STEP)
                    else:
                        add(head[:-1])
                        self.collection(value, "", pad + scalars.LINE_STEP)
                else:
                    add(head + _atom(value, pad + scalars.LINE_STEP))
        except scalars.UnwritableError as error:
            error.path.append(key if type(key) is str else _named(key))
            raise

    def sequence(self, node: list[Any], lead: str, pad: str) -> None:
        """Add `- value` for each item."""
        below = pad + scalars.LINE_STEP
        item = f"{pad}- "
        head = f"{lead}- " if lead else item
        is_shallow = len(below) <= _PAD_MAX
        now, behind = self.lines_at(head), self.lines_at(below)
        pieces = self.pieces
        for index, value in enumerate(node):
            try:
                if value and type(value) is dict and is_shallow:
                    self.mapping(value, head, below, now, behind)
                elif value and isinstance(value, (dict, list)):
                    self.collection(value, head, below)
                elif type(value) is str:
                    block = "\n" in value
                    text = (
                        scalars.block_of(value, below) if block else scalars.line_of(value)
                    )
                    pieces += head, text
                else:
                    pieces += head, _atom(value, below)
            except scalars.UnwritableError as error:
                error.path.append(index)
                raise
            if head is not item:
                head, now = item, self.lines_at(item)
            if len(pieces) >= _PIECES_MAX:
                self.join()


def _rendered(node: dict[Any, Any] | list[Any], *, indent: int) -> bytes:
    page = _Page()
    try:
        page.collection(node, "", "\n" + " " * indent)
    except scalars.UnwritableError as error:
        raise InvalidInputError(str(error), field=field_path(error.path[::-1])) from None
    return page.content()


def _atom(value: object, pad: str) -> str:
    """Return the YAML for a value other than text or a non-empty collection."""
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        if INTEGER_MIN <= value <= INTEGER_MAX:
            return str(value)
        raise scalars.UnwritableError("an integer must fit in 64 bits with its sign")
    if type(value) is float:
        return scalars.float_of(value)
    if isinstance(value, (dict, list)):
        if len(pad) > _PAD_MAX:
            raise scalars.UnwritableError(_TOO_DEEP)
        return "{}" if isinstance(value, dict) else "[]"
    raise scalars.UnwritableError(f"YAML cannot represent {_named(value)}")


def _head(key: Any, pad: str) -> str:
    """Return a key with its colon, or with `?` if it is too long for a line."""
    if type(key) is not str:
        raise scalars.UnwritableError(f"a key must be a string, not {_named(key)}")
    text = scalars.line_of(key)
    is_short = 2 * len(text) <= _LOOK_AHEAD_MAX
    if not is_short and len(text.encode("utf-16-le")) > 2 * _LOOK_AHEAD_MAX:
        return f"{pad}? {text}{pad}: "
    return f"{pad}{text}: "


def _named(value: object) -> str:
    """Return a description of a value that YAML cannot represent."""
    return f"a value of type {type(value).__name__}"
