"""Accepted input of the reader, refused input, and the messages."""

import time
from contextlib import nullcontext, suppress

import pytest
import yaml

from sprintlog.engine.errors import InvalidInputError
from sprintlog.projections.state_files.yaml import reader as yaml_reader
from sprintlog.projections.state_files.yaml.reader import BYTES_MAX, load


@pytest.fixture(params=["CSafeLoader", "SafeLoader"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run every rule with libyaml and with PyYAML's own parser."""
    monkeypatch.setattr(yaml_reader, "_LOADER", getattr(yaml, request.param))
    return str(request.param)


def refusal(data: bytes) -> InvalidInputError:
    """Return the one error that reading the bytes ends in."""
    with pytest.raises(InvalidInputError) as caught:
        load(data, file="PROGRESS.yaml")
    assert str(caught.value).isprintable()
    assert caught.value.fields["file"] == "PROGRESS.yaml"
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("NULL", None),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("0", 0),
        ("-12", -12),
        ("+12", 12),
        ("012", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("1.5", 1.5),
        ("-.5", -0.5),
        ("+.5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("1.0e+22", 1e22),
        ("1e-400", 0.0),
        ("1E+3", 1000.0),
        ("-0x1F", "-0x1F"),
        ("0o0", 0),
        ("-0", 0),
        ("-0.0", -0.0),
        ("'\\x1b\\0'", "\\x1b\\0"),
        ('"\\0\\e\\u202e"', "\0\x1b\u202e"),
        ("!!str 12", "12"),
        ("!!int 0x10", 16),
        ("!!int '3'", 3),
        ("!!float 3", 3.0),
        ("!!bool 'true'", True),
        ("!!null ''", None),
        ("!!seq [1]", [1]),
        ("!!map {a: 1}", {"a": 1}),
        ("'12'", "12"),
        ('"null"', "null"),
    ],
)
def test_core_schema_is_read(text: str, value: object) -> None:
    """Scalars have their meaning in the core schema of YAML 1.2."""
    assert repr(load(f"key: {text}\n".encode())) == repr({"key": value})


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "No", "on", "OFF", "y", "n", "nULL", "tRUE", "=", "<<", "1_000"),
        *("00:05:00", "1:30", "2026-01-15", "2026-01-15T09:00:00Z", "0b101", "-0x10"),
        *("190:20:30.15", "2001-12-14t21:59:43.10-05:00", "0x", "1e+", "+.inf0", "0777:1"),
        *("v1.2", "1.2.3", ".", "+", "-.", "1e", "0o8", "0xg", "+0o7", "inf", "NaN"),
    ],
)
def test_other_words_are_text(text: str) -> None:
    """Words that only YAML 1.1 or some parsers read as another type stay text."""
    assert load(f"key: {text}\n".encode()) == {"key": text}


def test_keys_are_their_source_text() -> None:
    """A key is its source text, whatever type the word would have as a value."""
    data = b"1: a\n01: b\ntrue: c\n~: d\n<<: e\n2026-01-15: f\n.inf: g\n'': h\n"
    assert list(load(data)) == ["1", "01", "true", "~", "<<", "2026-01-15", ".inf", ""]


@pytest.mark.parametrize(
    "text", ["a:\tb\n", "a: b\t# a remark\n", "a: b\t\n", "a: [\tb]\n"]
)
def test_tab_between_words_is_a_space_or_refused(text: str, parser: str) -> None:
    """Tabs may separate words; PyYAML without libyaml refuses some of them."""
    refused = suppress(InvalidInputError) if parser == "SafeLoader" else nullcontext()
    with refused:
        assert load(text.encode()) in ({"a": "b"}, {"a": ["b"]})


def test_merge_key_merges_nothing() -> None:
    """The merge key of YAML 1.1 is a key like any other."""
    assert load(b"a:\n  <<: {b: 1}\n  c: 2\n") == {"a": {"<<": {"b": 1}, "c": 2}}


def test_byte_order_mark_and_markers_are_skipped() -> None:
    """A file may start with a byte order mark and contain one marked document."""
    assert load(b"\xef\xbb\xbf---\na: 1\n...\n") == {"a": 1}


