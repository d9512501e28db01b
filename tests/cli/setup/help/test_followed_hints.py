"""A hint about a stop works when it is typed, one command after another."""

import re
from pathlib import Path

import pytest

from ...conftest import Gated, Run
from ...typed import FILLED_IN, commands_in

LEAF_PLAN = """\
phases:
  - id: build
    prompt: Build it
    gate: {script: test -e repaired, max-retries: 0}
"""


def follow(done: Run, hint: str) -> None:
    """Type the commands of a hint in order; of alternatives, the first one."""
    for words in commands_in(re.sub(r"\bor\b.*", "", hint)):
        done(*(FILLED_IN.get(word, word) for word in words))


def test_leads_on_from_a_blocked_gate(
    gated: Gated, run: Run, done: Run, folder: Path
) -> None:
    """The gate of a phase with steps is named with its error, and can be run again."""
    gated("test -e repaired", retries=0)
    blocked = run("gate", "run")
    told = done("next", "--json").json
    assert (told["do"], told["phase"]) == ("stop", "build")
    assert "the gate failed once" in told["why"]
    assert "sprint resume" in blocked.err
    (folder / "repaired").touch()
    follow(done, told["hint"])
    assert done("next", "--json").json["phase"] == "ship"


@pytest.fixture
def blocked_leaf(folder: Path, run: Run, done: Run) -> Path:
    """Return a folder with a leaf whose gate has blocked."""
    (folder / "plan.yaml").write_text(LEAF_PLAN)
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("sprint", "start")
    done("phase", "start")
    assert run("gate", "run").code == 6
    return folder


def test_leads_on_from_a_blocked_leaf(done: Run, blocked_leaf: Path) -> None:
    """The gate of a leaf runs again alone: its work is not repeated."""
    told = done("next", "--json").json
    (blocked_leaf / "repaired").touch()
    follow(done, told["hint"])
    assert done("next", "--json").json == {"sprint": "auth", "do": "end", "phase": "build"}


def test_leads_to_the_work_anew(done: Run, blocked_leaf: Path) -> None:
    """The alternative is to repeat the work of the leaf."""
    hint = done("next", "--json").json["hint"]
    done("sprint", "resume", "--by", "ana", "--why", "wrong")
    done(*commands_in(hint)[-1])
    assert done("next", "--json").json["do"] == "work"


def test_leads_on_from_a_gate_that_is_not_due(
    run: Run, done: Run, gated: Gated, folder: Path
) -> None:
    """A refused gate names the pending work, in commands that work."""
    gated("true")
    done(
        "step", "inject", "--id", "two", "--prompt", "x", "--position", "end-of-phase:build"
    )
    for status in ("pending", "in-progress"):
        refused = run("gate", "run", "--phase", "build")
        assert f"build/two is {status}" in refused.err
        follow(done, refused.err)
    done("gate", "run")


def test_tells_an_error_where_it_happened(sprint: Path, done: Run) -> None:
    """`status` reports an error once, at the leaf, although parents also have it."""
    done("phase", "skip", "setup")
    done("phase", "start")
    done("phase", "fail", "--error", "no space", "--category", "network")
    shown = [line for line in done("status").out.splitlines() if "✗" in line]
    assert ["no space" in line for line in shown] == [False, False, True]
