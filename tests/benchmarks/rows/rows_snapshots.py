"""Rows about snapshots: a large tree of which little changed, against `git status`."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from sprintlog.engine.adapters.snapshots.capture import Limits, take
from sprintlog.engine.adapters.snapshots.store import Store

from ..logs import Bench
from ..measure import PROCESSES, Figure, Skip, duration, side_by_side

CHANGED = 10
PER_FOLDER = 20


def after_few_changes(bench: Bench) -> Figure:
    """Measure a snapshot after ten files of a large tree changed."""
    root = bench.new_folder("tree")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    store = Store(bench.new_folder("store") / "snapshots", environment)
    if git(root, environment, "init", "-q"):
        raise Skip("there is no git")
    files = _fill(root, bench.sizes.tree)
    git(root, environment, "add", "-A")
    git(
        root, environment, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"
    )
    rounds = iter(range(1_000_000))

    def snapshot() -> None:
        with store.lock():
            made = take(store, root, at_seconds=1, limits=Limits())
        assert made.files == len(files), made.left_out

    def change() -> None:
        number = next(rounds)
        for at in range(CHANGED):
            path = files[(number * CHANGED + at) * 7 % len(files)]
            path.write_text(f"changed in round {number}\n")

    snapshot()
    sides = side_by_side(
        snapshot,
        lambda: git(root, environment, "status", "--porcelain"),
        rounds=bench.sizes.rounds,
        by=PROCESSES,
        before=change,
    )
    return duration(sides, f"git status, {len(files):,} files")


def restored(bench: Bench) -> Figure:
    """Measure a rollback that replaces every file of a tree."""
    return _restored(bench, bench.sizes.tree // 2)


def restored_large(bench: Bench) -> Figure:
    """Measure a rollback that replaces every file of a large tree."""
    return _restored(bench, bench.sizes.tree * 6)


def _restored(bench: Bench, count: int) -> Figure:
    """Measure on new trees in each round, both sides until they are durable.

    ext4 avoids the inodes of recently removed files and searches for free ones after them;
    if trees were reused, both sides would mainly measure this search.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    if shutil.which("git") is None:
        raise Skip("there is no git")
    fresh: list[tuple[Path, Path]] = []

    def ran(*arguments: str) -> None:
        command = [sys.executable, "-m", "sprintlog.cli", *arguments]
        subprocess.run(
            command, cwd=fresh[-1][0], env=environment, capture_output=True, check=True
        )

    def make() -> None:
        name = f"{count}-{len(fresh)}"
        ours, theirs = bench.new_folder(f"ours-{name}"), bench.new_folder(f"theirs-{name}")
        fresh.append((ours, theirs))
        assert git(theirs, environment, "init", "-q") == 0
        for arguments in (["init"], ["sprint", "create", "s", "--goal", "g"]):
            ran(*arguments)
        ran("sprint", "start")
        for number in (1, 2):
            for root in (ours, theirs):
                for path in _fill(root, count):
                    path.write_text(f"# {number}\n" * 60)
            ran("iteration", "start")
            ran("iteration", "end", "--snapshot")
            git(theirs, environment, "add", "-A")
            names = ["-c", "user.name=a", "-c", "user.email=a@b"]
            git(theirs, environment, *names, "commit", "-qm", "a")
            git(theirs, environment, "tag", f"v{number}")
        os.sync()

    def checkout() -> None:
        assert git(fresh[-1][1], environment, "checkout", "-q", "v1", "--", ".") == 0
        subprocess.run(["sync", "-f", str(fresh[-1][1])], check=True)

    sides = side_by_side(
        lambda: ran("rollback", "iter:1", "--files", "--yes"),
        checkout,
        rounds=min(bench.sizes.rounds, 4),
        by=PROCESSES,
        before=make,
    )
    return duration(sides, f"git checkout and sync, {count:,} files")


def _fill(root: Path, count: int) -> list[Path]:
    files = []
    for number in range(count):
        folder = root / f"part{number // PER_FOLDER % 25}" / f"folder{number // PER_FOLDER}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"module_{number}.py"
        path.write_text(f"# {number}\n" * 60)
        files.append(path)
    return files


def git(root: Path, environment: Mapping[str, str], *arguments: str) -> int:
    """Return the exit status of git; 1 without git."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, env=environment, capture_output=True, check=False
        )
    except FileNotFoundError:
        return 1
    return done.returncode
