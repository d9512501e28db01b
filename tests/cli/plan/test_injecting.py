"""`phase inject` and `step inject`, from the command line to the state file."""

import json
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.events import InjectionPosition
from sprintlog.engine.sprint.plan.injection import InjectPhases
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections import Workspace
from sprintlog.projections.state_files.yaml.reader import load


def document(folder: Path) -> Any:
    """Return the state file as data."""
    return load((folder / "PROGRESS.yaml").read_bytes())


def ids(folder: Path) -> list[str]:
    """Return the ids of the top phases in the state file."""
    return [phase["id"] for phase in document(folder)["phases"]]


def test_injects_a_phase(sprint: Path, done: Any) -> None:
    """A prompt is enough: the phase is injected after the current one, with a new id."""
    out = done("phase", "inject", "--prompt", "Repair it").out
    assert "phase-injected injected-0" in out
    added = document(sprint)["phases"][1]
    assert (added["prompt"], added["injected"]) == ("Repair it", True)
    assert document(sprint)["stats"]["total-phases"] == 4


def test_answers_with_the_addresses(sprint: Path, done: Any) -> None:
    """A script gets the ids of the injected phases, also when it repeats the command."""
    command = (
        "phase",
        "inject",
        "--prompt",
        "x",
        "--prefix",
        "fix",
        "--key",
        "k",
        "--json",
    )
    first = done(*command, "--position", "after:build/login/implement").json
    assert first["addresses"] == ["build/login/fix-0"]
    again = done(*command, "--position", "after:build/login/implement").json
    assert again == {**first, "duplicate": True}


def test_says_when_it_is_so_already(sprint: Path, done: Any) -> None:
    """The same command again records nothing, even without a key."""
    command = ("phase", "inject", "--prompt", "x", "--id", "n", "--json")
    version = done(*command).json["version"]
    assert done(*command).json == {
        "unchanged": True,
        "stream": "sprint/auth",
        "version": version,
    }


@pytest.mark.parametrize(
    ("position", "address"),
    [
        ("after-current", "n"),
        ("before:build/login", "build/n"),
        ("after:build/login/check", "build/login/n"),
        ("end-of-phase", "n"),
        ("end-of-phase:build", "build/n"),
        ("end-of-workflow", "n"),
    ],
)
def test_takes_every_position(sprint: Path, done: Any, position: str, address: str) -> None:
    """Each documented position is one word, with an address after a colon."""
    command = ("phase", "inject", "--id", "n", "--prompt", "x", "--position", position)
    assert done(*command, "--json").json["addresses"] == [address]


def test_takes_a_prompt_from_a_file(sprint: Path, done: Any) -> None:
    """A prompt file is used unchanged, with model and breakpoint."""
    (sprint / "fix.md").write_text("First\nthen ü\n")
    command = ("phase", "inject", "--prompt-file", "fix.md", "--id", "n")
    done(*command, "--model", "opus", "--break")
    added = document(sprint)["phases"][1]
    assert (added["prompt"], added["model"], added["break"]) == (
        "First\nthen ü\n",
        "opus",
        True,
    )


@pytest.mark.parametrize("name", ["fixes.yaml", "fixes.json"])
def test_takes_several_from_a_file(sprint: Path, done: Any, name: str) -> None:
    """A file of phases is injected completely, numbered from a prefix, and in the log."""
    steps = [{"id": "s", "prompt": "y"}]
    content = {"phases": [{"id": "a", "prompt": "x"}, {"id": "b", "steps": steps}]}
    (sprint / name).write_text(json.dumps(content))
    command = ("phase", "inject", "--file", name, "--prefix", "fix", "--json")
    assert done(*command).json["addresses"] == ["fix-0", "fix-1"]
    assert ids(sprint) == ["setup", "fix-0", "fix-1", "build", "review"]
    data = done("log", "--last", "1", "--json").json["data"]
    assert data["sources"][0]["path"] == name


