"""Make every file operation of a command fail or be killed, and judge the result."""

import random
import shutil
from collections.abc import Iterator
from errno import EINTR, EIO, ENOLCK, ENOSPC
from pathlib import Path
from signal import SIGINT, SIGTERM
from typing import Any, NamedTuple

from ..copies import copy_tree
from .claims import acknowledged, missing
from .runner import Done, Runner, is_slow
from .scenes import Template, events, play, state_files

SECONDS_NEXT = 1.0
"""How soon the next command is right."""
SECONDS_MAX = 45.0
"""How long a command may take at most; for a lock it may wait 30 seconds."""
LASTING_SECONDS_MAX = 20.0
"""The same where waiting is in vain; SQLite itself gives up after ten seconds."""
_CHANGES = frozenset(
    {
        "write",
        "pwrite",
        "truncate",
        "rename",
        "exchange",
        "link",
        "unlink",
        "mkdir",
        "fsync",
    }
)
_ALWAYS = ("kill-before", f"error:{EIO}", f"error:{EIO}:on", f"error:{EINTR}")
_SIGNALS = (f"error:{EINTR}:on", f"signal:{SIGINT:d}")
_CHANGING = ("kill-after", f"error:{ENOSPC}", f"error:{ENOSPC}:on", f"signal:{SIGTERM:d}")
_WAITING = (f"error:{EIO}:on", f"error:{ENOSPC}:on")
_WRITING = ("kill-inside", "short", "short:on")
_REFUSING = {"read": f"error:{EIO}:same", "lock": f"error:{ENOLCK}:same"}
"""What a disk may refuse for good while all else works."""


class Case(NamedTuple):
    """One fault in one scene."""

    at: int
    how: str


def cases(template: Template) -> list[Case]:
    """Return every fault that can befall every operation of a scene."""
    found = []
    for at, name in enumerate(template.operations, start=1):
        kinds = [*_ALWAYS, *_SIGNALS]
        kinds += _CHANGING if name in _CHANGES or name == "open" else ()
        kinds += _WRITING if name.endswith("write") else ()
        kinds += [_REFUSING[name]] if name in _REFUSING else []
        found += [Case(at, how) for how in kinds]
    return found


def planted(runner: Runner, template: Template, folder: Path, plant: str) -> str | None:
    """Return the first thing that is found wrong when a defect is planted."""
    modes = (*template.plants, plant)
    _, operations = play(runner, template.scene, template.folder, folder / plant, modes)
    changed = template._replace(operations=operations)
    chosen = [
        case
        for case in cases(changed)
        if case.how in ("kill-before", "kill-inside")
        and operations[case.at - 1] in _CHANGES
    ]
    found = sweep(
        runner, changed, chosen[::-1], folder, plants=(plant,), seconds_next=SECONDS_MAX
    )
    return next(found, None)


