"""The schema of PROGRESS.yaml: invalid values and the messages about them."""

import re
import subprocess
import sys
from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint.plan.shape import check_shape


@pytest.mark.parametrize(
    ("data", "level", "field", "message"),
    [
        (
            {"phases": [{"gate": {"script": True}}]},
            0,
            "phases[0].gate.script",
            "got `bool`",
        ),
        ({"phases": [{"gate": {}}]}, 0, "phases[0].gate.script", "is missing"),
        (
            {"phases": [{"gate": {"script": "x", "on-fail": {1: 2}}}]},
            0,
            "phases[0].gate.on-fail",
            "expected `str`",
        ),
        ({"model": "gpt"}, 1, "model", "'gpt' is unknown; allowed: sonnet, opus, haiku"),
        ({"phases": [{"retry-count": -1}]}, 2, "phases[0].retry-count", "expected `int"),
        ([], 0, "", "expected `object`"),
    ],
)
def test_names_the_field(data: Any, level: int, field: str, message: str) -> None:
    """A refusal names the first invalid field, relative to the checked node, and why."""
    with pytest.raises(RefusedError, match=re.escape(message)) as refused:
        check_shape(data, level=level)
    assert refused.value.fields["field"] == field


def test_is_checked_without_pydantic() -> None:
    """Reading PROGRESS.yaml or a compiled plan does not import pydantic."""
    code = "import sys, sprintlog.cli.intake.progress; print('pydantic' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
