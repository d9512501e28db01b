"""Texts on the page: names of rows, decisions, commands."""

from pathlib import Path

from sprintlog.facts import sprint_facts
from sprintlog.projections.page import timeline
from sprintlog.projections.page.layout import place_timeline, ticks
from sprintlog.projections.page.markup import command
from sprintlog.projections.page.timeline import laid_out
from sprintlog.projections.text.decision_sentences import decided

from .night import SPRINT, night
from .test_layout import work


def test_long_names_of_rows_stay_apart() -> None:
    """Names that are equal when truncated are numbered; short ones are unchanged."""
    middle = "in/the/middle/of/a/long/way/"
    rows = ["build", f"store/{middle}a/check", f"store/{middle}b/check/check"]
    shown = timeline.names(
        place_timeline([work(name, 0, 1) for name in [*rows, f"{rows[1]}"]])
    )
    assert shown[0] == "build"
    assert len({*shown}) == len(shown) == 3
    same = [f"x{'y' * 40}{n}{'z' * 40}" for n in range(3)]
    shown = timeline.names(place_timeline([work(name, 0, 1) for name in same]))
    assert [name.partition(" ")[2] for name in shown] == ["", "(2)", "(3)"]


def test_a_narrow_axis_has_few_labels() -> None:
    """Every third label fits on a phone."""
    found = ticks(0, 8 * 60_000)
    assert [tick.is_sparse for tick in found] == [n % 3 == 0 for n in range(len(found))]


def test_an_iteration_has_one_state(tmp_path: Path) -> None:
    """Measured iterations and phases without a recorded end end with their measurement."""
    with night(tmp_path) as workspace:
        bars = laid_out(sprint_facts(workspace, SPRINT)).bars
    told = [(bar.of.tone, bar.of.about) for bar in bars if "not ended" in bar.of.about]
    assert told == []
    last = next(bar.of for bar in bars if bar.of.about.startswith("iteration 9"))
    assert last.tone == "bad"
    receipt = next(bar.of for bar in bars if bar.of.row == "receipt")
    assert receipt.tone == "stuck"


def test_decisions_are_sentences(tmp_path: Path) -> None:
    """The decision and its evidence, without names of fields."""
    with night(tmp_path) as workspace:
        facts = sprint_facts(workspace, SPRINT)
        by_version = {n: facts.event(n) for n in range(1, facts.version + 1)}
        told = {
            d.version: decided(by_version[d.version], d.evidence) for d in facts.decisions
        }
    back = told[38]
    assert back.what == "Everything after version 30 was discarded"
    assert back.why == "iteration 4 deleted 26 tests of the cart"
    assert told[30].what == "Request req-2 was deferred until end of sprint"
    assert told[73].what == "A person is needed at receipt"


def test_options_of_a_command_are_not_broken() -> None:
    """A word with a hyphen is not broken, and copied text is the original line."""
    said = command("sprintlog rollback iter:6 --files")
    assert "<span>--files</span>" in said
    plain = said.replace("<span>", "").replace("</span>", "")
    assert plain == '<code class="command">sprintlog rollback iter:6 --files</code>'
