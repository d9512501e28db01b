"""Possible disk contents after a power failure: images made from a trace of operations.

This is the strictest reading of POSIX: bytes are durable once their file was synced, names
once their folder was. Until then, each write may be present, missing or torn between
sectors of 512 bytes, and each change of a name may be present or not.
"""

import os
import random
from pathlib import Path, PurePosixPath
from typing import NamedTuple

SECTOR = 512


class Operation(NamedTuple):
    """One line of a trace."""

    name: str
    offset: int
    length: int
    path: str
    other: str
    """The new name of a rename."""
    content: bytes


def parse(trace: bytes) -> list[Operation]:
    """Return the operations of a trace that succeeded and matter, with their bytes."""
    found, at = [], 0
    while at < len(trace):
        end = trace.index(b"\n", at)
        _, name, offset, length, result, path = trace[at:end].decode().split(" ", 5)
        at = end + 1
        content = b""
        if name in ("write", "pwrite", "answer") and int(length) > 0:
            content = trace[at : at + int(length)]
            at += int(length)
        if int(result) >= 0 and name not in ("read", "lock", "map", "close", "chmod"):
            path, _, other = path.partition("\t")
            found.append(Operation(name, int(offset), int(length), path, other, content))
    return found


class _File:
    """A file: the durable bytes, and its operations since."""

    def __init__(self) -> None:
        self.durable = b""
        self.pending: list[tuple[int, bytes | None]] = []

    def sync(self) -> None:
        self.durable = self.image(random.Random(0), 1.0, 0.0)
        self.pending = []

    def image(self, chance: random.Random, kept: float, torn: float) -> bytes:
        """Return the bytes after a power failure; `kept` and `torn` are write shares."""
        bytes_ = bytearray(self.durable)
        for offset, content in self.pending:
            if chance.random() >= kept:
                continue
            if content is None:
                _resize(bytes_, offset)
                continue
            pieces = _sectors(offset, content)
            if chance.random() < torn:
                pieces = [piece for piece in pieces if chance.random() < 0.5]
            for start, piece in pieces:
                if len(bytes_) < start:
                    _resize(bytes_, start)
                bytes_[start : start + len(piece)] = piece
        return bytes(bytes_)


class Disk:
    """Files below one folder as the operations of a trace leave them."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._now: dict[str, _File | None] = {root: None}
        self._durable: dict[str, _File | None] = {root: None}
        self._renaming: list[tuple[str, dict[str, _File | None], list[str]]] = []

    def do(self, operation: Operation) -> None:
        """Carry out one operation."""
        name, offset, length, path, other, content = operation
        file = self._now.get(path)
        if name == "open":
            if path not in self._now and offset & os.O_CREAT:
                self._change(path, {path: _File()}, [])
            elif file is not None and offset & os.O_TRUNC:
                file.pending.append((0, None))
        elif name in ("write", "pwrite") and file is not None:
            file.pending.append((offset, content))
        elif name == "truncate" and file is not None:
            file.pending.append((length, None))
        elif name == "fsync":
            self._sync(path)
        elif name == "mkdir":
            self._change(path, {path: None}, [])
        elif name == "unlink" and path in self._now:
            self._change(path, {}, [path])
        elif name == "exchange" and path in self._now:
            self._change(path, {path: self._now.get(other), other: file}, [])
        elif name in ("rename", "link") and path in self._now:
            gone = [path] if name == "rename" else []
            self._change(path, {other: file}, gone)

    def write(self, target: Path, chance: random.Random) -> None:
        """Write the possible content after a power failure into an empty folder."""
        kept = chance.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        torn = chance.choice((0.0, 0.3, 1.0))
        names = dict(self._durable)
        renaming = self._renaming
        if chance.random() < 0.5:
            # A journaling file system preserves the order of renames.
            renaming = renaming[: chance.randint(0, len(renaming))]
        else:
            renaming = [change for change in renaming if chance.random() < kept]
        for _, new, gone in renaming:
            _apply(names, new, gone)
        bytes_: dict[int, bytes] = {}
        for path, file in sorted(names.items()):
            place = target / PurePosixPath(path).relative_to(self._root)
            if file is None:
                place.mkdir(exist_ok=True, mode=0o700)
            elif place.parent.is_dir():
                image = bytes_.setdefault(id(file), file.image(chance, kept, torn))
                place.write_bytes(image)

    def settle(self) -> None:
        """Make everything durable, as if the system had been idle for a while."""
        for file in self._now.values():
            if file is not None:
                file.sync()
        self._durable, self._renaming = dict(self._now), []

    def _sync(self, path: str) -> None:
        if file := self._now.get(path):
            file.sync()
            return
        rest = []
        for folder, new, gone in self._renaming:
            if folder == path:
                _apply(self._durable, new, gone)
            else:
                rest.append((folder, new, gone))
        self._renaming = rest

    def _change(self, path: str, new: dict[str, _File | None], gone: list[str]) -> None:
        self._renaming.append((os.path.dirname(path), new, gone))
        _apply(self._now, new, gone)


def _apply(
    names: dict[str, _File | None], new: dict[str, _File | None], gone: list[str]
) -> None:
    for name in gone:
        names.pop(name, None)
    names.update(new)


def _resize(content: bytearray, size: int) -> None:
    del content[size:]
    content.extend(bytes(size - len(content)))


def _sectors(offset: int, content: bytes) -> list[tuple[int, bytes]]:
    """Return a write in pieces that a disk writes whole."""
    pieces, at = [], 0
    while at < len(content):
        size = SECTOR - (offset + at) % SECTOR
        pieces.append((offset + at, content[at : at + size]))
        at += size
    return pieces
