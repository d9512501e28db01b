"""The fast search finds the same secrets as all patterns one after another."""

import re
from functools import cache

from hypothesis import example, given
from hypothesis import strategies as st

from sprintlog.engine.masking import ESCAPE, RUN_CHARS, forms, mask, masked_spans

from ...docs.reference.masking import FORMS as DATA

TOKENS = [example for form in DATA for example in form["tokens"] + form["near_misses"]]
WORDS = [word for form in DATA for word in form["words"]]

# Escape sequences are removed before the search: tests/spec covers them.
texts = st.text(st.characters(codec="utf-8", exclude_characters=ESCAPE), max_size=40)
texts |= st.text(RUN_CHARS, max_size=60)
tokens = st.sampled_from(TOKENS).map(
    lambda text: re.sub(r"\{([^{}*]+)\*(\d+)\}", lambda m: m[1] * int(m[2]), text)
)
pieces = st.one_of(
    texts,
    tokens,
    tokens.map(lambda text: text.replace("#", "")),
    st.sampled_from(WORDS),
    st.sampled_from([" ", "\n", "\t", "é", "\ud800", "🚀", "://", "@", "Bearer ", "-----"]),
    st.sampled_from(["x", "-", "=", ":", "."]).map(lambda c: c * 30),
)
said = st.lists(pieces, max_size=12).map("".join)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern without optimizations."""
    return re.compile(pattern, re.ASCII | re.DOTALL)


def slowly_masked(text: str) -> str:
    """Return a text after every pattern was applied to all of it."""
    for name, _, pattern, _, _ in forms():
        pieces, last = [], 0
        for found in compiled(pattern).finditer(text):
            start = found.end("before") if found.re.groups else found.start()
            pieces += [text[last:start], f"[{name}]"]
            last = found.end()
        text = "".join([*pieces, text[last:]])
    return text


def bare(text: str) -> str:
    """Return a masked text without the digests."""
    return re.sub(r"\[masked: ([a-z-]+)(?: [0-9a-f]{8})?\]", r"[\1]", text)


@example("dop_v1_" + "a1" * 32 + "sha256~" + "0" * 43)
@given(said)
def test_what_is_looked_for_quickly_is_found(text: str) -> None:
    """No secret is missed because of its position or the order of the search."""
    assert bare(mask(text)) == slowly_masked(text)


@given(said)
def test_spans_are_those_of_the_patterns(text: str) -> None:
    """Places of secrets refer to the original text."""
    found = [
        (m.end("before") if m.re.groups else m.start(), m.end())
        for _, _, pattern, _, _ in forms()
        for m in compiled(pattern).finditer(text)
    ]
    assert masked_spans(text) == found
