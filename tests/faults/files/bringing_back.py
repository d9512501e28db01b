"""An in-place restore whose file operations fail or are killed, and its result.

In any case, the next recording command leaves the old tree or the snapshot's tree, and the
earlier files are in the tree or in a snapshot.
"""

import os
import random
import shutil
from collections.abc import Iterator
from errno import EIO, ENOSPC
from pathlib import Path
from typing import NamedTuple

from ...copies import copy_tree
from ..runner import Runner
from ..scenes import PLAN
from ..shim import Unavailable
from ..sweep import Case, judge_ending

Picture = dict[str, tuple[int, bytes]]

AT = ("--at", "2026-01-15T09:00:00Z")
COMMAND = ("rollback", "iter:1", "--yes", "--key", "back", *AT)
STATE = "PROGRESS.yaml"


class Ground(NamedTuple):
    """A folder ready for a restore, and its tree before and after."""

    folder: Path
    before: Picture
    after: Picture
    operations: list[str]


def prepare(runner: Runner, folder: Path) -> Ground:
    """Create a tree with a snapshot and many later changes; restore it once."""
    if shutil.which("git") is None:
        raise Unavailable("git: apt install git")
    start = folder / "start"
    start.mkdir()
    (start / "plan.yaml").write_text(PLAN)
    for arguments in (
        ("init", "--here"),
        ("sprint", "create", "auth", "--plan", "plan.yaml", *AT),
        ("sprint", "start", *AT),
        ("iteration", "start", *AT),
    ):
        runner.must(start, *arguments)
    _first(start)
    runner.must(start, "iteration", "snapshot", *AT)
    runner.must(start, "iteration", "start", *AT)
    _second(start)
    clean = folder / "clean"
    copy_tree(start, clean)
    trace = folder / "clean.trace"
    runner.must(clean, *COMMAND, fault={"trace": str(trace)})
    lines = trace.read_bytes().splitlines()
    operations = [line.split(b" ")[1].decode() for line in lines]
    return Ground(start, picture(start), picture(clean), operations)


def _first(root: Path) -> None:
    for name in ("same", "changed", "gone", "folder/inner", "to-folder", "to-link"):
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"first {name}\n" * 20)
    (root / "changed").chmod(0o755)
    (root / "link").symlink_to("same")
    (root / "from-folder").write_text("a file at first\n")
    (root / "empty").mkdir()


def _second(root: Path) -> None:
    (root / "changed").write_text("second\n")
    (root / "changed").chmod(0o600)
    (root / "gone").unlink()
    (root / "folder/inner").unlink()
    (root / "folder").rmdir()
    (root / "to-folder").unlink()
    (root / "to-folder").mkdir()
    (root / "to-folder/new").write_text("below\n")
    (root / "to-link").unlink()
    (root / "to-link").symlink_to("changed")
    (root / "link").unlink()
    (root / "link").symlink_to("elsewhere")
    (root / "from-folder").unlink()
    (root / "from-folder").mkdir()
    (root / "from-folder/deep").mkdir()
    (root / "from-folder/deep/file").write_text("deep\n")
    (root / "new").write_text("new\n")
    (root / "empty").rmdir()


def picture(root: Path) -> Picture:
    """Return all of a tree but the log and the state file."""
    seen: Picture = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".sprintlog"]
        for name in (*folders, *files):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            content = b""
            if path.is_symlink():
                content = os.fsencode(path.readlink())
            elif path.is_file():
                content = path.read_bytes()
            relative = path.relative_to(root).as_posix()
            if relative != STATE:
                seen[relative] = (mode, content)
    return seen


def cases(ground: Ground) -> list[Case]:
    """Return every fault that can befall every operation."""
    found = []
    for at, name in enumerate(ground.operations, start=1):
        kinds = ["kill-before", "kill-after", f"error:{EIO}", f"error:{ENOSPC}"]
        kinds += ["kill-inside"] if name.endswith("write") else []
        found += [Case(at, how) for how in kinds]
    return found


