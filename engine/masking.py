"""Secrets in text from outside: known forms of tokens are masked before they are recorded.

An append-only log forgets nothing, so what must not be in it is kept out. Only forms
that are tokens beyond doubt are here; `docs/reference/limits.md` lists them.
"""

import re
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

FORMS: dict[str, tuple[tuple[str, ...], str]] = {
    "github-token": (("gh",), r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})"),
    "gitlab-token": (("glpat-",), r"\bglpat-[\w-]{20,}"),
    "model-api-key": (("sk-",), r"\bsk-[A-Za-z0-9_-]{20,}"),
    "aws-key-id": (("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "google-api-key": (("AIza",), r"\bAIza[\w-]{35}"),
    "slack-token": (("xox",), r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    "stripe-key": (("k_live_", "k_test_"), r"\b[sr]k_(?:live|test)_[0-9A-Za-z]{16,}"),
    "npm-token": (("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    "pypi-token": (("pypi-",), r"\bpypi-[\w-]{50,}"),
    # Only where its three parts are ahead, and once from the beginning of the first:
    # from each `eyJ` in a long word to its end would take forever.
    "json-web-token": (
        ("eyJ",),
        r"(?<![\w-])(?=[\w-]*+\.[\w-]{10,}+\.[\w-]{10})(?P<before>[\w-]*?)"
        r"\beyJ[\w-]{10,}+\.[\w-]{10,}+\.[\w-]{10,}+",
    ),
    "bearer-token": (("earer ",), r"(?<=\b[Bb]earer )[A-Za-z0-9._~+/-]{20,}=*"),
    "password-in-address": (("://",), r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"),
    "private-key": (
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    ),
}
"""Name of each form, words without which it cannot be there, and its pattern.

A pattern takes time in proportion to the text, whatever the text. What it has to begin
with and is no part of the token is its group `before`.
"""

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
    """Return text with every known token replaced by `[masked: its form]`."""
    for form, (words, pattern) in FORMS.items():
        if any(word in text for word in words):
            compiled = _compiled(pattern)
            before = r"\g<before>" if compiled.groups else ""
            text = compiled.sub(f"{before}[masked: {form}]", text)
    return text


def masked_spans(text: str) -> list[tuple[int, int]]:
    """Return where the tokens of a text begin and end."""
    return [
        (found.end("before") if found.re.groups else found.start(), found.end())
        for words, pattern in FORMS.values()
        if any(word in text for word in words)
        for found in _compiled(pattern).finditer(text)
    ]


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


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Compiled when a text holds one of its words: almost none does.
    return re.compile(pattern, re.ASCII | re.DOTALL)
