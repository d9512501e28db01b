"""YAML with the line numbers of its values, for error messages.

Recording the line numbers takes up to 50% longer; callers that only require the data use
`reader`.
"""

from typing import Any, NamedTuple

from .reader import AsWritten, load

Path = tuple[str | int, ...]


class LineSpan(NamedTuple):
    """The line of a key, and the first and last lines of its value, counted from 1."""

    key: int
    first: int
    last: int


class PlacedDocument:
    """A file's data, and the line numbers of its values."""

    def __init__(self, content: bytes, *, file: str) -> None:
        """Read the file; raise `InvalidInputError` as `load` does.

        Duplicate keys are not an error but are recorded.
        """
        builder = _NotingBuilder()
        self.data: Any = load(content, file=file, builder=builder)
        self.repeated: list[tuple[int, Path, str]] = builder.repeated
        """The line, path and message of each duplicate key, whose last value is used."""
        self.kept = builder.kept
        """The path and text of values that look like numbers but were read as text."""
        self._builder = builder
        self._content = content
        self._lines: list[str] | None = None

    def line(self, path: Path, near: str | None = None) -> int:
        """Return the line of a value, or of its container if the value is missing.

        If `near` is part of the value's text, return the line of its first occurrence.
        """
        holder, line, span = self.data, 1, None
        for step in path:
            span = self._builder.spans.get(id(holder), {}).get(step)
            if span is None:
                return line
            line, holder = span.key, holder[step]
        if near is not None and span is not None:
            if self._lines is None:
                self._lines = self._content.decode("utf-8-sig").splitlines()
            for number in range(span.first, min(span.last, len(self._lines)) + 1):
                if near in self._lines[number - 1]:
                    return number
        return line


class _NotingBuilder(AsWritten):
    """Records the lines of each collection's contents."""

    def __init__(self) -> None:
        super().__init__()
        self.spans: dict[int, dict[str | int, LineSpan]] = {}
        """The lines of each collection's items, by the `id` of the collection."""
        self.repeated: list[tuple[int, Path, str]] = []
        self.replaced: list[Any] = []
        """The replaced values, kept alive so that no other object reuses their `id`."""
        self._event: Any = None
        self._key_line = 1

    def take(self, event: Any) -> None:
        """Process a parse event."""
        self._event = event
        super().take(event)

    def scalar(self, event: Any) -> None:
        """Process a scalar; record the line if it is a key."""
        frame = self.stack[-1] if self.stack else None
        if frame is not None and frame.key is None and type(frame.items) is dict:
            self._key_line = event.start_mark.line + 1
        super().scalar(event)

    def repeat(self, problem: str) -> None:
        """Record a duplicate key, and continue."""
        key = str(self._event.value)
        self.repeated.append((self._key_line, (*self.path(), key), problem))
        items = self.stack[-1].items
        self.replaced.append(items[key] if isinstance(items, dict) else None)

    def store(self, value: Any) -> None:
        """Store a value in its collection, and record its lines."""
        if self.stack:
            frame, event = self.stack[-1], self._event
            first, last = event.start_mark.line + 1, event.end_mark.line + 1
            items = frame.items
            key, line = (
                (len(items), first)
                if isinstance(items, list)
                else (frame.key or "", self._key_line)
            )
            self.spans.setdefault(id(items), {})[key] = LineSpan(line, first, last)
        super().store(value)
