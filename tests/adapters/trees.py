"""Work trees for the tests of snapshots, and pictures of them to compare."""

import os
import random
import stat
import subprocess
from pathlib import Path

from sprintlog.engine.adapters.snapshots.capture import Limits, TakenSnapshot, take
from sprintlog.engine.adapters.snapshots.entries import Snapshot
from sprintlog.engine.adapters.snapshots.one_file import extract
from sprintlog.engine.adapters.snapshots.placement import PlacedFiles, place
from sprintlog.engine.adapters.snapshots.plan import PlacementPlan, plan
from sprintlog.engine.adapters.snapshots.store import Store

Picture = dict[str, tuple[str, int, bytes]]

NOTHING = Snapshot("", {}, {}, [], 0, [])

ODD_NAMES = (
    b"plain.txt",
    b"with space",
    b" leading and trailing ",
    b"new\nline",
    b"tab\there",
    b'quote"d',
    b"back\\slash",
    b"\\",
    b"not-utf8-\xff\xfe",
    b"-option",
    b"*glob?[a]",
    b"umlaut-\xc3\xa4",
    b"umlaut-a\xcc\x88",
    b".hidden",
    b"manifest",
    b"files",
    b"git",
    b"x" * 200,
)


def fill(root: Path) -> None:
    """Create unusual names, modes, links and empty folders below a root."""
    for odd in ODD_NAMES:
        with open(os.path.join(os.fsencode(root), odd), "wb") as file:
            file.write(b"content of " + odd + b"\r\n$Id$\n")
    for mode in (0o600, 0o755, 0o444, 0o711, 0o644, 0o400):
        put(root / f"modes/{mode:o}", f"{mode:o}".encode(), mode)
    (root / "bytes").write_bytes(bytes(range(256)) * 3)
    (root / "nothing").touch()
    (root / "links").mkdir()
    for name, target in (
        ("to-file", "../plain.txt"),
        ("to-folder", "../modes"),
        ("dangling", "no/where"),
        ("absolute", "/etc/passwd"),
        ("odd", os.fsdecode(b"not-utf8-\xff\n")),
    ):
        (root / "links" / name).symlink_to(target)
    (root / "empty/below/deep").mkdir(parents=True)
    (root / "empty/below/deep").chmod(0o700)
    put(root / "a/b/c/d/e/deep", b"deep", 0o644)
    (root / "a/b").chmod(0o750)


def put(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file with a mode, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def picture(root: Path, *, without: tuple[str, ...] = ()) -> Picture:
    """Return everything below a root: its kind, mode and bytes."""
    seen: Picture = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [
            name
            for name in folders
            if os.path.relpath(os.path.join(folder, name), root) not in without
        ]
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            mode = stat.S_IMODE(status.st_mode)
            relative = os.path.relpath(path, root)
            if relative in without:
                continue
            if stat.S_ISLNK(status.st_mode):
                seen[relative] = ("link", 0, os.readlink(os.fsencode(path)))
            elif stat.S_ISDIR(status.st_mode):
                seen[relative] = ("folder", mode, b"")
            elif stat.S_ISREG(status.st_mode):
                seen[relative] = ("file", mode, Path(path).read_bytes())
            else:
                seen[relative] = ("special", mode, b"")
    return seen


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder as a person with plain settings does."""
    done = subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments],
        cwd=folder,
        env={**environment(), "GIT_CONFIG_GLOBAL": os.devnull},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode(errors="surrogateescape")


def environment() -> dict[str, str]:
    """Return the environment without variables that git uses."""
    return {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}


def store_in(folder: Path) -> Store:
    """Return a store of snapshots in a folder."""
    return Store(folder / "snapshots", environment())


def taken(
    store: Store,
    root: Path,
    *,
    limits: Limits | None = None,
    patterns: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
) -> TakenSnapshot:
    """Take a snapshot of a tree."""
    with store.lock():
        return take(
            store,
            root,
            at_seconds=1_800_000_000,
            limits=(limits or Limits())._replace(patterns=patterns),
            also=also,
        )


def extracted(store: Store, commit: str, target: Path) -> Picture:
    """Restore a snapshot into a new folder, and return the folder's contents."""
    snapshot = store.read(commit)
    with store.blobs() as blob:
        extract(snapshot, plan(snapshot, NOTHING), target, blob)
    return picture(target)


def reasons(made: TakenSnapshot) -> dict[str, str]:
    """Return the omitted paths with their reasons."""
    return dict(made.left_out)


def put_back(
    store: Store, root: Path, commit: str, *paths: str, alone: tuple[str, ...] = ()
) -> tuple[PlacementPlan, PlacedFiles]:
    """Restore a snapshot in place, after a snapshot of the current files."""
    wanted = store.read(commit)
    present = store.read(taken(store, root, also=tuple(wanted.files)).commit)
    made = plan(wanted, present, paths=paths, alone=alone)
    with store.blobs() as blob:
        return made, place(root, made, blob, keep_in=store.folder / "kept")


def change(root: Path, chance: random.Random) -> None:
    """Do something to a tree: write, link, remove, change a mode or a kind."""
    names = [os.path.join(chance.choice(("", "a", "b", "a/c")), n) for n in "xyz"]
    path = root / chance.choice(names)
    if path.is_dir() and not path.is_symlink():
        path.chmod(chance.choice((0o700, 0o755, 0o711)))
        return
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    match chance.randrange(6):
        case 0 | 1 | 2:
            put(
                path,
                chance.randbytes(chance.randrange(2000)),
                chance.choice((0o644, 0o755, 0o600)),
            )
        case 3:
            path.symlink_to(chance.choice(("x", "../y", "/etc/hosts")))
        case 4:
            path.mkdir()
        case _:
            pass
