"""A redaction whose file operations fail or are killed, and a search for its text.

After each fault, the next command, or the library's `open`, must finish the redaction or
find it not started; repeated, it must have the result of an undisturbed one.
"""

import gzip
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sprintlog.projections.health.redaction import COPIES_ELSEWHERE

from ...cli.trust.secrets.redacting import LOG, SECRET, holding
from ...copies import copy_tree
from ..runner import Runner
from ..scenes import PLAN, Scene, Template, events, play, state_files
from ..sweep import Case, judge_ending

SAID = ("--text", SECRET, "--reason", "leaked", "--yes")
SCENE = Scene("redact", ("redact", *SAID))
AT = ("--at", "2026-01-15T09:00:00Z")
_INTO = re.compile('"into":"[0-9a-f]+",')
NEXT = ("status", "open")
"""The next user after an interrupted redaction: a command, and the library."""


def told(runner: Runner, folder: Path, mode: str, text: str = SECRET) -> None:
    """Create a tree with a text in events, snapshots, edits, reports and copies."""
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "said").write_text(f"it is {text}\n")
    (folder / "said.gz").write_bytes(gzip.compress(text.encode(), mtime=0))

    def must(*arguments: str) -> None:
        runner.must(folder, *arguments, plants=[mode])

    must("init")
    must("sprint", "create", "auth", "--plan", "plan.yaml", *AT)
    must("sprint", "start", *AT)
    must("phase", "start", "setup", *AT)
    must("phase", "complete", "setup", "--summary", text, *AT)
    must("iteration", "snapshot", *AT)
    must("note", text, *AT)
    (folder / "PROGRESS.yaml").write_text(f"# {text}\n")
    must("note", "seen", *AT)
    (folder / LOG / "reports").mkdir(mode=0o700, exist_ok=True)
    (folder / LOG / "reports" / "0123").write_text(text)
    must("query", "SELECT count(*) FROM v_events")


def prepare(runner: Runner, folder: Path, mode: str = "write_ahead_log") -> Template:
    """Create the tree, and erase the text in a copy of it without faults."""
    start = folder / "template"
    told(runner, start, mode)
    assert holding(start, SECRET)
    _, operations = play(runner, SCENE, start, folder / "clean", (mode,))
    seen = runner.inspect(folder / "clean", plants=[mode])
    assert seen["sound"], seen
    assert not holding(folder / "clean", SECRET)
    files = state_files(folder / "clean")
    return Template(SCENE, start, (mode,), operations, 0, _events(seen), files)


def _events(seen: Any) -> list[Any]:
    """Return the content of events without a new snapshot's id, which is random."""
    said = [{**e, "data": _INTO.sub("", e["data"])} for e in seen["events"]]
    return events(said)


def sweep(
    runner: Runner, template: Template, chosen: list[Case], folder: Path
) -> Iterator[str]:
    """Yield the problems after each fault, as sentences."""
    for number, case in enumerate(chosen):
        place = folder / "case"
        shutil.rmtree(place, ignore_errors=True)
        copy_tree(template.folder, place)
        after = NEXT[number % len(NEXT)]
        for problem in _play(runner, template, case, place, after):
            name = template.operations[case.at - 1]
            yield f"operation {case.at} ({name}) {case.how}, then {after}: {problem}"
    shutil.rmtree(folder / "case", ignore_errors=True)


def _play(
    runner: Runner, template: Template, case: Case, place: Path, after: str
) -> Iterator[str]:
    modes = list(template.plants)
    first = runner.run(
        place, *SCENE.arguments, plants=modes, fault={"at": case.at, "how": case.how}
    )
    # The report about copies does not indicate a fault.
    heard = [line for line in first.err.splitlines(True) if COPIES_ELSEWHERE not in line]
    yield from judge_ending(first._replace(err="".join(heard)))
    following = runner.run(place, after, plants=modes)
    if following.code != 0:
        yield f"the next one says {following.code} {following.err.strip()!r}"
    if (place / LOG / "redaction").exists():
        yield "the note of the pending erasure still exists"
    seen = runner.inspect(place, plants=modes)
    if not seen["sound"]:
        yield f"not sound: {seen['findings']}"
    yield from _all_or_nothing(seen, holding(place, SECRET), template)
    again = runner.run(place, *SCENE.arguments, "--json", plants=modes)
    if again.code != 0:
        yield f"repeated, it gives {again.code} {again.err.strip()!r}"
    if left := holding(place, SECRET):
        yield f"repeated, it leaves the text in {left}"
    if _events(runner.inspect(place, plants=modes)) != template.events:
        yield "repeated, it comes to other events"
    if state_files(place) != template.files:
        yield "repeated, it leaves other state files"


def _all_or_nothing(seen: Any, left: list[str], template: Template) -> Iterator[str]:
    """Yield results that are neither complete nor unchanged."""
    there = seen["events"]
    said = [event for event in there if event["type"] == "payload-erased"]
    if said and left:
        yield f"begun, and the text is still in {left}"
    if not said and not any("opensesame" in event["data"] for event in there):
        yield "not begun, and the text is in no event"
    if len(said) > 1:
        yield f"it is printed {len(said)} times"
    if said and _events(seen) != template.events:
        yield "finished, and the events are other ones"
