"""Compare the figures in every file of an agent with an independent count.

The count has a separate reader: JSON, and the path of each figure as documented by the
agents. The tested function is the only project code that it uses.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.agents.output import read_answer

FIXTURES = Path(__file__).parents[3] / "fixtures"
Figures = tuple[int | None, ...]
"""Input, output, cache reads, cache creation."""
NAMES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")
ANTHROPIC = (
    *("input_tokens", "output_tokens"),
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
)


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects within a value."""
    if isinstance(value, dict):
        yield value
        value = [*value.values()]
    if isinstance(value, list):
        for one in value:
            yield from objects(one)


def messages(file: Path) -> list[Any]:
    """Return the objects of a file, by lines or as one document."""
    content = file.read_text()
    try:
        found = json.loads(content)
    except ValueError:
        found = [parsed(line) for line in content.splitlines()]
    return [x for x in found if isinstance(x, dict)] if isinstance(found, list) else [found]


def parsed(line: str) -> Any:
    """Return the value of a line; None if it is truncated."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def added(rows: list[Figures]) -> Figures:
    """Return the sums of some figures; None if a figure is in none of them."""
    columns = zip(*rows, strict=True) if rows else [()] * 4
    known = [[value for value in column if value is not None] for column in columns]
    return tuple(sum(column) if column else None for column in known)


def figures(of: dict[str, Any], *names: str) -> Figures:
    """Return figures by their names."""
    return tuple(of.get(name) for name in names)


def without_cache(row: Figures) -> Figures:
    """Return figures whose input includes the tokens of the cache."""
    given, written, *cached = row
    parts = sum(x or 0 for x in cached)
    return (None if given is None else given - parts, written, *cached)


def claude(found: list[Any]) -> Figures:
    """Return `modelUsage` of the last result, or count each answer of a transcript once."""
    results = [x for x in found if x.get("type") == "result"]
    if results:
        names = ("input", "output", "cacheReadInput", "cacheCreationInput")
        used = results[-1].get("modelUsage") or {}
        models = [figures(x, *(f"{n}Tokens" for n in names)) for x in used.values()]
        return added(models) if used else figures(results[-1].get("usage", {}), *ANTHROPIC)
    calls: dict[str, Figures] = {}
    for one in objects(found):
        usage = one.get("usage") if one.get("role") == "assistant" else None
        if usage and (one.get("stop_reason") or one["id"] not in calls):
            row = figures(usage, *ANTHROPIC)
            ended = one.get("stop_reason")
            calls[one["id"]] = row if ended else (row[0], None, *row[2:])
    return added([*calls.values()])


def codex(found: list[Any]) -> Figures:
    """Return the total that a rollout or a turn states; a fork continues its parent's."""
    totals = [
        (x.get("timestamp"), x["payload"]["info"]["total_token_usage"])
        for x in found
        if x.get("payload", {}).get("type") == "token_count" and x["payload"]["info"]
    ]
    totals += [(None, x["usage"]) for x in found if x.get("type") == "turn.completed"]
    names = ("input_tokens", "output_tokens", "cached_input_tokens")
    rows = [(at, figures(x, *names, "cache_write_input_tokens")) for at, x in totals]
    if not rows:
        return (None,) * 4
    is_fork = "forked_from_id" in found[0].get("payload", {})
    repeated = [row for at, row in rows if is_fork and at == found[0]["timestamp"]]
    before = repeated[-1] if repeated else (0,) * 4
    last = zip(rows[-1][1], before, strict=True)
    return without_cache(tuple(None if x is None else x - (y or 0) for x, y in last))


def gemini(found: list[Any]) -> Figures:
    """Return the answers of a session, the models of a result, or the end of a stream."""
    stats = [x["stats"]["models"].values() for x in found if "models" in x.get("stats", {})]
    models = [x["tokens"] for one in stats for x in one]
    if models:
        row = added([figures(x, "prompt", "candidates", "cached") for x in models])
        thoughts = sum(x.get("thoughts", 0) for x in models)
    elif ends := [x for x in found if x.get("type") == "result" and "stats" in x]:
        stats = ends[-1]["stats"]
        row = figures(stats, "input_tokens", "output_tokens", "cached")
        thoughts = stats["total_tokens"] - sum(x or 0 for x in row[:2])
    else:
        answers = {x["id"]: x["tokens"] for x in objects(found) if "tokens" in x}
        rows = [figures(x, "input", "output", "cached") for x in answers.values()]
        row = added(rows)[:3]
        thoughts = sum(x.get("thoughts", 0) for x in answers.values())
    given, written, cached = row[:3]
    if given is None or written is None:
        return (None,) * 4
    return given - (cached or 0), written + thoughts, cached, None


