"""Mutations are selected the same way everywhere, and only a failing test kills one."""

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from .copies import Copy
from .drawing import FOLDERS, draw, locate, net_lines
from .judging import KILLED, NOT_REACHED, SURVIVED, judge, listed, plan
from .mutations import Mutation, mutated, probed, sites
from .tracing import Trace, files_of, run_probed

ROOT = Path(__file__).resolve().parents[2]

LIMITS = '''"""Limits."""


def is_over(count: int, *, most: int = 3) -> bool:
    """Return whether a count is over."""
    return count > most


def unused(text):
    if not text:
        raise ValueError(
            text,
        )
    return f"{1 + 1}" and text
'''
NOTICES = "from engine.limits import is_over\n\n\ndef test_at_the_limit():\n    {}\n"


@pytest.fixture(scope="module")
def drawn() -> list[Mutation]:
    """Return the mutations of this checkout."""
    return draw(ROOT)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a checkout with one module in each folder, and two tests."""
    root = tmp_path / "root"
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
        (root / folder / "limits.py").write_text(LIMITS)
    (root / "tests").mkdir()
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    exact = NOTICES.format("assert not is_over(3)")
    (root / "tests" / "test_exact.py").write_text(exact)
    rough = NOTICES.format("assert is_over(30)")
    (root / "tests" / "test_rough.py").write_text(rough)
    return root


def _of(text: str, path: str = "engine/limits.py") -> list[Mutation]:
    return [site.mutation for site in sites(text, path)]


def test_enough_mutations_are_spread_over_the_folders(drawn: list[Mutation]) -> None:
    """At least 80 mutations, one per function, in proportion to the lines of a folder."""
    assert len({(one.path, one.function) for one in drawn}) == len(drawn) >= 80
    lines = {
        folder: sum(net_lines(path.read_text()) for path in (ROOT / folder).rglob("*.py"))
        for folder in FOLDERS
    }
    shares = Counter(one.path.partition("/")[0] for one in drawn)
    for folder in FOLDERS:
        assert abs(shares[folder] - len(drawn) * lines[folder] / sum(lines.values())) < 1


def test_a_mutation_changes_one_line(drawn: list[Mutation]) -> None:
    """Each mutated module differs from the original by one line, and compiles."""
    for one in drawn:
        source = (ROOT / one.path).read_text(encoding="utf-8")
        changed = mutated(source, one)
        ast.parse(changed)
        pairs = zip(source.split("\n"), changed.split("\n"), strict=True)
        assert [old.strip() for old, new in pairs if old != new] == [one.before]


def test_a_probe_moves_no_line(drawn: list[Mutation]) -> None:
    """A probed module compiles, has as many lines, and calls the probe."""
    for number, one in enumerate(drawn[::8]):
        source = (ROOT / one.path).read_text(encoding="utf-8")
        changed = probed(source, one.path, {one: number})
        ast.parse(changed)
        assert changed.count("\n") == source.count("\n")
        assert f"__reached__({number})" in changed


def test_the_choice_depends_on_the_seed_alone(small: Path) -> None:
    """String hashes and the order of files do not affect the choice."""
    (small / "engine" / "a.py").write_text(LIMITS)
    command = [sys.executable, "-m", "tests.mutants", "--root", str(small), "--list"]
    answers = [
        subprocess.run(
            [*command, "--json", "--count", "4"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert answers[0] == answers[1]
    assert [Mutation.of(one) for one in json.loads(answers[0])] == draw(small, count=4)


def test_each_operator_has_its_sites() -> None:
    """Statements, operators and values are mutated; annotations and texts are not."""
    changes = [(one.operator, one.after) for one in _of(LIMITS)]
    assert changes == [
        ("default", "def is_over(count: int, *, most: int = 4) -> bool:"),
        ("return None", "return None"),
        ("comparison", "return count >= most"),
        ("not removed", "if text:"),
        ("raise removed", "ValueError("),
        ("return None", "return None"),
        ("and/or", 'return f"{1 + 1}" or text'),
    ]


def test_probes_keep_the_meaning() -> None:
    """A probe is called once per execution of its line and does not change the result."""
    calls: list[int] = []
    numbers = {one: number for number, one in enumerate(_of(LIMITS))}
    names: dict[str, Any] = {"__reached__": calls.append}
    exec(compile(probed(LIMITS, "engine/limits.py", numbers), "limits", "exec"), names)
    assert names["unused"]("x") == "x"
    assert sorted(calls) == [3, 5, 6]


def test_mutations_are_found_in_another_checkout(small: Path) -> None:
    """A line that moved within or between modules is found; a changed one is not."""
    compared, gone = (
        one for one in _of(LIMITS) if one.operator in ("comparison", "and/or")
    )
    (small / "engine" / "limits.py").write_text("\n\n" + LIMITS.replace("+ 1}", "}"))
    for folder in ("projections", "cli"):
        (small / folder / "limits.py").unlink()
    found, missing = locate([compared, gone], small)
    assert found == compared._replace(line=compared.line + 2)
    assert missing is None
    (small / "engine" / "limits.py").rename(small / "cli" / "moved.py")
    (moved,) = locate([compared], small)
    assert moved is not None
    assert moved.path == "cli/moved.py"


@pytest.mark.long
def test_only_a_test_that_notices_a_mutation_kills_it(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test of the limit fails; the other one also reaches the line, but passes."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    both = [one for one in _of(LIMITS) if one.operator in ("comparison", "not removed")]
    (tmp_path / "copy").mkdir()
    copy = Copy(small, tmp_path / "copy")
    trace = Trace(both)
    assert (
        len(list(run_probed(trace, files_of(small, ["tests"]), [copy], tmp_path / "t")))
        == 1
    )
    exact, rough = (
        f"tests/test_{name}.py::test_at_the_limit" for name in ("exact", "rough")
    )
    assert trace.reached == {both[0].key: [exact, rough]}
    assert Trace.load(tmp_path / "t") == trace
    verdict = judge(both[0], trace, copy)
    assert (verdict.status, verdict.killer) == (KILLED, exact)
    trace.reached = {both[0].key: [rough]}
    assert judge(both[0], trace, copy).status == SURVIVED
    assert judge(both[1], trace, copy).status == NOT_REACHED
    assert (copy.tree / "engine" / "limits.py").read_text() == LIMITS


def test_cheap_tests_run_first() -> None:
    """Files are ordered by the mean time of their tests; expensive ones come last."""
    tests = {"a.py::slow": 4.0, "b.py::2": 0.2, "b.py::1": 0.1, "c.py::1": 0.01}
    trace = Trace([], tests=tests, imports={"a.py": 1.0, "b.py": 0.5})
    assert plan(list(tests), trace, 2) == ["c.py::1", "b.py::2", "b.py::1"]
    assert plan(["a.py::slow"], trace, 2) == ["a.py::slow"]
    whole = plan(list(tests), trace, 60)
    assert all(tests[a] <= tests[b] for a, b in pairwise([whole[0], whole[-1]]))


def test_a_survivor_is_listed_with_a_reason(tmp_path: Path) -> None:
    """The list of survivors can be read, and an entry without a reason is an error."""
    listed(Path(__file__).with_name("survivors.txt"))
    (tmp_path / "list").write_text("# comment\n01234567 f: equal\n")
    assert listed(tmp_path / "list") == {"01234567": "equal"}
    (tmp_path / "list").write_text("01234567 f\n")
    with pytest.raises(SystemExit, match="reason"):
        listed(tmp_path / "list")
