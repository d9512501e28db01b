"""Secrets in text from outside: known forms of tokens are masked before they are recorded.

An append-only log forgets nothing, so what must not be in it is kept out. Only forms that
are tokens beyond doubt are known: `masking_forms.toml` has them, each with examples, and
`docs/reference/limits.md` lists them. What stands in the place of one is in ADR 0047.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from . import hashes

# Of masking_forms.toml, by `python -m tests.docs.generate`: edits here are lost.
# fmt: off
WORDS = (
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glft-",
    "glrt-", "glsoat-", "glimt-", "glagent-", "glcbt-", "glptt-", "gloas-", "glffct-",
    "GR1348941", "T3BlbkFJ", "sk-", "gsk_", "xai-", "pplx-", "hf_", "api_org_", "r8_",
    "nvapi-", "lsv2_", "AKIA", "ASIA", "ABIA", "ACCA", "ABSK", "bedrock-api-key-", "Q~",
    "AccountKey=", "AIza", "GOCSPX-", "ya29.", "LTAI", "doo_v1_", "dop_v1_", "dor_v1_",
    "v1.0-", "fo1_", "fm1a_", "fm1r_", "fm2_", "HRKU-AA", "tk-us-", "dapi", "dt0c01.",
    "dt0s01.", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit.",
    ".atlasv1.", "pul-", "hvs.", "hvb.", "hvr.", "sha256~", "API-", "pscale_tkn_",
    "pscale_oauth_", "pscale_pw_", "pnu_", "sbp_", "sb_secret_", "dckr_pat_", "dckr_oat_",
    "AKCp", "cmVmd", "npm_", "pypi-AgE", "rubygems_", "CLOJARS_", "sgp_", "ATATT3",
    "ATCTT3", "lin_api_", "lin_oauth_", "ntn_", "figd_", "PMAK-", "rdme_", "glc_", "glsa_",
    "sntrys_", "sntryu_", "NRAK-", "NRII-", "ico-", "xoxa-", "xoxb-", "xoxe-", "xoxo-",
    "xoxp-", "xoxr-", "xoxs-", "xapp-", "hooks.slack.com/", ".webhook.office.com/", ":AA",
    "SG.", "xkeysib-", "k_live_", "k_test_", "k_prod_", "whsec_", "sq0atp-", "sq0csp-",
    "EAAA", "shpat_", "shpca_", "shppa_", "shpss_", "shippo_", "EZAK", "EZTK", "duffel_",
    "FLWSECK", "EAAM", "EAAC", "fio-u-", "p8e-", "AQVN", "_mmk", "A3-", "AGE-SECRET-KEY-1",
    "eyJ", "earer ", "://", "PRIVATE KEY",
)
WORDS_BETWEEN = ("earer ", "://", "PRIVATE KEY")
# fmt: on
"""Words of which a text with a secret holds one; those of all forms.

They stand here, beside what looks for them: almost no text holds one, and then neither the
forms are imported nor is a pattern compiled.
"""

LONG_CHARS = 1024
"""In a longer text one pass finds the few places where words are looked for."""

RUN_CHARS_MIN = 20
"""A secret has so many characters and no white space, but for the forms in words."""

DIGEST_CHARS = 8
"""So much of a digest in hexadecimal tells secrets apart."""

TEXTS = frozenset(
    {"summary", "error", "reason", "details", "why", "done", "text", "output", "errors"}
    | {"command"}
    | {"title", "description", "reasoning", "rejection_reason", "goal", "prompt"}
    | {"context", "injection", "requests"}
    # Of the journal; its ids, words and paths stay what they are.
    | {"content", "examples", "extra", "previous_failure_reason", "recovery_guidance"}
)
"""The fields of events that hold text of agents and people."""

NODES = "nodes"
"""The field of what is injected: prompts that agents write while they work."""


def mask(text: str) -> str:
    """Return text with every known secret replaced by `[masked: its form, a digest]`."""
    for name, pattern, is_chosen in _forms_in(text):
        text = pattern.sub(_replacement(name, is_chosen=is_chosen), text)
    return text


def masked_spans(text: str) -> list[tuple[int, int]]:
    """Return where the secrets of a text begin and end."""
    return [
        (_start(found), found.end())
        for _, pattern, _ in _forms_in(text)
        for found in pattern.finditer(text)
    ]


def _forms_in(text: str) -> Iterable[tuple[str, re.Pattern[str], bool]]:
    """Return the forms of which a text holds a word, in order."""
    looked_at = text if len(text) < LONG_CHARS else _runs(text)
    for word in WORDS:
        if word in looked_at:
            break
    else:
        return ()
    # Imported here, and a pattern compiled when its word is met: almost never.
    from .masking_forms import FORMS

    return [
        (name, _compiled(pattern), is_chosen)
        for name, words, pattern, is_chosen in FORMS
        if any(word in looked_at for word in words)
    ]


def _runs(text: str) -> str:
    """Return what of a long text can hold a word: its runs, and the words between them."""
    runs = [run for run in text.split() if len(run) >= RUN_CHARS_MIN]
    return "\n".join([*runs, *(word for word in WORDS_BETWEEN if word in text)])


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


def mask_texts(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an event or command with its free texts masked."""
    return {
        name: mask_all(value) if name == NODES or name in TEXTS else _mask_inside(value)
        for name, value in fields.items()
    }


def _mask_inside(value: Any) -> Any:
    """Return what a field holds with the free texts of its own parts masked."""
    if isinstance(value, Struct):
        return replace(value, **mask_texts(asdict(value)))
    if isinstance(value, tuple):
        return tuple(map(_mask_inside, value))
    return value


def mask_all(value: Any) -> Any:
    """Return a JSON value, or a part of an event, with every text in it masked."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [mask_all(item) for item in value]
    if isinstance(value, dict):
        return {mask(key): mask_all(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(map(mask_all, value))
    return _mask_inside(value)
