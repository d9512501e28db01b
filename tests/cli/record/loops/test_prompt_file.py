"""`--prompt-file`: a loop's complete prompt, read each time, inside the tree only."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.service.driver import runner
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.projections.workspace import Workspace

from ...conftest import Run

PLAN = "phases: [{id: a, prompt: Do a}, {id: b, prompt: Do b}]"
KEEPS = """\
import os, sys
with open("handed.txt", "a") as handed:
    handed.write(sys.stdin.read() + "|")
%s
print("done")
"""


@pytest.fixture
def planned(folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a sprint of two phases."""
    monkeypatch.setattr(runner, "PATIENCE_SECONDS", 0.5)
    (folder / "plan.yaml").write_text(PLAN)
    done("init", "--here")
    done("sprint", "create", "one", "--plan", "plan.yaml")
    return folder


def keeping(folder: Path, trait: str = "") -> list[str]:
    """Return the command of an agent that stores its input."""
    (folder / "agent.py").write_text(KEEPS % trait)
    return ["--", sys.executable, "agent.py"]


def handed(folder: Path) -> list[str]:
    """Return the input of the agent, run by run."""
    return (folder / "handed.txt").read_text().split("|")[:-1]


def test_the_file_alone_is_handed_over(planned: Path, done: Run) -> None:
    """An existing PROMPT.md reaches the agent byte for byte, each time."""
    text = "Study specs/*.\r\n\tDo the next task. 100 % {x} {{ a b }} ünï\n\n"
    (planned / "PROMPT.md").write_bytes(text.encode())
    (planned / "agent.py").write_text(
        "import sys; open('handed.txt', 'ab').write(sys.stdin.buffer.read()); print('done')"
    )
    done("run", "--prompt-file", "PROMPT.md", "--", sys.executable, "agent.py")
    assert (planned / "handed.txt").read_bytes() == 2 * text.encode()


def test_next_answers_the_very_same_prompt(planned: Path, done: Run) -> None:
    """With the file and without it; the task is included."""
    done("journal", "open")
    done("journal learning add", "use make", "--type", "build-command", "--prd", "p")
    (planned / "P.md").write_text("{{phase}}: {{task}}\n{{learnings}}")
    done("sprint", "start")
    own = done("next", "--json", "--prompt-file", "P.md").json
    ours = done("next", "--json").json
    assert own["prompt"].startswith("a: Do a\nNotes of earlier runs")
    assert "- use make" in ours["prompt"]
    assert own["task"] == ours["task"] == "Do a"
    done("run", "--prompt-file", "P.md", *keeping(planned))
    assert handed(planned)[0] == own["prompt"]
    assert done("next", "--prompt", "--at", "version:2").out.startswith("# Position\n")


def test_the_file_is_read_anew_each_time(planned: Path, done: Run) -> None:
    """An agent that edits its own PROMPT.md receives the new text."""
    (planned / "P.md").write_text("first")
    edits = "open('P.md', 'w').write('second {{phase}}')"
    done("run", "--prompt-file", "P.md", *keeping(planned, edits))
    assert handed(planned) == ["first", "second b"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("trait", "why"),
    [
        ("os.remove('P.md')", "P.md: no such file"),
        (
            "open('P.md', 'w').write('x\\n{{tsak}}')",
            "P.md:2: there is no variable {{tsak}}",
        ),
        ("os.remove('P.md'); os.symlink('/etc/passwd', 'P.md')", "is a link"),
        ("open('P.md', 'w').close()", "P.md: is empty"),
        ("os.remove('P.md'); os.mkfifo('P.md')", "P.md: is not a regular file"),
    ],
)
def test_a_file_that_is_gone_in_the_night_stops_the_loop(
    planned: Path, run: Run, done: Run, trait: str, why: str
) -> None:
    """The reason is printed, and a corrected file continues at the stop."""
    (planned / "P.md").write_text("go")
    result = run("run", "--json", "--prompt-file", "P.md", *keeping(planned, trait))
    assert (result.code, result.json["do"]) == (24, "stop")
    assert f"the prompt file: {why}" in result.json["why"] or why in result.json["why"]
    assert handed(planned) == ["go"]
    (planned / "P.md").unlink(missing_ok=True)
    (planned / "P.md").write_text("on")
    done("run", "--prompt-file", "P.md", *keeping(planned))
    assert handed(planned) == ["go", "on"]


