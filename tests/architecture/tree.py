"""The checkout as a tree of files: its place, its modules and its texts."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE_PATH = ROOT / ".package"
ROOMS = ("engine", "projections", "cli")
DOOR = PACKAGE_PATH / "sprintlog"
"""The public package: its modules, and links to the other packages."""

_TEXT_FOLDERS = (*ROOMS, "tests", "fixtures", "docs", ".ci", ".package")
_EFFECTS = (
    *("engine/adapters/", "engine/log/stores/", "engine/service/"),
    "engine/extensions.py",  # inspects the installed packages
    "engine/extras.py",  # inspects the installation folder
)
_PURE_WITHIN = "engine/adapters/agents/"


def relative(path: Path) -> str:
    """Return the path in messages, relative to the root and with slashes."""
    return path.relative_to(ROOT).as_posix()


def modules(*folders: str) -> list[Path]:
    """Return every Python file below the folders, in a fixed order."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def door_modules() -> list[Path]:
    """Return every Python file of the front door."""
    return sorted(DOOR.glob("*.py"))


def pure_modules() -> list[Path]:
    """Return the engine's modules except those that exist for effects."""
    return [
        path
        for path in modules("engine")
        if not relative(path).startswith(_EFFECTS)
        or relative(path).startswith(_PURE_WITHIN)
    ]


def dotted(path: Path) -> str:
    """Return the name that a module is imported by."""
    top = DOOR if path.is_relative_to(DOOR) else ROOT
    parts = path.relative_to(top).with_suffix("").parts
    return ".".join(["sprintlog", *(part for part in parts if part != "__init__")])


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def texts() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every file that belongs to the project."""
    # In a linked work tree, .git is a file that names the git directory.
    paths = [p for p in ROOT.iterdir() if p.is_file() and p.name != ".git"]
    for folder in _TEXT_FOLDERS:
        paths += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in sorted(paths):
        if path.suffix == ".png":
            continue
        if "__pycache__" not in path.parts and not path.name.startswith(".coverage"):
            yield relative(path), path.read_bytes().decode(errors="replace")