def copilot(found: list[Any]) -> Figures:
    """Return the figures at the end of a session; input includes the cache."""
    metrics = [x["data"]["modelMetrics"] for x in found if x["type"] == "session.shutdown"]
    used = [x["usage"] for x in metrics[-1].values()] if metrics else []
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    return without_cache(added([figures(x, *names) for x in used]))


def opencode(found: list[Any]) -> Figures:
    """Return the tokens of the finished steps."""
    steps = {
        x["id"]: x["tokens"]
        for x in objects(found)
        if x.get("type") in ("step-finish", "step_finish") and "tokens" in x
    }
    return added(
        [
            (x["input"], x["output"] + x["reasoning"], x["cache"]["read"],
             x["cache"]["write"])
            for x in steps.values()
        ]
    )  # fmt: skip


def antigravity(found: list[Any]) -> Figures:
    """Return the figures of the result; its input includes the cache."""
    usages = [x["usage"] for x in objects(found) if "usage" in x]
    names = ("input_tokens", "output_tokens", "cache_read_tokens")
    return without_cache((*figures(usages[-1] if usages else {}, *names), None))


def pi(found: list[Any]) -> Figures:
    """Return the tokens of the answers; zeros belong to an unfinished answer."""
    ends = [x["message"] for x in found if x.get("type") in ("message_end", "message")]
    used = [x["usage"] for x in ends if x.get("usage", {}).get("totalTokens")]
    names = ("input", "output", "cacheRead", "cacheWrite")
    return added([figures(x, *names) for x in used])


def last_usage(*names: str) -> Callable[[list[Any]], Figures]:
    """Return a count from the last result, in which zeros are unknown figures."""

    def count(found: list[Any]) -> Figures:
        usages = [x["usage"] for x in found if x.get("usage")]
        row = figures(usages[-1] if usages else {}, *names)
        return row if any(row) else (None,) * 4

    return count


def copilot_chat(found: list[Any]) -> Figures:
    """Return the tokens of the answers to all requests."""
    known = [x["completionTokens"] for x in objects(found) if "completionTokens" in x]
    patches = (x for x in found if (x.get("k") or [""])[-1] == "completionTokens")
    known += [x["v"] for x in patches]
    return None, sum(known) if known else None, None, None


COUNTS: dict[str, Callable[[list[Any]], Figures]] = {
    "antigravity": antigravity,
    "claude": claude,
    "codex": codex,
    "copilot-chat": copilot_chat,
    "copilot": copilot,
    "cursor": last_usage(
        "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"
    ),
    "droid": last_usage(*ANTHROPIC),
    "gemini": gemini,
    "opencode": opencode,
    "pi": pi,
}
NO_FIGURES = (
    "codex-notify.jsonl",
    "gemini-error.json",
    "gemini-refused-errors.txt",
    "SOURCES.md",
)
CASES = {
    **dict.fromkeys(("A1a", "A1a-grows", "A1a-three", "A1b", "B1", "B1-again"), "claude"),
    **dict.fromkeys(("B3", "C4", "C4-tool", "C5"), "claude"),
    **dict.fromkeys(("A2", "A2-bare"), "codex"),
    "C1": "gemini",
}


def files() -> Iterator[tuple[str, Path]]:
    """Yield every stored file that states figures, with its agent."""
    for file in sorted((FIXTURES / "agents").iterdir()):
        agent = next(x for x in (*COUNTS, "") if file.name.startswith(x))
        if file.name not in NO_FIGURES:
            yield agent, file
    for case, agent in CASES.items():
        for file in sorted((FIXTURES / "transcripts" / case).rglob("*.json*")):
            yield agent, file


FILES = list(files())


@pytest.mark.parametrize(("agent", "file"), FILES, ids=lambda x: getattr(x, "stem", x))
def test_figures_are_those_that_the_agent_states(agent: str, file: Path) -> None:
    """Every figure that an agent states is decoded, and no other figure is."""
    usage = read_answer(file.read_bytes()).usage
    ours = tuple(getattr(usage, name, None) for name in NAMES)
    assert ours == COUNTS[agent](messages(file))
