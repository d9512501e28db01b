"""The forms of secrets are data: their matches, and texts that must not match."""

import json
import re
from re import _parser  # type: ignore[attr-defined]
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.log.codec import encode_masked
from sprintlog.engine.masking import (
    IN_RUN,
    RUN_CHARS,
    RUN_CHARS_MIN,
    SHORT,
    STEMS,
    WORDS,
    forms,
    mask,
    mask_all,
    masked_spans,
)
from sprintlog.engine.readable import originals
from sprintlog.engine.sprint.events import NoteAdded

from ...docs.reference import masking
from ...docs.reference.masking import FORMS

NAMES = [form["name"] for form in FORMS]
LONG_WORDS = 1_000
DRAWN_CHARS_MIN = 16
"""So many characters that a machine has drawn cannot be guessed by 32 bits of a digest."""
UNBOUNDED = re.compile(r"[*+]|\{\d+,\}")
AFTER_UNBOUNDED = re.compile(r"\+?(?:=\*|=\{0,\d\}|\(\?:[^()*+]*\)\?|\{0,\d\})*")
KEYS = {"name", "words", "pattern", "looks_like", "is_chosen", "is_in_words"} | {
    *("is_named", "source", "tokens", "near_misses")
}
SEARCHED = {"json-web-token", "bearer-token", "password-in-address", "private-key"}
"""Forms without a fixed prefix; the growth of each is tried."""


