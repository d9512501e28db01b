"""Every attack of an insider is found by a head that was signed elsewhere."""

from pathlib import Path

import pytest

from ...copies import copy_tree
from ...docs.sessions import ROOT
from .insiders import ATTACKS, found_by, make, table

PAGE = ROOT / "docs" / "explanation" / "threat-model.md"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tree with a log, a signed head and a proof of one event."""
    return make(tmp_path_factory.mktemp("whole") / "tree")


@pytest.fixture(scope="module")
def found(
    whole: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[str, ...]]:
    """Return what detects each attack, by its name."""
    lines = [*table(whole, tmp_path_factory.mktemp("attacked"))][2:]
    rows = [line.strip("| ").split(" | ") for line in lines]
    return {name: tuple(words) for name, *words in rows}


def test_a_signed_head_finds_all(found: dict[str, tuple[str, ...]]) -> None:
    """A head that was signed elsewhere reveals any change of a log."""
    assert {signed for _, _, signed, _ in found.values()} == {"found"}
    assert len(found) == len(ATTACKS)


def test_what_fits_is_found_by_nothing_beside_the_log(
    found: dict[str, tuple[str, ...]],
) -> None:
    """A clumsy attack is detected by the log and its head file, a consistent one never.

    Only the head file reveals a removed end; a payload removed without an erasure is always
    detected.
    """
    for name, (alone, file, _, _) in found.items():
        is_found = "recomputed" not in name or "without a record" in name
        assert (file == "found") is is_found, name
        assert (alone == file) is (name != "end cut off"), name


def test_the_page_has_this_table(whole: Path, tmp_path: Path) -> None:
    """The page has the measured table, line by line."""
    assert "\n".join(table(whole, tmp_path)) in PAGE.read_text()


def test_an_untouched_log_is_sound(whole: Path, tmp_path: Path) -> None:
    """Nothing is reported for an unchanged log."""
    copy_tree(whole, tmp_path / "tree")
    assert found_by(tmp_path / "tree") == (False, False, False, False)
