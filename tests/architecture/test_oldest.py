"""Statements about versions, and their tests."""

import tomllib

from packaging.requirements import Requirement
from packaging.version import Version

from .tree import ROOT


def test_the_oldest_versions_we_allow_are_those_that_are_tried() -> None:
    """Each dependency has a lower bound, which the list of oldest versions pins."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    allowed = {}
    for line in project["dependencies"]:
        wanted = Requirement(line)
        (bound,) = [s for s in wanted.specifier if s.operator == ">="]
        allowed[wanted.name] = Version(bound.version)
    tried = {}
    for line in (ROOT / ".ci" / "oldest.txt").read_text().splitlines():
        if not line.startswith("#"):
            pinned = Requirement(line)
            (exact,) = pinned.specifier
            assert exact.operator == "=="
            tried[pinned.name] = Version(exact.version)
    assert tried == allowed
