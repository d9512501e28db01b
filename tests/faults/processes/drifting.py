"""Drift under concurrency: many processes refresh a state file while another edits it.

Without edits, none may be detected. With edits, each must be recorded once and its exact
bytes saved; in between, the file may never be older than a command that has ended.
"""

import json
import os
import random
import select
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import EditObserved, NoteAdded, PhaseCompleted
from sprintlog.projections import Workspace

from ..children import Herd, fork
from ..ledger import edits_kept, make_sprints, state_file, unlike_the_log, unsound

SPRINT = "drift"
REST_SECONDS = (0.02, 0.2)
SEEN_SECONDS_MAX = 10.0
ATOMIC, APPENDED, REWRITTEN, SLOWLY = "atomic", "appended", "rewritten", "slowly"
PAUSE_SECONDS = 0.005
EDITOR_SECONDS = 0.3
EMPTY = sha256(b"").hexdigest()
"""The momentary contents of a file that is rewritten in place."""


class Counts(NamedTuple):
    """The result of a run."""

    events: int
    refreshes: int
    edits: dict[str, int]
    """Edits by how they were made."""
    lost: dict[str, int]
    """Of these, the ones whose bytes were not kept and recorded exactly once."""
    problems: list[str]


class Edit(NamedTuple):
    """The content that an editor put into the state file."""

    how: str
    digest: str


def drift(root: Path, *, writers: int, seconds: float, seed: int, how: list[str]) -> Counts:
    """Append and refresh with many processes for some seconds, with edits in given ways."""
    make_sprints(root, [SPRINT])
    errors = root / "errors"
    until = time.monotonic() + seconds
    with Herd(root=root, errors=errors, seconds=seconds + 60) as herd:
        for number in range(writers):
            herd.start(partial(_append_and_refresh, root, seed + number, until))
        edits = _edit(root / state_file(SPRINT), random.Random(seed), until, how)
        heard = herd.hear()
    with Workspace.open(root) as workspace:
        # The next command detects the last edit at the latest.
        _record(workspace, random.Random(seed))
        workspace.refresh(SPRINT)
        events = [CODEC.decode(recorded) for recorded in workspace.log.read()]
        problems = unsound(workspace)
        kept = edits_kept(workspace.location.folder)
    problems += unlike_the_log(root, [SPRINT])
    said = errors.read_text(errors="replace")[-600:] if errors.exists() else ""
    problems += [f"a writer ended with {code}: {said}" for code, _ in heard if code != 0]
    reports = [json.loads(line) for _, out in heard for line in out.splitlines()]
    problems += [report["problem"] for report in reports if report["problem"]]
    observed = Counter(event.digest for event in events if isinstance(event, EditObserved))
    names = {
        event.digest: event.kept for event in events if isinstance(event, EditObserved)
    }
    lost: Counter[str] = Counter()
    for edit in edits:
        if observed[edit.digest] != 1 or kept.get(edit.digest) != names.get(edit.digest):
            lost[edit.how] += 1
            problems.append(
                f"{edit.how} edit {edit.digest[:12]}: recorded {observed[edit.digest]}"
                f" times, {'kept' if edit.digest in kept else 'not kept'}"
            )
    made = Counter(edit.how for edit in edits)
    halves = {EMPTY} if made[REWRITTEN] or made[SLOWLY] else set()
    strange = observed.keys() - {edit.digest for edit in edits} - halves
    problems += [f"{digest[:12]}: nobody edited the file so" for digest in sorted(strange)]
    refreshes = sum(report["refreshes"] for report in reports)
    return Counts(len(events), refreshes, dict(made), dict(lost), problems)


