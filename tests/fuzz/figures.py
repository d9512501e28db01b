"""Decoders fed with mutated lines: every figure is a sum of numbers in the lines.

`python -m tests.fuzz.figures AGENT LINES SEED` feeds one decoder and prints the outcome as
JSON. The numbers of the fixtures are replaced by powers of one base, so that hardly any
other number is a sum of them.
"""

import json
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.adapters.agents.outcome import Activity
from sprintlog.engine.adapters.agents.output import READERS, OutputReader
from sprintlog.engine.sprint.answers.verdict import Answer

from .mutate import PIECES, Change, changed

AGENTS = tuple(dict.fromkeys(name for name, _ in READERS))
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "agents"
LINES_MAX = 8
"""So many lines are in one input."""
_SMALL, _LARGE = 10, 10**9
"""Smaller integers are indexes or exit statuses, larger ones are times: they remain."""
_SCALE = 1 << 30
"""Figures are compared in these parts of one; fractions of fixtures are sums of them."""
_NODES_MAX = 4_000
"""So many steps of the search for a sum."""
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        1.5,
        -0.25,
        10**13 - 1,
        2**63 - 1,
        10**30,
        float("1e300"),
    ),
    *("", "7", "1e3", "NaN", "\ud800", "x" * 5000, [], {}, [[]], {"a": {}}, [None] * 50),
)


class Fed(NamedTuple):
    """The result of feeding one decoder."""

    agent: str
    inputs: int
    lines: int
    """Mutated lines."""
    understood: int
    """Inputs in which messages of the agent were found."""
    figures: int
    """Figures that were checked."""
    undecided: int
    """Figures for which the search for a sum was given up."""
    slowest: float
    """Seconds of the processor for one input."""
    memory: int
    """MiB at most, of the process."""
    problems: list[str]


@cache
def corpus(agent: str) -> tuple[tuple[bytes, ...], ...]:
    """Return the fixtures of an agent as lists of lines; a document is one line."""
    owners = {path: _owner(path.name) for path in sorted(FIXTURES.glob("*.json*"))}
    found = []
    for path in (path for path, owner in owners.items() if owner == agent):
        text = path.read_text("utf-8")
        lines = text.splitlines() if path.suffix == ".jsonl" else [text]
        found.append(tuple(_reweighted(lines)))
    return tuple(found)


def _owner(name: str) -> str:
    """Return the agent of a fixture: the longest name with which the file's starts."""
    return max((x for x in AGENTS if name.startswith(f"{x}-")), key=len, default="")


def _reweighted(lines: list[str]) -> Iterator[bytes]:
    """Yield lines whose numbers are powers of one base, in the order of their sizes."""
    found = [json_of(line.encode()) for line in lines]
    numbers = {x for one in found for x in numbers_in(one)}
    whole = sorted(x for x in numbers if type(x) is int and _SMALL <= x < _LARGE)
    base = max(3, min(32, int(2 ** (42 / (len(whole) + 1)))))
    weights: dict[Any, Any] = {x: base ** (at + 1) for at, x in enumerate(whole)}
    parts = sorted(x for x in numbers if type(x) is float)
    weights |= {x: 4.0 ** (at - len(parts)) for at, x in enumerate(parts)}
    for line, one in zip(lines, found, strict=True):
        yield line.encode() if one is None else json.dumps(_weighed(one, weights)).encode()


def _weighed(found: Any, weights: dict[Any, Any]) -> Any:
    if isinstance(found, list):
        return [_weighed(one, weights) for one in found]
    if not isinstance(found, dict):
        return weights.get(found, found) if type(found) in (int, float) else found
    made = {key: _weighed(value, weights) for key, value in found.items()}
    for key in (key for key in found if "total" in key and type(found[key]) is int):
        # A total of two other figures must remain their total.
        others = [x for x in found if x != key and type(found[x]) is int and found[x]]
        pairs = [(a, b) for a in others for b in others if a < b]
        sums = [made[a] + made[b] for a, b in pairs if found[a] + found[b] == found[key]]
        made[key] = next(iter(sums), made[key])
    return made


