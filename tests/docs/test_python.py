"""The examples of the library's page run, one after another, and its ten lines."""

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

from .sessions import ROOT

PAGE = ROOT / "docs" / "reference" / "python.md"
_EXAMPLES = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PUBLIC = re.compile(r"^(?:>>> |\.\.\. )?\s*(?:from|import) (sprintlog\S*)", re.MULTILINE)


def test_the_examples_answer_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every example of the page answers what the page shows below it."""
    monkeypatch.chdir(tmp_path)
    text = "".join(_EXAMPLES.findall(PAGE.read_text(encoding="utf-8")))
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert result.attempted > 10
    assert result.failed == 0, "".join(said)


def test_ten_lines_record_and_replay_a_thousand_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook needs no more than the lines of the page."""
    (program,) = _PROGRAM.findall(PAGE.read_text(encoding="utf-8"))
    assert len([line for line in program.splitlines() if line]) == 10
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(program, PAGE.name, "exec"), names)
    assert len(names["replayed"]) == 1000
    assert names["replayed"][-1].text == "note 998"


def test_the_page_imports_only_what_is_public() -> None:
    """No example reaches past the door."""
    found = {*_PUBLIC.findall(PAGE.read_text(encoding="utf-8"))}
    parts = ("commands", "errors", "events", "history", "stores")
    assert found == {"sprintlog", *(f"sprintlog.{part}" for part in parts)}
