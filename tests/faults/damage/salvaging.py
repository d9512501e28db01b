"""Damage a copy of a log, run `doctor --salvage` on it, and compare with the records.

The new log must contain at least the rows that SQLite can read one by one from the first
event on, and nothing that was not recorded.
"""

import json
import os
import random
import shutil
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.engine.log.envelope import RecordedEvent

from ...copies import copy_tree
from ..children import Herd, command_line
from ..runner import fast_folder
from ..specimens import DATABASE, FOLDER, WAL, Files, Specimen, put
from .damaging import CUT, FLIPPED, INTEGRITY, PAGE, SOUND, WORKERS, Damage

NEW = "new"
_BLUNDERS = ("Traceback", "defect of sprintlog")
_KINDS = ", ".join(f"typeof({name})" for name in RecordedEvent.__struct_fields__)
_ROW = f"SELECT *, {_KINDS} FROM events NOT INDEXED WHERE position = ?"
_ALL = f"SELECT *, {_KINDS} FROM events NOT INDEXED ORDER BY position"
_BROKEN = (sqlite3.Error, OverflowError, UnicodeDecodeError)

Rows = list[tuple[Any, ...]]


class Attempt(NamedTuple):
    """The result of one damage."""

    code: int
    saved: int
    """How many events the new log has; -1 when there is none."""
    kept: int
    """How many of the others were found readable."""
    least: int
    """How many SQLite reads from the first one on."""
    problem: str | None


class Tally(NamedTuple):
    """The result of a run."""

    tried: int
    whole: int
    """How many times everything was saved."""
    attempts: list[Attempt]
    problems: list[str]


def scribbles(specimen: Specimen, pages: list[int], seed: int) -> list[Files]:
    """Return copies of the files in which one page each is overwritten by chance."""
    return [_scribbled(specimen.files, DATABASE, page * PAGE, seed) for page in pages]


def _scribbled(files: Files, name: str, where: int, seed: int) -> Files:
    content = bytearray(files[name])
    content[where : where + PAGE] = random.Random(seed + where).randbytes(PAGE)
    return {**files, name: bytes(content)}


def random_damages(specimen: Specimen, count: int, seed: int) -> list[Files]:
    """Return damages of every kind: bits, cuts, scribbled and zeroed ranges, several."""
    chance = random.Random(seed)
    names = [name for name in (DATABASE, WAL) if specimen.files.get(name)]
    found: list[Files] = []
    for _ in range(count):
        files = dict(specimen.files)
        for _ in range(chance.choice((1, 1, 1, 2, 5))):
            name = chance.choice(names)
            content = bytearray(files[name])
            if not content:
                continue
            where = chance.randrange(len(content))
            match chance.choice(("bit", "bit", "cut", "range", "zeroes", "page")):
                case "bit":
                    content[where] ^= 1 << chance.randrange(8)
                case "cut":
                    del content[where:]
                case "range":
                    end = min(where + chance.randrange(300), len(content))
                    content[where:end] = chance.randbytes(end - where)
                case "zeroes":
                    end = min(where + PAGE, len(content))
                    content[where:end] = bytes(end - where)
                case _:
                    where -= where % PAGE
                    end = min(where + PAGE, len(content))
                    content[where:end] = chance.randbytes(end - where)
            files[name] = bytes(content)
        found.append(files)
    return found


