"""External JSON: refused input and the messages."""

import json
import time

import pytest

from sprintlog.cli.intake import files
from sprintlog.cli.intake.files import load
from sprintlog.engine.errors import InvalidInputError


def problem(text: bytes) -> str:
    """Return the refusal of a text, and check that it names the line."""
    with pytest.raises(InvalidInputError) as caught:
        load(text, line=7)
    assert caught.value.fields["line"] == 7
    assert str(caught.value).isprintable()
    return str(caught.value.fields["problem"])


@pytest.mark.parametrize(
    "value",
    [
        {"at": "2026-01-30T12:00:00Z", "data": {"a": ":", "b": {"a": [{"a": ": :"}]}}},
        {"": {"": ""}, "a:b": [], "\u202e": "\x1b"},
        [1, -1.5, None, True, "é"],
        "a:b",
    ],
)
def test_is_read_as_json_says(value: object) -> None:
    """Colons in texts, and the same key in several objects, are allowed."""
    assert load(json.dumps(value, ensure_ascii=False).encode()) == value
    assert load(json.dumps(value, indent=2).encode()) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"a":1,"a":1}', 'duplicate key "a"'),
        (b'{"x":[{"a":1,"b":2,"\\u0061" : 3}]}', 'duplicate key "a"'),
        (b'{"x":":","\\u001b":1,"\\u001b":1}', 'duplicate key "\\u001b"'),
        (b"[" * 5000 + b"]" * 5000, "nested deeper than 64 levels"),
        (b"[" * 1_000_000, "nested deeper than 64 levels"),
        (b"[1e999]", "not JSON: Number out of range"),
        (b"[NaN]", "not JSON: NaN is not a number; use null for unknown"),
        (b'{"a": -Infinity}', "not JSON: -Infinity is not a number"),
        (b"[01]", "not JSON"),
        (b"[0x10]", "not JSON"),
        (b'["\\ud800"]', "not JSON"),
        (b'["\xff"]', "not JSON"),
        (b'["\x1b"]', "not JSON"),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_refusal_says_what(text: bytes, said: str) -> None:
    """Values other than plain data are refused in one line."""
    assert said in problem(text)


def test_a_byte_order_mark_is_skipped() -> None:
    """A text may start with one, as written by editors on Windows."""
    assert load(b'\xef\xbb\xbf{"a":1}') == {"a": 1}


def test_number_of_nodes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and values are counted as in YAML; one too many is refused."""
    monkeypatch.setattr(files, "NODES_MAX", 9)
    assert load(b'{"a":1,"b":[1,{"c":2}]}') == {"a": 1, "b": [1, {"c": 2}]}
    assert problem(b'{"a":1,"b":[1,{"c":2},3]}') == "contains more than 9 keys and values"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"1," * (4 * 2**20 - 2) + b"1]",
        b'[":"' + b",{}" * (2 * 2**20) + b"]",
        b"{" + b",".join(b'"%x":1' % number for number in range(600_000)) + b"}",
        b'{":":1,' + b",".join([b'"a":1'] * 1_000_000) + b"}",
    ],
)
def test_megabytes_are_refused_in_time(text: bytes) -> None:
    """The most that fits in a line is refused within seconds."""
    start = time.process_time()
    assert problem(text)
    assert time.process_time() - start < 5
