"""Every module with a terminal command is one that somebody can type."""

from sprintlog.cli.main import COMMANDS, FOLDERS, module_of

from .tree import ROOT


def test_no_terminal_command_is_forgotten() -> None:
    """A module that makes a command is named in the table of commands."""
    made = {
        f"{path.parent.name}.{path.stem}"
        for folder in FOLDERS
        for path in (ROOT / "cli" / folder).glob("*.py")
        if "\ndef command(" in path.read_text(encoding="utf-8")
    }
    named = {module_of(name) for name in COMMANDS} | {"work.injection"}
    assert made - named == set(), "name each in FOLDERS, `cli/main.py`"
