"""Masking of secrets: tokens in known formats are replaced before text is recorded.

An append-only log deletes nothing, so secrets must not be recorded. Only formats that are
unmistakably tokens are included: `masking_forms.toml` defines them, with examples, and
`docs/reference/limits.md` lists them. ADR 0047 describes the replacements.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from msgspec import Struct, json
from msgspec.structs import asdict, replace

from . import hashes

FILE = "masking_forms.json"

# Of masking_forms.toml, by `python -m tests.docs.generate`: edits here are lost.
# fmt: off
WORDS = {
    "~": ("Q~", "sha256~",),
    ":": (":AA",),
    "Q": ("AQVN", "IQoJb3JpZ2lu", "AQoDYXdz",),
    "X": ("GOCSPX-", "FwoGZXIvYXdz",),
    "Z": ("EZAK", "EZTK",),
    "J": ("T3BlbkFJ", "CLOJARS_", "eyJ",),
    "K": ("AKIA", "AccountKey=", "HRKU-AA", "AKCp", "PMAK-", "NRAK-", "FLWSECK",
        "AGE-SECRET-KEY-1", "SK",),
    "V": ("cmVmd",),
    "G": ("GR1348941", "SG.",),
    "B": ("ABIA",),
    "D": ("MD", "ND", "OD",),
    "P": ("API-",),
    "M": ("EAAM", "MT", "Mj", "Mz",),
    "N": ("NRII-", "NT", "Nj", "Nz",),
    "L": ("LTAI",),
    "O": ("OT", "Oj", "Oz",),
    "I": ("ASIA", "AIza",),
    "A": ("ACCA", "pypi-AgE", "ATATT3", "ATCTT3", "EAAA", "EAAC", "A3-",),
    "q": ("sq0atp-", "sq0csp-",),
    "0": ("v1.0-", "dt0c01.", "dt0s01.",),
    "x": ("xai-", "pplx-", "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-",
        "xoxs-", "xapp-", "xkeysib-",),
    "8": ("r8_", "p8e-",),
    "9": ("ya29.",),
    "2": ("lsv2_", "fm2_",),
    "1": ("doo_v1_", "dop_v1_", "dor_v1_", "fo1_", "fm1a_", "fm1r_", ".atlasv1.",),
    "k": ("sk-", "gsk_", "bedrock-api-key-", "tk-us-", "pscale_tkn_", "dckr_pat_",
        "dckr_oat_", "hooks.slack.com/", ".webhook.office.com/", "k_live_",
        "k_test_", "k_prod_", "_mmk", "/api/webhooks/",),
    "v": ("nvapi-", "hvs.", "hvb.", "hvr.",),
    "_": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "hf_", "api_org_",
        "pscale_oauth_", "pscale_pw_", "pnu_", "sbp_", "sb_secret_", "npm_",
        "rubygems_", "sgp_", "lin_api_", "lin_oauth_", "ntn_", "figd_", "rdme_",
        "glc_", "glsa_", "sntrys_", "sntryu_", "whsec_", "shpat_", "shpca_",
        "shppa_", "shpss_", "shippo_", "duffel_",),
    "-": ("glpat-", "gldt-", "glft-", "glrt-", "glsoat-", "glimt-", "glagent-",
        "glcbt-", "glptt-", "gloas-", "glffct-", "pul-", "ico-", "fio-u-",),
    ".": ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit.",),
    "": ("dapi", "sig=",),
}
SHORT = ("://", "uthoriz", "achine", "PASSW", "assw", "PRIVATE KEY",)
STEMS = ("earer ", "CRET_ACC", "cret_acc", "cretAcc", "AWS_SE", "aws_se", "DATADOG",
    "datadog", "DD_A", "DD-A", "DISCORD", "iscord_", "Discord", "TWILIO", "wilio",)
# fmt: on
"""The words by which the formats of secrets are recognized.

