"""Power failures: acknowledged events survive, whatever was not yet written to disk."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..runner import Runner, fast_folder
from .cuts import cut, record
from .power import Disk, Operation

SEED = 20260115
MODES = ("write_ahead_log", "rollback_journal")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Provide a folder in memory, where the disk's speed does not matter."""
    with fast_folder() as folder:
        yield folder


@pytest.mark.parametrize("mode", MODES)
def test_acknowledged_events_survive_a_power_cut(
    mode: str, runner: Runner, folder: Path
) -> None:
    """Every answered event is in every image, and the next append works."""
    recording = record(runner, folder, [mode])
    found = cut(runner, recording, folder, images=15, chance=random.Random(SEED))
    assert list(found) == []


@pytest.mark.parametrize("mode", MODES)
def test_new_log_survives_a_power_cut(mode: str, runner: Runner, folder: Path) -> None:
    """Once `init` has answered, the log exists under its name."""
    recording = record(runner, folder, [mode])
    chance = random.Random(SEED)
    options = {"from_init": True, "near_init": True}
    found = cut(runner, recording, folder, images=15, chance=chance, **options)
    assert list(found) == []


@pytest.mark.parametrize(
    ("mode", "plant"),
    [
        ("write_ahead_log", "synchronous_off"),
        ("rollback_journal", "synchronous_off"),
        ("rollback_journal", "journal_gone_unsynced"),
        ("write_ahead_log", "acknowledge_first"),
    ],
)
def test_planted_defect_is_found(
    mode: str, plant: str, runner: Runner, folder: Path
) -> None:
    """The images reveal a missing sync, and an answer that came too early."""
    recording = record(runner, folder, [mode, plant])
    found = cut(runner, recording, folder, images=400, chance=random.Random(SEED))
    assert next(found, None) is not None


def test_folder_never_synced_is_found(runner: Runner, folder: Path) -> None:
    """The images reveal that the name of a new log was not made durable."""
    recording = record(runner, folder, ["write_ahead_log", "folders_unsynced"])
    chance = random.Random(SEED)
    options = {"from_init": True, "near_init": True}
    found = cut(runner, recording, folder, images=400, chance=chance, **options)
    assert "there is no log" in next(found, "")


def test_synced_bytes_are_in_every_image(tmp_path: Path) -> None:
    """Writes and names before a sync are always present, those after it only sometimes."""
    disk = Disk("/disk")
    for line in (
        Operation("open", 0o100, 0, "/disk/a", "", b""),
        Operation("write", 0, 4, "/disk/a", "", b"kept"),
        Operation("fsync", 0, 0, "/disk/a", "", b""),
        Operation("fsync", 0, 0, "/disk", "", b""),
        Operation("write", 4, 4, "/disk/a", "", b"lost"),
        Operation("rename", 0, 0, "/disk/a", "/disk/b", b""),
    ):
        disk.do(line)
    seen = set()
    for seed in range(60):
        image = tmp_path / str(seed)
        image.mkdir()
        disk.write(image, random.Random(seed))
        seen |= {(file.name, file.read_bytes()) for file in image.iterdir()}
    assert seen == {(n, c) for n in "ab" for c in (b"kept", b"keptlost")}
