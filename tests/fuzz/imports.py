"""Importers fed with mutated files: every figure and status is stated in the file.

`python -m tests.fuzz.imports IMPORTER LINES SEED` feeds one importer and prints the outcome
as JSON.
"""

import json
import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.errors import SprintlogError

from . import claims
from .claims import Claim, Given
from .figures import FIXTURES as AGENTS
from .figures import Fed, json_of, mutated_line

FIXTURES = AGENTS.parent
LINES_MAX = 3
"""At most so many lines of one input are mutated."""


class Importer(NamedTuple):
    """A reader of an import, and the files that are mutated for it."""

    claims: Callable[[Given], Iterator[Claim]]
    file: str
    """The name that the mutated file is given."""
    seeds: tuple[str, ...]
    """Patterns of files below `fixtures`."""


IMPORTERS = {
    "aider": Importer(
        claims.of_chats, ".aider.chat.history.md", ("loops/**/.aider.chat*",)
    ),
    "aiwg": Importer(claims.of_aiwg, "session-state.json", ("loops/aiwg/**/*.json",)),
    "checklist": Importer(
        claims.of_checklist,
        "fix_plan.md",
        ("loops/**/fix_plan.md", "extensions/**/fix_plan.md"),
    ),
    "gsd": Importer(claims.of_state, "STATE.md", ("loops/**/STATE.md",)),
    "journal": Importer(claims.of_journal, "progress.json", ("documents/journal.json",)),
    "orchestrator": Importer(
        claims.of_history, "history.jsonl", ("loops/**/history.jsonl",)
    ),
    "prd": Importer(
        claims.of_lists,
        "prd.json",
        ("loops/**/prd.json", "loops/**/feature_list.json", "extensions/**/tasks.json"),
    ),
    "progress": Importer(
        claims.of_progress,
        "PROGRESS.yaml",
        ("documents/every-field.yaml", "expected/g*S.yaml"),
    ),
    "ralph-loop": Importer(claims.of_loop, "loop.md", ("loops/**/ralph-loop.local.md",)),
    "text": Importer(claims.of_text, "progress.txt", ("loops/**/*progress.txt",)),
}
"""Every built-in import; transcripts are read by the decoders, logs contain no figures."""


@cache
def corpus(name: str) -> tuple[tuple[bytes, ...], ...]:
    """Return the fixtures of an importer as lists of lines; a document is one line."""
    found = []
    for path in (x for one in IMPORTERS[name].seeds for x in sorted(FIXTURES.glob(one))):
        content = path.read_bytes()
        whole = json_of(content.removeprefix(b"\xef\xbb\xbf"))
        found.append(tuple([json.dumps(whole).encode()] if whole else content.splitlines()))
    return tuple(found)


def mutated(rng: random.Random, name: str) -> tuple[bytes, int]:
    """Return a fixture with some mutated lines, and their number."""
    lines = [*rng.choice(corpus(name))]
    number = rng.randint(1, min(LINES_MAX, len(lines)))
    for _ in range(number):
        at, other = rng.randrange(len(lines)), rng.choice(lines)
        how = rng.random() if len(lines) > 1 else 1
        if how < 0.1:
            lines[at] = b""
        elif how < 0.25:
            lines.insert(at, other)
        elif how < 0.55 and re.search(rb"\d", lines[at]):
            digits = [b"%d" % rng.randrange(10 ** rng.randint(1, 4)), b"9" * 400, b"1.5"]
            chosen = rng.choices(digits, (8, 1, 1))[0]
            lines[at] = re.sub(rb"\d+", chosen, lines[at], count=rng.randint(1, 2))
        else:
            lines[at] = mutated_line(rng, lines[at], tuple(lines))
    return b"\n".join(lines) + b"\n", number


def feed(name: str, lines: int, seed: int) -> Fed:
    """Feed an importer with as many mutated lines."""
    rng, one = random.Random(f"{name} {seed}"), IMPORTERS[name]
    inputs = fed = read = figures = 0
    slowest, problems = 0.0, list[str]()
    with tempfile.TemporaryDirectory(prefix="sprintlog-fuzz-") as folder:
        file = Path(folder) / one.file
        while fed < lines and len(problems) < 5:
            content, number = mutated(rng, name)
            file.write_bytes(content)
            inputs, fed = inputs + 1, fed + number
            began = time.process_time()
            try:
                made = [*one.claims(Given(file, content))]
            except SprintlogError:
                made = []
            slowest = max(slowest, time.process_time() - began)
            read, figures = read + bool(made), figures + len(made)
            problems += [f"{x[:2]}: {content!r:.4000}" for x in made if not x.is_stated]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Fed(name, inputs, fed, read, figures, 0, slowest, memory, problems)


if __name__ == "__main__":
    _fed = feed(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(json.dumps(_fed._asdict()) + "\n")
