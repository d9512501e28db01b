"""Which paths differ between many pairs of snapshots, in two calls of git for all."""

import os
import re
from collections.abc import Iterable

from ..folders import is_sound
from ..git.command import Git

Pair = tuple[str, str]
"""Commits of two snapshots: the one before, and the one behind."""
PathChange = tuple[str, str]
"""A path, and how it differs: `added`, `removed` or `changed`."""
_HOW = {"A": "added", "D": "removed"}
_HEAD = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40})\n")
"""Before what differs git names the two trees."""
_OID = re.compile(r"[0-9a-f]{40}", re.ASCII)


def changes_between(
    git: Git, pairs: Iterable[Pair], folder: str
) -> dict[Pair, list[PathChange]]:
    """Return what differs below a folder; of what is not in the store nothing is told."""
    wanted = [pair for pair in pairs if all(map(_OID.fullmatch, pair))]
    trees = _trees(git, {commit for pair in wanted for commit in pair})
    asked: dict[Pair, list[Pair]] = {}
    for pair in wanted:
        if pair[0] in trees and pair[1] in trees:
            asked.setdefault((trees[pair[0]], trees[pair[1]]), []).append(pair)
    if not asked:
        return {}
    given = "".join(f"{one} {other}\n" for one, other in asked)
    call = ("diff-tree", "-r", "-z", "--no-renames", "--stdin")
    found = _read(git.run(*call, given=given.encode()), f"{folder}/")
    return {pair: found.get(ends, []) for ends, meant in asked.items() for pair in meant}


def _trees(git: Git, commits: set[str]) -> dict[str, str]:
    """Return the tree of each commit that is there."""
    names = sorted(commits)
    if not names:
        return {}
    given = "".join(f"{name}^{{tree}}\n" for name in names)
    said = git.run("cat-file", "--batch-check=%(objectname)", given=given.encode())
    lines = said.decode().splitlines()
    pairs = zip(names, lines, strict=False)
    return {name: line for name, line in pairs if _OID.fullmatch(line)}


def _read(said: bytes, folder: str) -> dict[Pair, list[PathChange]]:
    found: dict[Pair, list[PathChange]] = {}
    changed: list[PathChange] = []
    parts = iter(said.split(b"\0"))
    for part in parts:
        rest = part
        while (head := _HEAD.match(rest)) is not None:
            changed = found.setdefault((head[1].decode(), head[2].decode()), [])
            rest = rest[head.end() :]
        if not rest.startswith(b":"):
            continue
        path = os.fsdecode(next(parts, b""))
        if path.startswith(folder) and is_sound(path):
            how = _HOW.get(rest[-1:].decode(), "changed")
            changed.append((path.removeprefix(folder), how))
    return found
