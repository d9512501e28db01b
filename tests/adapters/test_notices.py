"""The notice command of a loop: its input, and the safety of its failures."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.service.driver import notices as under_test
from sprintlog.engine.service.driver.notices import QUEUE_MAX, Notices
from sprintlog.engine.sprint.agent.actions import (
    NOTICES,
    PERSON,
    QUALITY,
    STOPPED,
    WAITING,
    Notice,
    is_wanted,
)

Make = Callable[..., Notices]
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


@pytest.fixture
def said() -> list[str]:
    """Return the warnings."""
    return []


@pytest.fixture
def make(tmp_path: Path, said: list[str]) -> Make:
    """Return the notices for a command that runs in a separate folder."""

    def call(command: str, **more: Any) -> Notices:
        return Notices(
            command, folder=tmp_path, environment=ENVIRONMENT, tell=said.append, **more
        )

    return call


def notice(word: str = STOPPED, why: str | None = None) -> Notice:
    """Return a notice of a sprint."""
    return Notice(notice=word, sprint="s", at="2026-01-01T00:00:00Z", why=why)


def test_each_is_told_in_its_order(make: Make, tmp_path: Path, said: list[str]) -> None:
    """The command receives one JSON object per notice, in the order of the notices."""
    notices = make("cat >> seen")
    for why in ("one", 'two "; touch HARM; $(touch HARM)', "three"):
        notices.send(notice(STOPPED, why))
    notices.end()
    told = [json.loads(line) for line in (tmp_path / "seen").read_text().splitlines()]
    assert [one["why"] for one in told][::2] == ["one", "three"]
    assert told[0] == {
        "notice": "stopped",
        "sprint": "s",
        "at": "2026-01-01T00:00:00Z",
        "why": "one",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["seen"]
    assert said == []


def test_a_failure_is_a_warning(make: Make, said: list[str]) -> None:
    """A command that fails or does not exist is reported and raises no error."""
    notices = make("exit 3")
    notices.send(notice())
    notices.end()
    assert said == ["warning: the command of --notify failed: exit code 3"]


def test_nothing_is_run_for_nobody(make: Make, tmp_path: Path) -> None:
    """Without a request nothing is started."""
    notices = make("touch seen", of=(QUALITY,))
    notices.send(notice(STOPPED))
    notices.end()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_a_command_that_hangs_is_ended(
    make: Make, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is ended at its time limit; notices beyond the bound are dropped."""
    monkeypatch.setattr(under_test, "TIMEOUT_SECONDS", 0.3)
    notices = make("sleep 1000")
    for _ in range(QUEUE_MAX + 3):
        notices.send(notice())
    assert any("was skipped" in line for line in said)
    monkeypatch.setattr(under_test, "PATIENCE_SECONDS", 0.0)
    notices.end()


def test_a_command_that_floods_is_read_and_let_go(
    make: Make, tmp_path: Path, said: list[str]
) -> None:
    """Its output is discarded, and the next notice is sent."""
    notices = make("head -c 30000000 /dev/zero | tee /dev/stderr; cat >> seen")
    for _ in range(2):
        notices.send(notice())
    notices.end()
    assert len((tmp_path / "seen").read_text().splitlines()) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["seen"]
    assert said == []


@pytest.mark.parametrize("word", NOTICES)
@pytest.mark.parametrize("of", [(STOPPED,), (PERSON,), (QUALITY, WAITING)])
def test_a_needed_person_is_an_end_too(word: str, of: tuple[str, ...]) -> None:
    """`ends` includes stops that require a person; other values match only themselves."""
    assert is_wanted(word, of) == (word in of or (word, of) == (PERSON, (STOPPED,)))
