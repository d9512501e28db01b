"""The variables of a prompt file are those that its page lists."""

from sprintlog.engine.sprint.plan.templates import VARIABLES

from ..sessions import ROOT

PAGE = ROOT / "docs" / "how-to" / "customize-the-prompt.md"


def test_the_page_lists_every_variable() -> None:
    """Each variable is on the page with its value, and no other one is."""
    rows = [line for line in PAGE.read_text().split("\n") if line.startswith("| `{{")]
    assert rows == [f"| `{{{{{name}}}}}` | {says} |" for name, says in VARIABLES.items()]
