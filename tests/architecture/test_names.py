"""One word, one meaning: names are unique."""

import ast
from collections import Counter, defaultdict

import pytest

from .tree import ROOMS, ROOT, modules, parse, relative

FOLDER_MODULES_MAX = 20
NOUNS = {"briefing", "learning", "listing", "masking", "missing"}


@pytest.mark.long
def test_no_two_types_share_a_name() -> None:
    """Each importable class has a unique name."""
    found = defaultdict(list)
    for path in modules(*ROOMS):
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(relative(path))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_no_module_is_called_by_a_verb_alone() -> None:
    """A module's name states its contents, not an activity."""
    named = [path for path in modules(*ROOMS) if path.stem.endswith("ing")]
    assert [relative(path) for path in named if path.stem not in NOUNS] == []


def test_no_folder_is_full() -> None:
    """A folder holds at most twenty modules; more are two topics."""
    counts = Counter(path.relative_to(ROOT).parent.as_posix() for path in modules(*ROOMS))
    assert {f: n for f, n in counts.items() if n > FOLDER_MODULES_MAX} == {}
