"""Loops with measured iterations: plan, agent and tests are three small scripts.

The agent's actions depend only on the number of the iteration, so a loop that is killed
and continued repeats them.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import structs

from sprintlog.engine.adapters.processes.signals import Signals
from sprintlog.engine.service.driver.agent import Driver, RunSettings
from sprintlog.engine.service.driver.runner import Runner
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.projections.state_files.yaml.reader import load
from sprintlog.projections.workspace import Workspace

from ....faults.loops.looping import without_times

PLAN = """\
phases:
  - {id: a, prompt: Write a}
  - {id: b, prompt: Write b%s}
  - {id: c, prompt: Write c}
"""
GATE = ", gate: {script: test -e repaired, on-fail-prompt: Repair it}"

AGENT = """\
n=$ITERATION_NUMBER
mkdir -p ../told && cat > ../told/$n
case "$n" in
%s
*) echo $((n + 3)) > tests ;;
esac
grep -q 'Repair it' ../told/$n && touch repaired
echo "work of $n" > work
echo "did $n"
"""
"""`tests` has the number of tests; `broken` means that none can be run."""

MEASURE = """\
test ! -e broken || exit 2
{ echo '<testsuite name="x">'
  i=0; while [ $i -lt $(cat tests) ]; do
  echo "<testcase classname='c' name='t$i'/>"; i=$((i + 1)); done
  echo '</testsuite>'; } > junit.xml
"""

MEASURES = ("--measure", "sh measure.sh", "--report", "junit.xml")
RUN = ("--", "sh", "agent.sh")


GOAL_AGENT = """\
n=$ITERATION_NUMBER
mkdir -p ../told && cat > ../told/$n
status=continue
case "$n" in
%s
*) echo $((n + 3)) > tests ;;
esac
echo "work of $n" > work
said='{"status": "%%s", "pending": ["step %%s"], "summary": "did %%s"}'
printf "$said\\n" $status $n $n
"""


def aim(done: Callable[..., Any], folder: Path, cases: str, *words: str) -> Path:
    """Create a sprint with a goal in a separate folder; return that."""
    tree = _tree(folder, GOAL_AGENT % cases)
    done("init", "--here")
    done("sprint", "create", "one", "--goal", "Win", *words)
    return tree


def prepare(
    done: Callable[..., Any], folder: Path, cases: str = "", plan: str = ""
) -> Path:
    """Create a sprint with three phases in a separate folder; return that."""
    tree = _tree(folder, AGENT % cases)
    (tree / "plan.yaml").write_text(plan or PLAN % "")
    done("init", "--here")
    done("sprint", "create", "one", "--plan", "plan.yaml")
    return tree


def _tree(folder: Path, agent: str) -> Path:
    tree = folder / "tree"
    tree.mkdir()
    os.chdir(tree)
    (tree / "agent.sh").write_text(agent)
    (tree / "measure.sh").write_text(MEASURE)
    (tree / "tests").write_text("3\n")
    return tree


def advised(done: Callable[..., Any]) -> list[tuple[int, str, str]]:
    """Return every advice that was recorded: iteration, action, cause."""
    events = done("log", "--type", "recommendation-given", "--json").lines
    data = [event["data"] for event in events]
    return [(one["number"], one["action"], one.get("cause", "")) for one in data]


def types(done: Callable[..., Any]) -> list[str]:
    """Return the type of every event."""
    return [event["type"] for event in done("log", "--json").lines]


class KilledError(BaseException):
    """The process is gone, as after SIGKILL, and does nothing more."""


def drive(tree: Path, *, appends: int | None = None) -> tuple[Action | None, int]:
    """Continue the loop, to its end or until the given number of appends.

    Return its exit status, None if it was killed, and the number of appends.
    """
    count = 0
    means = RunSettings(["sh", "agent.sh"], os.environ, 60.0, sleep=lambda seconds: None)
    workspace = Workspace.open(tree)
    workspace.environment = dict(os.environ)
    append = workspace.log.append

    def counted(*args: Any, **given: Any) -> Any:
        nonlocal count
        if appends is not None and count >= appends:
            raise KilledError
        appended = append(*args, **given)
        count += 1
        if count == appends:
            raise KilledError
        return appended

    workspace.log.append = counted  # type: ignore[method-assign]
    try:
        with Signals() as signals:
            driver = Driver(workspace, "one", means, signals, 2, lambda said: None)
            return Runner(driver).run(), count
    except KilledError:
        return None, count
    finally:
        workspace.close()


def outcome(tree: Path) -> dict[str, Any]:
    """Return all that a night leads to, without ids and times."""
    with Workspace.open(tree) as workspace:
        knowledge = workspace.sprint("one").knowledge
        tracker = knowledge.tracker
        return {
            "document": without_times(load((tree / "PROGRESS.yaml").read_bytes())),
            "measured": [structs.replace(one, version=0) for one in tracker.measured],
            "best": tracker.best and (tracker.best.number, tracker.best.score),
            "selected": tracker.selected,
            "back": [number for _, number in knowledge.gone_back],
            "iterations": [number for number, _ in knowledge.iterations],
            "files": {
                path.relative_to(tree).as_posix(): path.read_bytes()
                for path in sorted(tree.rglob("*"))
                if path.is_file() and not {".sprintlog"} & {*path.parts}
                if path.name != "PROGRESS.yaml"
            },
        }


def runs(tree: Path) -> int:
    """Return how many runs of an agent were recorded."""
    with Workspace.open(tree) as workspace:
        return workspace.sprint("one").knowledge.spent.runs