def test_injects_all_or_nothing(sprint: Path, run: Any) -> None:
    """One invalid phase in a file excludes the others; file and field are named."""
    content = "- {id: a, prompt: x}\n- {id: setup, prompt: y}\n"
    (sprint / "fixes.yaml").write_text(content)
    result = run("phase", "inject", "--file", "fixes.yaml")
    assert result.code == 1
    assert result.err.startswith("error: fixes.yaml: phases[1].id: phase setup already")
    assert ids(sprint) == ["setup", "build", "review"]


def test_injects_steps(sprint: Path, done: Any) -> None:
    """A step is injected with its sub-phases, and the figures follow."""
    (sprint / "steps.yaml").write_text(
        "steps:\n  - id: logout\n    prompt: Let people out\n"
        "    phases: [{id: implement, prompt: Write it}]\n"
    )
    command = ("step", "inject", "--file", "steps.yaml", "--position", "end-of-phase:build")
    assert done(*command, "--json").json["addresses"] == ["build/logout"]
    assert document(sprint)["stats"]["total-steps"] == 2
    done(
        "step",
        "inject",
        "--id",
        "tidy",
        "--prompt",
        "x",
        "--position",
        "before:build/logout",
    )
    steps = document(sprint)["phases"][1]["steps"]
    assert [step["id"] for step in steps] == ["login", "tidy", "logout"]


def test_keeps_the_pointer_on_its_work(sprint: Path, done: Any) -> None:
    """Work injected before the pointer only changes its index."""
    done("phase", "start")
    done("phase", "inject", "--prompt", "x", "--id", "n", "--position", "before:setup")
    assert done("status", "--json").json["pointer"] == "setup"
    assert document(sprint)["current"]["phase"] == 1
    done("phase", "complete")
    assert done("status", "--json").json["pointer"] == "n"


def test_goes_with_a_rollback(sprint: Path, done: Any) -> None:
    """A rollback removes injected work, an undo restores it, byte for byte."""
    before = (sprint / "PROGRESS.yaml").read_bytes()
    done("phase", "inject", "--prompt", "x")
    after = (sprint / "PROGRESS.yaml").read_bytes()
    done("rollback", "version:2")
    assert (sprint / "PROGRESS.yaml").read_bytes() == before
    done("undo")
    assert (sprint / "PROGRESS.yaml").read_bytes() == after
    (sprint / "PROGRESS.yaml").unlink()
    done("rebuild")
    assert (sprint / "PROGRESS.yaml").read_bytes() == after


@pytest.mark.sampled(16)
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "specify exactly one of --prompt, --prompt-file, --file, --workflow"),
        (["--prompt", "x", "--file", "y"], 2, "one of --prompt"),
        (["--prompt", "x", "--id", "n", "--prefix", "p"], 2, "cannot be combined"),
        (["--file", "plan.yaml", "--id", "n"], 2, "--id cannot be combined"),
        (["--file", "plan.yaml", "--break"], 2, "--break cannot be combined"),
        (["--prompt", "x", "--position", "first"], 2, "not one of after-current, after"),
        (["--prompt", "x", "--position", "before"], 1, "requires a phase address"),
        (["--prompt", "x", "--position", "after:nope"], 3, "no phase nope"),
        (["--prompt", " "], 2, "'--prompt': the value must not be empty"),
        (["--prompt", "x", "--id", "setup"], 1, "--id: phase setup already exists"),
        (["--prompt", "x", "--id", "n" * 129], 1, "--id: is longer than 128"),
        (["--prompt-file", "nope.md"], 3, "nope.md: there is no such file"),
        (["--file", "nope.yaml"], 3, "no such file"),
        (["--file", "latin.md"], 1, "latin.md"),
        (["--prompt-file", "latin.md"], 1, "latin.md: is not UTF-8"),
        (["--prompt-file", "/dev/zero"], 1, "/dev/zero: is longer than 8 MiB"),
    ],
)
def test_refuses_in_one_line(
    sprint: Path, run: Any, arguments: list[str], code: int, said: str
) -> None:
    """Invalid input is reported by option, and nothing is recorded."""
    (sprint / "latin.md").write_bytes(b"caf\xe9")
    result = run("phase", "inject", *arguments)
    assert (result.code, said in result.err) == (code, True), result.err
    assert len(run("log", "--json").lines) == 2


