"""`sprintlog scan`: secrets in a log are found, with the command to erase them."""

from pathlib import Path

import pytest

from ....adapters.trees import git, put
from ...conftest import Run

TOKEN = "ghp_" + "a1" * 18
PLAN = b"phases:\n  - {id: build, prompt: Build it}\n"


@pytest.fixture
def leaky(folder: Path, done: Run) -> Path:
    """Return a tree with a token in an event, a report and a snapshot."""
    git(folder, "init", "-q")
    put(folder / "plan.yaml", PLAN)
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("note", f"it is {TOKEN} there", "--no-mask")
    done("note", f"a masked one: {TOKEN}")
    put(folder / "env", f"TOKEN={TOKEN}\n".encode())
    done("iteration", "snapshot")
    put(folder / ".git/sprintlog/reports/0123", TOKEN.encode())
    return folder


def test_every_place_is_named(leaky: Path, run: Run) -> None:
    """Position, rule, context with the secret masked, and a command; status 4."""
    result = run("scan", "--json")
    assert result.code == 4
    assert TOKEN not in result.out
    found = {one["where"]: one for one in result.json}
    (snapshot,) = (where for where in found if where.startswith("snapshot"))
    assert found.keys() == {"position 2", "reports/0123", snapshot}
    assert found["position 2"]["rule"] == "github-token"
    assert found["position 2"]["excerpt"].startswith("it is [masked: github-token")
    assert found["position 2"]["command"] == "sprintlog redact 2 --reason TEXT"


def test_what_a_name_tells_is_found(leaky: Path, run: Run, done: Run) -> None:
    """A public rule finds unmasked secrets, and no excerpt contains a secret."""
    key = "a1b2c3d4" * 4
    line = f"TOKEN={TOKEN} ALGOLIA_API_KEY={key} and {TOKEN[:-1]}2"
    done("note", line, "--no-mask")
    done("note", f"algolia_key = {key}")
    result = run("scan", "--json")
    found = [one for one in result.json if one["rule"] == "algolia-api-key"]
    assert [one["position"] for one in found] == [5, 6]
    assert "ALGOLIA_API_KEY=[masked: algolia-api-key]" in found[0]["excerpt"]
    assert key[-9:] not in result.out
    assert TOKEN[-9:] not in result.out


def test_what_it_names_can_be_erased(leaky: Path, run: Run, done: Run) -> None:
    """After the suggested redaction, nothing is found."""
    done("redact", "--text", TOKEN, "--reason", "a token", "--yes")
    assert done("scan", "--json").json == []
    assert "0 secrets found" in done("scan").out


def test_only_since(leaky: Path, run: Run) -> None:
    """With --since older events are not searched; files next to them are."""
    result = run("scan", "--since", "2099-01-01T00:00:00Z", "--json")
    assert {one["position"] for one in result.json} == {None}
