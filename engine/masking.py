"""Secrets in text from outside: known forms of tokens are masked before they are recorded.

An append-only log forgets nothing, so what must not be in it is kept out. Only forms that
are tokens beyond doubt are known: `masking_forms.toml` has them, each with examples, and
`docs/reference/limits.md` lists them. What stands in the place of one is in ADR 0047.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from . import hashes

if TYPE_CHECKING:
    from .masking_forms import Form

# Of masking_forms.toml, by `python -m tests.docs.generate`: edits here are lost.
# fmt: off
WORDS = {
    "_": (
        "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "gsk_", "hf_",
        "api_org_", "r8_", "lsv2_", "doo_v1_", "dop_v1_", "dor_v1_", "fo1_", "fm1a_",
        "fm1r_", "fm2_", "pscale_tkn_", "pscale_oauth_", "pscale_pw_", "pnu_", "sbp_",
        "sb_secret_", "dckr_pat_", "dckr_oat_", "npm_", "rubygems_", "CLOJARS_", "sgp_",
        "lin_api_", "lin_oauth_", "ntn_", "figd_", "rdme_", "glc_", "glsa_", "sntrys_",
        "sntryu_", "k_live_", "k_test_", "k_prod_", "whsec_", "shpat_", "shpca_",
        "shppa_", "shpss_", "shippo_", "duffel_", "_mmk",
    ),
    "-": (
        "glpat-", "gldt-", "glft-", "glrt-", "glsoat-", "glimt-", "glagent-", "glcbt-",
        "glptt-", "gloas-", "glffct-", "sk-", "xai-", "pplx-", "nvapi-",
        "bedrock-api-key-", "GOCSPX-", "v1.0-", "HRKU-AA", "tk-us-", "pul-", "API-",
        "pypi-AgE", "PMAK-", "NRAK-", "NRII-", "ico-", "xoxa-", "xoxb-", "xoxe-",
        "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-", "xkeysib-", "sq0atp-", "sq0csp-",
        "fio-u-", "p8e-", "A3-", "AGE-SECRET-KEY-1",
    ),
    ".": (
        "ya29.", "dt0c01.", "dt0s01.", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.",
        "dp.scim.", "dp.audit.", ".atlasv1.", "hvs.", "hvb.", "hvr.",
        "hooks.slack.com/", ".webhook.office.com/", "SG.",
    ),
    ":": (
        ":AA", "://",
    ),
    "~": (
        "Q~", "sha256~",
    ),
    " ": (
        "earer ", "PRIVATE KEY",
    ),
    "": (
        "GR1348941", "T3BlbkFJ", "AKIA", "ASIA", "ABIA", "ACCA", "ABSK", "AccountKey=",
        "AIza", "LTAI", "dapi", "AKCp", "cmVmd", "ATATT3", "ATCTT3", "EAAA", "EZAK",
        "EZTK", "FLWSECK", "EAAM", "EAAC", "AQVN", "eyJ",
    ),
}
WORDS_BETWEEN = ("earer ", "://", "PRIVATE KEY")
# fmt: on
"""Words of which a text with a secret holds one, by a character that is in them.