def test_refuses_a_completed_sprint(sprint: Path, run: Any, done: Any) -> None:
    """For a completed sprint, the refusal names the command that permits an injection."""
    for _ in range(4):
        done("phase", "skip")
    done("sprint", "complete")
    result = run("phase", "inject", "--prompt", "x")
    assert (result.code, "sprint reopen" in result.err) == (1, True)
    done("sprint", "reopen")
    done("phase", "inject", "--prompt", "x")
    assert done("status", "--json").json["pointer"] == "injected-0"


def test_masks_what_agents_write(sprint: Path, done: Any) -> None:
    """A token in an injected prompt is not recorded, unless masking is off."""
    token = "ghp_" + "a" * 36
    done("phase", "inject", "--prompt", f"Use {token}")
    assert document(sprint)["phases"][1]["prompt"] == "Use [masked: github-token ba94fef9]"
    done("phase", "inject", "--prompt", f"Use {token}", "--no-mask")
    assert document(sprint)["phases"][2]["prompt"] == f"Use {token}"


def test_appends_the_same(sprint: Path, done: Any, run: Any) -> None:
    """`append` injects by the same rules, and checks the shape like a file's."""
    command = {"nodes": [{"prompt": "x"}], "position": {"type": "after-current"}}
    data = json.dumps({**command, "id_prefix": "fix"})
    answer = done("append", "phase-injected", "--data", data, "--json").json
    assert answer["addresses"] == ["fix-0"]
    command["nodes"] = [{"id": "n", "prompt": "x", "gate": "make"}]
    result = run("append", "phase-injected", "--data", json.dumps(command))
    assert (result.code, "gate" in result.err) == (1, True)


def test_lists_it_in_the_log(sprint: Path, done: Any) -> None:
    """One log line describes the injection and its position."""
    done("phase", "inject", "--prompt", "x", "--id", "n", "--position", "before:build")
    out = done("log", "--last", "1").out
    assert "phase-injected n  position before:build" in out


def test_two_at_once_get_two_ids(sprint: Path) -> None:
    """After a conflict the number is chosen again, so ids are unique."""
    position = InjectionPosition("end-of-workflow")

    def injected(state: Sprint, prompt: str) -> list[Event]:
        nodes = [{"prompt": prompt}]
        return InjectPhases(nodes=nodes, position=position, id_prefix="fix").decide(
            state, "2026-01-15T09:00:00Z"
        )

    with Workspace.open(sprint) as one, Workspace.open(sprint) as other:
        overtaken: list[int] = []

        def decide(state: Sprint, at: str) -> list[Event]:
            if not overtaken:
                overtaken.append(
                    other.handle_with("auth", lambda s, _: injected(s, "y")).sprint.version
                )
            return injected(state, "x")

        one.handle_with("auth", decide)
        phases = one.sprint("auth").document["phases"]
    assert [(p["id"], p["prompt"]) for p in phases[3:]] == [("fix-0", "y"), ("fix-1", "x")]


def test_tells_keys_that_no_field_has(sprint: Path, done: Any) -> None:
    """A misspelled key in an injection is reported, with a suggestion."""
    (sprint / "new.yaml").write_text("- id: n\n  prompt: x\n  modle: opus\n")
    told = done("phase", "inject", "--file", "new.yaml").err
    assert told == (
        "warning: new.yaml: phases[0].modle is an unknown field; did you mean model?\n"
    )
