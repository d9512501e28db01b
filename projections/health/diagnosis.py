"""Pure rules that derive checks from the findings of `doctor`."""

from collections.abc import Iterator

import msgspec

from sprintlog.engine.errors import RESCUE
from sprintlog.engine.log.stores.sqlite.journal_mode import WAL_BYTES_MAX, has_wal_reset_bug
from sprintlog.engine.readable import quoted
from sprintlog.engine.service.agent_sessions.spool import FILES_MAX as WAITING_MAX
from sprintlog.engine.service.place.location import NAMES, PROGRESS

from ..state_files.refresh import Refreshed
from ..views.log import Check
from .findings import IN_GIT, IN_TREE, NOTE, OK, PROBLEM, WARNING, Findings, Here, in_units
from .kept_text import FOLDER as NOT_UNDERSTOOD

FREE_BYTES_MIN = 64 * 1024 * 1024
"""The free disk space, enough for 16 write-ahead logs, below which doctor warns."""
WAL_BYTES_OVERDUE = 2 * WAL_BYTES_MAX
"""The size at which a write-ahead log should already have been checkpointed."""
SNAPSHOT_BYTES_MANY = 1024 * 1024 * 1024
"""The total size of snapshots above which doctor shows how to remove them."""
UNKNOWN_LINES_MAX = 0.05
"""The share of an agent's output lines that may be unknown before doctor warns."""
SHOWN_MAX = 3

SEE_CHAIN = "see the check `chain`"
_NAMES = {True: "write-ahead log", False: "rollback journal"}
_FROM_COPY = ("schema", "head-file", "chain", "state-file")


def judge(findings: Findings) -> list[Check]:
    """Return the checks, in the order of the rules."""
    here = findings.here
    found = [
        *(_log(findings), _git(findings), _file_system(findings)),
        *(_journal_mode(findings), _sqlite(findings), _versions(here)),
        *(_schema(findings), _litestream(findings), *_of_files(here)),
        *(_wal(findings), _lock(findings), *_left_over(here)),
        *(_head_file(findings), _chain(findings), _others(findings), *_of_kept(here)),
        *_state_files(findings),
    ]
    checks = [check for check in found if check]
    if not findings.busy:
        return checks
    # The log's files and the state files were not read at the same time.
    return [
        msgspec.structs.replace(check, status=NOTE)
        if check.status == PROBLEM and check.check in _FROM_COPY
        else check
        for check in checks
    ]


def judge_here(here: Here) -> list[Check]:
    """Return the checks of the local files that belong to a log on a server."""
    found = (_versions(here), *_of_files(here), *_left_over(here), *_of_kept(here))
    return [check for check in found if check]


def _of_files(here: Here) -> tuple[Check | None, ...]:
    return (_permissions(here), _owner(here), _hard_links(here), *_of_space(here))


def _of_kept(here: Here) -> tuple[Check | None, ...]:
    return (_kept_edits(here), _snapshots(here), _agents(here), *_of_sessions(here))


def _log(findings: Findings) -> Check:
    said = {IN_GIT: "in the git directory", IN_TREE: "in the work tree"}
    where = said.get(findings.place, "outside of git")
    return Check("log", OK, f"{findings.database} ({where})")


def _git(findings: Findings) -> Check:
    folder = quoted(findings.here.folder)
    if findings.tracked:
        found = "git tracks the log: the log is not used, because a pull could replace it"
        return Check("git", WARNING, found, f"`git rm -r --cached {folder}`")
    if findings.ignored is False:
        found = "git does not ignore the log: `git add` would track it"
        return Check("git", WARNING, found, f"`echo '*' > {folder}/.gitignore`")
    if findings.place == IN_TREE and findings.ignored is None:
        found = "it is unknown whether git ignores the log"
        return Check("git", NOTE, found, f"`git check-ignore -v {folder}`")
    return Check("git", OK, "git does not touch the log")


