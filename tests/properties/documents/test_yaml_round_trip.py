"""Written data is read back unchanged."""

import re
from collections.abc import Sequence
from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from sprintlog.engine.errors import InvalidInputError
from sprintlog.projections.state_files.yaml.reader import load
from sprintlog.projections.state_files.yaml.writer import dump, dump_entry, dump_items

HOSTILE = [
    *" \n\t\r:#-?,[]{}&*!|>'\"%@`=~_.+<0123456789eEoxbynTZ\\/",
    *"\0\a\x1b\x7f\x85\xa0\u2028\u2029\ufeff\ufffe\u200bé日😀",
    *(": ", " #", "\n ", " \n", "\n\n", "null", "true", "yes", "2026-01-15", "0x", "1e"),
]
texts = st.one_of(
    st.lists(st.sampled_from(HOSTILE), max_size=12).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.text("0123456789+-._eExob:TZ ", max_size=10),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)
    ),
    max_leaves=12,
)
documents = st.dictionaries(texts, values, max_size=5)


class CoreLoader(yaml.CSafeLoader):
    """PyYAML's loader with the types of the YAML 1.2 core schema only."""


def resolve(tag: str, pattern: str, first: Sequence[str]) -> None:
    """Teach the loader one type of the core schema."""
    CoreLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{tag}", re.compile(f"(?:{pattern})$"), list(first)
    )


CoreLoader.yaml_implicit_resolvers = {}
resolve("null", "~|null|Null|NULL|", ["~", "n", "N", ""])
resolve("bool", "true|True|TRUE|false|False|FALSE", "tTfF")
resolve("int", "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789")
resolve(
    "float",
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    "-+.0123456789",
)


@given(documents)
@example({"a": " \n", "b": "\n ", "c": "  x\n ", "d": -0.0, "e": "+.5"})
def test_reading_undoes_writing(document: dict[str, Any]) -> None:
    """A document is read back with its values, their types and the order of its keys."""
    assert repr(load(dump(document).encode())) == repr(document)


@given(documents)
def test_pyyaml_reads_the_same(document: dict[str, Any]) -> None:
    """PyYAML with the core schema reads our text like we do."""
    read = yaml.load(dump(document), Loader=CoreLoader)
    assert repr(read) == repr(document)


@given(documents)
def test_pyyaml_with_its_own_schema_reads_the_same(document: dict[str, Any]) -> None:
    """PyYAML with its default YAML 1.1 schema reads the same data."""
    assert repr(yaml.load(dump(document), Loader=yaml.CSafeLoader)) == repr(document)


@given(documents)
def test_parts_join_to_the_whole(document: dict[str, Any]) -> None:
    """Separately written entries and items are the lines of the complete document."""
    entries = [dump_entry(key, value) for key, value in document.items()]
    assert ("".join(entries) or "{}\n") == dump(document)
    items = [dump_items([value]).decode() for value in [document, *document.values()]]
    whole = dump({"phases": [document, *document.values()]})
    assert "phases:\n" + "".join(items) == whole


@given(st.binary(max_size=60) | texts.map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Reading arbitrary bytes results in data, or in one refusal without line breaks."""
    said = ""
    try:
        load(data, file="PROGRESS.yaml")
    except InvalidInputError as error:
        said = str(error)
    assert said == "" or said.isprintable()
