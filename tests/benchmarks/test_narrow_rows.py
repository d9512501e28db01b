"""The row formats compared in ADR 0035 can be measured and reproduce every event."""

from pathlib import Path

import pytest

from . import narrow_rows


@pytest.mark.long
def test_every_form_is_measured(tmp_path: Path) -> None:
    """Each format has a line for each sample, and narrow rows form a valid chain."""
    lines = list(narrow_rows.sizes(tmp_path, 40))
    assert len(lines) == 3 * (1 + len(narrow_rows.FORMS))
    assert len(list(narrow_rows.readings(tmp_path, 40))) == 3