@pytest.mark.parametrize(
    ("text", "line", "field", "problem"),
    [
        ("a: 1\nb: .inf\n", 2, "b", ".inf is not a finite number; quote it"),
        ("a: -.INF\n", 1, "a", "-.INF is not a finite number"),
        ("a: [1, .nan]\n", 1, "a[1]", ".nan is not a finite number"),
        ("a: 1e400\n", 1, "a", 'the number "1e400" is too large'),
        ("a: 1e999\n", 1, "a", 'the number "1e999" is too large'),
        ("a: -1e999\n", 1, "a", 'the number "-1e999" is too large'),
        ("a: !!float 1e999\n", 1, "a", "is too large"),
        ("a: 0o1000000000000000000000\n", 1, "a", "does not fit in 64 bits"),
        ("a: 9223372036854775808\n", 1, "a", "does not fit in 64 bits; quote it"),
        ("a: -9223372036854775809\n", 1, "a", "does not fit in 64 bits"),
        ("a: 0xFFFFFFFFFFFFFFFF\n", 1, "a", "does not fit in 64 bits"),
        (f"a: {'9' * 5000}\n", 1, "a", "does not fit in 64 bits"),
        (f"a: {'9' * 5000}.5\n", 1, "a", "is too large"),
        ("a:\n  b: !!binary aGk=\n", 2, "a.b", "the tag "),
        ("a: !!timestamp 2026-01-15\n", 1, "a", "only !!str, !!int, !!float"),
        ("a: !local x\n", 1, "a", 'the tag "!local" is not allowed here'),
        ("a: ! x\n", 1, "a", 'the tag "!" is not allowed here'),
        ("a: !!python/name:os.system x\n", 1, "a", "is not allowed here"),
        ("a: !!python/object:os.system {}\n", 1, "a", "is not allowed here"),
        ("a: !!python/object/apply:os.system [id]\n", 1, "a", "is not allowed here"),
        ("a: !!python/tuple [1]\n", 1, "a", "is not allowed here"),
        ("!!python/object/new:os.system [id]\n", 1, None, "is not allowed here"),
        ("? !!python/name:os.system x\n: 1\n", 1, None, "is not allowed here"),
        ("%TAG !p! tag:yaml.org,2002:python/\n---\na: !p!none x\n", 3, "a", "the tag"),
        ("a: !!set {b}\n", 1, "a", "is not allowed here"),
        ("a: !!map []\n", 1, "a", "is not allowed here"),
        ("!!omap a: 1\n", 1, None, "is not allowed here"),
        ("a: !!int x\n", 1, "a", '"x" does not match its tag !!int'),
        ("a: !!bool yes\n", 1, "a", '"yes" does not match its tag !!bool'),
        ("a: !!float .inf\n", 1, "a", ".inf is not a finite number"),
        ("a: &x 1\nb: *x\n", 1, "a", "(&x) are not allowed; write the value out"),
        ("a: &x [1]\n", 1, "a", "anchors and aliases (&x) are not allowed"),
        ("a: 1\nb:\n  - *x\n", 3, "b[0]", "anchors and aliases (*x) are not allowed"),
        ("? *x\n: 1\n", 1, None, "anchors and aliases (*x) are not allowed"),
        ("a: 1\nb: 2\na: 3\n", 3, None, 'duplicate key "a"'),
        ("p:\n  - {x: 1, 'x': 2}\n", 2, "p[0]", 'duplicate key "x"'),
        ("1: a\n'1': b\n", 2, None, 'duplicate key "1"'),
        ("? [a]\n: 1\n", 1, None, "a key is a collection; keys must be plain words"),
        ("p:\n  {a: 1}: 2\n", 2, "p", "a key is a collection"),
        ("a: 1\n---\nb: 2\n", 2, None, "a second document starts; only one is allowed"),
        ("---\n---\na: 1\n", 2, None, "a second document starts"),
        ("", 1, None, "contains no YAML document; exactly one is required"),
        ("# nothing\n", 1, None, "contains no YAML document"),
        ("---\n...\n", 1, None, "contains no YAML document"),
        ("a: b: c\n", 1, None, "is not YAML: mapping values are not allowed"),
        ("a: 1\nb: [1, 2\n", 3, None, "is not YAML: "),
        ("a:\n\t- 1\n", 2, None, "is not YAML: "),
        ("a:\n\tb: 1\n", 2, None, "is not YAML: "),
        ("a:\n  b: 1\n\tc: 2\n", 3, None, "is not YAML: "),
        ("a: {b: &x {c: &y [1]}}\n", 1, "a.b", "anchors and aliases (&x)"),
        ("&x a: 1\n", 1, None, "anchors and aliases (&x)"),
        ("<<: *x\n", 1, '["<<"]', "anchors and aliases (*x)"),
        ('a: "\\q"\n', 1, None, "is not YAML: "),
        ("a: 'open\n", 2, None, "is not YAML: "),
        ("a: %b\n", 1, None, "is not YAML: "),
        ("%YAML 2.0\n---\na: 1\n", 1, None, "is not YAML: "),
    ],
)
def test_refusal_says_where_and_what(
    text: str, line: int, field: str | None, problem: str
) -> None:
    """A refusal names the line, the field if any, and the allowed values."""
    error = refusal(text.encode())
    assert (error.fields["line"], error.fields["field"]) == (line, field)
    assert problem in error.fields["problem"]


