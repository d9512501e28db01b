"""Pages and exports that a user wrote into the work tree are not work of the loop."""

import os
from pathlib import Path

import pytest

from ...adapters.trees import put
from ..conftest import Run
from ..restores import files

BACK = ("rollback", "iter:1", "--files", "--yes", "--json")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("line", "name"),
    [
        (("report", "--html"), "night.html"),
        (("report", "--html"), "pages/night.html"),
        (("report", "--html"), "a\n; b %s\x7f.html"),
        (("report", "--html"), os.fsdecode(b"\xff.html")),
        (("store", "export", "--out"), "night.jsonl"),
        (("verify", "head", "--out"), "HEAD.txt"),
        (("verify", "prove", "1", "--out"), "proof.json"),
    ],
)
def test_a_rollback_leaves_them(tree: Path, done: Run, line: list[str], name: str) -> None:
    """No snapshot contains such a file, and no rollback removes it, whatever its name."""
    (tree / "pages").mkdir()
    done(*line, name)
    content = (tree / name).read_bytes()
    changed = done(*BACK).json["files"]
    assert changed["removed"] == ["src/mess"]
    assert (tree / name).read_bytes() == content
    done("undo", "--yes")
    assert (tree / name).read_bytes() == content


def test_what_an_agent_makes_of_one_is_work(tree: Path, done: Run) -> None:
    """A page with different bytes is removed and restored like any other file."""
    done("report", "--html", "night.html")
    put(tree / "night.html", b"an agent's")
    assert done(*BACK).json["files"]["removed"] == ["night.html", "src/mess"]
    done("undo", "--yes")
    assert (tree / "night.html").read_bytes() == b"an agent's"


def test_one_that_was_written_over_work_is_no_work(tree: Path, done: Run) -> None:
    """The work at its path is restored, and undoing that restores the page."""
    done("report", "--html", "README")
    page = (tree / "README").read_bytes()
    assert "README" in done(*BACK).json["files"]["written"]
    assert files(tree)["README"] != page
    done("undo", "--yes")
    assert files(tree)["README"] == page


def test_no_link_is_followed(tree: Path, done: Run, tmp_path: Path) -> None:
    """A link at a page's path is not read through, and is treated like any link."""
    done("report", "--html", "night.html")
    elsewhere = tmp_path / "elsewhere.html"
    os.rename(tree / "night.html", elsewhere)
    os.symlink(elsewhere, tree / "night.html")
    assert done(*BACK).json["files"]["removed"] == ["night.html", "src/mess"]
    assert elsewhere.exists()


def test_one_beside_the_work_tree_is_not_known(tree: Path, done: Run) -> None:
    """A page outside the tree is ignored, and a file with its name inside is work."""
    done("report", "--html", "../night.html")
    (tree / "night.html").write_bytes((tree.parent / "night.html").read_bytes())
    assert done(*BACK).json["files"]["removed"] == ["night.html", "src/mess"]


def test_a_link_on_the_way_leads_to_the_true_place(tree: Path, done: Run) -> None:
    """A page that is written through a linked folder is recognized at its real path."""
    (tree / "pages").mkdir()
    os.symlink("pages", tree / "shown")
    done("report", "--html", "shown/night.html")
    assert done(*BACK).json["files"]["removed"] == ["shown", "src/mess"]
    assert (tree / "pages/night.html").exists()
