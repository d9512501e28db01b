"""`head`, `prove`, `verify --head`, `--proof` and `--git`: evidence for a log."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import needs

from ...adapters.trees import git, put
from ..conftest import Run

PLAN = b"phases:\n  - {id: build, prompt: Build it}\n"
needs_openssh = needs.unless(
    shutil.which("ssh-keygen"), "ssh-keygen", needs.INSTALL["ssh-keygen"]
)


@pytest.fixture
def signed(folder: Path, done: Run) -> Path:
    """Return a tree with a log, whose head was signed by one of two people."""
    git(folder, "init", "-q")
    put(folder / "plan.yaml", PLAN)
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("note", "one")
    signers = []
    for who in ("ann", "bob"):
        call = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", who, "-f", who]
        subprocess.run(call, cwd=folder, check=True)
        key = (folder / f"{who}.pub").read_text()
        signers.append(f'{who} namespaces="sprintlog-head" {key}')
    put(folder / "allowed", "".join(signers[:1]).encode())
    done("verify head", "--sign", "--key", "ann")
    done("note", "two")
    return folder


CHECK = ("verify", "--head", "HEAD.txt", "--allowed-signers", "allowed")


@needs_openssh
def test_a_signed_head_is_checked(signed: Path, done: Run) -> None:
    """The signed head is in the log, and the signer is printed."""
    assert "signed by ann" in done(*CHECK).err


@needs_openssh
def test_each_thing_that_can_be_wrong_is_said(signed: Path, done: Run, run: Run) -> None:
    """A wrong key, other bytes, another purpose or no signature: each has status 4."""
    done("verify head", "--sign", "--key", "bob", "--out", "bob.txt")
    result = run("verify", "--head", "bob.txt", "--allowed-signers", "allowed")
    assert (result.code, "not among the allowed" in result.out) == (4, True)
    text = (signed / "HEAD.txt").read_bytes()
    put(signed / "HEAD.txt", text.replace(b"time: 2", b"time: 3"))
    result = run(*CHECK)
    assert (result.code, "does not match these bytes" in result.out) == (4, True)
    put(signed / "HEAD.txt", text)
    (signed / "HEAD.txt.sig").unlink()
    call = ["ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", "ann", "HEAD.txt"]
    subprocess.run(call, cwd=signed, check=True)
    result = run(*CHECK)
    assert (result.code, "not for a sprintlog head" in result.out) == (4, True)
    (signed / "HEAD.txt.sig").unlink()
    assert run(*CHECK).code == 4


def test_a_head_of_another_log_or_of_more_events(folder: Path, done: Run, run: Run) -> None:
    """A head that does not fit is reported with the reason; an invalid head is refused."""
    put(folder / "plan.yaml", PLAN)
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    text = done("verify head").out
    put(folder / "HEAD.txt", text.encode())
    assert done("verify", "--head", "HEAD.txt").code == 0
    for old, new, said in (
        ("position: 1", "position: 7", "its end was cut off"),
        ("log: 0", "log: 1", "the head of another log"),
        ("hash: ", "hash: x", "not a head"),
    ):
        put(folder / "HEAD.txt", text.replace(old, new, 1).encode())
        result = run("verify", "--head", "HEAD.txt")
        assert result.code in (1, 4)
        assert said in result.out + result.err


@needs_openssh
def test_an_event_is_proved_without_the_log(
    signed: Path, done: Run, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proof is sufficient; with any change it proves nothing."""
    done("verify prove", "2", "--head", "HEAD.txt")
    elsewhere = tmp_path.with_name("elsewhere")
    elsewhere.mkdir()
    for name in ("proof-2.json", "allowed"):
        shutil.copy(signed / name, elsewhere / name)
    monkeypatch.chdir(elsewhere)
    call = ("verify", "--proof", "proof-2.json", "--allowed-signers", "allowed", "--json")
    answer = done(*call).json
    assert (answer["is_proof"], answer["signed_by"], answer["position"]) == (True, "ann", 2)
    whole = json.loads((elsewhere / "proof-2.json").read_text())
    for part in ("payload", "actor", "at"):
        other = {**whole["event"], part: whole["event"][part][:-1] + "x"}
        changed = {**whole, "event": other}
        put(elsewhere / "proof-2.json", json.dumps(changed).encode())
        assert run(*call).code == 4, part
    put(elsewhere / "proof-2.json", json.dumps({**whole, "path": []}).encode())
    assert "does not lead" in run(*call).out
    put(elsewhere / "proof-2.json", b"{}")
    assert run(*call).code == 1


def test_commits_bear_witness(folder: Path, done: Run, run: Run) -> None:
    """A head in a commit's message is compared wherever the commit is reachable."""
    git(folder, "init", "-q")
    put(folder / "plan.yaml", PLAN)
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    line = done("verify head", "--trailer").out.strip()
    git(folder, "commit", "-q", "--allow-empty", "-m", f"night\n\n{line}")
    assert "1 head is recorded" in done("verify", "--git").err
    git(folder, "notes", "--ref=heads", "add", "-m", line)
    assert "2 heads are recorded" in done("verify", "--git").err
    git(folder, "commit", "-q", "--allow-empty", "-m", "x\n\nSprintlog-Head: 1:" + "ab" * 8)
    result = run("verify", "--git")
    assert (result.code, "has another hash" in result.out) == (4, True)
