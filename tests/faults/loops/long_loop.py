"""A loop of many iterations, observed from outside: its process's resources over time.

Each iteration is measured, judged better, and paid for. From time to time the agent is
blocked by a limit, fails, or leaves nothing that can be measured.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.acceptance.commands import answers, clean_environment, run

LIMITED, FAILS, UNMEASURED = 50, 70, 90
"""Every so many iterations one is limited, one fails once, one cannot be measured."""
SAMPLE_SECONDS = 0.25
COST = "0.001"
_SAID = json.dumps({"status": "continue", "summary": "did %s"})
ANSWER = json.dumps(
    {
        "type": "result",
        "is_error": False,
        "result": _SAID,
        "num_turns": 1,
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "total_cost_usd": float(COST),
    }
)
AGENT = f"""\
n=$ITERATION_NUMBER
echo "$n" >> ../calls
first() {{ test ! -e "../seen/$1-$n" && : > "../seen/$1-$n"; }}
if test $((n % {LIMITED})) = 0 && first limit
then echo "429: try again in 0.2s" >&2; exit 1; fi
if test $((n % {FAILS})) = 0 && first fault
then echo "it timed out" >&2; exit 1; fi
printf '{{"done": %s}}\\n' "$n" > made.json
test $((n % {UNMEASURED})) = 0 && rm made.json
cat <<END
{ANSWER % "$n"}
END
"""
MEASURE = 'read -r made < made.json && echo "$made" > done.json'
MEASURES = ("--measure", MEASURE, "--report", "json=done.json")


class Sample(NamedTuple):
    """The resources of the loop's process during an iteration."""

    iteration: int
    kib: int
    """Memory that is its own."""
    files: int
    """Open descriptors."""
    threads: int


class Long(NamedTuple):
    """The result of a long loop."""

    code: int
    samples: list[Sample]
    said: str
    """The last of its words."""


def prepare(folder: Path, iterations: int) -> Path:
    """Create a sprint that the iterations do not finish; return its tree."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    (folder / "seen").mkdir()
    (tree / "agent.sh").write_text(AGENT)
    run(tree, "init", "--here")
    most = str(2 * iterations)
    run(tree, "sprint", "create", "one", "--goal", "Win", "--max-iterations", most)
    metric = ("--metric", "done", "--better", "higher", "--target", most)
    run(tree, "iteration", "rules", "set", *metric, "--weight", "0.6", "--pointer", "/done")
    return tree


def live(tree: Path, iterations: int) -> Long:
    """Run the loop for a number of iterations while observing it."""
    samples: list[Sample] = []
    words = ["run", *MEASURES, "--budget-iterations", str(iterations), "--rest", "0"]
    words += ["--on-regression", "continue", "--", "sh", "agent.sh"]
    with (tree.parent / "said").open("w+") as said:
        loop = subprocess.Popen(
            [sys.executable, "-m", "sprintlog.cli", *words],
            cwd=tree,
            env=clean_environment(),
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            while loop.poll() is None:
                if (sample := _look(loop.pid, tree.parent / "calls")) is not None:
                    samples.append(sample)
                time.sleep(SAMPLE_SECONDS)
        finally:
            loop.kill()
            loop.wait()
        said.seek(0)
        return Long(loop.returncode, samples, said.read()[-2_000:])


def _look(process: int, calls: Path) -> Sample | None:
    """Return the memory of a process; None before its first iteration or at its end."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        told = dict(line.split(":", 1) for line in lines)
        files = len(os.listdir(f"/proc/{process}/fd"))
        with calls.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 16))
            *_, last = file.read().split()
        own = int(told["RssAnon"].split()[0])
        return Sample(int(last), own, files, int(told["Threads"]))
    except (OSError, ValueError, KeyError):
        return None


def spent(tree: Path) -> dict[str, object]:
    """Return the total usage of all agent runs according to `status`."""
    [status] = answers(tree, "status")
    found: dict[str, object] = status["spent"]
    return found


def growth(samples: list[Sample], iterations: int) -> tuple[Sample, Sample]:
    """Return the maximum in the second tenth of a loop, and in its last."""
    tenth = iterations // 10
    early = [x for x in samples if tenth <= x.iteration < 2 * tenth]
    late = [x for x in samples if x.iteration >= iterations - tenth]
    assert early, "the loop was not seen in its second tenth"
    assert late, "the loop was not seen in its last tenth"
    return _most(early), _most(late)


def _most(samples: list[Sample]) -> Sample:
    return Sample(*map(max, zip(*samples, strict=True)))
