"""Guarantees of every store about the digests of written files."""

import pytest

from sprintlog.engine.log.port import Digests, Log

ONE, TWO, THREE = b"1" * 32, b"2" * 32, b"3" * 32


@pytest.fixture
def known(log: Log) -> Digests:
    """Provide the digests of a new log."""
    return log.digests


def test_a_digest_leads_to_its_version(known: Digests) -> None:
    """A digest written for a path is known for this path only."""
    known.know("a/PROGRESS.yaml", ONE, version=3)
    assert known.since("a/PROGRESS.yaml", ONE) == 3
    assert known.since("a/PROGRESS.yaml", TWO) is None
    assert known.since("b/PROGRESS.yaml", ONE) is None


def test_bytes_written_again_are_of_the_later_version(known: Digests) -> None:
    """A digest has one version: the last one for which it was written."""
    known.know("a", ONE, version=3)
    known.know("a", ONE, version=8)
    assert known.written("a") == [(ONE, 8)]


def test_what_was_written_is_listed_newest_first(known: Digests) -> None:
    """Every digest of a path is listed with its version."""
    for digest, version in ((ONE, 1), (THREE, 7), (TWO, 4)):
        known.know("a", digest, version=version)
    known.know("b", ONE, version=9)
    assert known.written("a") == [(THREE, 7), (TWO, 4), (ONE, 1)]
    assert known.written("c") == []


def test_the_newest_version_up_to_another(known: Digests) -> None:
    """Later versions and one given digest are ignored; the result is 0 without others."""
    for digest, version in ((ONE, 1), (TWO, 4), (THREE, 7)):
        known.know("a", digest, version=version)
    assert known.newest("a", until=9) == 7
    assert known.newest("a", until=6) == 4
    assert known.newest("a", until=6, without=TWO) == 1
    assert known.newest("a", until=0) == known.newest("b", until=9) == 0


def test_paths_below_a_folder(known: Digests) -> None:
    """A folder's files are found at any depth; a name with the same prefix is not."""
    for path in (".aiwg/ralph/x/a.json", ".aiwg/ralph/x/y/b.json", ".aiwg/ralph/x.json"):
        known.know(path, ONE, version=1)
    known.know(".aiwg/ralph/x2/c.json", ONE, version=1)
    known.know(".aiwg/ralph/x/a.json", TWO, version=2)
    below = {".aiwg/ralph/x/a.json", ".aiwg/ralph/x/y/b.json"}
    assert known.below(".aiwg/ralph/x") == below
    assert known.below("elsewhere") == set()


def test_a_path_is_forgotten_whole(known: Digests) -> None:
    """All digests of a path are deleted; other paths' digests remain."""
    for path in ("a", "a/b"):
        known.know(path, ONE, version=1)
        known.know(path, TWO, version=2)
    known.forget("a")
    known.forget("never there")
    assert known.written("a") == []
    assert known.written("a/b") == [(TWO, 2), (ONE, 1)]