def sample(template: Template, *, size: int, chance: random.Random) -> list[Case]:
    """Return some cases, mostly at operations that change the disk."""
    # A persistent error makes SQLite wait for seconds, so only the long form tests it.
    waiting = (*_WAITING, _REFUSING["lock"])
    everything = [c for c in cases(template) if c.how not in waiting]
    changing = [c for c in everything if template.operations[c.at - 1] in _CHANGES]
    return chance.sample(changing, min(size * 2 // 3, len(changing))) + chance.sample(
        everything, min(size - size * 2 // 3, len(everything))
    )


def sweep(
    runner: Runner,
    template: Template,
    chosen: list[Case],
    folder: Path,
    *,
    plants: tuple[str, ...] = (),
    seconds_next: float = SECONDS_NEXT,
) -> Iterator[str]:
    """Yield the problems after each fault, as sentences."""
    for case in chosen:
        place = folder / "case"
        shutil.rmtree(place, ignore_errors=True)
        copy_tree(template.folder, place)
        for problem in _play(runner, template, case, place, plants, seconds_next):
            name = template.operations[case.at - 1]
            yield (
                f"{template.scene.name}: operation {case.at} ({name}) {case.how}: {problem}"
            )
    shutil.rmtree(folder / "case", ignore_errors=True)


def _play(
    runner: Runner,
    template: Template,
    case: Case,
    place: Path,
    plants: tuple[str, ...],
    seconds_next: float,
) -> Iterator[str]:
    """Inject the fault, repeat the command, and judge both."""
    scene = template.scene
    # Alternate between JSON and text output.
    arguments = [*scene.arguments, *(["--json"] if case.at % 2 else [])]
    modes = list(template.plants)
    old = state_files(template.folder)
    first = runner.run(
        place,
        *arguments,
        stdin=scene.stdin,
        plants=[*modes, *plants],
        fault={"at": case.at, "how": case.how},
    )
    yield from _torn(old, template.files, state_files(place))
    again = runner.run(place, *scene.arguments, "--json", stdin=scene.stdin, plants=modes)
    lasting = case.how.endswith((":on", ":same"))
    seconds_max = LASTING_SECONDS_MAX if lasting else SECONDS_MAX
    yield from judge_ending(first, seconds_max=seconds_max)
    if again.code != 0 or "error" in again.err:
        yield f"the next command gives {again.code} {again.err.strip()!r}"
    yield from _judge_log(template, first, again, runner.inspect(place, plants=modes))
    if state_files(place) != template.files:
        yield "the state files are not right after the next command"
    if scene.gone and (left := _holding(place / ".sprintlog", scene.gone.encode())):
        yield f"{scene.gone} is still in {left}"
    if again.seconds > seconds_next:
        once_more = runner.run(place, *scene.arguments, stdin=scene.stdin, plants=modes)
        if is_slow(again.seconds, limit=seconds_next, usual=once_more.seconds):
            yield f"the next command took {again.seconds:.1f} s"


def judge_ending(done: Done, *, seconds_max: float = SECONDS_MAX) -> Iterator[str]:
    """Yield the problems of a command's exit status and output."""
    lines = done.err.splitlines()
    errors = [x for x in lines if x.startswith(("error:", '{"error":'))]
    hints = [x for x in lines if x.startswith("hint:")]
    told = ("warning:", "note:", "1 file kept", "2 files kept")
    others = [x for x in lines if x and not x.startswith(told)]
    if done.code is None:
        yield "it hung"
    elif done.seconds > seconds_max:
        yield f"it took {done.seconds:.0f} s"
    if "restore a backup" in done.err + done.out:
        yield f"it advises to restore a backup: {done.err!r}"
    if "output: " in done.err:
        yield f"it does not name what failed: {done.err!r}"
    if "Traceback" in done.err or "defect of sprintlog" in done.err:
        yield f"it broke: {done.err.strip()[-300:]!r}"
    elif len(others) != len(errors) + len(hints) or len(hints) > 1 or len(errors) > 1:
        yield f"stderr is not one error: {done.err!r}"
    if done.code == 0 and errors:
        yield f"exit code 0 with {errors[0]!r}"
    if done.code is not None and done.code not in (0, 130) and done.code > 0:
        refused_on_stdout = '"error":' in done.out
        if not errors and not refused_on_stdout:
            yield f"exit code {done.code} without a word: {done.out!r}"


def _judge_log(template: Template, first: Done, again: Done, seen: Any) -> Iterator[str]:
    claims = acknowledged(first)
    if lost := missing(claims, seen["events"]):
        yield f"acknowledged and lost: positions {lost}"
    if first.code == 0 and len(claims) != template.answers:
        yield f"exit code 0 without every answer: {first.out!r}"
    if template.scene.name == "rebuild":
        # The command records nothing, so its answer describes the file.
        claims = []
    doubled = again.out.count('"duplicate":true') + again.out.count('"unchanged":true')
    if claims and doubled < len(claims) and template.scene.name != "import progress":
        yield f"{len(claims)} acknowledged, {doubled} found again"
    if events(seen["events"]) != template.events:
        more = [x for x in events(seen["events"]) if x not in template.events]
        yield f"{len(seen['events'])} events, expected {len(template.events)}: {more}"
    if not seen["sound"]:
        yield f"not sound: {seen['findings']}"


def _holding(folder: Path, text: bytes) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in files if text in path.read_bytes()]


def _torn(
    old: dict[str, bytes], new: dict[str, bytes], now: dict[str, bytes]
) -> Iterator[str]:
    for name in new:
        if now.get(name) not in (old.get(name), new[name]):
            yield f"{name} is torn: {now.get(name)!r}"
