"""Answers that cannot be delivered, signals at any moment, and limits."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import needs

from ..runner import Runner, fast_folder
from ..scenes import begin
from .endings import limited, signalled, unheard

SEED = 20260115


@pytest.fixture
def folder(runner: Runner) -> Iterator[Path]:
    """Provide a folder with a log and a started sprint."""
    with fast_folder() as folder:
        begin(runner, folder)
        yield folder


@pytest.mark.sampled(1)
@pytest.mark.parametrize("output", ["closed", "full", "unread"])
def test_lost_answer_is_an_error(output: str, runner: Runner, folder: Path) -> None:
    """A command whose answer cannot be written fails; repeating it with its key is safe."""
    assert list(unheard(runner, folder, output)) == []


def test_signal_at_any_moment_leaves_no_half_event(runner: Runner, folder: Path) -> None:
    """After SIGINT or SIGTERM the event exists or not; repeating the key is safe."""
    chance = random.Random(SEED)
    assert list(signalled(runner, folder, times=25, chance=chance)) == []


@pytest.mark.parametrize(
    ("kind", "values"),
    [("NOFILE", list(range(6, 16, 2))), ("FSIZE", [1024, 4096, 20_000, 40_000])],
)
def test_limited_process_fails_in_one_line(
    kind: str, values: list[int], runner: Runner, folder: Path
) -> None:
    """Too few descriptors or bytes cause a one-line error, and nothing is half done."""
    assert list(limited(runner, folder, kind, values)) == []


def test_folder_without_the_right_to_write_can_be_read(
    runner: Runner, folder: Path
) -> None:
    """If the log's folder is read-only, appends are refused and reads work."""
    log = folder / ".sprintlog"
    log.chmod(0o500)
    try:
        if _may_write(log):
            needs.skip("a user who is not root", "run the tests as an ordinary user")
        refused = runner.run(folder, "note", "no")
        assert refused.code == 1
        assert refused.err.startswith("error: ")
        for command in ("status", "log", "verify", "replay"):
            assert runner.run(folder, command).code == 0
    finally:
        log.chmod(0o700)


def _may_write(folder: Path) -> bool:
    try:
        (folder / "probe").touch()
    except OSError:
        return False
    (folder / "probe").unlink()
    return True
