"""Histories of aider that are imported while they grow, in pieces and again."""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run

HISTORY = ".aider.chat.history.md"
BEGUN = "\n# aider chat started at 2026-03-0{} 09:00:00\n\n> Aider v0.86.2  \n"
MODEL = "> Main model: claude-sonnet-4-5 with diff edit format\n"
ASKED = "\n#### add a total  \n\nI will.\n"
ANSWERED = "\n> Tokens: {} sent, {} received. Cost: $0.02 message, ${} session.  \n"
FIRST = BEGUN.format(2) + MODEL + ASKED + ANSWERED.format("2.4k", 310, "0.02")
GROWN = FIRST + ASKED + ANSWERED.format("3.1k", 95, "0.05")
SECOND = BEGUN.format(3) + ASKED + ANSWERED.format("1.2k", 80, "0.01")


@pytest.fixture
def log(folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with an empty log."""
    monkeypatch.setenv("TZ", "UTC")
    done("init", "--here")
    return folder


def taken(done: Run, folder: Path, *texts: str) -> int:
    """Import versions of a history in their order; return the number of new events."""
    recorded = 0
    for text in texts:
        (folder / HISTORY).write_text(text)
        recorded += done("import", HISTORY, "--json").json["recorded"]
    return recorded


def state(done: Run) -> dict[str, Any]:
    """Return the figures of the sprint, and the outcome of each iteration."""
    runs = [x["data"] for x in done("log", "--json").lines if x["type"] == "agent-ran"]
    outcomes = {x["iteration"]: x["status"] for x in runs}
    spent = done("status", "--json").json["spent"]
    return {**{name: spent[name] for name in sorted(spent)}, "outcomes": outcomes}


def test_what_a_session_has_gained_is_added(log: Path, done: Run) -> None:
    """A session that grew has its new messages, its current cost and its new summary."""
    assert taken(done, log, FIRST) > 0
    assert taken(done, log, GROWN) > 0
    spent = done("status", "--json").json["spent"]
    assert (spent["input_tokens"], spent["output_tokens"]) == (5_500, 405)
    assert spent["cost_usd"] == 0.05
    ended = [x for x in done("log", "--json").lines if x["type"] == "iteration-ended"]
    assert {x["data"]["number"] for x in ended} == {1}
    assert ended[-1]["data"]["summary"].startswith("2 messages, about 5,500 tokens")


def test_the_same_history_adds_nothing(log: Path, done: Run) -> None:
    """No version of a history that was imported before records an event."""
    taken(done, log, FIRST, GROWN, GROWN + SECOND)
    assert taken(done, log, GROWN + SECOND, FIRST, GROWN, SECOND) == 0


@pytest.mark.sampled(4)
@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_versions_and_pieces_give_the_same_in_any_order(
    log: Path, done: Run, order: tuple[int, ...]
) -> None:
    """Totals and outcomes are those of the full history, in any order of import."""
    asked = GROWN + ASKED
    pieces = (FIRST, asked, SECOND, GROWN + SECOND)
    taken(done, log, *(pieces[number] for number in order))
    found = state(done)
    assert (found["input_tokens"], found["output_tokens"]) == (6_700, 485)
    assert (found["cost_usd"], found["turns"]) == (0.06, 3)
    assert sorted(found["outcomes"].values()) == ["completed", "unknown"]


def test_two_sessions_of_one_second_are_one(log: Path, done: Run) -> None:
    """No message is lost if two sessions started in the same second."""
    taken(done, log, FIRST + SECOND.replace("03-03", "03-02"))
    found = state(done)
    assert (found["input_tokens"], found["cost_usd"]) == (3_600, 0.03)
    assert len(found["outcomes"]) == 1


def test_messages_without_their_session_are_kept(log: Path, done: Run) -> None:
    """A part without its beginning is reported, and nothing is guessed."""
    (log / HISTORY).write_text(ASKED + ANSWERED.format("2.4k", 310, "0.02") + SECOND)
    answer = done("import", "aider", HISTORY, "--json").json
    assert (answer["found"], answer["unread"]) == ({"session": 1}, 1)
    assert state(done)["input_tokens"] == 1_200


@pytest.mark.parametrize("stated", ["9" * 400, "1.2.3", "1..5", "9" * 20])
def test_figures_that_are_none_are_unknown(log: Path, done: Run, stated: str) -> None:
    """An amount that is not a number, or too large for one, is ignored."""
    text = FIRST.replace("0.02 session", f"{stated} session").replace("310", stated)
    taken(done, log, text)
    usage = [
        x["data"]["usage"] for x in done("log", "--json").lines if x["type"] == "agent-ran"
    ]
    assert usage == [{"input_tokens": 2_400, "turns": 1}]