If a secret contains such a word, it is in `WORDS`, by a character that the word contains.
`STEMS` are parts of the other formats' words, and `SHORT` are the parts for formats whose
secrets may be shorter than a run. They are stored in the module that searches for them:
almost no text contains a word, so no format is loaded and no pattern is compiled.
"""

RUN_CHARS_MIN = 20
RUN_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=~:@%"
"""The characters of tokens. A secret that is not identified by a preceding word consists of
at least `RUN_CHARS_MIN` of them."""

LONG_CHARS, NEAR_CHARS = 4096, 80
"""In a text longer than `LONG_CHARS`, names are only searched for within `NEAR_CHARS`
before each run."""

_OTHER, _IN_RUN = b" ", b"a"
_KINDS = bytes((_IN_RUN if chr(n) in RUN_CHARS else _OTHER)[0] for n in range(256))
_RUN = _IN_RUN * RUN_CHARS_MIN


IN_RUN, AFTER_WORD, ANYWHERE = "in-run", "after-word", "anywhere"
"""Where to search for a format: in runs with one of its words, after each word, or
everywhere."""


class Form(NamedTuple):
    """A secret's format; `python -m tests.docs.generate` reads it from the TOML file."""

    name: str
    words: tuple[str, ...]
    pattern: str
    is_chosen: bool
    """Whether a person may have chosen the secret."""
    place: str


DIGEST_CHARS = 8
"""The number of hexadecimal digits of a digest, which distinguish secrets."""


ESCAPE = "\x1b"
_SEQUENCE = r"(?s)\x1b(?:\[[0-?]*+[ -/]*+[@-~]?|\][^\x07\x1b]*+(?:\x07|\x1b\\)?|.?)"
"""A terminal escape sequence, such as a color, a title or a link."""
_ESCAPES = r"\n", r"\t", r"\r", r"\f", r"\b"


def mask(text: str) -> str:
    """Return the text with each known secret replaced by `[masked: FORMAT, DIGEST]`.

    If the text contains a secret, its escape sequences are removed, because they might
    split the secret.
    """
    if ESCAPE in text:
        shown = mask(re.sub(_SEQUENCE, "", text))
        # Without the sequence before it, a secret may be part of a longer word.
        for name, start, end in (found := secrets_in(text)):
            if end - start >= RUN_CHARS_MIN:
                shown = shown.replace(text[start:end], f"[masked: {name}]")
        return shown if found else text
    if len(text) < RUN_CHARS_MIN and not [stem for stem in SHORT if stem in text]:
        return text
    waiting = _forms_in(text)
    while waiting:
        form = waiting.pop(0)
        if (masked := _masked(text, form)) is not text:
            # A secret directly after a masked one now begins a word.
            text, waiting = masked, _forms_in(masked, forms().index(form) + 1)
    return text


def may_hold_secret(payload: str) -> bool:
    r"""Return whether JSON text might contain a secret; most JSON text cannot.

    JSON does not escape the characters in tokens and their keywords. Escapes such as `\n`,
    whose letter would look like part of a token, are ignored.
    """
    if "\\" in payload:
        if "\\u" in payload:
            return True
        for escape in _ESCAPES:
            payload = payload.replace(escape, " ")
    return bool(_forms_in(payload))


def secrets_in(text: str) -> list[tuple[str, int, int]]:
    """Return the format, start and end of each secret in the text."""
    found = [
        (form.name, _start(found), found.end())
        for form in _forms_in(text)
        for found in _found(text, form)
    ]
    if ESCAPE not in text:
        return found
    marks, gone = list[int](), [0]
    for sequence in re.finditer(_SEQUENCE, text):
        marks.append(sequence.start() - gone[-1])
        gone.append(gone[-1] + len(sequence[0]))

    def place(at: int) -> int:
        return at + gone[bisect_right(marks, at)]

    split = secrets_in(re.sub(_SEQUENCE, "", text))
    return found + [(form, place(start), place(end - 1) + 1) for form, start, end in split]


