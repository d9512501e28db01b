"""Attacks by someone with write access to a log's folder, and what detects them.

Each attack changes the database as its owner could: triggers dropped, hashes recomputed,
the head file rewritten to match. `python -m tests.faults.damage.insiders` prints the table
of docs/explanation/threat-model.md.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import sprintlog
from sprintlog.commands import AddNote, CreateSprint
from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log import chain
from sprintlog.engine.log.envelope import Head, RecordedEvent
from sprintlog.engine.log.stores.head_file import HeadFile
from sprintlog.projections.health import proofs
from sprintlog.projections.health.verify import verify
from sprintlog.projections.views.log import WrittenHead
from sprintlog.projections.workspace import Workspace

from ...copies import copy_tree

NOTES = 8
PROVED = 5
"""The event of which there is a proof; most attacks change it or one before."""

FIELDS = ", ".join(RecordedEvent.__struct_fields__)
Row = list[Any]
_at = RecordedEvent.__struct_fields__.index
PAYLOAD, DIGEST, HASH, SALT = map(_at, ("payload", "payload_digest", "hash", "salt"))
POSITION, VERSION, ID = map(_at, ("position", "version", "id"))


def rows_of(database: Path) -> list[Row]:
    """Return every stored event of a log."""
    with closing(sqlite3.connect(database)) as raw:
        return [[*row] for row in raw.execute(f"SELECT {FIELDS} FROM events ORDER BY 1")]


def write(database: Path, rows: list[Row]) -> None:
    """Replace all events."""
    with closing(sqlite3.connect(database)) as raw:
        found = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        triggers = raw.execute(found).fetchall()
        for name, _ in triggers:
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute("DELETE FROM events")
        raw.execute("DELETE FROM checkpoints")
        marks = ", ".join("?" * len(RecordedEvent.__struct_fields__))
        raw.executemany(f"INSERT INTO events ({FIELDS}) VALUES ({marks})", rows)
        for _, sql in triggers:
            raw.execute(sql)
        raw.commit()


def chained(rows: list[Row]) -> list[Row]:
    """Return events with consistent positions, digests and hashes."""
    previous, made, versions = chain.GENESIS, [], dict[str, int]()
    for number, row in enumerate(rows, start=1):
        new = list(row)
        new[POSITION] = number
        stream = new[1]
        new[VERSION] = versions[stream] = versions.get(stream, 0) + 1
        if new[PAYLOAD] is not None:
            new[DIGEST] = chain.payload_digest(new[SALT], new[PAYLOAD].encode())
        event = chain.recorded(tuple(new))
        new[HASH] = previous = chain.event_hash(previous, chain.header(event), new[DIGEST])
        made.append(new)
    return made


def changed(rows: list[Row]) -> list[Row]:
    """Change the content of an event."""
    rows[3][PAYLOAD] = rows[3][PAYLOAD].replace("note 2", "note X")
    return rows


def removed(rows: list[Row]) -> list[Row]:
    """Remove an event from the middle."""
    return [*rows[:4], *rows[5:]]


def added(rows: list[Row]) -> list[Row]:
    """Insert an event that was not recorded, as a copy with another id."""
    forged = list(rows[5])
    forged[3] = forged[3][:-4] + "0000"
    made = [*rows[:5], forged, *map(list, rows[5:])]
    for number, row in enumerate(made[5:], start=6):
        row[POSITION] = row[VERSION] = number
    return made


def swapped(rows: list[Row]) -> list[Row]:
    """Swap two events."""
    one, other = rows[4], rows[5]
    for place in (POSITION, VERSION):
        one[place], other[place] = other[place], one[place]
    rows[4], rows[5] = other, one
    return rows


def cut(rows: list[Row]) -> list[Row]:
    """Remove the last events."""
    return rows[:-3]


def replaced(rows: list[Row]) -> list[Row]:
    """Replace the log with another one that has the same texts."""
    rows[0][ID] = rows[0][ID][:-4] + "0000"
    return rows


def silenced(rows: list[Row]) -> list[Row]:
    """Remove the payload of an event without recording an erasure."""
    rows[3][PAYLOAD] = rows[3][SALT] = None
    return rows


EDITS: dict[str, Callable[[list[Row]], list[Row]]] = {
    "changed": changed,
    "removed": removed,
    "added": added,
    "swapped": swapped,
    "end cut off": cut,
    "another log in its place": replaced,
    "payload removed without a record": silenced,
}
ATTACKS = [
    *((name, False) for name in EDITS),
    *((f"{name}, hashes recomputed", True) for name in EDITS),
]


def attack(folder: Path, name: str, *, fits: bool) -> None:
    """Attack the log in a folder; with `fits`, the chain and the head file are adjusted."""
    database = folder / "log.db"
    rows = EDITS[name.partition(",")[0]](rows_of(database))
    rows = chained(rows) if fits else rows
    write(database, rows)
    if fits:
        last = rows[-1]
        kept = HeadFile(folder / "log.db-head")
        (folder / "log.db-head").unlink(missing_ok=True)
        kept.write(Head(last[POSITION], last[HASH]))
        kept.close()


def make(tree: Path) -> Path:
    """Create a tree with a log, a signed head of the log, and a proof of one event."""
    plan = {"phases": [{"id": "build", "prompt": "Build it"}]}
    with sprintlog.init(tree) as workspace:
        workspace.handle(CreateSprint(plan), sprint_id="auth")
        for number in range(NOTES):
            workspace.handle(AddNote(f"note {number}"), sprint_id="auth")
        head = proofs.head_of(workspace)
        (tree / "HEAD.txt").write_text(proofs.text_of(head))
        (tree / "proof.json").write_bytes(proofs.prove(workspace, PROVED, head, None))
    if shutil.which("ssh-keygen") is not None:
        call = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ann", "-f", "ann")
        subprocess.run(call, cwd=tree, check=True)
        key = (tree / "ann.pub").read_text()
        (tree / "allowed").write_text(f'ann namespaces="{proofs.NAMESPACE}" {key}')
        proofs.sign(tree / "HEAD.txt", tree / "ann", os.environ)
    return tree


def found_by(tree: Path) -> tuple[bool, bool, bool, bool]:
    """Return what detects a changed log: the log itself, the head file, and more.

    The others are a signed head and a proof of one event, in addition to the log's checks.
    """
    proof = proofs.read_proof(tree / "proof.json")
    # A proof remains valid, whatever happens to the log.
    assert proofs.problems(proof, file="proof.json") == []
    told = Head(PROVED, bytes.fromhex(str(proof.event["hash"])))
    head = signed_head(tree)
    by_file = _is_damaged(tree)
    (tree / ".sprintlog" / "log.db-head").unlink()
    alone = _is_damaged(tree)
    try:
        with Workspace.open(tree) as workspace:
            signed = bool([*proofs.compare(workspace, head)])
            by_proof = not workspace.log.holds(told)
    except SprintlogError:
        signed = by_proof = True
    return alone, by_file, alone or signed, alone or by_proof


def _is_damaged(tree: Path) -> bool:
    """Return whether the log alone is reported as damaged."""
    try:
        with Workspace.open(tree) as workspace:
            return any(one.severity == "damage" for one in verify(workspace).findings)
    except SprintlogError:
        return True


def signed_head(tree: Path) -> WrittenHead:
    """Return the head stored elsewhere; its signature is checked if possible."""
    file, signature = tree / "HEAD.txt", tree / "HEAD.txt.sig"
    if signature.exists():
        content = file.read_bytes()
        said = proofs.check_signature(content, signature, tree / "allowed", os.environ)
        assert said == "ann"
    return proofs.read_head(file)


def table(whole: Path, folder: Path) -> Iterator[str]:
    """Yield the lines of the table: each attack, and what detects it."""
    yield "| attack | the log alone | its head file | a signed head | a proof of an event |"
    yield "|---|---|---|---|---|"
    for number, (name, fits) in enumerate(ATTACKS):
        tree = folder / str(number)
        copy_tree(whole, tree)
        attack(tree / ".sprintlog", name, fits=fits)
        words = ["found" if one else "-" for one in found_by(tree)]
        yield f"| {name} | {' | '.join(words)} |"
        shutil.rmtree(tree)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for line in table(make(folder / "whole"), folder):
            sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