def edit_while_refreshed(root: Path) -> list[str]:
    """Refresh while an editor has the file open, which then saves; return the problem."""
    make_sprints(root, [SPRINT])
    editor = fork(partial(_save_slowly, root), root=root, errors=root / "errors")
    try:
        digest = os.read(editor.stdout, 64).decode()
        with Workspace.open(root) as workspace:
            _record(workspace, random.Random(1))
            workspace.refresh(SPRINT)
            os.close(editor.stdin)
            code = editor.wait()
            workspace.refresh(SPRINT)
            events = [CODEC.decode(recorded) for recorded in workspace.log.read()]
            kept = edits_kept(workspace.location.folder)
    finally:
        os.close(editor.stdout)
    observed = [event.digest for event in events if isinstance(event, EditObserved)]
    problems = [f"the editor ended with {code}"] if code else []
    if observed != [digest] or digest not in kept:
        problems.append("the edit is lost: its bytes are neither recorded nor kept")
    return problems


def _save_slowly(root: Path) -> int:
    """Open the file, print its next contents, and save after others changed it."""
    line = b"# by hand\n"
    with (root / state_file(SPRINT)).open("r+b", buffering=0) as file:
        os.write(1, sha256(file.read() + line).hexdigest().encode())
        select.select([0], [], [], EDITOR_SECONDS)
        file.write(line)
    return 0


def _append_and_refresh(root: Path, seed: int, until: float) -> int:
    """Record and refresh until the time is up; check that the file is never stale."""
    chance = random.Random(seed)
    refreshes, problem = 0, ""
    while time.monotonic() < until and not problem:
        # Some processes live for one command, some for many.
        with Workspace.open(root) as workspace:
            for _ in range(chance.choice([1, 1, 20])):
                version = _record(workspace, chance)
                workspace.refresh(SPRINT)
                refreshes += 1
                seen = workspace.files.look(state_file(SPRINT))
                if seen.since is not None and seen.since < version:
                    problem = f"the file fell back from version {version} to {seen.since}"
    os.write(1, json.dumps({"refreshes": refreshes, "problem": problem}).encode() + b"\n")
    return 0


def _record(workspace: Workspace, chance: random.Random) -> int:
    """Record something; return the version the state file cannot be older than then."""
    text = f"{chance.randrange(10**9)}"
    phase = f"phase-{chance.randrange(4)}"
    event = NoteAdded(text) if chance.random() < 0.2 else PhaseCompleted(phase, text)
    outcome = workspace.handle_with(SPRINT, lambda sprint, at: [event], observed=True)
    # A note changes neither the file's bytes nor, therefore, their recorded version.
    return 0 if isinstance(event, NoteAdded) else outcome.events[-1].version


def _edit(file: Path, chance: random.Random, until: float, how: list[str]) -> list[Edit]:
    """Edit the file at least once; each edit waits until the previous one was detected."""
    edits: list[Edit] = []
    while how and (not edits or time.monotonic() < until):
        time.sleep(chance.uniform(*REST_SECONDS))
        line = f"# by hand {len(edits)}, {chance.randrange(10**9)}\n".encode()
        way = chance.choice(how)
        if way == ATOMIC:
            digest = _edit_atomically(file, line)
        else:
            digest = _edit_in_place(file, line, way)
        edits.append(Edit(way, digest))
        patience = time.monotonic() + SEEN_SECONDS_MAX
        while _digest(file) == digest and time.monotonic() < patience:
            time.sleep(0.002)
    return edits


def _edit_atomically(file: Path, line: bytes) -> str:
    """Edit like careful editors: write a new file and rename it over the old one."""
    content = file.read_bytes() + line
    draft = file.with_name("by-hand")
    draft.write_bytes(content)
    draft.rename(file)
    return sha256(content).hexdigest()


def _edit_in_place(file: Path, line: bytes, way: str) -> str:
    """Edit the existing file in place, as shells and simple editors do."""
    descriptor = os.open(file, os.O_RDWR)
    try:
        content = os.pread(descriptor, 1 << 20, 0) + line
        if way == APPENDED:
            os.pwrite(descriptor, line, len(content) - len(line))
        else:
            os.ftruncate(descriptor, 0)
            time.sleep(PAUSE_SECONDS if way == SLOWLY else 0)
            os.pwrite(descriptor, content, 0)
    finally:
        os.close(descriptor)
    return sha256(content).hexdigest()


def _digest(file: Path) -> str:
    with suppress(FileNotFoundError):
        return sha256(file.read_bytes()).hexdigest()
    return ""
