"""Laws of text that is not UTF-8: it is stored reversibly, and is readable."""

from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from sprintlog.engine.log.codec import encode
from sprintlog.engine.readable import as_json, originals, readable
from sprintlog.engine.sprint.events import AgentRan

TYPED = r"\xe9 \\xe9 \ud83d \u005cxe9"
"""Typed text that looks like our escapes."""
texts = st.one_of(
    st.text(st.characters(categories=None), max_size=30),
    st.text(st.sampled_from([*"\\xude9c0058", "\udce9", "\udc5c", "\ud83d", "\ude00"])),
    st.binary(max_size=40).map(lambda content: content.decode(errors="surrogateescape")),
)
values = st.recursive(
    texts,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(texts, part, max_size=3),
)


@example(TYPED)
@example(f"{TYPED}\udce9{TYPED}")
@example({"\udce9": ["\ud83d\ude00", "\\\udce9"]})
@given(values)
def test_what_is_stored_can_be_recovered(value: Any) -> None:
    """Every text, even of halves of surrogate pairs, is recovered from its JSON."""
    assert originals(as_json(value)) == value


@example(f"{TYPED}\udce9")
@given(texts)
def test_every_reader_of_json_gets_readable_text(text: str) -> None:
    """A parser that knows nothing of the escapes reads the same text as a person."""
    assert msgspec.json.decode(as_json(text)) == readable(text)
    assert readable(text).encode().decode() == readable(text)


@example(f"{TYPED}\udce9")
@example(TYPED)
@given(texts)
def test_events_store_any_text(text: str) -> None:
    """A payload recovers its event's text, and UTF-8 is stored unchanged."""
    event = AgentRan("p", status=text)
    payload = encode(event)
    assert originals(payload)["status"] == text
    if readable(text) == text:
        assert payload == msgspec.json.encode(event)
