"""The examples on the library's page run one after another, as do its ten lines."""

import doctest
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sprintlog

from ..sessions import ROOT

ORCHESTRATOR = ROOT / "docs" / "how-to" / "record-from-a-program.md"
PAGE = ROOT / "docs" / "reference" / "python.md"
_EXAMPLES = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IMPORTS = re.compile(r"^(?:>>> |\.\.\. )?\s*(?:from|import) (sprintlog\S*)", re.MULTILINE)


def test_the_examples_answer_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every example on the page produces the output shown below it."""
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


def test_an_orchestrator_goes_on_after_a_kill_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If it is killed before any command and started again, the result is the same."""
    (text,) = _PROGRAM.findall(ORCHESTRATOR.read_text(encoding="utf-8"))
    program = compile(text, ORCHESTRATOR.name, "exec")
    handle = sprintlog.Workspace.handle
    ends, left = [], 0
    for last in range(99):
        folder = tmp_path / str(last)
        folder.mkdir()
        monkeypatch.chdir(folder)
        left = last

        def counted(self: Any, *given: Any, **named: Any) -> Any:
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            return handle(self, *given, **named)

        monkeypatch.setattr(sprintlog.Workspace, "handle", counted)
        with suppress(KeyboardInterrupt):
            exec(program, {})
        monkeypatch.setattr(sprintlog.Workspace, "handle", handle)
        exec(program, {})
        with sprintlog.open() as log:
            phases = log.sprint("release").document["phases"]
            kinds = Counter(event.type for event in log.events("release"))
        ends.append([phase["status"] for phase in phases])
        assert kinds["iteration-started"] == kinds["iteration-ended"]
        assert kinds["iteration-measured"] == 2  # no second agent run for a measurement
        if left:
            break
    assert len(ends) > 12
    assert all(end == ["completed", "completed"] for end in ends), ends
    assert "19 agent:coder phase-completed build" in capsys.readouterr().out


def test_no_page_reaches_past_the_door() -> None:
    """Pages import only public names, and the library's page uses all of its modules."""
    public = {"sprintlog", *(f"sprintlog.{name}" for name in sprintlog.__all__)}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    found = {page: {*_IMPORTS.findall(page.read_text(encoding="utf-8"))} for page in pages}
    beyond = {page.name: used - public for page, used in found.items() if used - public}
    assert beyond == {}
    modules = {name for name in public if isinstance(_named(name), ModuleType)}
    elsewhere = {f"sprintlog.{name}" for name in ("definitions", "extensions", "testing")}
    assert found[PAGE] == modules - elsewhere


def _named(name: str) -> object:
    return getattr(sprintlog, name.partition(".")[2], sprintlog)
