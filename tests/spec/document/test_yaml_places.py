"""Places of values in a YAML file."""

import pytest
import yaml

from sprintlog.projections.state_files.yaml import reader as yaml_reader
from sprintlog.projections.state_files.yaml.places import Path, PlacedDocument
from sprintlog.projections.state_files.yaml.reader import load

TEXT = """\
# a comment
name: one

steps:
  - prompt: |
      first
      second {{x}}
      third {{x}}
    id: 'a'
  - {prompt: short, id: b}
empty:
folded: >
  word
  word {{y}}
quoted: "a
  b"
"""


@pytest.fixture(params=["CSafeLoader", "SafeLoader"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every rule with libyaml and with PyYAML's own parser."""
    monkeypatch.setattr(yaml_reader, "_LOADER", getattr(yaml, request.param))


@pytest.mark.parametrize(
    ("path", "near", "line"),
    [
        ((), None, 1),
        (("name",), None, 2),
        (("steps",), None, 4),
        (("steps", 0), None, 5),
        (("steps", 0, "prompt"), None, 5),
        (("steps", 0, "prompt"), "{{x}}", 7),
        (("steps", 0, "id"), None, 9),
        (("steps", 1), None, 10),
        (("steps", 1, "id"), None, 10),
        (("steps", 1, "missing"), None, 10),
        (("steps", 5, "prompt"), None, 4),
        (("missing", 0), None, 1),
        (("empty",), None, 11),
        (("folded",), "{{y}}", 14),
        (("quoted",), "nowhere", 15),
    ],
)
def test_every_value_has_a_line(path: Path, near: str | None, line: int) -> None:
    """A value's line is its key's line; a missing value has its container's line."""
    assert PlacedDocument(TEXT.encode(), file="f").line(path, near) == line


def test_the_data_is_that_of_the_reader() -> None:
    """Noting lines does not change the loaded values."""
    assert PlacedDocument(TEXT.encode(), file="f").data == load(TEXT.encode())


def test_keys_that_are_there_twice_are_noted() -> None:
    """All duplicate keys are reported with line and path; the last one is used."""
    placed = PlacedDocument(b"a: 1\nb:\n  - c: 1\n    c: 2\na: 3\n", file="f")
    assert placed.data == {"a": 3, "b": [{"c": 2}]}
    assert [(line, path) for line, path, _ in placed.repeated] == [
        (4, ("b", 0, "c")),
        (5, ("a",)),
    ]


def test_a_file_may_begin_with_a_mark() -> None:
    """A byte order mark and other line ends do not move the lines."""
    placed = PlacedDocument("\ufeffa: |\r\n  x\r\n  y {{z}}\r\n".encode(), file="f")
    assert placed.line(("a",), "{{z}}") == 3


def test_what_a_second_key_replaces_leaves_no_line_behind() -> None:
    """A missing value has its container's line, even if a replaced value was there."""
    text = "".join(f"a{n}: {{x: 1}}\na{n}: 1\nb{n}: {{}}\n" for n in range(50))
    placed = PlacedDocument(text.encode(), file="f")
    assert [placed.line((f"b{n}", "x")) for n in range(50)] == list(range(3, 153, 3))