def masked_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each secret in the text."""
    return [(start, end) for _, start, end in secrets_in(text)]


def _forms_in(text: str, first: int = 0) -> list[Form]:
    """Return the formats from the `first` that might occur in the text, in order."""
    runs, met = "", [stem for stem in SHORT if stem in text]
    if places := [*_runs(text)]:
        runs = "\n".join({text[start:end] for start, end in places})
        near = text
        if len(text) > LONG_CHARS:
            before = [text[max(start - NEAR_CHARS, 0) : start] for start, _ in places]
            near = "\n".join([runs, *before])
        met += [stem for stem in STEMS if stem in near]
        met += [
            word
            for character, words in WORDS.items()
            if character in runs
            for word in words
            if word in runs
        ]
    if not met:
        return []
    return [form for form in forms()[first:] if _may_be_in(text, runs, form, met)]


@cache
def forms() -> list[Form]:
    """Return all formats, which are loaded when text first contains a format's keyword."""
    # Imported here, because it is almost never required.
    from .own_files import own_text

    return json.decode(own_text(__name__, FILE), type=list[Form])


def _may_be_in(text: str, runs: str, form: Form, met: list[str]) -> bool:
    if not any(one in word for word in form.words for one in met):
        return False
    if form.place == IN_RUN:
        # A line break ends a word, like all characters that do not belong to a run.
        return _compiled(form.pattern).search(runs) is not None
    return any(word in text for word in form.words)


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each run of token characters that is long enough."""
    # Bytes are searched in a fraction of the time; each character becomes one.
    kinds = text.encode("ascii", "replace").translate(_KINDS)
    start = kinds.find(_RUN)
    while start >= 0:
        end = kinds.find(_OTHER, start)
        end = len(kinds) if end < 0 else end
        yield start, end
        start = kinds.find(_RUN, end)


def _found(text: str, form: Form) -> Iterator[re.Match[str]]:
    """Yield the secrets in one format, whose pattern is compiled on first use."""
    compiled = _compiled(form.pattern)
    if form.place == ANYWHERE:
        yield from compiled.finditer(text)
    elif form.place == AFTER_WORD:
        last = 0
        for at in sorted(at for word in form.words for at in _ends(text, word)):
            if at >= last and (found := compiled.match(text, at)):
                yield found
                last = found.end()
    else:
        for start, end in _runs(text):
            yield from compiled.finditer(text, start, end)


def _ends(text: str, word: str) -> Iterator[int]:
    """Yield the end of each occurrence of a word."""
    at = text.find(word)
    while at >= 0:
        at += len(word)
        yield at
        at = text.find(word, at)


def _masked(text: str, form: Form) -> str:
    """Return the text with all secrets in one format masked."""
    instead = _replacement(form.name, is_chosen=form.is_chosen)
    pieces, last = [], 0
    for found in _found(text, form):
        pieces += [text[last : found.start()], instead(found)]
        last = found.end()
    return "".join([*pieces, text[last:]]) if pieces else text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.DOTALL)


def _replacement(form: str, *, is_chosen: bool) -> Callable[[re.Match[str]], str]:
    """Return the function that replaces a secret.

    The replacement contains no digest if a person may have chosen the secret, because it
    could then be guessed from the digest.
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
    """Return the start of a secret, which follows any prefix that its format requires."""
    return found.end("before") if found.re.groups else found.start()


def cut(text: str, length: int) -> str:
    """Return the start of the text, omitting any secret that would be split."""
    if len(text) <= length:
        return text
    for first, last in sorted(masked_spans(text), reverse=True):
        length = first if first < length < last else length
    return text[:length]


def mask_all(value: Any) -> Any:
    """Return a JSON value or part of an event, with all strings in it masked."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [mask_all(item) for item in value]
    if isinstance(value, dict):
        return {mask_all(key): _named(key, item) for key, item in value.items()}
    if isinstance(value, tuple):
        items = map(mask_all, value)
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, Struct):
        fields = asdict(value)
        return replace(value, **{name: _named(name, fields[name]) for name in fields})
    return value


def _named(key: Any, value: Any) -> Any:
    """Return a key's value, masked even if only the key indicates a secret."""
    masked = mask_all(value)
    if masked is not value or not isinstance(value, str) or not _may_name_secret(key):
        return masked
    begin = f"{key}='"
    return mask(f"{begin}{value}'").removeprefix(begin).removesuffix("'")


@lru_cache(maxsize=1024)
def _may_name_secret(key: object) -> bool:
    return isinstance(key, str) and bool([s for s in (*SHORT, *STEMS) if s in key])