def expanded(text: str) -> str:
    """Return an expanded text of the data: `{aB*3}` means aBaBaB."""
    return re.sub(r"\{([^{}*]+)\*(\d+)\}", lambda m: m[1] * int(m[2]), text)


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_every_form_has_a_token_and_a_near_miss(form: dict[str, Any]) -> None:
    """Every form has both, and names its source."""
    assert form["tokens"]
    assert form["near_misses"]
    assert form["source"] in ("gitleaks", "detect-secrets", "vendor")
    assert set(form) <= KEYS


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_a_token_is_masked_whole(form: dict[str, Any]) -> None:
    """In each example, only the token is replaced by the name of its form."""
    for example in form["tokens"]:
        before, token, after = expanded(example).split("#")
        for left, right in [("", ""), ("use ", " end"), ("(", ")"), ("x=", "\n")]:
            text = f"{left}{before}{token}{after}{right}"
            shown = mask(text)
            assert token not in shown
            assert shown.startswith(f"{left}{before}[masked: {form['name']}")
            assert shown.endswith(f"]{after}{right}")
            assert shown.count("[masked: ") == 1
            span = len(left + before), len(left + before + token)
            assert span in masked_spans(text)
            assert mask(shown) == shown
            long = "word " * LONG_WORDS
            assert mask(long + text) == long + shown


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_escape_sequences_hide_no_token(form: dict[str, Any]) -> None:
    """A token is found if colours or links of a terminal are before, after or inside it."""
    before, token, after = expanded(form["tokens"][0]).split("#")
    for place in (0, 1, len(token) // 2, len(token)):
        for escape in ("\x1b[1;31m", "\x1b]8;;http://x\x07", "\x1bM"):
            split = f"{token[:place]}{escape}{token[place:]}"
            text = f"{before}{split}{after}"
            assert token[place:] not in mask(text) or not token[place:]
            assert token[:place] not in mask(text).replace(before, "", 1) or place < 8
            spans = masked_spans(text)
            start, end = len(before), len(before) + len(split)
            inner = start + (len(escape) if place == 0 else 0)
            assert any(first in (start, inner) for first, _ in spans)
            assert any(last in (end, end - len(escape)) for _, last in spans)


def test_no_word_has_a_character_that_json_escapes() -> None:
    """A payload is searched as JSON, in which each keyword must be unchanged."""
    words = [word for form in FORMS for word in form["words"]]
    for word in (*words, *SHORT, *STEMS, RUN_CHARS):
        assert json.dumps(word)[1:-1] == word


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_a_payload_is_masked_as_its_texts_are(form: dict[str, Any]) -> None:
    """The fast search of a payload misses no secret, whatever JSON escapes."""
    for example in form["tokens"]:
        text = "\n".join(expanded(example).split("#"))
        for note in (text, text.replace("\n", ""), f'\t"{text}"\\\x00é\ud800'):
            payload = encode_masked(NoteAdded(note))
            assert originals(payload) == {"text": mask(note)}


@given(st.binary(min_size=20, max_size=64))
def test_digests_and_ids_stay_exact(content: bytes) -> None:
    """Digests, UUIDs and their prefixes, computed by the log, match no form."""
    digits = content.hex()
    for text in (digits, digits[:40], str(UUID(digits[:32])), f"sha256:{digits}"):
        assert mask(text) == text
        assert mask_all({"tree": text, "input_sha256": text})["tree"] == text


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_a_near_miss_is_left_alone(form: dict[str, Any]) -> None:
    """Text that only resembles the form's token is unchanged by all forms."""
    for text in map(expanded, form["near_misses"]):
        assert mask(f"see {text}, so") == f"see {text}, so"


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_every_alternative_of_a_form_has_a_token(form: dict[str, Any]) -> None:
    """Each keyword occurs in an example of its form, or resembles one that does."""
    examples = "".join(map(expanded, form["tokens"]))
    assert any(word in examples for word in form["words"])
    known = [word for words in WORDS.values() for word in words]
    if masking.place_of(form) != IN_RUN:
        known = [*SHORT, *STEMS]
    assert all(any(one in word for one in known) for word in form["words"])


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_a_secret_is_in_a_run_or_in_words(form: dict[str, Any]) -> None:
    """Each match of a pattern consists of complete runs of characters or of words."""
    if masking.place_of(form) != IN_RUN:
        return
    parsed = _parser.parse(form["pattern"], re.ASCII | re.DOTALL)
    assert parsed.getwidth()[0] >= RUN_CHARS_MIN
    assert taken(parsed) <= {*RUN_CHARS}


def taken(parsed: Any) -> set[str]:
    """Return the characters that a parsed pattern may match; raise if unlimited."""
    found: set[str] = set()
    for operation, argument in parsed:
        match str(operation):
            case "LITERAL":
                found.add(chr(argument))
            case "IN":
                found |= set().union(*map(in_class, argument))
            case "BRANCH":
                found |= set().union(*map(taken, argument[1]))
            case "SUBPATTERN":
                found |= taken(argument[-1])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                found |= taken(argument[2])
            case "AT" | "ASSERT" | "ASSERT_NOT":
                pass
            case other:
                raise AssertionError(other)
    return found


def in_class(part: tuple[Any, Any]) -> set[str]:
    """Return the characters that a part of a class matches."""
    match str(part[0]), part[1]:
        case "LITERAL", code:
            return {chr(code)}
        case "RANGE", (first, last):
            return {chr(code) for code in range(first, last + 1)}
        case "CATEGORY", category:
            pattern = {"CATEGORY_WORD": r"\w", "CATEGORY_DIGIT": r"\d"}[str(category)]
            return {chr(c) for c in range(128) if re.match(pattern, chr(c), re.ASCII)}
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_a_digest_gives_nothing_away(form: dict[str, Any]) -> None:
    """Only secrets too long to guess have a digest in the log."""
    for example in form["tokens"]:
        _, token, _ = expanded(example).split("#")
        digest = re.fullmatch(
            rf"\[masked: {form['name']}( [0-9a-f]{{8}})?\]", mask_of(example)
        )
        assert digest is not None
        assert (digest[1] is None) == form.get("is_chosen", False)
        prefix = max((len(word) for word in form["words"] if word in token), default=0)
        assert digest[1] is None or len(token) - prefix >= DRAWN_CHARS_MIN


def mask_of(example: str) -> str:
    """Return the replacement of an example's token."""
    before, token, after = expanded(example).split("#")
    shown = mask(before + token + after)
    return shown[len(before) : len(shown) - len(after)]


@pytest.mark.parametrize("form", [f for f in FORMS if f["name"] not in SEARCHED],
                         ids=[name for name in NAMES if name not in SEARCHED])  # fmt: skip
def test_what_is_unbounded_stands_at_the_end(form: dict[str, Any]) -> None:
    """A pattern takes bounded time everywhere: nothing required follows a repetition."""
    pattern = re.sub(r"\[(?:\\.|[^\]\\])+\]|\\.", "c", form["pattern"])
    for found in UNBOUNDED.finditer(pattern):
        alternatives = re.split(r"[|)](?![?])", pattern[found.end() :])
        assert AFTER_UNBOUNDED.fullmatch(alternatives[0].rstrip("c")), found[0]


def test_names_are_there_once() -> None:
    """Each name belongs to one form, and the module has the data's forms in order."""
    assert len(set(NAMES)) == len(NAMES)
    assert [form.name for form in forms()] == NAMES


@pytest.mark.parametrize("module", ["masking.py", "masking_forms.json"])
def test_modules_follow_the_data(module: str) -> None:
    """The imported module matches masking_forms.toml: `python -m tests.docs.generate`."""
    generated = {
        "masking.py": masking.masking_module,
        "masking_forms.json": masking.forms_file,
    }
    assert (masking.ENGINE / module).read_text(encoding="utf-8") == generated[module]()
