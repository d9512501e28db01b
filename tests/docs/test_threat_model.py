"""The threat model names only existing tests."""

import re

from .sessions import ROOT

PAGE = (ROOT / "docs" / "explanation" / "threat-model.md").read_text()
_NAMED = re.compile(r"^\| .+ \| `([\w/]+\.py)(?:::(\w+))?` \|$", re.M)


def test_each_line_has_its_test() -> None:
    """Each listed threat names an existing test."""
    named = _NAMED.findall(PAGE)
    assert len(named) > 20
    for file, test in named:
        text = (ROOT / "tests" / file).read_text()
        assert f"def {test}(" in text if test else "def test_" in text, (file, test)