def _file_system(findings: Findings) -> Check:
    hint = "set SPRINTLOG_DIR to a folder on a local disk for faster recording"
    if findings.chosen.wal:
        return Check("file-system", OK, findings.chosen.reason)
    return Check("file-system", NOTE, findings.chosen.reason, hint)


def _journal_mode(findings: Findings) -> Check:
    chosen = f"{_NAMES[findings.chosen.wal]} was chosen because {findings.chosen.reason}"
    if findings.wal is None:
        found = f"unknown; {chosen}"
        return Check("journal-mode", NOTE, found, SEE_CHAIN)
    found = f"{_NAMES[findings.wal]} is used; {chosen}"
    if findings.wal == findings.chosen.wal:
        return Check("journal-mode", OK, found)
    hint = "stop every sprintlog process, then run `sprintlog status` to change the mode"
    # A rollback journal is safe anywhere; a write-ahead log may corrupt silently.
    return Check("journal-mode", WARNING if findings.wal else NOTE, found, hint)


def _sqlite(findings: Findings) -> Check:
    version = ".".join(map(str, findings.sqlite))
    if not has_wal_reset_bug(findings.sqlite):
        return Check("sqlite", OK, f"{version}, without the WAL-reset bug")
    found = f"{version}, which has the WAL-reset bug; sprintlog works around it"
    hint = "do not let other programs write to log.db, or use SQLite 3.51.3 or newer"
    return Check("sqlite", NOTE, found, hint)


def _versions(here: Here) -> Check:
    named = [f"{name} {version}" for name, version in here.versions.items()]
    return Check("versions", OK, ", ".join(named))


def _schema(findings: Findings) -> Check:
    known = findings.schema_known
    found = f"{findings.schema}; this sprintlog uses {known}"
    if findings.schema is None:
        return Check("schema", NOTE, "the database does not state its version", SEE_CHAIN)
    if findings.schema > known:
        hint = f"upgrade sprintlog; if it is the newest, the header is damaged: {RESCUE}"
        return Check("schema", PROBLEM, found, hint)
    if findings.schema < known:
        hint = "run `sprintlog status` to upgrade the database"
        return Check("schema", NOTE, found, hint)
    return Check("schema", OK, str(known))


def _litestream(findings: Findings) -> Check | None:
    if not findings.litestream:
        return None
    found = f"Litestream has replicated the log: found {', '.join(findings.litestream)}"
    hint = "after `litestream restore`, run `sprintlog verify` to check the restored log"
    return Check("litestream", NOTE, found, hint)


def _permissions(here: Here) -> Check:
    open_files = [file for file in here.files if file.mode & 0o077]
    if not open_files:
        return Check("permissions", OK, "no other user can read or write the log")
    modes = _some([f"{file.path} is {file.mode:04o}" for file in open_files])
    found = f"other users can read or write the log: {modes}"
    return Check("permissions", WARNING, found, f"`chmod -R go= {quoted(here.folder)}`")


def _owner(here: Here) -> Check:
    others = [file for file in here.files if file.owner != here.user]
    if here.above_of_another and not others:
        folder = here.above_of_another
        found = f"{folder} belongs to another user, who could create a log there"
        hint = (
            f"if you trust the user, list {here.folder} as a safe folder; else move the log"
        )
        return Check("owner", WARNING, found, hint)
    if not others:
        return Check("owner", OK, f"user {here.user}, as this process")
    owners = _some([f"{file.path} belongs to user {file.owner}" for file in others])
    hint = f"`sudo chown -R {here.user} {quoted(here.folder)}`"
    return Check("owner", WARNING, f"this is user {here.user}: {owners}", hint)


def _hard_links(here: Here) -> Check:
    linked = [file.path for file in here.files if file.links > 1]
    if not linked:
        return Check("hard-links", OK, "every file has one name")
    found = f"files with a second name, which is locked separately: {_some(linked)}"
    hint = f"run `find / -xdev -samefile {quoted(linked[0])}` and remove the other name"
    return Check("hard-links", PROBLEM, found, hint)


