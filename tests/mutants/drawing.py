"""The mutations that a seed selects from the sources, and the same ones in other checkouts.

Only hashes decide: the choice is the same on every machine and in every Python version,
and a change of one module changes no choice in others.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .mutations import Mutation, Site, sites

FOLDERS = ("engine", "projections", "cli")
SEED = 20261128
COUNT = 84

_LOT_LINES = 8
"""A module has one lot per so many lines."""


def draw(root: Path, *, count: int = COUNT, seed: int = SEED) -> list[Mutation]:
    """Return mutations of different modules, as many per folder as its share of lines.

    A module is drawn with a probability of its share of lines; in it each operator is as
    likely as the others.
    """
    sizes = {folder: _sizes(root, folder) for folder in FOLDERS}
    drawn = []
    for folder, share in _shares(sizes, count).items():
        lots = {
            path: min(_hash(seed, path, lot) for lot in range(-(-size // _LOT_LINES)))
            for path, size in sizes[folder].items()
        }
        found: list[Mutation] = []
        for path in sorted(lots, key=lambda path: lots[path]):
            if len(found) == share:
                break
            found += _one(seed, _sites(root, path))
        drawn += found
    return sorted(drawn, key=lambda mutation: (mutation.path, mutation.line))


def _one(seed: int, candidates: list[Site]) -> list[Mutation]:
    """Return at most one of the mutations."""
    mutations = [site.mutation for site in candidates]
    return sorted(
        mutations,
        key=lambda one: (_hash(seed, one.path, one.operator), _hash(seed, *one.identity)),
    )[:1]


def _shares(sizes: dict[str, dict[str, int]], count: int) -> dict[str, int]:
    """Return how many mutations each folder gets; the largest remainders are rounded up."""
    lines = {folder: sum(files.values()) for folder, files in sizes.items()}
    total = sum(lines.values())
    shares = {folder: count * size // total for folder, size in lines.items()}
    by_rest = sorted(shares, key=lambda folder: -(count * lines[folder] % total))
    for folder in by_rest[: count - sum(shares.values())]:
        shares[folder] += 1
    return shares


def _sizes(root: Path, folder: str) -> dict[str, int]:
    found = {
        path.relative_to(root).as_posix(): net_lines(path.read_text(encoding="utf-8"))
        for path in sorted((root / folder).rglob("*.py"))
    }
    return {path: size for path, size in found.items() if size}


def net_lines(source: str) -> int:
    """Return the number of lines that are not blank, a comment or part of a docstring."""
    without = re.sub(r'(?ms)^[ \t]*r?"""(.*?)"""', "", source)
    return len(re.findall(r"(?m)^[ \t]*[^\s#]", without))


def _hash(*parts: Any) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def _sites(root: Path, path: str) -> list[Site]:
    file = root / path
    return sites(file.read_text(encoding="utf-8"), path) if file.is_file() else []


def locate(wanted: Iterable[Mutation], root: Path) -> list[Mutation | None]:
    """Return the mutations with their positions in a checkout; None for missing ones.

    The same line of a function that moved to another module is also found.
    """
    wanted = list(wanted)
    near: dict[Any, Mutation] = {}
    for path in {mutation.path for mutation in wanted}:
        near |= {site.mutation.identity: site.mutation for site in _sites(root, path)}
    if all(mutation.identity in near for mutation in wanted):
        return [near[mutation.identity] for mutation in wanted]
    moved: dict[Any, list[Mutation]] = {}
    for folder in FOLDERS:
        for path in _sizes(root, folder):
            for site in _sites(root, path):
                moved.setdefault(site.mutation.identity[1:], []).append(site.mutation)
    found: list[Mutation | None] = []
    for mutation in wanted:
        others = moved.get(mutation.identity[1:], [])
        only = others[0] if len(others) == 1 else None
        found.append(near.get(mutation.identity, only))
    return found
