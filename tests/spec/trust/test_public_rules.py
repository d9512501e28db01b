"""Public rules for secrets: each finds exactly the described text."""

import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sprintlog.projections.health.leaks import (
    FILE,
    PublicRule,
    public_rules,
    secrets_by_rules,
)

from ...docs.public_rules import LEFT_OUT, RULES

RULES_MIN = 100


@pytest.mark.sampled(12)
@pytest.mark.parametrize("rule", public_rules(), ids=lambda rule: rule.name)
def test_a_rule_finds_what_it_describes(rule: PublicRule) -> None:
    """Text of the form, with a digit and more than one letter, is found in place."""

    @settings(
        max_examples=3,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.from_regex(re.compile(rule.pattern, re.ASCII)))
    def found(text: str) -> None:
        match = re.search(rule.pattern, text, re.ASCII)
        assert match
        group = match.re.groupindex.get("secret", 0)
        span = (rule.name, match.start(group), match.end(group))
        drawn = any(map(str.isdigit, match[group])) and len({*match[group]}) > 1
        assert (span in [*secrets_by_rules(text)]) == drawn

    found()


def test_examples_are_found() -> None:
    """Names, signs and values as in settings, headers and shells."""
    value = "a1b2" * 8
    for text in (
        f"DATADOG_KEY={value}a1b2c3d4",
        f'"datadog_api_key": "{value}a1b2c3d4",',
        f"export DATADOG_API_KEY='{value}a1b2c3d4'\n",
        f"ä€🚀 datadog: {value}a1b2c3d4;",
    ):
        ((name, start, end),) = secrets_by_rules(text)
        assert (name, text[start:end]) == ("datadog-access-token", f"{value}a1b2c3d4")


@pytest.mark.parametrize(
    "text",
    [
        "datadog sends what it has to a server",
        "datadog = a1b2c3",
        "key = a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4",
        "datadog_key = 0000000000000000000000000000000000000000",
        "datadog_key = abcdefabcdefabcdefabcdefabcdefabcdefabcd",
        "datadog_key = [masked: datadog-access-token]",
        "the mask is a task for the disk",
    ],
)
def test_what_is_none_is_left(text: str) -> None:
    """Words, other lengths, unknown names and examples of one letter do not match."""
    assert [*secrets_by_rules(text)] == []


def test_rules_are_bounded() -> None:
    """A pattern takes bounded time after each word: it has no unlimited repetition."""
    for rule in public_rules():
        plain = re.sub(r"\[(?:\\.|[^\]\\])+\]|\\.", "c", rule.pattern)
        assert not re.search(r"[*+]|\{\d+,\}", plain), rule.name
        assert rule.words == tuple(word.lower() for word in rule.words)


def test_the_file_says_where_it_is_from() -> None:
    """Repository, commit, digest and licence are stated, and each rule occurs once."""
    head = RULES.read_text(encoding="utf-8").partition("[[form]]")[0]
    assert RULES.name == FILE
    assert re.search(r"commit   [0-9a-f]{40}\n", head)
    assert re.search(r"sha256   [0-9a-f]{64} ", head)
    assert "MIT License, see NOTICE" in head
    names = [rule.name for rule in public_rules()]
    assert len(names) == len({*names}) >= RULES_MIN
    assert not {*names} & LEFT_OUT.keys()
