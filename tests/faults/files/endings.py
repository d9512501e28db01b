"""Answers that cannot be received, signals, and resource limits."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from signal import SIGINT, SIGTERM
from typing import Any

from ..claims import acknowledged, missing
from ..runner import Done, Runner, environment
from ..sweep import judge_ending

LOOP = "".join(
    f'{{"type": "note-added", "data": {{"text": "{n}"}}, "key": "loop-{n}"}}\n'
    for n in range(3)
)


def real(folder: Path, *arguments: str, output: str, stdin: str = "") -> Done:
    """Run a command as a separate process with `closed`, `full` or `unread` output."""
    reading, writing = os.pipe()
    os.close(reading)
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        done = subprocess.run(
            ["sh", "-c", 'exec "$@" >&-', "sh"] * (output == "closed")
            + [sys.executable, "-m", "sprintlog.cli", *arguments],
            cwd=folder,
            env=environment(),
            input=stdin.encode(),
            stdout=full if output == "full" else writing,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writing)
        os.close(full)
    return Done(done.returncode, "", done.stderr.decode(), 0.0)


def unheard(runner: Runner, folder: Path, output: str) -> Iterator[str]:
    """Yield the problems if an answer cannot be written, after the sprint started."""
    for number, (arguments, stdin, keys) in enumerate(
        [
            (("note", "one", "--key", "k1", "--json"), "", 1),
            (("note", "two", "--key", "k2"), "", 1),
            (("append",), LOOP, 3),
        ]
    ):
        first = real(folder, *arguments, output=output, stdin=stdin)
        name = f"{arguments[0]} {number} with {output} output"
        if first.code is None or first.code <= 0:
            yield f"{name}: exit code {first.code}"
        if not first.err.startswith(("error:", '{"error":')):
            yield f"{name}: no error but {first.err!r}"
        yield from (f"{name}: {problem}" for problem in judge_ending(first))
        again = runner.run(folder, *arguments, stdin=stdin)
        if again.code != 0 or len(acknowledged(again)) != keys:
            yield f"{name}: repeated it gives {again.code} {again.err!r}"
    yield from _all_once(runner, folder, {"k1", "k2", "loop-0", "loop-1", "loop-2"})


def signalled(
    runner: Runner, folder: Path, *, times: int, chance: random.Random
) -> Iterator[str]:
    """Yield the problems after SIGINT and SIGTERM at random moments."""
    claims = []
    for number in range(times):
        kind = chance.choice((SIGINT, SIGTERM))
        command = ("note", f"number {number}", "--key", f"s{number}", "--json")
        timer = [int(kind), chance.uniform(0.0005, 0.015)]
        first = runner.run(folder, *command, timer=timer)
        claims += acknowledged(first)
        for problem in judge_ending(first):
            yield f"{kind.name} after {timer[1] * 1000:.1f} ms: {problem}"
        again = runner.run(folder, *command)
        claims += acknowledged(again)
        if again.code != 0:
            yield f"{kind.name}: the next command gives {again.code} {again.err!r}"
    seen = yield from _all_once(runner, folder, {f"s{n}" for n in range(times)})
    if lost := missing(claims, seen["events"]):
        yield f"acknowledged and lost: {lost}"


def limited(runner: Runner, folder: Path, kind: str, values: list[int]) -> Iterator[str]:
    """Yield the problems if a process has a limited number of descriptors or bytes."""
    for value in values:
        command = ("note", "limited", "--key", f"limit-{value}", "--json")
        first = runner.run(folder, *command, limits={kind: value})
        for problem in judge_ending(first):
            yield f"RLIMIT_{kind} {value}: {problem}"
        again = runner.run(folder, *command)
        if again.code != 0 or len(acknowledged(again)) != 1:
            yield f"RLIMIT_{kind} {value}: the next one gives {again.code} {again.err!r}"
    yield from _all_once(runner, folder, {f"limit-{value}" for value in values})


def _all_once(runner: Runner, folder: Path, keys: set[str]) -> Any:
    seen = runner.inspect(folder)
    found = sorted(event["key"] for event in seen["events"] if event["key"])
    if found != sorted(keys):
        yield f"keys in the log: {found}"
    if not seen["sound"]:
        yield f"not sound: {seen['findings']}"
    return seen