def _head_file(findings: Findings) -> Check:
    known, head = findings.known, findings.head
    anew = "run a recording command, such as `sprintlog note checked`, to write the file"
    if known is None:
        said = "damaged" if findings.has_head_file else "missing"
        found = f"{said}: a truncated log would not be detected"
        return Check("head-file", WARNING, found, anew)
    if head is None:
        found = f"has position {known.position}, but the log cannot be read"
        return Check("head-file", NOTE, found, SEE_CHAIN)
    if known.position > head.position:
        found = (
            f"position {known.position} was acknowledged, but the log ends at "
            f"{head.position}: {known.position - head.position} missing at the end"
        )
        return Check("head-file", PROBLEM, found, RESCUE)
    if not findings.holds_known:
        found = f"position {known.position} is not the event that was acknowledged there"
        return Check("head-file", PROBLEM, found, RESCUE)
    if known.position < head.position:
        found = f"{head.position - known.position} behind the log, as after a crash"
        return Check("head-file", NOTE, found, anew)
    return Check("head-file", OK, f"position {known.position}, same as the log")


def _of_space(here: Here) -> Iterator[Check]:
    """Yield the free space and the disk usage, with hints about how to free space."""
    found = f"{in_units(here.free_bytes)} free on the disk"
    if here.free_bytes >= FREE_BYTES_MIN:
        yield Check("space", OK, found)
    else:
        found += f", less than {in_units(FREE_BYTES_MIN)}"
        hint = f"free disk space; `df -h {quoted(here.folder)}` shows the usage"
        yield Check("space", WARNING, found, hint)
    if here.sizes:
        said = [f"{word} {in_units(count)}" for word, count in here.sizes.items()]
        total = f"{in_units(sum(here.sizes.values()))}: {', '.join(said)}"
        is_many = here.sizes.get("snapshots", 0) > SNAPSHOT_BYTES_MANY
        hint = "`sprintlog store prune --older-than 30d --dry-run` shows removable data"
        yield Check("sizes", OK, total, hint if is_many else None)


def _wal(findings: Findings) -> Check:
    found = f"{in_units(findings.wal_bytes)} to be checkpointed into the database"
    if findings.wal_bytes <= WAL_BYTES_OVERDUE:
        return Check("wal", OK, found)
    hint = (
        "stop long-running readers of the log, then run `sprintlog status` to checkpoint it"
    )
    return Check("wal", WARNING, f"{found}, which is overdue", hint)


def _lock(findings: Findings) -> Check:
    if not findings.holders:
        return Check("lock", OK, "no process has locked the log")
    names = " ".join(holder.split(" ")[1] for holder in findings.holders)
    return Check("lock", NOTE, f"held by {_some(findings.holders)}", f"`ps -fp {names}`")


def _left_over(here: Here) -> Iterator[Check]:
    if here.displaced:
        found = f"an interrupted write moved {_some(here.displaced)}"
        hint = "run `sprintlog rebuild` to save its content"
        yield Check("left-over", WARNING, found, hint)
    if here.drafts:
        found = f"an unfinished write left {_some(here.drafts)}"
        names = " ".join(map(quoted, here.drafts))
        hint = f"when no process is recording, run `rm {names}`"
        yield Check("left-over", NOTE, found, hint)
    elif not here.displaced:
        yield Check("left-over", OK, "no unfinished writes")


def _chain(findings: Findings) -> Check:
    if findings.damage:
        found = f"{len(findings.damage)} damaged: {_some(findings.damage)}"
        hint = f"run `sprintlog verify` to see all damage; {RESCUE}"
        return Check("chain", PROBLEM, found, hint)
    if findings.head is None:
        found = f"not checked: {findings.unread}"
        hint = "repair that, or run `sprintlog verify --quick`"
        return Check("chain", WARNING, found, hint)
    last = findings.head.position
    found = f"checked the newest {findings.events} of {last} events: sound"
    return Check("chain", OK, found)


