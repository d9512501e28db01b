"""Changes of tests, of test configuration and of measuring scripts."""

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from sprintlog.engine.judging.instruments import (
    compare,
    is_instrument,
    scripts_in,
    words_in,
)
from sprintlog.engine.judging.suite_code import texts_of

from .tampering import ALL, CLEAN, SETTINGS, TAMPERED, B, Counts, Files, H, J, P


def bytes_of(files: Files) -> dict[str, bytes]:
    """Return the dedented contents of files."""
    return {path: dedent(text).encode() for path, text in files.items()}


def changes(before: Files, after: Files, words: frozenset[str] = frozenset()) -> Counts:
    """Return the counts of a comparison that are not zero, by path."""
    found = compare(bytes_of(before), bytes_of(after), words)
    return {
        one.path: {n: x for n, x in asdict(one).items() if x and n != "path"}
        for one in found
    }


@pytest.mark.parametrize("after", CLEAN.values(), ids=CLEAN)
def test_additions_renames_and_moves_are_clean(after: Files) -> None:
    """Tests may be added, renamed and moved, and code around them may grow."""
    before = {path: text for path, text in ALL.items() if path in after}
    if not before:
        suffix = next(iter(after)).rpartition(".")[2]
        before = {path: text for path, text in ALL.items() if path.endswith(f".{suffix}")}
    assert changes(before, after) == {}


@pytest.mark.parametrize(("after", "counts"), TAMPERED.values(), ids=TAMPERED)
def test_weaker_tests_are_counted(after: Files, counts: dict[str, int]) -> None:
    """Every form of weakening a test is counted in its file."""
    path = next(iter(after))
    assert changes({path: ALL[path]}, after) == {path: counts}


@pytest.mark.parametrize("path", ALL)
def test_a_removed_file_counts_its_tests(path: str) -> None:
    """The tests of a removed file are removed tests."""
    found = changes({path: ALL[path]}, {})
    assert found[path]["removed"] == {P: 2, J: 2, B: 2}.get(path, 1)


@pytest.mark.parametrize(("before", "after", "counts"), SETTINGS.values(), ids=SETTINGS)
def test_configuration_is_compared_by_what_concerns_tests(
    before: Files, after: Files, counts: Counts
) -> None:
    """Settings for tests count, and other settings in the same files do not."""
    assert changes(before, after, words_in(["make test", "npm test"])) == counts


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("sh m.sh", {"m.sh"}),
        ("./m.sh && python tools/count.py --all", {"m.sh", "tools/count.py"}),
        (
            "A=1 uv run python -m tools.m src/a.py",
            {"tools/m.py", "tools/m/__main__.py", "src/a.py"},
        ),
        ("cat score.txt", set()),
        ("sh ../m.sh; /usr/bin/m.py", set()),
        ("uv run mypy src/app.py; npx eslint src/a.js; node --check b.js", set()),
        ("ruff check a.py && timeout 9 m.py", {"m.py"}),
        ("sh -c 'python \"a.py\"'", {"a.py"}),
        ("tools/m.py --of src/app.py; bash -e m.sh src/b.py", {"tools/m.py", "m.sh"}),
        ("wc -l src/app.py; sh -c 'grep -c x b.py'; diff a.py b.py", set()),
        ("wc -l `./m.sh`; cat a.sh | sh; cp b.sh c.sh", {"m.sh", "a.sh", "b.sh", "c.sh"}),
        ("uv run m.py a.py -n 3; ./k b.py; env ./l", {"m.py", "k", "b.py", "l"}),
        ("uv run --with radon m.py; cat x | python - < x.py", {"m.py", "x.py"}),
        (
            "A=x.py tools/k; pytest -q a.py b.py; coverage run m.py c.py",
            {"a.py", "b.py", "m.py", "tools/k"},
        ),
        ("python test.py a.py; for x in a.sh b.sh", {"test.py", "a.py", "a.sh", "b.sh"}),
        (
            "node -r ./a.js b.js; node --loader ./c.js d.js",
            {"a.js", "b.js", "c.js", "d.js"},
        ),
        ("cd a && cd b && bash measure; ./m", {"a/b/measure", "measure", "a/b/m", "m"}),
        ("make -f ci.mk; bash -m m.sh; perl -n m.pl", {"ci.mk", "m.sh", "m.pl"}),
        ("bash -n m.sh; uv run pytest --cov=a.py; npm test", set()),
    ],
)
def test_scripts_are_found_in_commands(command: str, paths: set[str]) -> None:
    """A measuring script is a word of the command that is run, not its data."""
    modules = {"tools.m", "m/sh.py", "m/sh/__main__.py"}
    assert scripts_in([command]) - modules == paths


