"""Snapshots that machines share through a git remote: pushed, fetched, and not believed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ..conftest import Run

SSH = """#!/bin/sh
# What a server does with what git asks of it over ssh, without a network.
for last; do :; done
exec env -i PATH="$PATH" HOME=/nowhere sh -c "$last"
"""
SHARED = "refs/sprintlog/snapshots/"


class Server:
    """A remote repository, as seen by its owner."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.git("init", "--quiet", "--bare", str(place))

    @property
    def url(self) -> str:
        """Return the address that the machines use."""
        return f"ssh://git@elsewhere{self.place}"

    def git(self, *words: str) -> str:
        """Return the output of a git command there."""
        done = subprocess.run(
            ["git", "--git-dir", str(self.place), *words],
            stdout=subprocess.PIPE, check=True, timeout=60, text=True,
        )  # fmt: skip
        return done.stdout

    def held(self) -> list[str]:
        """Return the snapshots stored there."""
        return self.git("for-each-ref", "--format=%(objectname)", SHARED).split()


@pytest.fixture
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Server:
    """Return a reachable server that the machine does not know yet."""
    return Server(tmp_path_factory.mktemp("elsewhere") / "snapshots.git")


@pytest.fixture
def reached(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Provide a program `ssh` that reaches every server."""
    programs = tmp_path_factory.mktemp("programs")
    (programs / "ssh").write_text(SSH)
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return programs / "ssh"


@pytest.fixture
def shared(sprint: Path, done: Run, server: Server, reached: Path) -> Path:
    """Provide a sprint with shared snapshots."""
    share_with(done, server.url)
    (sprint / "kept").write_text("good\n")
    return sprint


def share_with(done: Run, url: str) -> None:
    """Name a remote, and trust the file that does."""
    Path("sprintlog.toml").write_text(f'[snapshot]\nremote = "{url}"\n')
    done("config", "--trust")


def snapshots(done: Run) -> list[str]:
    """Return the snapshots that the log names."""
    lines = done("log", "--type", "snapshot-taken", "--json").lines
    return [line["data"]["snapshot"] for line in lines]


def lose_the_store() -> None:
    """Act as another machine, which has the log but none of the files."""
    shutil.rmtree(".sprintlog/snapshots")


def test_what_is_recorded_is_pushed_and_fetched_elsewhere(
    shared: Path, done: Run, server: Server
) -> None:
    """Another machine gets the files byte for byte; local ones are used if available."""
    done("iteration", "snapshot")
    assert server.held() == snapshots(done)
    lose_the_store()
    done("restore", f"snapshot:{snapshots(done)[0]}", "--into", "out")
    assert (shared / "out/kept").read_bytes() == b"good\n"
    server.git("update-ref", "-d", f"{SHARED}{server.held()[0]}")
    done("restore", f"snapshot:{snapshots(done)[0]}", "kept", "--into", "again")


def test_files_come_back_in_place_from_elsewhere(
    shared: Path, done: Run, server: Server
) -> None:
    """A rollback of files fetches its target, even to show its plan."""
    done("iteration", "start")
    done("iteration", "snapshot")
    (shared / "kept").write_text("worse\n")
    lose_the_store()
    done("rollback", "iter:1", "--files", "--reason", "worse", "--yes")
    assert (shared / "kept").read_bytes() == b"good\n"


def test_what_iterations_changed_is_asked_of_files_from_elsewhere(
    shared: Path, done: Run
) -> None:
    """Both ends of a difference, and a loop's results, come from the server."""
    done("iteration", "snapshot")
    done("iteration", "start")
    (shared / "kept").write_text("better\n")
    done("iteration", "snapshot")
    lose_the_store()
    assert "kept" in done("iteration", "diff", "1").out
    lose_the_store()
    done("restore", "iter:1", "--apply", "--into", "results", "--yes")
    assert (shared / "results/kept").read_text() == "better\n"


def test_a_remote_that_is_away_stops_nobody(
    shared: Path, done: Run, server: Server, reached: Path
) -> None:
    """The snapshot is recorded, one line reports it, and the next one uploads both."""
    reached.write_text("#!/bin/sh\necho 'error: no route' >&2; exit 255\n")
    said = done("iteration", "snapshot")
    assert said.err.count("kept here only") == 1
    assert server.held() == []
    reached.write_text(SSH)
    (shared / "more").touch()
    done("iteration", "snapshot")
    assert server.held() == sorted(snapshots(done))
    assert len(server.held()) == 2


def test_without_a_remote_it_says_where_the_files_are(
    shared: Path, done: Run, run: Run, server: Server
) -> None:
    """If they are nowhere, the error names the work tree, and nothing is changed."""
    done("iteration", "snapshot")
    lose_the_store()
    server.git("update-ref", "-d", f"{SHARED}{server.held()[0]}")
    refused = run("restore", f"snapshot:{snapshots(done)[0]}", "--into", "out")
    assert refused.code == 3
    assert f"its files are in the store of {shared}\n" in refused.err
    assert not (shared / "out").exists()


def test_another_snapshot_under_its_name_is_not_taken(
    shared: Path, done: Run, run: Run, server: Server
) -> None:
    """The owner of the server cannot change the restored files."""
    done("iteration", "snapshot")
    (shared / "kept").write_text("hostile\n")
    done("iteration", "snapshot")
    first, second = snapshots(done)
    server.git("update-ref", f"{SHARED}{first}", second)
    lose_the_store()
    refused = run("restore", f"snapshot:{first}", "--into", "out")
    assert refused.code != 0
    assert "a different snapshot" in refused.err
    assert not (shared / "out").exists()
    assert second not in subprocess.run(
        ["git", "--git-dir", ".sprintlog/snapshots/store.git", "for-each-ref"],
        stdout=subprocess.PIPE, check=True, timeout=60, text=True,
    ).stdout  # fmt: skip


def test_what_is_pruned_or_erased_is_let_go_there(
    shared: Path, done: Run, server: Server
) -> None:
    """The names are removed; the redaction reports data that the server may keep."""
    for number in range(4):
        (shared / "kept").write_text(f"secret-word {number}\n")
        done("iteration", "start")
        done("iteration", "snapshot")
    first = snapshots(done)[1]
    done("store prune", "--keep", "1")
    assert first not in server.held()
    (shared / "kept").write_text("nothing\n")
    answer = done(
        "redact", "--text", "secret-word", "--reason", "said too much", "--yes", "--json"
    ).json
    assert server.held() == []
    assert any(server.url in place["where"] for place in answer["unreached"])
    done("iteration", "snapshot")
    for held in server.held():
        assert "secret-word" not in server.git("show", f"{held}:files/kept")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("/srv/snapshots.git", "must use https or ssh"),
        ("file:///srv/snapshots.git", "must use https or ssh"),
        ("ext::sh -c touch% hacked", "must use https or ssh"),
        ("-oProxyCommand=touch hacked:x", "must use https or ssh"),
        ("ssh://-oProxyCommand=touch/x", "must use https or ssh"),
        ("git://host/x", "must use https or ssh"),
        ("https://me:hunter2@host/x", "must not contain a password"),
    ],
)
def test_only_servers_are_remotes(
    shared: Path, done: Run, run: Run, url: str, said: str
) -> None:
    """Folders, programs and options are refused; the snapshot is stored locally."""
    share_with(done, url)
    told = run("iteration", "snapshot")
    assert said in told.err
    assert "hunter2" not in told.err
    assert not (shared / "hacked").exists()


def test_nobody_shares_before_the_file_is_trusted(
    shared: Path, run: Run, server: Server
) -> None:
    """A remote in a pulled file gets nothing."""
    (shared / "sprintlog.toml").write_text(f'[snapshot]\nremote = "{server.url}-other"\n')
    refused = run("iteration", "snapshot")
    assert refused.code == 1
    assert "config --trust" in refused.err
    assert server.held() == []