def _state_files(findings: Findings) -> Iterator[Check]:
    if findings.head is None:
        found = "not compared, because the log cannot be read"
        yield Check("state-file", NOTE, found, SEE_CHAIN)
        return
    yield from judge_files(findings.states)


def judge_files(states: dict[str, Refreshed]) -> Iterator[Check]:
    """Yield the results of comparing state files with a readable log."""
    drifted = [file for file in states.values() if file.problem]
    for file in drifted:
        hint = "`sprintlog rebuild`"
        name = (file.path or "").rpartition("/")[2]
        if file.state == "edited" and name in NAMES:
            path = quoted(file.path or "")
            what = "progress" if name == PROGRESS else "journal"
            hint = (
                f"run `sprintlog import {what} {path}` to accept it, or {hint} to undo it"
            )
        yield Check("state-file", PROBLEM, str(file.problem), hint)
    if not drifted:
        yield Check("state-file", OK, f"no drift; files: {len(states)}")


def _others(findings: Findings) -> Check | None:
    if not findings.busy:
        return None
    found = "other processes kept recording: files and log may be from different times"
    return Check("others", NOTE, found, "run `sprintlog verify --quick` to wait for them")


def _kept_edits(here: Here) -> Check:
    if not here.edits:
        return Check("kept-edits", OK, "none")
    hint = "run `sprintlog log --all --type edit-observed` to see the changes"
    return Check("kept-edits", NOTE, f"{here.edits} in {here.folder}/edits", hint)


def _of_sessions(here: Here) -> Iterator[Check]:
    count, events, size = here.sessions
    if count:
        found = f"agent sessions: {count}, with {events} events in {in_units(size)}"
        yield Check("sessions", OK, found)
    if here.spooled:
        found = f"session events waiting to be recorded: {here.spooled}"
        hint = "run a recording command, such as `sprintlog note checked`, to record them"
        if here.spooled < WAITING_MAX:
            yield Check("spool", NOTE, found, hint)
        else:
            yield Check("spool", WARNING, f"{found}; further calls are lost", hint)
    if here.odd_hooks:
        found = f"unrecognized hook inputs: {here.odd_hooks}"
        where = f"`{here.folder}/{NOT_UNDERSTOOD}/`"
        hint = f"the start of each is in {where}; remove them there"
        yield Check("hooks", NOTE, found, hint)


def _snapshots(here: Here) -> Check | None:
    if here.snapshots is None:
        return None
    hint = "run `sprintlog verify --full` to list the losses"
    if here.snapshots:
        found = f"damaged: {_some(here.snapshots)}"
        hint += "; the next snapshot repairs the rest"
        return Check("snapshots", PROBLEM, found, hint)
    if here.set_aside:
        found = f"sound; damaged packs set aside in snapshots/damaged: {here.set_aside}"
        return Check("snapshots", NOTE, found, hint)
    return Check("snapshots", OK, "every file of the store is sound")


def _agents(here: Here) -> Check | None:
    """Return the agents whose output is not understood; their costs may be missing."""
    if not here.agents:
        return None
    odd = [a for a in here.agents if a.unknown > UNKNOWN_LINES_MAX * a.lines]
    if not odd:
        names = _some([one.name for one in here.agents])
        return Check("agents", OK, f"their output is recognized: {names}")
    said = [f"{a.name}: {a.unknown} of {a.lines} lines" for a in odd]
    found = f"output not recognized, so figures may be missing: {_some(said)}"
    kept = f"run `ls -t {quoted(here.folder)}/{NOT_UNDERSTOOD}` to list saved lines"
    position = max((a.position for a in odd if a.position is not None), default=None)
    if position is not None:
        kept = f"run `sprintlog show event {position}` to see the newest output"
    return Check("agents", WARNING, found, f"{kept}; a newer sprintlog may recognize it")


def _some(items: list[str]) -> str:
    shown = ", ".join(items[:SHOWN_MAX])
    return f"{shown} and {len(items) - SHOWN_MAX} more" if items[SHOWN_MAX:] else shown