@pytest.mark.parametrize(
    ("data", "line", "problem"),
    [
        (b"a: 1\nb: \xff\n", 2, "byte 8 is not UTF-8; the file must be UTF-8"),
        (b"a: \xed\xa0\x80\n", 1, "byte 3 is not UTF-8"),
        (b"a: 1\nb: \xc0\xaf\n", 2, "byte 8 is not UTF-8"),
        (b"a: \xf4\x90\x80\x80\n", 1, "byte 3 is not UTF-8"),
        (b"a: 1\nb: \xe2\x82", 2, "byte 8 is not UTF-8"),
        ("a: 1\n".encode("utf-16"), 1, "byte 0 is not UTF-8"),
        ("a: 1\n".encode("utf-16-le"), 1, "U+0000 is not allowed here"),
        (b"a: 1\r\nb: \0\r\n", 2, "U+0000 is not allowed here"),
        (b"a: 1\rb: 2\rc: \x1b[2J\n", 3, "U+001B is not allowed here"),
        (b"a: \x7f\n", 1, "U+007F is not allowed here; write it as an escape"),
        ("a: |\n  b\x85c\n".encode(), 2, "U+0085 is not allowed here"),
        ("a: b\u2028c\n".encode(), 1, "U+2028 is not allowed here"),
        ("a: \ufeffb\n".encode(), 1, "U+FEFF is not allowed here"),
        ("a: \uffff\n".encode(), 1, "U+FFFF is not allowed here"),
    ],
)
def test_bytes_are_refused_before_parsing(data: bytes, line: int, problem: str) -> None:
    """Bytes that parsers read differently are refused with their line."""
    error = refusal(data)
    assert error.fields["line"] == line
    assert problem in error.fields["problem"]


@pytest.mark.parametrize("escape", ["\\ud83d", "\\udc00", "\\U00110000"])
def test_escapes_that_are_no_characters_are_refused(escape: str) -> None:
    """An escape cannot produce an invalid character."""
    assert refusal(f'a: "{escape}"\n'.encode()).kind == "invalid"


def test_size_is_bounded() -> None:
    """A file beyond 8 MiB is refused unread."""
    assert "is too large; at most 8388608 bytes" in str(refusal(b" " * (BYTES_MAX + 1)))


def test_number_of_nodes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, values and collections are counted; the error has line and field."""
    monkeypatch.setattr(yaml_reader, "NODES_MAX", 9)
    data = b"a: 1\nb: [1, {c: 2}]\n"
    assert load(data) == {"a": 1, "b": [1, {"c": 2}]}
    error = refusal(data + b"d:\n")
    assert error.fields["line"] == 3
    assert error.fields["problem"] == "contains more than 9 keys and values"


def test_number_of_directives_is_bounded() -> None:
    """The parser compares each directive with all before it, so they are few."""
    head = "".join(f"%TAG !a{number}! tag:yaml.org,2002:\n" for number in range(65))
    few = head[head.index("\n") + 1 :]
    assert load(f"{few}---\na: !a1!str 1\n".encode()) == {"a": "1"}
    error = refusal(f"# more\n{head}---\na: 1\n".encode())
    assert (error.fields["line"], "64 directives" in str(error)) == (66, True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", ["x" * 2**20, "x " * 2**19 + "x", "9" * 2**20 + "x"])
def test_huge_scalar_is_read(text: str, parser: str) -> None:
    """A text of several megabytes is read completely within the time limit."""
    start = time.process_time()
    assert load(f"a: {text}\n".encode()) == {"a": text}
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b"- " * 100_000,
        b"? " * 100_000,
        b"a: " + b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000,
        b"\n".join(b" " * depth + b"a:" for depth in range(2_000)),
    ],
)
def test_depth_is_bounded_before_building(data: bytes) -> None:
    """Nesting beyond 64 levels is refused, however deep it is."""
    assert "\n" not in str(refusal(data))


def test_depth_of_64_is_read() -> None:
    """Exactly 64 levels are allowed; the error for one more names the limit."""
    assert repr(load(b"[" * 64 + b"]" * 64)) == "[" * 64 + "]" * 64
    assert "nested deeper than 64 levels" in str(refusal(b"[" * 65 + b"]" * 65))


def test_alias_bomb_is_refused() -> None:
    """Aliases that would grow to billions of nodes never get to grow."""
    rows = ["a0: &a0 [x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert "write the value out" in str(refusal("\n".join(rows).encode()))


def test_control_characters_are_escaped_in_messages() -> None:
    """A message shows an unusual key escaped and truncated."""
    error = refusal(b'"a\\n\\e[2J": 1\n"a\\n\\e[2J": 2\n')
    assert error.fields["problem"] == r'duplicate key "a\n\u001b[2J"'
    assert len(str(refusal(f"{'k' * 900}: 1\n{'k' * 900}: 2\n".encode()))) < 120


@pytest.mark.parametrize("value", [".inf", "*x", "&x 1", "!x 1", "{? [a]}"])
@pytest.mark.parametrize("key", ["k" * 9000, "ö" * 9000, " k" * 4000])
def test_long_names_are_cut_in_messages(key: str, value: str) -> None:
    """A long key, anchor or tag does not make a long message."""
    value = value.replace("x", "x" * 9000)
    assert len(str(refusal(f"? '{key}'\n: {value}\n".encode()))) < 500