def test_only_some_files_are_instruments() -> None:
    """Source files and documents are no instruments."""
    assert all(map(is_instrument, [*ALL, "jest.config.js", "spec/spec_helper.rb"]))
    others = ["src/app.py", "README.md", "data.json", "lib/app.rb", "src/app.js", "app.go"]
    assert not any(map(is_instrument, others))
    assert is_instrument("m.sh", scripts_in(["sh m.sh"]))


TEXTS = st.text("def test_a():\n\t {}[]()'\"`#/*@=.,;itclassx1 ", max_size=200)


@given(
    st.sampled_from([*ALL, "package.json", "tox.ini", "Makefile", "pyproject.toml"]),
    TEXTS,
    TEXTS,
)
def test_any_text_can_be_compared(path: str, one: str, other: str) -> None:
    """No text makes a comparison fail, and equal texts have no changes."""
    changes({path: one}, {path: other})
    assert changes({path: one, "x/" + path: other}, {path: one, "x/" + path: other}) == {}


@pytest.mark.parametrize(
    "line", ["/*\n", "it(", "'", "a ", "{\n", "    " * 40 + "a\n", "@a\n"]
)
def test_a_hostile_text_takes_no_time(line: str) -> None:
    """A long text of any repeated part is compared in linear time."""
    text = line * (400_000 // len(line))
    assert changes({J: text}, {J: text + "x"}) is not None


INDENTED = "".join(" " * depth + "if 1:\n" for depth in range(99)) + " " * 99


@pytest.mark.parametrize(
    "text",
    ["-" * 99_990 + "1", "a" + ".b" * 40_000, "(" * 99_990, INDENTED + "a;" * 40_000],
)
def test_a_hostile_text_in_python(text: str) -> None:
    """A text that Python cannot compile, or that would grow, is compared unchanged."""
    assert texts_of(P, [text.encode()]) == [text]


def test_a_text_with_a_warning_is_compiled() -> None:
    """Invalid escape sequences are neither reported nor a reason to compare formats."""
    assert changes({P: "'\\d'\n"}, {P: '"\\d"\n'}) == {}


TEXT, IN_TEXT = '"""Text.\n\n>>> f()\n1\n', "def test_a():\n    assert f() == 1\n"


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        (TEXT + '"""\n' + IN_TEXT, TEXT + IN_TEXT + '"""\n', {"removed": 1, "lines": 1}),
        (IN_TEXT, f'"""a\\"""\n{IN_TEXT}"""  # """\n', {"removed": 1, "lines": 1}),
        (TEXT + '"""\n', TEXT.replace("1", "2") + '"""\n', {"lines": 1}),
        (
            IN_TEXT,
            "# coding: utf-7\n#+AAo-pytestmark = skip\n" + IN_TEXT,
            {"skips": 1, "lines": 1},
        ),
    ],
    ids=["end of a text", "quotation marks in a text", "doctest", "encoding"],
)
def test_python_is_parsed(before: str, after: str, counts: dict[str, int]) -> None:
    """Neither quotation marks nor an encoding hides a change of tests in Python."""
    assert changes({P: before}, {P: after}) == {P: counts}


def test_a_test_that_is_moved_and_changed() -> None:
    """A changed test that was moved to another file is not a removed one."""
    after = {"tests/test_other.py": ALL[P].replace("== 3", "== 4")}
    assert changes({P: ALL[P]}, after) == {P: {"changed": 1}}


AS_TEST = "    /**\n         * @test\n         */\n    "


def test_annotations_in_comments() -> None:
    """The annotation of a test in a comment is a part of the test."""
    before = {
        H: ALL[H].replace("    public function testA", AS_TEST + "    public function a")
    }
    assert changes(before, {H: before[H].replace("@test", "")})[H]["removed"] == 1


def test_invalid_bytes_matter() -> None:
    """Files that differ only in bytes that are not UTF-8 are different."""
    (found,) = compare({"m.sh": b"\xe8"}, {"m.sh": b"\xe9"})
    assert found.lines == 1


def test_a_script_of_tests_with_an_unusual_name() -> None:
    """The tests of a file that the measure runs are recognized by its path."""
    words = words_in(["python tests/checks.py"])
    after = {"tests/checks.py": ALL[P].replace("test_adds", "test_sums")}
    assert changes({"tests/checks.py": ALL[P]}, after, words) == {}


def test_a_main_function_of_go_tests_is_not_a_test() -> None:
    """An added `TestMain` may end all tests of its package, so its lines count."""
    main = "func TestMain(m *testing.M) {\n    os.Exit(0)\n}\n"
    (found,) = compare({"a_test.go": b"package a\n"}, {"a_test.go": main.encode()})
    assert found.lines == 3
