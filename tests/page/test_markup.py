"""Any text remains text on the page."""

import pytest

from sprintlog.projections.page.markup import Markup, joined, tag, text

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><b>",
    "&lt;already&gt;",
    "javascript:alert(1)",
)


@pytest.mark.parametrize("said", HOSTILE)
def test_markup_in_a_text_is_text(said: str) -> None:
    """No text begins or ends an element, in an element or in an attribute."""
    made = tag("p", said, title=said)
    assert made.count("<") == 2
    assert made.count('"') == 2


def test_what_acts_becomes_visible() -> None:
    """Control and direction characters are shown as escapes."""
    assert text("a\x1b[31m\u202eb\x00") == r"a\x1b[31m\u202eb\x00"


def test_unknown_is_a_dash() -> None:
    """An unknown value is never 0, and 0 is 0."""
    assert (text(None), text(""), text(0)) == ("\N{EN DASH}", "\N{EN DASH}", "0")


def test_a_long_word_is_cut() -> None:
    """A word of a megabyte takes no more space than a long word."""
    assert len(text("x" * 1_000_000)) == 600


def test_only_markup_is_taken_as_it_is() -> None:
    """Elements stay elements, next to a text that looks like one."""
    assert joined(Markup("<b>a</b>"), "<b>") == "<b>a</b>&lt;b&gt;"


def test_an_attribute_that_is_unknown_is_left_out() -> None:
    """None and False are no attributes, True is one without a value."""
    made = tag("td", class_=None, hidden=False, data_open=True, data_n=3)
    assert made == '<td data-open data-n="3"></td>'
