"""Secrets in a log: in events, stored files and snapshots.

The patterns are those used for masking (`engine/masking_forms.toml`), which are
unambiguous, and the public rules that depend on a nearby name (`public_rules.toml`). Text
recorded before a pattern was known, or with --no-mask, can contain secrets.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache

import msgspec

from sprintlog.engine.adapters.snapshots.without_text import unzipped
from sprintlog.engine.masking import secrets_in
from sprintlog.engine.own_files import own_text
from sprintlog.engine.sprint.state.times import parse

from ..views.log import LeakFound
from ..workspace import Workspace
from .selection import contents, texts_in

FILE = "public_rules.toml"


class PublicRule(msgspec.Struct, frozen=True):
    """A pattern for a secret that follows a keyword."""

    name: str
    words: tuple[str, ...]
    """The keywords that a match can start with, in lower case."""
    pattern: str


class _Rules(msgspec.Struct):
    form: list[PublicRule]


@cache
def public_rules() -> tuple[PublicRule, ...]:
    """Return all public rules."""
    return tuple(msgspec.convert(tomllib.loads(own_text(__name__, FILE)), _Rules).form)


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
    """Yield the rule, start and end of each secret in the text."""
    # Each character becomes one byte, so that offsets are valid in both.
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
    """Return whether a string could be random.

    Words contain no digits, and placeholders repeat a single character.
    """
    return any(map(str.isdigit, secret)) and len({*secret}) > 1


EXCERPT_CHARS = 60
HEADER = ("stream", "key", "actor", "correlation_id")


Span = tuple[str, int, int]
"""The rule that matches a secret, and the secret's start and end."""


def leaks(
    workspace: Workspace,
    *,
    since: str | None = None,
    progress: Callable[[int], None] = lambda count: None,
) -> Iterator[LeakFound]:
    """Yield every secret in events since a given time and in all stored files."""
    moment = None if since is None else parse(since)
    for event in workspace.log.read():
        if event.position % 10_000 == 0:
            progress(event.position)
        if moment is not None and parse(event.at) < moment:
            continue
        where, place = f"position {event.position}", event.position
        text = "\n".join(texts_in(msgspec.json.decode(event.payload or b"null")))
        header = (getattr(event, name) or "" for name in HEADER)
        yield from _in(f"{text}\n{' '.join(header)}", where, place)
    for where, content in contents(workspace):
        text = (content + unzipped(content)).decode("utf-8", "replace")
        yield from _in(text, where, None)


def _in(text: str, where: str, position: int | None) -> Iterator[LeakFound]:
    found: dict[str, LeakFound] = {}
    spans = [*secrets_in(text)]
    spans += [one for one in secrets_by_rules(text) if not _overlaps(one, spans)]
    spans.sort(key=lambda span: span[1])
    for rule, start, end in spans:
        begin = max(text.rfind("\n", 0, start) + 1, start - EXCERPT_CHARS)
        what = "--text -" if position is None else str(position)
        command = f"sprintlog redact {what} --reason TEXT"
        excerpt = _masked(text, begin, end, spans)
        found.setdefault(rule, LeakFound(where, position, rule, excerpt, command))
    yield from found.values()


def _overlaps(one: Span, others: list[Span]) -> bool:
    return any(one[1] < end and start < one[2] for _, start, end in others)


def _masked(text: str, begin: int, end: int, spans: list[Span]) -> str:
    """Return part of the text with secrets masked, even if it starts inside a secret."""
    pieces, last = [], begin
    for rule, start, after in spans:
        if last < after and start < end:
            pieces += [text[last:start], f"[masked: {rule}]"]
            last = after
    return "".join([*pieces, text[last:end]])
