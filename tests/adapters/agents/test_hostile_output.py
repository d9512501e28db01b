"""Decoding ends for any output of an agent, with an answer that can be recorded."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sprintlog.engine.adapters.agents.output import read_answer
from tests.lengths import examples

from .test_decoding import FINISHED, content

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
MESSAGES = [
    json.loads(line)
    for name in FINISHED
    if name.endswith(".jsonl")
    for line in content(name).splitlines()
]


def places(found: Any, *path: Any) -> list[tuple[Any, ...]]:
    """Return the positions of all values in a message."""
    keys: Any = ()
    if isinstance(found, dict):
        keys = found
    elif isinstance(found, list):
        keys = range(len(found))
    inner = [place for key in keys for place in places(found[key], *path, key)]
    return [path, *inner] if path else inner


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_any_value_anywhere(data: st.DataObject) -> None:
    """A message in which any value is replaced is either decoded or ignored."""
    message = json.loads(json.dumps(data.draw(st.sampled_from(MESSAGES))))
    *path, last = data.draw(st.sampled_from(places(message)))
    place = message
    for key in path:
        place = place[key]
    place[last] = data.draw(VALUES)
    answer = read_answer(json.dumps(message).encode())
    (answer.text + (answer.error or "")).encode()


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=200), st.text(max_size=50))
def test_any_bytes(printed: bytes, told: str) -> None:
    """Arbitrary bytes are at least read as text."""
    read_answer(printed, told=told).text.encode()


def test_deep_and_long() -> None:
    """Unlimited nesting and numbers without end are skipped."""
    for text in (
        '{"type":' * 10**5,
        "[" * 10**6,
        '{"type":"result","usage":' + "9" * 10**6,
    ):
        answer = read_answer(text.encode())
        assert answer.usage is None
