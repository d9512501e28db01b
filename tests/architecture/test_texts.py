"""Words that no project file may contain."""

import re

from .tree import texts

UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]) + r")\b")
HOMES = "|".join(["builds", "root", "Users", "work"])
MACHINE_PATH = re.compile(rf"(?<![\w.}}~*$-])/(?:(?:{HOMES})\b|home/(?!user\b))")


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    """Return the file, line and words of every match in the project."""
    return [
        f"{name}:{number}: {found.group()}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if (found := pattern.search(line))
    ]


def test_nothing_is_marked_unfinished() -> None:
    """Unfinished work is recorded in issues, not in files."""
    assert lines_with(UNFINISHED) == []


def test_no_file_names_a_folder_of_some_machine() -> None:
    """No file contains a path that exists on one machine only."""
    assert lines_with(MACHINE_PATH) == []