def sample(ground: Ground, *, size: int, chance: random.Random) -> list[Case]:
    """Return some of the faults, mostly kills at operations that change something."""
    kills = [case for case in cases(ground) if case.how.startswith("kill")]
    return sorted(chance.sample(kills, size))


def sweep(
    runner: Runner,
    ground: Ground,
    chosen: list[Case],
    folder: Path,
    *,
    gives_up: bool = False,
) -> Iterator[str]:
    """Yield the problems after each fault, once the restore was finished or given up."""
    judge = _judge_given_up if gives_up else _judge
    for case in chosen:
        place = folder / "struck"
        shutil.rmtree(place, ignore_errors=True)
        copy_tree(ground.folder, place)
        for problem in judge(runner, ground, case, place):
            yield f"{case.how} at {case.at} ({ground.operations[case.at - 1]}): {problem}"


def _judge(runner: Runner, ground: Ground, case: Case, place: Path) -> Iterator[str]:
    first = runner.run(place, *COMMAND, fault={"at": case.at, "how": case.how})
    yield from judge_ending(first)
    again = runner.run(place, "note", "next", *AT)
    if again.code != 0 or again.err:
        yield f"the next command gives {again.code} {again.err!r}"
    now = picture(place)
    types = [event["type"] for event in runner.inspect(place)["events"]]
    began = types.count("restore-started")
    if now != (ground.after if began else ground.before):
        yield f"begun {began} times, and the tree differs in {_unlike(ground, now, began)}"
    if types.count("files-restored") != began:
        yield f"{began} restores began, {types.count('files-restored')} ended"
    last = runner.run(place, *COMMAND, "--json")
    if last.code != 0:
        yield f"repeated it gives {last.code} {last.err!r}"
    if picture(place) != ground.after:
        yield "the tree is not right after the repetition"
    yield from _still_there(runner, ground, place)


def _judge_given_up(
    runner: Runner, ground: Ground, case: Case, place: Path
) -> Iterator[str]:
    first = runner.run(place, *COMMAND, fault={"at": case.at, "how": case.how})
    yield from judge_ending(first)
    types = [event["type"] for event in runner.inspect(place)["events"]]
    began = "restore-started" in types
    done = runner.run(place, "undo", "--yes", *AT)
    if done.code != (0 if began else 1):
        yield f"given up it gives {done.code} {done.err!r}"
    last = runner.run(place, "note", "next", *AT)
    if last.code != 0 or last.err:
        yield f"the next command gives {last.code} {last.err!r}"
    if (now := picture(place)) != ground.before:
        yield f"given up, the tree differs in {_unlike(ground, now, began=0)}"
    seen = runner.inspect(place)
    types = [event["type"] for event in seen["events"]]
    if types.count("rolled-back") != (2 if began else 0):
        yield f"the state went {types.count('rolled-back')} ways"
    if not seen["sound"]:
        yield f"not sound: {seen['findings']}"


def _still_there(runner: Runner, ground: Ground, place: Path) -> Iterator[str]:
    """Yield the earlier files that are lost."""
    seen = runner.inspect(place)
    types = [event["type"] for event in seen["events"]]
    if types.count("rolled-back") != 1:
        yield f"{types.count('rolled-back')} rollbacks"
    if not seen["sound"]:
        yield f"not sound: {seen['findings']}"
    done = runner.run(place, "undo", "--yes", *AT)
    if done.code != 0:
        yield f"undo says {done.code} {done.err!r}"
    if (now := picture(place)) != ground.before:
        yield f"undone, the tree differs in {_unlike(ground, now, began=0)}"


def _unlike(ground: Ground, now: Picture, began: int) -> list[str]:
    wanted = ground.after if began else ground.before
    return sorted(n for n in wanted.keys() | now.keys() if wanted.get(n) != now.get(n))
