"""Secrets are kept out of a log that forgets nothing."""

from hashlib import sha256
from operator import itemgetter

import pytest

from sprintlog.engine.masking import cut, mask, mask_all, mask_texts, masked_spans
from sprintlog.engine.masking_forms import FORMS
from sprintlog.engine.sprint.events import Place

GITHUB = "ghp_" + "a1" * 18
GITHUB_MASKED = "[masked: github-token 3e74e065]"
WEB = "eyJ" + "a" * 12 + "." + "b" * 12 + "." + "c" * 12


def test_equal_secrets_have_equal_digests() -> None:
    """Two findings of one secret are known as that, and those of two are told apart."""
    other = "ghp_" + "b2" * 18
    first, second, third = mask(f"{GITHUB} {GITHUB}, {other}").replace(",", "").split(" [")
    assert f"[{second}" == first
    assert third != second


def test_a_digest_is_that_of_the_secret() -> None:
    """Who has a secret finds its digest with any sha256, so can say which one it was."""
    digest = sha256(GITHUB.encode()).hexdigest()[:8]
    assert mask(f"use {GITHUB} end") == f"use [masked: github-token {digest}] end"
    assert f"[masked: github-token {digest}]" == GITHUB_MASKED


def test_a_password_has_no_digest() -> None:
    """One that a person chose could be guessed by its digest."""
    assert mask("http://bo:secret@host") == "http://[masked: password-in-address]@host"


def test_a_token_of_any_characters_has_a_digest() -> None:
    """Text that is not all UTF-8 is masked like any other."""
    key = f"-----BEGIN PRIVATE KEY-----\n{'Ab3+' * 16}\udcff\ud800"
    assert mask(key).startswith("[masked: private-key ")


@pytest.mark.parametrize(
    "text", ["sk-learn is fine", "see https://a.b/c", "token: the next word", "gh pr view"]
)
def test_leaves_other_text_alone(text: str) -> None:
    """What is not a token beyond doubt stays as it is."""
    assert mask(text) == text


@pytest.mark.parametrize("before", ["key-", "a.b.", "_-", "x" * 20 + "."])
def test_masks_a_token_in_a_word(before: str) -> None:
    """A JSON web token is found wherever a word begins, and what is before it stays."""
    text = f"{before}{WEB}"
    assert mask(text).startswith(f"{before}[masked: json-web-token ")
    assert masked_spans(text) == [(len(before), len(text))]


CHARS = 512 * 1024
BETWEEN = ["aaaa-", "aaaaaaaaaaaaaaaa.", "A1", "a:b", "=@/", ""]


SEARCHED = {"azure-client-secret", "terraform-token", "telegram-token", "maxmind-key"} | {
    *(
        "model-api-key",
        "json-web-token",
        "bearer-token",
        "password-in-address",
        "private-key",
    )
}
"""Forms that do not simply begin with a prefix; of the others the shape is checked."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", [f for f in FORMS if f[0] in SEARCHED], ids=itemgetter(0))
def test_long_texts_take_no_longer_for_their_size(
    form: tuple[str, tuple[str, ...], str, bool],
) -> None:
    """Of a text full of beginnings of tokens each is looked at in bounded time.

    A form that went through the rest of the text for each of them would not end.
    """
    for between in BETWEEN:
        piece = f"{form[1][0]}{between}"
        assert mask(piece * (CHARS // len(piece)))


def test_masks_every_text_of_a_command() -> None:
    """A secret may stand in any field; what is no text stays as it is."""
    masked = mask_texts({"phase": GITHUB, "summary": GITHUB, "number": 3})
    assert masked == {"phase": GITHUB_MASKED, "summary": GITHUB_MASKED, "number": 3}


@pytest.mark.parametrize("length", range(8, 60))
def test_no_cut_goes_through_a_secret(length: int) -> None:
    """A text that is cut holds a secret whole or not at all, and is never too long."""
    text = f"use the {GITHUB} now, please, and tell nobody"
    shown = cut(text, length)
    assert len(shown) <= length
    assert text.startswith(shown)
    assert GITHUB in shown or "ghp_" not in shown


def test_every_part_keeps_its_kind() -> None:
    """Structs, named tuples and tuples come out as what they went in."""
    place = Place(GITHUB, "w")
    assert mask_all((place, [GITHUB], {GITHUB: 1}, None)) == (
        *(Place(GITHUB_MASKED, "w"), [GITHUB_MASKED], {GITHUB_MASKED: 1}, None),
    )


def test_masks_inside_values() -> None:
    """Every text in the changes of an observed edit is masked."""
    masked = mask_all([{"value": {"a": [GITHUB, 1]}}])
    assert masked == [{"value": {"a": [GITHUB_MASKED, 1]}}]
