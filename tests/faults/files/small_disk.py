"""A separate disk of a megabyte or two that fills up or becomes read-only.

Run inside a mount namespace, as `unshare -rm python -m tests.faults.files.small_disk KIND
FOLDER SEED`; it mounts a tmpfs, runs the test and prints the problems as JSON.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..claims import acknowledged, missing
from ..runner import ROOT, Runner, environment
from ..scenes import begin
from ..shim import Unavailable
from ..sweep import judge_ending

DISK_BYTES = 2 * 1024 * 1024
READS = (
    ("status",),
    ("log", "--json"),
    ("show", "progress"),
    ("replay",),
    ("verify", "--json"),
    ("doctor", "--json"),
)
DAMAGE = ('"damage"', '"chain","status":"problem"')


def live_through(kind: str, folder: Path, seed: int) -> list[str]:
    """Return the problems on a disk of a kind (`filling`, `full`, `readonly`).

    Raise `Unavailable` if such a disk cannot be created.
    """
    program = [
        sys.executable,
        "-m",
        "tests.faults.files.small_disk",
        kind,
        str(folder),
        str(seed),
    ]
    try:
        done = subprocess.run(
            ["unshare", "-rm", *program],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=300,
        )
    except OSError as error:
        raise Unavailable(f"unshare: apt install util-linux ({error.strerror})") from error
    said = done.stderr.decode(errors="replace").strip()
    if not done.stdout and ("unshare" in said or "mount" in said):
        raise Unavailable(f"the right to mount: run the tests as root ({said[-200:]})")
    assert done.returncode == 0, said
    problems: list[str] = json.loads(done.stdout)
    return problems


def _full(runner: Runner, place: Path, chance: random.Random) -> Iterator[str]:
    """Start without any free space, not even the amount that SQLite needs for reading."""
    yield from _filling(runner, place, chance, blocks=0)


def _filling(
    runner: Runner, place: Path, chance: random.Random, *, blocks: int = 80
) -> Iterator[str]:
    """Fill the disk while appending, examine it, free space, and continue."""
    begin(runner, place)
    claims = []
    _fill(place / "ballast", leave=chance.randint(0, blocks) * 4096)
    for number in range(200):
        appended = runner.run(place, *_note(number, chance.randrange(1, 12000)), "--json")
        claims += acknowledged(appended)
        if appended.code != 0:
            break
    else:
        yield "200 events went onto a full disk"
        return
    _fill(place / "more", leave=0)
    yield from (f"when it filled: {p}" for p in judge_ending(appended))
    yield from _refused(runner, place, ("full", "room", "space"))
    yield from _readable(runner, place, claims)
    (place / "ballast").unlink()
    (place / "more").unlink()
    again = runner.run(place, *_note(number, 100), "--json")
    if again.code not in (0, 5):
        # 5: the event was recorded before the failure was noticed, so a different text
        # conflicts.
        yield f"with room again: {again.code} {again.err.strip()!r}"
    yield from _healed(runner, place, claims)


def _readonly(runner: Runner, place: Path, chance: random.Random) -> Iterator[str]:
    """Make the disk read-only, and writable again."""
    begin(runner, place)
    claims = []
    for number in range(3):
        claims += acknowledged(runner.must(place, *_note(number, 100), "--json"))
    _mount("-o", "remount,ro", place)
    yield from _refused(runner, place, ("written", "read-only"))
    yield from _readable(runner, place, claims)
    _mount("-o", "remount,rw", place)
    yield from _healed(runner, place, claims)


def _refused(runner: Runner, place: Path, words: tuple[str, ...]) -> Iterator[str]:
    for arguments in (_note(900, 5000), ("phase", "start", "setup", "--key", "s")):
        done = runner.run(place, *arguments)
        if done.code == 0 or done.out:
            yield f"{arguments[0]} says {done.code} {done.out!r}"
        if not any(word in done.err for word in words):
            yield f"{arguments[0]} does not say why: {done.err.strip()!r}"
        yield from (f"{arguments[0]}: {problem}" for problem in judge_ending(done))


def _readable(runner: Runner, place: Path, claims: list[Any]) -> Iterator[str]:
    for arguments in READS:
        done = runner.run(place, *arguments)
        # A state file may be older than the log, which these two commands report.
        fine = (0, 4) if arguments[0] in ("verify", "doctor") else (0,)
        if done.code not in fine or any(word in done.out for word in DAMAGE):
            yield f"{' '.join(arguments)} does not work: {done.code} {done.err.strip()!r}"
        if arguments[0] == "log":
            events = [json.loads(line) for line in done.out.splitlines()]
            if lost := missing(claims, events):
                yield f"acknowledged and not readable: {lost}"


def _healed(runner: Runner, place: Path, claims: list[Any]) -> Iterator[str]:
    after = runner.run(place, *_note(901, 10), "--json")
    if after.code != 0:
        yield f"it does not heal: {after.code} {after.err.strip()!r}"
    seen = runner.inspect(place)
    if lost := missing(claims + acknowledged(after), seen["events"]):
        yield f"acknowledged and lost: {lost}"
    if not seen["sound"]:
        yield f"not sound afterwards: {seen['findings']}"


def _note(number: int, size: int) -> tuple[str, ...]:
    return ("note", "x" * size, "--key", f"note-{number}")


def _fill(file: Path, *, leave: int) -> None:
    """Write zeros until the disk is full, and then free some of them."""
    with file.open("wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(bytes(4096))
        except OSError:
            ballast.truncate(max(0, ballast.tell() - leave))


def _mount(*arguments: object) -> None:
    command = ["mount", *map(str, arguments)]
    subprocess.run(command, check=True, timeout=60, stdout=subprocess.DEVNULL)


def main() -> None:
    """Mount the disk, run the test, and print the problems."""
    kind, folder, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    _mount("-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", folder)
    place = folder / "work tree"
    place.mkdir()
    live = {"filling": _filling, "full": _full, "readonly": _readonly}[kind]
    with Runner(preload=False) as runner:
        target = folder if kind == "readonly" else place
        problems = list(live(runner, target, random.Random(seed)))
    os.write(1, json.dumps(problems).encode())


if __name__ == "__main__":
    main()
