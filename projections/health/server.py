"""The checks that `doctor` performs on a server's log and its local files."""

import time
from collections.abc import Iterator

from sprintlog.engine.log.stores.postgres import schema
from sprintlog.engine.log.stores.postgres.store import PostgresLog

from ..views.log import Check
from ..workspace import Workspace
from .diagnosis import judge_files, judge_here
from .examination import count_sessions, look_here
from .findings import NOTE, OK, PROBLEM, WARNING, agent_lines
from .verify import verify

SKEW_SECONDS = 2.0
"""The clock difference that doctor tolerates."""
SLOW_SECONDS = 0.05


def server_checks(workspace: Workspace) -> Iterator[Check]:
    """Yield the checks of a log on a server: its settings, events and local files."""
    log = workspace.log
    assert isinstance(log, PostgresLog)
    began = time.monotonic()
    about = log.facts()
    took = time.monotonic() - began
    where = f"{log.described()['why']}, PostgreSQL {log.server}"
    said = f"{where}, answers in {1000 * took:.1f} ms"
    yield Check("log", OK if took < SLOW_SECONDS else NOTE, said)
    yield from _durability(log.settings())
    yield _replication(log)
    yield _role(about.role, is_owner=about.is_owner)
    yield _clock(about.clock - time.time())
    wrong = [*log.problems()]
    yield from (Check("store", PROBLEM, what) for what in wrong)
    if not wrong:
        yield Check("store", OK, "triggers and indexes are unchanged")
    report = verify(workspace, quick=True)
    damage = [one for one in report.findings if one.severity == "damage"]
    for finding in damage:
        yield Check("chain", PROBLEM, f"{finding.where}: {finding.what}")
    if not damage:
        yield Check("chain", OK, f"the newest of {report.head.position} events are sound")
    places = [state.path for state in report.files.values() if state.path]
    # Unreadable events are already reported as damage.
    agents = agent_lines(workspace) if not damage else ()
    sessions = count_sessions(log) if not damage else (0, 0, 0)
    here = look_here(workspace.location, places, agents=agents, sessions=sessions)
    yield from judge_here(here)
    if not damage:
        yield from judge_files(report.files)


def _durability(found: dict[str, str]) -> Iterator[Check]:
    if what := schema.forgets(found):
        yield Check("durability", WARNING, what, "switch it on in postgresql.conf")
    else:
        commit = found.get("synchronous_commit", "unknown")
        what = (
            "fsync and full_page_writes are on; an append waits for the disk "
            f"(synchronous_commit: {commit})"
        )
        yield Check("durability", OK, what)
    if found.get("data_checksums") == "off":
        what = "the server does not checksum its pages"
        yield Check("checksums", NOTE, what, "`pg_checksums --enable` while it is stopped")
    if found.get("archive_mode") == "off":
        what = "the server does not archive its WAL: only full backups can be restored"
        hint = "`sprintlog store copy FROM TO` or pg_basebackup, often"
        yield Check("archive", NOTE, what, hint)


def _replication(log: PostgresLog) -> Check:
    known = log.standbys()
    if waited := schema.waited_for(known):
        what = f"an append waits for {', '.join(waited)}"
        return Check("replication", OK, what)
    if behind := schema.unwaited(known):
        hint = "synchronous_standby_names names them"
        return Check("replication", WARNING, behind, hint)
    if known:
        what = f"{len(known)} standbys; this role cannot see which of them are waited for"
        hint = "run `GRANT pg_read_all_stats TO …` to permit it"
        return Check("replication", NOTE, what, hint)
    return Check("replication", NOTE, "no standby is visible to this role")


def _role(role: str, *, is_owner: bool) -> Check:
    if is_owner:
        hint = "`GRANT sprintlog_writer TO …` is enough to record"
        return Check("role", NOTE, f"{role} owns the log and could drop it", hint)
    return Check("role", OK, f"{role} may only call and read")


def _clock(skew: float) -> Check:
    what = f"the server's clock is {abs(skew):.1f} s {'ahead' if skew > 0 else 'behind'}"
    hint = "event times come from each machine's clock: use the same time server on all"
    if abs(skew) > SKEW_SECONDS:
        return Check("clock", WARNING, what, hint)
    return Check("clock", OK, what)
