"""The suite itself: leaks are detected and undone, short forms chosen as documented."""

import os
import signal
import sys
import threading
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import leaks, lengths, needs

HELD: list[Any] = []


def _open_a_file(folder: Path) -> None:
    HELD.append((folder / "file").open("w"))


def _start_a_thread(folder: Path) -> None:
    end = threading.Event()
    HELD.append(end)
    threading.Thread(target=end.wait, args=(10,), name="left", daemon=True).start()


LEAKS: dict[str, Callable[[Path], object]] = {
    "folder": lambda folder: os.chdir(folder),
    "environment: LEAKED": lambda folder: os.environ.update(LEAKED="1"),
    "umask": lambda folder: os.umask(0o077),
    "signals": lambda folder: signal.signal(signal.SIGUSR1, signal.SIG_IGN),
    "warnings": lambda folder: warnings.simplefilter("ignore"),
    "path": lambda folder: sys.path.append("leaked"),
    "arguments": lambda folder: sys.argv.append("leaked"),
    "threads still run: left": _start_a_thread,
    "file still open": _open_a_file,
    "written to HOME: leaked": lambda folder: (folder / "home" / "leaked").mkdir(),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_named_and_undone(name: str, tmp_path: Path) -> None:
    """Each kind of leak is reported in one line, and does not reach the next test."""
    home = tmp_path / "home"
    home.mkdir()
    before = leaks.State.now(home)
    assert leaks.leaks(before, home) == []
    LEAKS[name](tmp_path)
    (found,) = leaks.leaks(before, home)
    assert found.startswith(name)
    leaks.restore(before, home)
    for held in HELD:
        held.set() if isinstance(held, threading.Event) else held.close()
    HELD.clear()
    assert leaks.leaks(before, home) == []


def test_files_of_before_are_not_removed(tmp_path: Path) -> None:
    """Undoing a leak preserves the files that were in HOME before the test."""
    (tmp_path / "old").touch()
    before = leaks.State.now(tmp_path)
    (tmp_path / "new").touch()
    leaks.restore(before, tmp_path)
    assert os.listdir(tmp_path) == ["old"]


def test_a_replaced_function_is_named_and_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that tests replace is reported and restored; other values may change."""
    module = types.ModuleType("sprintlog_sample")
    vars(module).update(function=_open_a_file, cache=1)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    before = leaks.bound(("sprintlog_sample",))
    vars(module).update(function=_start_a_thread, cache=2)
    ((name, undo),) = leaks.rebound(before)
    undo()
    assert name == "sprintlog_sample.function"
    assert vars(module)["function"] is _open_a_file
    assert list(leaks.rebound(before)) == []


class Item:
    """A collected test, as far as needed for the choice of forms."""

    def __init__(self, name: str, **markers: pytest.Mark) -> None:
        self.parent = None
        self.name = self.originalname = name
        self._markers = markers

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        """Return the mark of that name."""
        return self._markers.get(name)


@pytest.mark.parametrize(
    ("number", "kept"), [(1, [0]), (2, [0, 9]), (4, [0, 3, 6, 9]), (20, [*range(10)])]
)
def test_a_sample_is_spread_evenly(number: int, kept: list[int]) -> None:
    """Of ten cases, `sampled(n)` selects n: the first, the last, and some in between."""
    cases: list[Any] = [
        Item("a", sampled=pytest.mark.sampled(number).mark) for _ in range(10)
    ]
    long = lengths.long_forms([*cases, Item("b")])  # type: ignore[list-item]
    assert [place for place, case in enumerate(cases) if case not in long] == kept


def test_a_long_form_may_be_a_sample_too() -> None:
    """With `sampled(n, m)`, the long form runs m cases minus those of the short form."""
    mark = pytest.mark.sampled(2, 4).mark
    cases: list[Any] = [Item("a", sampled=mark) for _ in range(10)]
    long = lengths.long_forms(cases)
    assert [place for place, case in enumerate(cases) if case in long] == [3, 6]
    nowhere = lengths.in_no_form(cases)
    assert [place for place, case in enumerate(cases) if case in nowhere] == [
        1,
        2,
        4,
        5,
        7,
        8,
    ]


def test_marked_tests_are_long() -> None:
    """A test marked `long` belongs only to the long form."""
    items: list[Any] = [Item("a", long=pytest.mark.long.mark), Item("b")]
    assert lengths.long_forms(items) == {items[0]}


def test_a_property_takes_fewer_examples_in_the_short_form(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The short form uses at most 10 examples, the long form a quarter."""
    monkeypatch.setattr(lengths, "is_long", False)
    assert (lengths.examples(100), lengths.examples(5)) == (10, 5)
    monkeypatch.setattr(lengths, "is_long", True)
    assert lengths.examples(100) == 25
    monkeypatch.setenv("SPRINTLOG_EXAMPLES", "10")
    assert lengths.examples(100) == 1000


def test_a_missing_program_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A skip prints the requirement and the command that installs it."""
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(pytest.skip.Exception, match=r"^needs zsh: apt install zsh$"):
        needs.program("zsh")
