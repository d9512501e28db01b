"""Power cuts: a run of appends is traced, cut anywhere, and the result is judged."""

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...copies import forget_trees
from ..claims import acknowledged, missing
from ..runner import Done, Runner
from ..scenes import AT, PLAN
from .power import Disk, Operation, parse

NEXT = ("note", "after the cut", "--json")


class Recording(NamedTuple):
    """A run that was traced, from `init` on."""

    root: Path
    operations: list[Operation]
    begun: int
    """How many operations make the log; the power stays on until then."""
    plants: tuple[str, ...]


def record(runner: Runner, folder: Path, plants: Sequence[str] = ()) -> Recording:
    """Trace single commands and a loop, each with its answers."""
    root, trace = folder / "traced", folder / "trace"
    root.mkdir(parents=True)
    plan = folder / "plan.yaml"
    plan.write_text(PLAN)
    lines = [
        {
            "type": "note-added",
            "data": {"text": "x" * (1 + 200 * n)},
            "at": AT,
            "key": f"l{n}",
        }
        for n in range(8)
    ]
    loop = "".join(json.dumps(line) + "\n" for line in lines)
    begun = 0
    for arguments in (
        ("init", "--here"),
        ("sprint", "create", "auth", "--plan", plan, "--sprint-dir", "."),
        ("sprint", "start"),
        ("note", "one"),
        ("note", "two"),
        ("append",),
        ("phase", "start", "setup"),
        ("phase", "complete", "setup"),
        ("append",),
    ):
        fault = {"trace": str(trace), "data": True}
        stdin = loop if arguments == ("append",) else ""
        loop = loop.replace('"l', '"second-l') if stdin else loop
        runner.must(
            root, *arguments, "--json", stdin=stdin, plants=list(plants), fault=fault
        )
        begun = begun or len(parse(trace.read_bytes()))
    return Recording(root, parse(trace.read_bytes()), begun, tuple(plants))


def cut(
    runner: Runner,
    recording: Recording,
    folder: Path,
    *,
    images: int,
    chance: random.Random,
    from_init: bool = False,
    near_init: bool = False,
) -> Iterator[str]:
    """Yield the problems in each image.

    With `from_init`, nothing is durable when `init` answers; with `near_init`, the power
    fails right after that answer.
    """
    first = recording.begun
    last = first + 3 if near_init else len(recording.operations)
    moments = sorted(chance.randint(first, last) for _ in range(images))
    disk, done = Disk(str(recording.root)), 0
    for moment in moments:
        while done < moment:
            disk.do(recording.operations[done])
            done += 1
            if done == recording.begun and not from_init:
                disk.settle()
        place = folder / "image"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        disk.write(place, chance)
        # The image replaces the original, which still exists.
        forget_trees(place)
        for problem in _judge(runner, recording, moment, place):
            yield f"cut after operation {moment} of {last}: {problem}"
    shutil.rmtree(folder / "image", ignore_errors=True)


def _judge(runner: Runner, recording: Recording, moment: int, place: Path) -> Iterator[str]:
    """Open an image with the next append, and look for acknowledged events."""
    said = "".join(
        operation.content.decode()
        for operation in recording.operations[:moment]
        if operation.name == "answer"
    )
    if '"folder"' not in said:
        return
    claims = acknowledged(Done(0, said, "", 0))
    modes = [plant for plant in recording.plants if plant.endswith(("journal", "log"))]
    if len(claims) >= 2:
        # Without this, there may be no sprint to append to.
        appended = runner.run(place, *NEXT, plants=modes)
        if appended.code != 0:
            yield f"the next append says {appended.code} {appended.err.strip()!r}"
        claims += acknowledged(appended)
    seen = runner.inspect(place, plants=modes)
    if lost := missing(claims, seen["events"]):
        yield f"acknowledged and lost: positions {lost}"
    if any(finding[0] == "damage" for finding in seen["findings"]):
        yield f"damage: {seen['findings']}"
    elif len(claims) >= 2 and not seen["sound"]:
        yield f"not sound after the next append: {seen['findings']}"
    if any(event["type"] == "edit-observed" for event in seen["events"]):
        yield "a state file passes for somebody's edit"
