"""Public rules for secrets that are told by a name near them: looked for, never masked.

`public_rules.toml` has them. A mask is written for good, so only tokens beyond doubt are
masked; what is found here is for a person to look at.
"""

import re
import tomllib
from collections.abc import Iterator
from functools import cache

import msgspec

from sprintlog.engine.own_files import own_text

FILE = "public_rules.toml"


class PublicRule(msgspec.Struct, frozen=True):
    """A form that a secret may have behind a word."""

    name: str
    words: tuple[str, ...]
    """Where the pattern begins, in small letters."""
    pattern: str


class _Rules(msgspec.Struct):
    form: list[PublicRule]


@cache
def public_rules() -> tuple[PublicRule, ...]:
    """Return all rules."""
    content = own_text(__name__, FILE)
    return tuple(msgspec.convert(tomllib.loads(content), _Rules).form)


@cache
def _by_word() -> dict[bytes, list[PublicRule]]:
    known: dict[bytes, list[PublicRule]] = {}
    for rule in public_rules():
        for word in rule.words:
            known.setdefault(word.encode(), []).append(rule)
    return known


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def secrets_by_rules(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the rule of each secret of a text, and where it begins and ends."""
    # One byte for each character, so that a place in one is that in the other.
    lowered = text.encode("ascii", "replace").lower()
    for word, rules in _by_word().items():
        at = lowered.find(word)
        while at >= 0:
            for rule in rules:
                found = _compiled(rule.pattern).match(text, at)
                if found:
                    group = "secret" if found.re.groups else 0
                    if _is_drawn(found[group]):
                        yield rule.name, found.start(group), found.end(group)
            at = lowered.find(word, at + 1)


def _is_drawn(secret: str) -> bool:
    """Tell whether it may be drawn by chance: words have no digit, examples one letter."""
    return any(map(str.isdigit, secret)) and len({*secret}) > 1
