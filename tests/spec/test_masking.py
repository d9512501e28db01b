"""Secrets are kept out of a log that forgets nothing."""

from pathlib import Path

import pytest

from sprintlog.engine.masking import FORMS, mask, mask_all, mask_texts, masked_spans

SECRETS = {
    "github-token": "ghp_" + "a1" * 18,
    "gitlab-token": "glpat-" + "x" * 20,
    "model-api-key": "sk-" + "Ab3" * 10,
    "aws-key-id": "AKIA" + "A1" * 8,
    "google-api-key": "AIza" + "x" * 35,
    "slack-token": "xoxb-" + "1" * 12,
    "stripe-key": "sk_live_" + "a" * 20,
    "npm-token": "npm_" + "a" * 36,
    "pypi-token": "pypi-" + "a" * 60,
    "json-web-token": "eyJ" + "a" * 12 + "." + "b" * 12 + "." + "c" * 12,
    "bearer-token": "Q" * 24,
    "password-in-address": "bo:secret",
    "private-key": "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
}
AROUND = {"bearer-token": "Bearer {} end", "password-in-address": "http://{}@host end"}


@pytest.mark.parametrize("form", FORMS)
def test_masks_every_form(form: str) -> None:
    """A token of each known form is replaced by the name of its form, and nothing else."""
    text = AROUND.get(form, "use {} end")
    assert mask(text.format(SECRETS[form])) == text.format(f"[masked: {form}]")


@pytest.mark.parametrize(
    "text", ["sk-learn is fine", "see https://a.b/c", "token: the next word", "gh pr view"]
)
def test_leaves_other_text_alone(text: str) -> None:
    """What is not a token beyond doubt stays as it is."""
    assert mask(text) == text


@pytest.mark.parametrize("before", ["key-", "a.b.", "_-", "x" * 20 + "."])
def test_masks_a_token_in_a_word(before: str) -> None:
    """A JSON web token is found wherever a word begins, and what is before it stays."""
    secret = SECRETS["json-web-token"]
    text = f"{before}{secret}"
    assert mask(text) == f"{before}[masked: json-web-token]"
    assert masked_spans(text) == [(len(before), len(text))]


BYTES = 2 * 1024 * 1024
BETWEEN = ["aaaa-", "aaaaaaaaaaaaaaaa.", "A ", "a:b", "=@/", ""]


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("form", FORMS)
def test_long_texts_take_no_longer_for_their_size(form: str, between: str) -> None:
    """Of a text full of beginnings of tokens each is looked at in bounded time.

    A form that went through the rest of the text for each of them would not end.
    """
    for word in FORMS[form][0]:
        piece = f"{word}{between}"
        text = piece * (BYTES // len(piece))
        assert len(mask(text)) > 0


def test_masks_only_free_texts() -> None:
    """Of a command's fields only those that hold free text are masked."""
    secret = SECRETS["github-token"]
    masked = mask_texts({"phase": secret, "summary": secret, "number": 3})
    assert masked == {"phase": secret, "summary": "[masked: github-token]", "number": 3}


def test_masks_inside_values() -> None:
    """Every text in the changes of an observed edit is masked."""
    secret = SECRETS["npm-token"]
    assert mask_all([{"value": {"a": [secret, 1]}}]) == [
        {"value": {"a": ["[masked: npm-token]", 1]}}
    ]


def test_limits_page_names_every_form() -> None:
    """Every form that is masked stands in the reference."""
    page = Path(__file__).parents[2] / "docs" / "reference" / "limits.md"
    assert all(f"| {form} |" in page.read_text() for form in FORMS)