def json_of(line: bytes) -> Any:
    """Return a text parsed as JSON; None if it is not JSON."""
    try:
        return json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def numbers_in(found: Any) -> Iterator[int | float]:
    """Yield the numbers in JSON, also in texts that contain JSON."""
    waiting = [found]
    while waiting:
        one = waiting.pop()
        if type(one) in (int, float):
            yield one
        elif isinstance(one, str) and one[:1] in ("{", "["):
            waiting.append(json_of(one.encode("utf-8", "replace")))
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def mutated(rng: random.Random, agent: str) -> tuple[bytes, int]:
    """Return some lines of a fixture, some of them changed, and the number of changes."""
    lines = rng.choice(corpus(agent))
    begin = rng.randrange(len(lines)) if rng.random() < 0.5 else 0
    chosen = [*lines[begin : begin + LINES_MAX]]
    if rng.random() < 0.5:
        chosen = [*chosen[: LINES_MAX // 2], *lines[-LINES_MAX // 2 :]]
    places = rng.sample(range(len(chosen)), min(len(chosen), rng.randint(1, 3)))
    for place in places:
        chosen[place] = mutated_line(rng, chosen[place], lines)
    if rng.random() < 0.2:
        chosen.insert(rng.randrange(len(chosen)), rng.choice(chosen))
    if rng.random() < 0.1:
        rng.shuffle(chosen)
    return b"\n".join(chosen), len(places)


def mutated_line(rng: random.Random, line: bytes, lines: tuple[bytes, ...]) -> bytes:
    """Return a line with some of its values or bytes changed."""
    found = json_of(line)
    if not _places(found) or rng.random() < 0.3:
        return changed(line, [_change(rng) for _ in range(rng.randint(1, 3))])
    for _ in range(rng.randint(1, 3)):
        *path, last = rng.choice(_places(found))
        holder = found
        for key in path:
            holder = holder[key]
        how = rng.random()
        if how < 0.2:
            del holder[last]
        elif how < 0.5:
            holder[last] = deepcopy(rng.choice(VALUES))
        elif how < 0.8:
            other = json_of(rng.choice(lines))
            for key in rng.choice(_places(other) or [()]):
                other = other[key]
            holder[last] = other
        else:
            holder[last] = {"a": holder[last]} if how < 0.9 else [holder[last]]
        if not _places(found):
            break
    return json.dumps(found).encode()


def _places(found: Any) -> list[tuple[Any, ...]]:
    """Return the paths of the values in JSON."""
    made: list[tuple[Any, ...]] = []
    waiting: list[tuple[Any, tuple[Any, ...]]] = [(found, ())]
    while waiting:
        one, path = waiting.pop()
        inner: Any = one.items() if isinstance(one, dict) else ()
        inner = enumerate(one) if isinstance(one, list) else inner
        for key, value in inner:
            made.append((*path, key))
            waiting.append((value, (*path, key)))
    return made


def _change(rng: random.Random) -> Change:
    piece = rng.choice(PIECES) if rng.random() < 0.7 else rng.randbytes(rng.randint(1, 6))
    how = rng.choice((0, 0, 1, 2, 2, 3, 4))
    return Change(rng.random(), how, rng.randint(1, 40), piece)


def figures_of(answer: Answer, activity: Activity) -> Iterator[tuple[str, float]]:
    """Yield the figures of a run."""
    usage = msgspec.structs.asdict(answer.usage) if answer.usage else {}
    yield from ((name, x) for name, x in usage.items() if isinstance(x, int | float))
    yield "tool_calls", activity.tool_calls


def _scaled(number: float) -> int:
    whole = int(number)
    return whole * _SCALE + round((number - whole) * _SCALE)


def is_sum(figure: float, numbers: Counter[int], tolerance: int) -> bool | None:
    """Return whether a figure is a sum or difference of numbers; None if not decided."""
    sizes = sorted(numbers, reverse=True)
    bounds = [0] * (len(sizes) + 1)
    for at in range(len(sizes) - 1, -1, -1):
        bounds[at] = bounds[at + 1] + sizes[at] * numbers[sizes[at]]
    waiting, seen = [(0, _scaled(figure))], set[tuple[int, int]]()
    while waiting:
        at, rest = waiting.pop()
        if abs(rest) <= tolerance:
            return True
        if at == len(sizes) or abs(rest) > bounds[at] + tolerance or (at, rest) in seen:
            continue
        seen.add((at, rest))
        if len(seen) > _NODES_MAX:
            return None
        size, times = sizes[at], numbers[sizes[at]]
        steps = [(at + 1, rest - size * n) for n in range(-times, times + 1)]
        # Nearest first.
        waiting += sorted(steps, key=lambda step: -abs(step[1]))
    return False


def check(agent: str | None, content: bytes) -> tuple[int, int, list[str], Activity]:
    """Return the numbers of checked and undecided figures, and the invented ones."""
    hearing = OutputReader(told="do it", agent=agent)
    half = len(content) // 2
    hearing.feed(content[:half])
    hearing.feed(content[half:])
    answer, activity = hearing.heard()
    (answer.text + (answer.error or "")).encode()
    found = [(name, x) for name, x in figures_of(answer, activity) if x]
    stated = [
        x for one in (*content.split(b"\n"), content) for x in numbers_in(json_of(one))
    ]
    finite = [x for x in stated if x == x and abs(x) not in (0, float("inf"))]
    numbers = Counter(_scaled(abs(x)) for x in finite)
    numbers = Counter({size: min(times, 12) for size, times in numbers.items()})
    undecided, problems = 0, []
    for name, figure in found:
        assert figure < 2**63, name
        # Fractions are rounded, and a large integer becomes the nearest float.
        tolerance = 64 + (_scaled(figure) >> 50 if name == "cost_usd" else 0)
        if name in ("turns", "tool_calls") and figure <= content.count(b"{"):
            continue
        if name == "duration_ms":
            tolerance = 8 * _SCALE
            numbers = numbers | Counter(_scaled(abs(x)) * 1000 for x in finite)
        is_stated = is_sum(figure, numbers, tolerance)
        undecided += is_stated is None
        if is_stated is False:
            problems.append(f"{name} {figure}: {content!r}")
    return len(found), undecided, problems, activity


def feed(agent: str, lines: int, seed: int) -> Fed:
    """Feed a decoder with as many mutated lines."""
    rng = random.Random(f"{agent} {seed}")
    inputs = fed = understood = figures = undecided = 0
    slowest, problems = 0.0, list[str]()
    while fed < lines and len(problems) < 5:
        content, number = mutated(rng, agent)
        inputs, fed = inputs + 1, fed + number
        began = time.process_time()
        checked, open_, found, activity = check(agent if inputs % 2 else None, content)
        slowest = max(slowest, time.process_time() - began)
        understood += activity.lines > activity.unknown
        figures, undecided = figures + checked, undecided + open_
        problems += found
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    numbers = (inputs, fed, understood, figures, undecided, slowest, memory)
    return Fed(agent, *numbers, problems)


if __name__ == "__main__":
    _fed = feed(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(json.dumps(_fed._asdict()) + "\n")