def single_damages(specimen: Specimen, damages: list[Damage]) -> list[Files]:
    """Return the files after each of these flips or cuts."""
    found: list[Files] = []
    for damage in damages:
        content = bytearray(specimen.files[damage.name])
        if damage.how == CUT:
            del content[damage.where :]
        else:
            assert damage.how == FLIPPED
            content[damage.where // 8] ^= 1 << damage.where % 8
        found.append({**specimen.files, damage.name: bytes(content)})
    return found


def attempt(specimen: Specimen, damaged: list[Files], *, seconds: float) -> Tally:
    """Salvage every damaged log in a separate copy, and judge the results."""
    with fast_folder() as root:
        (root / "truth").mkdir()
        put(root / "truth", specimen.files)
        whole = read_rows(root / "truth" / DATABASE)
        errors = root / "errors"
        with Herd(root=root, errors=errors, seconds=seconds) as herd:
            for worker in range(WORKERS):
                share = damaged[worker::WORKERS]
                body = partial(_work, root / str(worker), specimen, whole, share)
                herd.start(body)
            heard = herd.hear()
        said = errors.read_text(errors="replace")[-600:] if errors.exists() else ""
    attempts, problems = [], []
    for worker, (code, out) in enumerate(heard):
        share = damaged[worker::WORKERS]
        reports = [Attempt(*json.loads(line)) for line in out.splitlines()]
        attempts += reports
        problems += [r.problem for r in reports if r.problem]
        if code != 0 or len(reports) != len(share):
            problems.append(f"a worker ended with {code} after {len(reports)}: {said}")
    complete = Counter(a.saved for a in attempts)[len(whole)]
    return Tally(len(attempts), complete, attempts, problems)


def _work(folder: Path, specimen: Specimen, whole: Rows, damaged: list[Files]) -> int:
    copy_tree(specimen.root, folder)
    truth = folder / "truth"
    truth.mkdir()
    report = os.dup(1)
    said = os.open(folder / "said", os.O_RDWR | os.O_CREAT, 0o600)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.chdir(folder)
    for number, files in enumerate(damaged):
        put(truth, files)
        least = _least(truth / DATABASE, whole)
        put(folder / FOLDER, files)
        before = digest(folder / FOLDER)
        code, words = _run(said, ["doctor", "--salvage", NEW, "--json"])
        answer = json.loads(words) if code in (SOUND, INTEGRITY) else {}
        problem = _judged(folder, answer, code, words, whole, least)
        if digest(folder / FOLDER) != before:
            problem = "the old log was changed"
        saved = answer.get("position", -1)
        kept = sum(
            found["last"] - found["first"] + 1
            for found in answer.get("ranges", ())
            if found["state"] == "readable" and found["last"] <= len(whole)
        )
        if problem is None and saved >= 0:
            problem = _verified(folder, said)
        problem = problem and f"damage {number}: {problem}"
        line = json.dumps([code, saved, kept, least, problem])
        os.write(report, line.encode() + b"\n")
        shutil.rmtree(folder / NEW, ignore_errors=True)
    return 0


def _judged(
    folder: Path, answer: dict[str, Any], code: int, words: str, whole: Rows, least: int
) -> str | None:
    """Return the problem of a rescue."""
    if any(blunder in words for blunder in _BLUNDERS):
        return f"a blunder: {words[-300:]}"
    if code not in (SOUND, INTEGRITY):
        return f"ended with {code}: {words[-200:]}"
    if "error" in answer:
        if (folder / NEW).exists() or words.count("\n") != 1:
            return f"nothing saved, but {words[-200:]}"
        return f"nothing saved, but SQLite reads {least}" if least else None
    rows = read_rows(folder / NEW / DATABASE)
    if rows != whole[: len(rows)]:
        return "the new log is not a beginning of the old one"
    if len(rows) != answer["position"] or len(rows) < least:
        return f"saved {len(rows)}, said {answer['position']}, SQLite reads {least}"
    if (code == SOUND) != (len(rows) == len(whole)):
        return f"{len(rows)} of {len(whole)} saved, and ended with {code}"
    return None


def _verified(folder: Path, said: int) -> str | None:
    """Return the damage that `verify` finds in the new log."""
    os.environ["SPRINTLOG_DIR"] = str(folder / NEW)
    code, words = _run(said, ["verify", "--json"])
    del os.environ["SPRINTLOG_DIR"]
    findings = json.loads(words)["findings"] if code in (SOUND, INTEGRITY) else [words]
    wrong = [f for f in findings if isinstance(f, str) or f["severity"] == "damage"]
    return f"verify finds {wrong}" if wrong else None


def _run(said: int, arguments: list[str]) -> tuple[int, str]:
    os.ftruncate(said, 0)
    os.lseek(said, 0, os.SEEK_SET)
    try:
        code = command_line(arguments)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code, os.pread(said, 1 << 24, 0).decode(errors="replace")


def digest(folder: Path) -> str:
    """Return a digest of every byte, name and time in a folder."""
    found = sha256()
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found.update(f"{path.name} {status.st_mode} {status.st_mtime_ns}\0".encode())
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()


def _least(database: Path, whole: Rows) -> int:
    """Return how many events SQLite reads unchanged, a row at a time, from the first."""
    try:
        with closing(sqlite3.connect(database, timeout=0)) as connection:
            connection.text_factory = bytes
            for number, row in enumerate(whole):
                if connection.execute(_ROW, (number + 1,)).fetchall() != [row]:
                    return number
    except _BROKEN:
        return number if "number" in locals() else 0
    return len(whole)


def read_rows(database: Path) -> Rows:
    """Return every event of a log with the kinds of its columns, by SQLite alone."""
    with closing(sqlite3.connect(database, timeout=0)) as connection:
        connection.text_factory = bytes
        return connection.execute(_ALL).fetchall()
