"""A log on a server, as commands find it: by the folder, the environment or the file."""

from pathlib import Path

import pytest

from sprintlog.engine.log.stores.postgres.address import parse

from ....postgres.server import NEWEST, Server, server, unsafe_url, why_not
from ...conftest import PLAN, Run


@pytest.fixture(params=[NEWEST])
def pg(request: pytest.FixtureRequest) -> Server:
    """Provide the server; these tests require one."""
    name: str = request.param
    if reason := why_not(name):
        pytest.skip(reason)
    return server(name)


@pytest.fixture
def url(pg: Server) -> str:
    """Provide the address of a log that does not exist yet."""
    return pg.new_url()


@pytest.fixture
def shared(folder: Path, url: str, done: Run) -> Path:
    """Provide a folder whose log is on the server, with a started sprint."""
    (folder / "plan.yaml").write_text(PLAN)
    done("init", "--log", url)
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("sprint", "start")
    return folder


def elsewhere(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Switch to the work tree of another machine."""
    other = folder.with_name(f"{folder.name}-elsewhere")
    (other / ".git").mkdir(parents=True)
    monkeypatch.chdir(other)
    return other


def test_a_whole_sprint_is_on_the_server(shared: Path, done: Run) -> None:
    """Every command finds the log by its folder, and no local file contains events."""
    done("phase", "start")
    done("phase", "complete", "--summary", "made")
    done("note", "said")
    assert done("status", "--json").json["sprint"] == "auth"
    rows = done("query", "SELECT count(*) AS n FROM v_events", "--json").lines
    events = done("log", "--json").lines
    assert rows[0]["n"] == len(events)
    assert not (shared / ".sprintlog" / "log.db").exists()
    assert "status: in-progress" in (shared / "PROGRESS.yaml").read_text()
    assert done("verify").code == 0
    assert "joined" not in done("log").out


def test_a_shell_that_completes_joins_nothing(
    shared: Path, url: str, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Completion offers values if the log is known, and creates no folder."""
    monkeypatch.setenv("SPRINTLOG_LOG", url)
    monkeypatch.setenv("COMP_LINE", "sprintlog status --sprint ")
    offered = []
    for place in (shared, elsewhere(monkeypatch, shared)):
        monkeypatch.chdir(place)
        monkeypatch.setenv("_SPRINTLOG_COMPLETE", "fish")
        offered.append(done().out.split())
        monkeypatch.delenv("_SPRINTLOG_COMPLETE")
    assert offered == [["auth", "in-progress"], []]
    assert [path.name for path in place.iterdir()] == [".git"]
    assert [*(place / ".git").iterdir()] == []


def test_another_machine_joins_and_goes_on(
    shared: Path, url: str, done: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`init` there joins the log: it reads and records in the sprint that it names."""
    events = len(done("log", "--json").lines)
    elsewhere(monkeypatch, shared)
    assert "joined the log" in done("init", "--log", url).out
    done("note", "from elsewhere", "--sprint", "auth")
    assert len(done("log", "--json", "--sprint", "auth").lines) == events + 1
    refused = run("note", "from elsewhere")
    assert (refused.code, "belongs to the work tree" in refused.err) == (3, True)
    monkeypatch.chdir(shared)
    assert done("log", "--json").lines[-1]["type"] == "note-added"
    assert run("init", "--log", url).code == 1


def test_the_environment_names_a_log(
    shared: Path, url: str, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With SPRINTLOG_LOG no `init` is needed, and the folder remembers the address."""
    other = elsewhere(monkeypatch, shared)
    monkeypatch.setenv("SPRINTLOG_LOG", url)
    monkeypatch.setenv("SPRINTLOG_SPRINT", "auth")
    assert done("status", "--json").json["sprint"] == "auth"
    monkeypatch.delenv("SPRINTLOG_LOG")
    assert done("status", "--json").json["sprint"] == "auth"
    assert (other / ".git" / "sprintlog" / "log.url").read_text() == f"{url}\n"


def test_a_log_that_is_not_there_is_not_joined(
    folder: Path, url: str, done: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read command creates no folder, so that `init` can still create the log."""
    monkeypatch.setenv("SPRINTLOG_LOG", url)
    assert run("status").code == 3
    assert not (folder / ".sprintlog").exists()
    done("init")
    assert (folder / ".sprintlog" / "log.url").read_text() == f"{url}\n"


def test_the_file_of_a_tree_names_a_log(
    shared: Path, url: str, done: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`[log] url` is used once the file is trusted."""
    other = elsewhere(monkeypatch, shared)
    (other / "sprintlog.toml").write_text(f'[log]\nurl = "{url}"\n')
    assert "config --trust" in run("status").err
    done("config", "--trust")
    assert done("status", "--json", "--sprint", "auth").json["sprint"] == "auth"


WITH_SECRETS = [
    "postgresql://me:hunter2@db/work?log=a",
    "postgresql://me@db/work?log=a&password=hunter2",
    "postgresql://db/work?sslpassword=hunter2&log=a",
]


@pytest.mark.parametrize("address", WITH_SECRETS)
def test_no_password_is_written_down(
    folder: Path, done: Run, run: Run, address: str
) -> None:
    """An address with a password is refused in the file and as an option, with a remedy."""
    (folder / "sprintlog.toml").write_text(f'[log]\nurl = "{address}"\n')
    done("config", "--trust")
    for arguments in (("status",), ("init", "--log", address)):
        refused = run(*arguments)
        assert refused.code == 1
        assert "PGPASSFILE" in refused.err
        assert "hunter2" not in refused.err
        (folder / "sprintlog.toml").unlink(missing_ok=True)
    assert not (folder / ".sprintlog").exists()
    assert "hunter2" not in parse(address).shown


def test_a_password_of_the_environment_is_not_written_down(
    pg: Server, folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address stored in the folder contains no secret."""
    url = pg.new_url().replace("owner@", "owner:hunter2@")
    monkeypatch.setenv("SPRINTLOG_LOG", url)
    done("init")
    for path in (folder / ".sprintlog").rglob("*"):
        assert path.is_dir() or b"hunter2" not in path.read_bytes()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://db/work", "log=NAME"),
        ("postgresql://db/work?log=a/b", "log=NAME"),
        ("postgresql://db/work?log=a&unsafe=perhaps", "unsafe must be yes or no"),
        ("https://db/work?log=a", "start with postgresql://"),
        ("work", "start with postgresql://"),
    ],
)
def test_what_is_no_address_is_refused(
    folder: Path, run: Run, address: str, said: str
) -> None:
    """The mistake is named, and nothing is created."""
    refused = run("init", "--log", address)
    assert refused.code == 1
    assert said in refused.err
    assert not (folder / ".sprintlog").exists()


def test_a_log_in_the_folder_is_not_shadowed(
    sprint: Path, url: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the folder has an SQLite log, another log is refused, with a remedy."""
    monkeypatch.setenv("SPRINTLOG_LOG", url)
    refused = run("status")
    assert refused.code == 1
    assert "`sprintlog store copy FROM TO`" in refused.err


def test_a_folder_belongs_to_one_log(
    shared: Path, pg: Server, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another log for its folder is refused: state files would belong to both."""
    monkeypatch.setenv("SPRINTLOG_LOG", pg.new_url())
    refused = run("status")
    assert refused.code == 1
    assert "belongs to the log" in refused.err


def test_an_address_that_a_pull_brought_is_not_used(shared: Path, run: Run) -> None:
    """A link in place of the file with the log's address is not followed."""
    place = shared / ".sprintlog" / "log.url"
    place.rename(shared / "theirs")
    place.symlink_to(shared / "theirs")
    refused = run("status")
    assert refused.code == 1
    assert "log.url" in refused.err


def test_uninstall_removes_what_is_of_this_machine(shared: Path, done: Run) -> None:
    """The folder is removed, and the log on the server remains."""
    done("uninstall", "--yes", "--and-log")
    assert not (shared / ".sprintlog").exists()


def test_a_server_that_is_not_there_is_one_line(
    folder: Path, run: Run, tmp_path: Path
) -> None:
    """The exit status is 1, with a one-sentence error and a hint."""
    refused = run("init", "--log", "postgresql://nowhere.invalid/db?log=a")
    assert refused.code == 1
    assert refused.err.count("error:") == 1
    assert "cannot be reached" in refused.err
    assert not (folder / ".sprintlog" / "log.url").exists()


def test_doctor_says_what_the_server_promises(shared: Path, done: Run) -> None:
    """Settings, replication, role, clock, triggers and the newest events are checked."""
    checks = {one["check"]: one for one in done("doctor", "--json").json["checks"]}
    assert {*checks} >= {
        *("log", "durability", "replication", "role", "clock", "store", "chain")
    }
    assert checks["durability"]["status"] == "ok"
    assert "fsync and full_page_writes are on" in checks["durability"]["found"]
    assert checks["role"]["found"].endswith("could drop it")


def test_doctor_looks_at_what_is_here(shared: Path, done: Run, run: Run) -> None:
    """Files, edits and drafts are on this machine, wherever the log is."""
    names = ("permissions", "hard-links", "space", "sizes", "left-over", "kept-edits")

    def found() -> list[str]:
        checks = done("doctor", "--json").json["checks"]
        return [c["status"] for name in names for c in checks if c["check"] == name]

    assert found() == ["ok"] * len(names)
    (shared / ".sprintlog" / "log.url").chmod(0o644)
    (shared / "PROGRESS.yaml").write_text("edited: true\n")
    done("note", "over it")
    assert found() == ["warning", "ok", "ok", "ok", "ok", "note"]
    (shared / "PROGRESS.yaml").write_text("edited: again\n")
    edited = run("doctor", "--json")
    (drifted,) = [c for c in edited.json["checks"] if c["check"] == "state-file"]
    assert (edited.code, drifted["status"]) == (4, "problem")
    assert "import progress" in drifted["hint"]


def test_a_backup_is_one_file(shared: Path, done: Run) -> None:
    """The log on the server becomes one SQLite file, checked like every backup."""
    answer = done("store backup", "copy.db", "--json").json
    assert answer["events"] == len(done("log", "--json").lines)
    assert (shared / "copy.db").stat().st_mode & 0o777 == 0o600
    assert not [p for p in shared.iterdir() if p.name.startswith(".copy")]


def test_a_server_that_forgets_is_said(pg: Server, folder: Path, done: Run) -> None:
    """Both `verify` and `backup` report the risk of the server's settings, and succeed."""
    lost = "fsync off: acknowledged events can be lost"
    said = f"{lost} (`sprintlog doctor` explains)"
    (folder / "plan.yaml").write_text(PLAN)
    done("init", "--log", unsafe_url(NEWEST))
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    assert f"remark database: {said}" in " ".join(done("verify").out.split())
    assert f"the log itself: {said}" in done("store backup", "copy.db").out
    assert done("store backup", "second.db", "--json").json["risks"] == [said]


def test_a_server_that_keeps_its_word_is_not_spoken_of(shared: Path, done: Run) -> None:
    """With fsync on and no standby behind, neither mentions the server."""
    assert "remark" not in done("verify").out
    assert "risks" not in done("store backup", "copy.db", "--json").json