def test_a_file_that_is_replaced_is_waited_for(planned: Path, done: Run) -> None:
    """A temporarily missing file does not stop the loop."""
    done("sprint", "start")
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        (planned / "P.md").write_text("back")

    with Workspace.open(planned) as workspace:
        sprint = workspace.sprint("one")
        action = next_action(sprint, now=workspace.now())
        asked = runner.Prompts(workspace, "P.md", sleep=sleep).told(sprint, action)
    assert (asked.do, asked.prompt) == ("work", "back")
    assert len(waited) == 1


@pytest.mark.parametrize(
    ("make", "named", "code", "said"),
    [
        (lambda path: None, "P.md", 3, "P.md: no such file"),
        (lambda path: path.write_text("a\n{{goall}}\n"), "P.md", 1, "P.md:2: there is no"),
        (lambda path: path.symlink_to("plan.yaml"), "P.md", 1, "P.md: is a link"),
        (lambda path: path.mkdir(), "P.md", 1, "P.md: is not a regular file"),
        (lambda path: path.write_bytes(b"\xff"), "P.md", 1, "P.md: is not UTF-8"),
        (lambda path: path.write_bytes(b"x" * (2**20 + 1)), "P.md", 1, "longer than 1 MiB"),
        (lambda path: os.mkfifo(path), "P.md", 1, "P.md: is not a regular file"),
        (lambda path: None, "../P.md", 1, "is not in the work tree"),
        (lambda path: None, "/etc/hostname", 1, "is not in the work tree"),
        (lambda path: None, ".git/config", 1, "is not the path of a file"),
    ],
)
def test_a_bad_file_is_refused_at_the_start(
    planned: Path, run: Run, done: Run, make: Any, named: str, code: int, said: str
) -> None:
    """One line names the file, and nothing is recorded or passed on."""
    make(planned / "P.md")
    before = len(done("log", "--json").lines)
    for command in (["run", "--prompt-file", named, "--", "cat"], ["next"]):
        if command == ["next"]:
            command = ["next", "--prompt-file", named]
        result = run(*command)
        assert (result.code, result.err.count("error:")) == (code, 1)
        assert said in result.err
    assert len(done("log", "--json").lines) == before


def test_no_link_on_the_way_is_followed(planned: Path, run: Run) -> None:
    """A folder that leads out of the tree contains no prompt."""
    (planned / "out").symlink_to("/etc")
    result = run("run", "--prompt-file", "out/hostname", "--", "cat")
    assert result.code == 1
    assert "a link, which is not followed" in result.err


def test_the_repair_of_a_gate_keeps_its_own_text(folder: Path, done: Run) -> None:
    """The findings of a gate are passed by the plan, without additions."""
    gate = {"script": "test -e repaired", "on-fail-prompt": "Repair it", "max-retries": 1}
    plan = {"phases": [{"id": "a", "prompt": "x", "gate": gate}]}
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "P.md").write_text("mine")
    done("init", "--here")
    done("sprint", "create", "one", "--plan", "plan.json")
    repairs = "len(open('handed.txt').read()) > 6 and open('repaired', 'w').close()"
    done("run", "--prompt-file", "P.md", *keeping(folder, repairs))
    first, second = handed(folder)
    assert first == "mine"
    assert second.startswith("Repair it\n\nThe gate of a failed with exit code 1")


def test_the_settings_name_it_once_they_are_trusted(
    planned: Path, run: Run, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tree alone cannot set the agent's prompt; the path is relative to its file."""
    (planned / "sprintlog.toml").write_text('[agent]\nprompt-file = "P.md"\n')
    (planned / "P.md").write_text("by the file")
    done("sprint", "start")
    refused = run("next", "--json")
    assert refused.code == 1
    assert "agent.prompt-file" in refused.err
    done("config", "--trust")
    (planned / "below").mkdir()
    monkeypatch.chdir(planned / "below")
    assert done("next", "--json", "--sprint", "one").json["prompt"] == "by the file"


def test_a_goal_is_worked_on_with_the_loops_own_prompt(
    folder: Path, done: Run, run: Run
) -> None:
    """The file is the complete prompt; the agent's answer is read as usual."""
    (folder / "P.md").write_text("mine {{iteration}}")
    done("init", "--here")
    done("sprint", "create", "one", "--goal", "Win")
    ends = "'2' in open('handed.txt').read()"
    trait = f"print('RALPH_COMPLETE' if {ends} else 'more'); sys.exit()"
    assert (
        run("run", "--rest", "0", "--prompt-file", "P.md", *keeping(folder, trait)).code
        == 0
    )
    assert handed(folder) == ["mine 1", "mine 2"]
