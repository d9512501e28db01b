"""The bit flipper and the tail cutter: damage a copy, then run `verify` on it.

Damage is effective if the events, or an index of them, differ or become unreadable, or if a
cache would cause a wrong answer. Then `verify` must end with 4; it must never crash, and
never print an internal message.
"""

import json
import os
import random
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ...copies import copy_tree
from ..children import Herd, command_line
from ..specimens import (
    DATABASE,
    FOLDER,
    HEAD,
    WAL,
    Files,
    Specimen,
    Truth,
    misleads,
    put,
    read_truth,
)

WORKERS = 2
SOUND, INTEGRITY = 0, 4
FLIPPED, CUT, OLDER, STALE = "flipped", "cut", "older", "stale"
FRAME_HEADER, WAL_HEADER, PAGE = 24, 32, 4096
HARMLESS, EVENTS, INDEX, ANSWER, CACHE, UNREADABLE = (
    "harmless",
    "events",
    "index",
    "answer",
    "cache",
    "unreadable",
)
EFFECTIVE = (EVENTS, INDEX, ANSWER, UNREADABLE)
_BLUNDERS = ("Traceback", "defect of sprintlog", "Error:")


class Damage(NamedTuple):
    """One damage to one file of a log."""

    how: str
    name: str
    where: int
    """The bit, the size, or the day."""


class Counts(NamedTuple):
    """The result of a run: damages by effect, and the reported ones."""

    tried: int
    by_effect: dict[str, int]
    found: dict[str, int]
    problems: list[str]

    @property
    def effective(self) -> int:
        """Return the number of damages to recorded data."""
        return sum(self.by_effect.get(effect, 0) for effect in EFFECTIVE)

    @property
    def effective_found(self) -> int:
        """Return how many of these were found."""
        return sum(self.found.get(effect, 0) for effect in EFFECTIVE)


def flips(specimen: Specimen, count: int, seed: int) -> list[Damage]:
    """Return random single bits over database and write-ahead log, by their sizes."""
    chance = random.Random(seed)
    sizes = {name: len(specimen.files.get(name, b"")) for name in (DATABASE, WAL)}
    names = chance.choices(list(sizes), weights=list(sizes.values()), k=count)
    return [Damage(FLIPPED, name, chance.randrange(sizes[name] * 8)) for name in names]


def index_flips(specimen: Specimen, count: int, seed: int) -> list[Damage]:
    """Return random single bits of the first pages of the events' indexes."""
    return _page_flips(specimen.indexes, count, seed)


def cache_flips(specimen: Specimen, count: int, seed: int) -> list[Damage]:
    """Return random single bits of the first pages of the caches."""
    return _page_flips(specimen.caches, count, seed)


def _page_flips(pages: list[int], count: int, seed: int) -> list[Damage]:
    chance = random.Random(seed)
    return [
        Damage(
            FLIPPED, DATABASE, ((page - 1) * PAGE + chance.randrange(PAGE)) * 8 + bit % 8
        )
        for bit in range(count)
        for page in [chance.choice(pages)]
    ]


def schema_flips(specimen: Specimen) -> list[Damage]:
    """Return the highest bit of every twelfth character of the schema's first table."""
    begin = specimen.files[DATABASE].index(b"CREATE TABLE events")
    return [Damage(FLIPPED, DATABASE, 8 * (begin + at) + 7) for at in range(0, 600, 12)]


def head_flips(specimen: Specimen) -> list[Damage]:
    """Return every single bit of the head file."""
    return [Damage(FLIPPED, HEAD, bit) for bit in range(len(specimen.files[HEAD]) * 8)]


def cuts(specimen: Specimen, count: int, seed: int) -> list[Damage]:
    """Return cuts at every page and frame, and at random bytes."""
    chance = random.Random(seed)
    size, wal = len(specimen.files[DATABASE]), len(specimen.files.get(WAL, b""))
    places = [Damage(CUT, DATABASE, at) for at in range(0, size, PAGE)]
    frames = range(WAL_HEADER, wal, PAGE + FRAME_HEADER)
    places += [Damage(CUT, WAL, at) for at in (0, *frames) if at < wal]
    for _ in range(count):
        name = chance.choice([DATABASE, WAL]) if wal else DATABASE
        places.append(Damage(CUT, name, chance.randrange(len(specimen.files[name]))))
    return places


