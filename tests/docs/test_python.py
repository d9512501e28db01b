"""The examples of the library's page run, one after another, on the log of that page."""

import doctest
import re
from pathlib import Path

import pytest

from .forked import serving
from .sessions import ROOT, answers, begin, differences, session_of

PAGE = ROOT / "docs" / "reference" / "python.md"
_EXAMPLES = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_answer_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every example of the page answers what the page shows below it."""
    session = session_of(PAGE)
    with serving() as commands:
        given = answers(begin(session, tmp_path, commands=commands))
    assert differences(session, given) == []
    monkeypatch.chdir(tmp_path)
    text = "".join(_EXAMPLES.findall(PAGE.read_text(encoding="utf-8")))
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert result.attempted > 10
    assert result.failed == 0, "".join(said)
