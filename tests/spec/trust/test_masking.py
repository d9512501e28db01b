"""Secrets are not stored in a log that forgets nothing."""

from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from time import process_time

import pytest

from sprintlog.engine.masking import (
    AFTER_WORD,
    Form,
    cut,
    forms,
    mask,
    mask_all,
    masked_spans,
    secrets_in,
)
from sprintlog.engine.sprint.events import Place

GITHUB = "ghp_" + "a1" * 18
GITHUB_MASKED = "[masked: github-token 3e74e065]"
WEB = "eyJ" + "a" * 12 + "." + "b" * 12 + "." + "c" * 12


def test_equal_secrets_have_equal_digests() -> None:
    """Findings of the same secret have equal digests, those of different ones do not."""
    other = "ghp_" + "b2" * 18
    first, second, third = mask(f"{GITHUB} {GITHUB}, {other}").replace(",", "").split(" [")
    assert f"[{second}" == first
    assert third != second


def test_a_digest_is_that_of_the_secret() -> None:
    """A known secret can be identified by its digest with any sha256 program."""
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
    """Text that is not certainly a token is unchanged."""
    assert mask(text) == text


@pytest.mark.parametrize("before", ["key-", "a.b.", "_-", "x" * 20 + "."])
def test_masks_a_token_in_a_word(before: str) -> None:
    """A JSON web token is found at any word boundary, and the text before it stays."""
    text = f"{before}{WEB}"
    assert mask(text).startswith(f"{before}[masked: json-web-token ")
    assert masked_spans(text) == [(len(before), len(text))]


CHARS = 16 * 1024
TIMES = 4
BETWEEN = ["aaaa-", "aaaaaaaaaaaaaaaa.", "A1", "a:b", "=@/", " login a", '="a', ""]
FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


SEARCHED = {"azure-client-secret", "terraform-token", "telegram-token", "maxmind-key"} | {
    *(
        "model-api-key",
        "json-web-token",
        "bearer-token",
        "password-in-address",
        "private-key",
    ),
    *(form[0] for form in forms() if form[4] == AFTER_WORD),
}
"""Forms that do not simply begin with a prefix; of the others the shape is checked."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "form", [f for f in forms() if f[0] in SEARCHED], ids=itemgetter(0)
)
def test_time_is_in_proportion_to_the_text(form: Form) -> None:
    """In a text full of token beginnings, each is examined in bounded time.

    A pattern that searched the rest of the text for each of them would take 16 times as
    long for 4 times the text.
    """
    for between in (*BETWEEN, form[1][-1]):
        piece = f"{form[1][0]}{between}"
        text = piece * (CHARS // len(piece))
        assert seconds(text * TIMES) < 2.5 * TIMES * seconds(text) + 0.005


def seconds(text: str) -> float:
    """Return the CPU time of masking: the least of three."""
    taken = []
    for _ in range(3):
        begin = process_time()
        mask(text)
        taken.append(process_time() - begin)
    return min(taken)


def test_real_transcripts_hold_no_secret() -> None:
    """Nothing is masked in the texts of real agents and tools among the fixtures."""
    lines, found = 0, []
    for folder in ("agents", "documents", "hooks", "journals", "loops", "reports"):
        for path in sorted((FIXTURES / folder).rglob("*")):
            if path.is_file():
                text = path.read_text("utf-8", "replace")
                lines += text.count("\n")
                found += [(path.name, *secret) for secret in secrets_in(text)]
    assert found == []
    assert lines > 2_500


def test_masks_every_text_of_a_command() -> None:
    """A secret may be in any field; values other than text are unchanged."""
    masked = mask_all({"phase": GITHUB, "summary": GITHUB, "number": 3})
    assert masked == {"phase": GITHUB_MASKED, "summary": GITHUB_MASKED, "number": 3}


@pytest.mark.parametrize("length", range(8, 60))
def test_no_cut_goes_through_a_secret(length: int) -> None:
    """A truncated text contains a secret completely or not at all, within its limit."""
    text = f"use the {GITHUB} now, please"
    shown = cut(text, length)
    assert len(shown) <= length
    assert text.startswith(shown)
    assert GITHUB in shown or "ghp_" not in shown


@pytest.mark.parametrize("key", ["password", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY"])
def test_a_value_is_masked_for_its_key(key: str) -> None:
    """A secret identified only by its name is masked if the name is a mapping's key."""
    value = "aZ19/" * 8
    assert mask_all({"env": {key: value, "user": "bo"}})["env"] != {
        key: value,
        "user": "bo",
    }
    assert mask_all({"env": {key: "$NAME", "user": value}}) == {
        "env": {key: "$NAME", "user": value}
    }


def test_every_part_keeps_its_kind() -> None:
    """Structs, named tuples and tuples keep their types."""
    place = Place(GITHUB, "w")
    assert mask_all((place, [GITHUB], {GITHUB: 1}, None)) == (
        *(Place(GITHUB_MASKED, "w"), [GITHUB_MASKED], {GITHUB_MASKED: 1}, None),
    )


def test_masks_inside_values() -> None:
    """Every text in the changes of an observed edit is masked."""
    masked = mask_all([{"value": {"a": [GITHUB, 1]}}])
    assert masked == [{"value": {"a": [GITHUB_MASKED, 1]}}]