They stand here, beside what looks for them: almost no text holds one, and then neither the
forms are imported nor is a pattern compiled.
"""

RUN_CHARS_MIN = 20
RUN_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=~:@%"
"""So many of these in a row have all secrets but those in words; no other is in one."""

_OTHER, _IN_RUN = b" ", b"a"
_KINDS = bytes((_IN_RUN if chr(n) in RUN_CHARS else _OTHER)[0] for n in range(256))
_RUN = _IN_RUN * RUN_CHARS_MIN

ADDRESS = "://"
"""What the only form holds that is shorter than a run."""

IN_RUN, AFTER_WORD, ANYWHERE = "in-run", "after-word", "anywhere"
"""Where a form is looked for: in runs with a word of it, behind each word, everywhere."""

DIGEST_CHARS = 8
"""So much of a digest in hexadecimal tells secrets apart."""


def mask(text: str) -> str:
    """Return text with every known secret replaced by `[masked: its form, a digest]`."""
    if len(text) < RUN_CHARS_MIN and ADDRESS not in text:
        return text
    for form in _forms_in(text):
        text = _masked(text, form)
    return text


def secrets_in(text: str) -> list[tuple[str, int, int]]:
    """Return the form of each secret of a text, and where it begins and ends."""
    return [
        (form[0], _start(found), found.end())
        for form in _forms_in(text)
        for found in _found(text, form)
    ]


def masked_spans(text: str) -> list[tuple[int, int]]:
    """Return where the secrets of a text begin and end."""
    return [
        (_start(found), found.end())
        for form in _forms_in(text)
        for found in _found(text, form)
    ]


def _forms_in(text: str) -> "Sequence[Form]":
    """Return the forms of which a text holds a word, in order."""
    looked_at = "\n".join(
        [
            *(text[start:end] for start, end in _runs(text)),
            *(word for word in WORDS_BETWEEN if word in text),
        ]
    )
    if not looked_at or not (met := _words_in(looked_at)):
        return ()
    # Imported here: almost never.
    from .masking_forms import FORMS

    return [
        form
        for form in FORMS
        if any(word in looked_at for word in form[1] if any(one in word for one in met))
    ]


def _words_in(text: str) -> list[str]:
    return [
        word
        for character, words in WORDS.items()
        if character in text
        for word in words
        if word in text
    ]


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield where characters of secrets stand, long enough to be one."""
    # Bytes are searched in a fraction of the time; each character becomes one.
    kinds = text.encode("ascii", "replace").translate(_KINDS)
    start = kinds.find(_RUN)
    while start >= 0:
        end = kinds.find(_OTHER, start)
        end = len(kinds) if end < 0 else end
        yield start, end
        start = kinds.find(_RUN, end)


def _found(text: str, form: "Form") -> Iterator[re.Match[str]]:
    """Yield the secrets of one form; its pattern, when met, is compiled."""
    _, words, pattern, _, place = form
    compiled = _compiled(pattern)
    if place == ANYWHERE:
        yield from compiled.finditer(text)
    elif place == AFTER_WORD:
        for word in words:
            at = text.find(word)
            while at >= 0:
                at += len(word)
                if found := compiled.match(text, at):
                    yield found
                at = text.find(word, at)
    else:
        for start, end in _runs(text):
            if any(text.find(word, start, end) >= 0 for word in words):
                yield from compiled.finditer(text, start, end)


def _masked(text: str, form: "Form") -> str:
    """Return text without the secrets of one form."""
    instead = _replacement(form[0], is_chosen=form[3])
    pieces, last = [], 0
    for found in _found(text, form):
        pieces += [text[last : found.start()], instead(found)]
        last = found.end()
    return "".join([*pieces, text[last:]]) if pieces else text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.DOTALL)


def _replacement(form: str, *, is_chosen: bool) -> Callable[[re.Match[str]], str]:
    """Return what gives what stands in the place of a secret.

    No digest of one that a person may have chosen: it could be guessed by it.
    """

    def instead(found: re.Match[str]) -> str:
        start = _start(found)
        before, secret = (
            found.string[found.start() : start],
            found.string[start : found.end()],
        )
        if is_chosen:
            return f"{before}[masked: {form}]"
        digest = hashes.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{before}[masked: {form} {digest[:DIGEST_CHARS]}]"

    return instead


def _start(found: re.Match[str]) -> int:
    """Return where a secret begins: after what its form has to begin with."""
    return found.end("before") if found.re.groups else found.start()


def cut(text: str, length: int) -> str:
    """Return a text's beginning; a secret that the cut would split is left out whole."""
    if len(text) <= length:
        return text
    for first, last in sorted(masked_spans(text), reverse=True):
        length = first if first < length < last else length
    return text[:length]


def mask_texts(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event or command with every text in them masked."""
    return {name: mask_all(value) for name, value in fields.items()}


def mask_all(value: Any) -> Any:
    """Return a JSON value, or a part of an event, with every text in it masked."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [mask_all(item) for item in value]
    if isinstance(value, dict):
        return {mask_all(key): mask_all(item) for key, item in value.items()}
    if isinstance(value, tuple):
        items = map(mask_all, value)
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, Struct):
        return replace(value, **mask_texts(asdict(value)))
    return value
