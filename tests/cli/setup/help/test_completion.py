"""The suggestions for Tab, in the shells themselves if installed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import needs

from ...conftest import Run

BASH = """\
eval "$(sprintlog completion bash)"
COMP_LINE=$1 COMP_POINT=${#1}
_sprintlog sprintlog
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """\
autoload -Uz compinit && compinit -u -D
_describe() { print -l -- "${(@)${(@)words_found}%%:*}" }
eval "$(sprintlog completion zsh)"
words=("${(@s: :)1}") CURRENT=${#words}
_sprintlog
"""
FISH = "sprintlog completion fish | source; complete -C $argv[1] | string split -f1 \\t"

Ask = Callable[..., list[str]]


@pytest.fixture
def offered(sprint: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return a function that returns the completions for a line."""

    def ask(line: str, shell: str = "fish") -> list[str]:
        monkeypatch.setenv("_SPRINTLOG_COMPLETE", shell)
        monkeypatch.setenv("COMP_LINE", line)
        monkeypatch.setenv("COMP_WORDBREAKS", " \t\n\"'><=;|&(:")
        result = run()
        monkeypatch.delenv("_SPRINTLOG_COMPLETE")
        assert result.code == 0, result
        return [one.partition("\t")[0] for one in result.out.splitlines()]

    return ask


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sprintlog sta", ["status"]),
        ("sprintlog --color al", ["always"]),
        ("sprintlog --utc phase com", ["complete"]),
        ("sprintlog phase com", ["complete"]),
        ("sprintlog nothing ", []),
        ("sprintlog status --sp", ["--sprint"]),
        ("sprintlog status --sprint ", ["auth"]),
        ("sprintlog status --sprint=a", ["--sprint=auth"]),
        ("sprintlog status --sprint other --at be", []),
        ("sprintlog phase start build/login/i", ["build/login/implement"]),
        ("sprintlog phase start --sprint auth set", ["setup"]),
        ("sprintlog log --phase rev", ["review"]),
        ("sprintlog log --type phase-c", ["phase-completed"]),
        ("sprintlog append sprint-st", ["sprint-started"]),
        ("sprintlog rollback it", ["iter:1"]),
        ("sprintlog rollback 'it", ["iter:1"]),
        ("sprintlog diff start it", ["iter:1"]),
        ("sprintlog diff start best x", []),
        ("sprintlog show iteration ", ["1"]),
        ("sprintlog queue show ", ["req-1"]),
        ("sprintlog queue list --status pen", ["pending"]),
        ("sprintlog completion z", ["zsh"]),
        ("sprintlog store backup ", [":files"]),
        ("sprintlog sprint create new --sprint-dir ", [":folders"]),
        ("sprintlog run -- ", [":files"]),
        ("sprintlog note ", []),
    ],
)
def test_offers_what_fits(done: Run, offered: Ask, line: str, words: list[str]) -> None:
    """Each place of a line gets its possible values from the log."""
    done("iteration", "start")
    done("queue", "add", "Crash", "--type", "bug", "--priority", "high")
    assert offered(line) == words


def test_an_option_is_offered_once(offered: Ask) -> None:
    """Given options are not offered again, unless they can be repeated."""
    found = offered("sprintlog log --sprint auth --type x --")
    assert "--sprint" not in found
    assert {"--type", "--utc", "--help"} <= {*found}


def test_without_a_log_nothing_is_wrong(
    offered: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a log, no values are offered."""
    monkeypatch.chdir("/")
    assert offered("sprintlog status --sprint ") == []


def test_bash_keeps_what_it_splits(offered: Ask) -> None:
    """After a colon, bash completes only the rest of a word."""
    assert offered("sprintlog show progress --at version:", "bash") == ["2"]
    assert offered("sprintlog show progress --at=version:", "bash") == ["2"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sprintlog sta", ["status"]),
        ("sprintlog status --sprint ", ["auth"]),
        (
            "sprintlog phase start build/login/",
            ["build/login/implement", "build/login/check"],
        ),
    ],
)
def test_shells_offer_it(sprint: Path, shell: str, line: str, words: list[str]) -> None:
    """The script of each shell requests and parses the completions."""
    program = needs.program(shell)
    script = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell]
    ours = str(Path(sys.executable).parent)
    done = subprocess.run(
        [program, "-c", script, *([] if shell == "fish" else [shell]), line],
        env={**os.environ, "PATH": f"{ours}:{os.environ['PATH']}", "HOME": str(sprint)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert sorted(done.stdout.split()) == sorted(words), done.stderr