def yesterdays(specimen: Specimen) -> list[Damage]:
    """Return every earlier copy restored, with and without the current write-ahead log."""
    days = range(len(specimen.yesterdays))
    ways = (OLDER, STALE) if WAL in specimen.files else (OLDER,)
    return [Damage(way, DATABASE, day) for way in ways for day in days]


def damaged(specimen: Specimen, damage: Damage) -> Files:
    """Return the log's files after the damage."""
    files = dict(specimen.files)
    if damage.how == CUT:
        files[damage.name] = files[damage.name][: damage.where]
    elif damage.how == FLIPPED:
        content = bytearray(files[damage.name])
        content[damage.where // 8] ^= 1 << damage.where % 8
        files[damage.name] = bytes(content)
    else:
        older = specimen.yesterdays[damage.where]
        keep = (HEAD, WAL) if damage.how == STALE else (HEAD,)
        files = {**older, **{name: files[name] for name in keep}}
    return files


def examine(specimen: Specimen, damages: list[Damage], *, seconds: float) -> Counts:
    """Apply each damage to a separate copy and compare `verify` with the truth."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-damage-") as name:
        root = Path(name)
        whole = _truth_of(root, specimen.files)
        if whole is None:
            raise AssertionError("the specimen is not sound")
        errors = root / "errors"
        with Herd(root=root, errors=errors, seconds=seconds) as herd:
            for worker in range(WORKERS):
                share = damages[worker::WORKERS]
                herd.start(partial(_work, root / str(worker), specimen, whole, share))
            heard = herd.hear()
        said = errors.read_text(errors="replace")[-600:] if errors.exists() else ""
    problems, by_effect, found = [], Counter[str](), Counter[str]()
    for worker, (code, out) in enumerate(heard):
        share = damages[worker::WORKERS]
        reports = [json.loads(line) for line in out.splitlines()]
        for damage, (effect, answer, words) in zip(share, reports, strict=False):
            by_effect[effect] += 1
            found[effect] += _is_told(effect, answer, words)
            if problem := _judged(effect, answer, words):
                problems.append(f"{damage}: {problem}")
        if code != 0:
            next_one = share[len(reports) : len(reports) + 1]
            problems.append(f"{next_one}: the process ended with {code}: {said}")
    return Counts(sum(by_effect.values()), dict(by_effect), dict(found), problems)


def _is_told(effect: str, code: int, words: str) -> bool:
    """Return whether it was reported; a different state file does not count."""
    says_so = "damage" in words or words.startswith("error: ")
    return code == INTEGRITY and (says_so or effect not in (EVENTS, INDEX, UNREADABLE))


def _judged(effect: str, code: int, words: str) -> str | None:
    """Return the problem of an answer."""
    if any(blunder in words for blunder in _BLUNDERS):
        return f"a blunder: {words[-300:]}"
    if effect in EFFECTIVE and not _is_told(effect, code, words):
        return f"{effect} damaged, and verify ended with {code}: {words[-200:]}"
    if effect not in EFFECTIVE and code not in (SOUND, INTEGRITY):
        return f"{effect}, and verify ended with {code}: {words[-200:]}"
    return None


def _work(folder: Path, specimen: Specimen, whole: Truth, damages: list[Damage]) -> int:
    """Apply a share of the damages, each to a new copy."""
    copy_tree(specimen.root, folder)
    report = os.dup(1)
    said = os.open(folder / "said", os.O_RDWR | os.O_CREAT, 0o600)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.chdir(folder)
    for damage in damages:
        files = damaged(specimen, damage)
        effect = _effect(whole, _truth_of(folder / "truth", files))
        put(folder / FOLDER, files)
        os.ftruncate(said, 0)
        os.lseek(said, 0, os.SEEK_SET)
        code = _verify()
        sys.stdout.flush()
        sys.stderr.flush()
        words = os.pread(said, 1 << 16, 0).decode(errors="replace")
        os.write(report, json.dumps([effect, code, words]).encode() + b"\n")
    return 0


def _verify() -> int:
    try:
        return command_line(["verify"])
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1


def _truth_of(folder: Path, files: Files) -> Truth | None:
    """Read the truth from a separate copy: SQLite changes the files it opens."""
    folder.mkdir(exist_ok=True)
    put(folder, files)
    return read_truth(folder / DATABASE)


def _effect(whole: Truth, truth: Truth | None) -> str:
    if truth is None:
        return UNREADABLE
    if truth.events != whole.events:
        return EVENTS
    if truth.indexes != whole.indexes:
        return INDEX
    if truth.caches == whole.caches:
        return HARMLESS
    return ANSWER if misleads(whole, truth) else CACHE
