"""What doctor says about what it found: pure rules from findings to checks."""

import shlex
from collections.abc import Callable, Iterator

from sprintlog.engine.errors import RESCUE
from sprintlog.engine.log.stores.sqlite.journal_mode import WAL_BYTES_MAX, has_wal_reset_bug

from ..state_places import NAMES, PROGRESS
from .findings import IN_GIT, IN_TREE, NOTE, OK, PROBLEM, WARNING, Check, Events

FREE_BYTES_MIN = 64 * 1024 * 1024
"""With less room than this on the disk, sixteen write-ahead logs, doctor warns."""
WAL_BYTES_OVERDUE = 2 * WAL_BYTES_MAX
"""A write-ahead log this large was not carried over when it should have been."""
SHOWN_MAX = 3

SEE_CHAIN = "see the check `chain`"
_NAMES = {True: "write-ahead log", False: "rollback journal"}
_FROM_COPY = ("schema", "head-file", "chain", "state-file")

Rule = Callable[[Events], Check | None]


def judge(events: Events) -> list[Check]:
    """Return the checks, in the order of the rules."""
    checks = [check for rule in RULES if (check := rule(events))]
    checks.extend(_state_files(events))
    if not events.busy:
        return checks
    # The files of the log, and those beside it, were not read as of one moment.
    return [
        check._replace(status=NOTE)
        if check.status == PROBLEM and check.check in _FROM_COPY
        else check
        for check in checks
    ]


def _log(events: Events) -> Check:
    said = {IN_GIT: "in the git directory", IN_TREE: "in the work tree"}
    where = said.get(events.place, "outside of git")
    return Check("log", OK, f"{events.database} ({where})")


def _git(events: Events) -> Check:
    folder = shlex.quote(events.folder)
    if events.tracked:
        found = "git tracks the log: it is not used, since a pull could bring another"
        return Check("git", WARNING, found, f"`git rm -r --cached {folder}`")
    if events.ignored is False:
        found = "git does not ignore the log: `git add` would track it"
        return Check("git", WARNING, found, f"`echo '*' > {folder}/.gitignore`")
    if events.place == IN_TREE and events.ignored is None:
        found = "git does not tell whether it ignores the log"
        return Check("git", NOTE, found, f"`git check-ignore -v {folder}`")
    return Check("git", OK, "git does not touch the log")


def _file_system(events: Events) -> Check:
    hint = "SPRINTLOG_DIR can name a folder on a local disk, where recording is faster"
    if events.chosen.wal:
        return Check("file-system", OK, events.chosen.reason)
    return Check("file-system", NOTE, events.chosen.reason, hint)


def _journal_mode(events: Events) -> Check:
    chosen = f"{_NAMES[events.chosen.wal]} is chosen, because {events.chosen.reason}"
    if events.wal is None:
        found = f"the database does not tell; {chosen}"
        return Check("journal-mode", NOTE, found, SEE_CHAIN)
    found = f"{_NAMES[events.wal]} is in force; {chosen}"
    if events.wal == events.chosen.wal:
        return Check("journal-mode", OK, found)
    hint = "end every sprintlog process, then `sprintlog status` changes it"
    # A rollback journal is safe anywhere; a write-ahead log may corrupt silently.
    return Check("journal-mode", WARNING if events.wal else NOTE, found, hint)


def _sqlite(events: Events) -> Check:
    version = ".".join(map(str, events.sqlite))
    if not has_wal_reset_bug(events.sqlite):
        return Check("sqlite", OK, f"{version}, without the WAL-reset bug")
    found = f"{version}, which has the WAL-reset bug; sprintlog works around it"
    hint = "let no other program write to log.db, or use SQLite 3.51.3 or newer"
    return Check("sqlite", NOTE, found, hint)


def _versions(events: Events) -> Check:
    named = [f"{name} {version}" for name, version in events.versions.items()]
    return Check("versions", OK, ", ".join(named))


def _schema(events: Events) -> Check:
    known = events.schema_known
    found = f"{events.schema}, and {known} is the newest this sprintlog knows"
    if events.schema is None:
        return Check("schema", NOTE, "the database does not tell", SEE_CHAIN)
    if events.schema > known:
        hint = f"upgrade sprintlog; if it is the newest, the header is damaged: {RESCUE}"
        return Check("schema", PROBLEM, found, hint)
    if events.schema < known:
        return Check("schema", NOTE, found, "`sprintlog status` carries it over")
    return Check("schema", OK, str(known))


def _litestream(events: Events) -> Check | None:
    if not events.litestream:
        return None
    found = f"Litestream copies the log, or did: its {', '.join(events.litestream)}"
    hint = "after `litestream restore`, `sprintlog verify` checks what came back"
    return Check("litestream", NOTE, found, hint)


def _permissions(events: Events) -> Check:
    open_files = [file for file in events.files if file.mode & 0o077]
    if not open_files:
        return Check("permissions", OK, "nobody else may read or write the log")
    modes = _some([f"{file.path} is {file.mode:04o}" for file in open_files])
    found = f"others may read or write it: {modes}"
    hint = f"`chmod -R go= {shlex.quote(events.folder)}`"
    return Check("permissions", WARNING, found, hint)


def _owner(events: Events) -> Check:
    others = [file for file in events.files if file.owner != events.user]
    if events.above_of_another and not others:
        found = (
            f"{events.above_of_another} belongs to another user, who could put a log there"
        )
        hint = (
            f"if you trust them, list {events.folder} as a safe folder; else move the log"
        )
        return Check("owner", WARNING, found, hint)
    if not others:
        return Check("owner", OK, f"user {events.user}, as this process")
    owners = _some([f"{file.path} belongs to user {file.owner}" for file in others])
    hint = f"`sudo chown -R {events.user} {shlex.quote(events.folder)}`"
    return Check("owner", WARNING, f"this is user {events.user}: {owners}", hint)


def _hard_links(events: Events) -> Check:
    linked = [file.path for file in events.files if file.links > 1]
    if not linked:
        return Check("hard-links", OK, "every file has one name")
    found = f"with a second name, which is locked apart: {_some(linked)}"
    hint = f"`find / -xdev -samefile {shlex.quote(linked[0])}`, and remove the other name"
    return Check("hard-links", PROBLEM, found, hint)


def _head_file(events: Events) -> Check:
    known, head = events.known, events.head
    anew = "the next recording command writes it, such as `sprintlog note checked`"
    if known is None:
        said = "damaged" if events.has_head_file else "missing"
        found = f"{said}, so that nobody would notice a cut end of the log"
        return Check("head-file", WARNING, found, anew)
    if head is None:
        found = f"remembers position {known.position}; the log cannot be read"
        return Check("head-file", NOTE, found, SEE_CHAIN)
    if known.position > head.position:
        found = (
            f"position {known.position} was acknowledged, and the log ends at "
            f"{head.position}: {known.position - head.position} missing at its end"
        )
        return Check("head-file", PROBLEM, found, RESCUE)
    if not events.holds_known:
        found = f"position {known.position} is not the event that was acknowledged there"
        return Check("head-file", PROBLEM, found, RESCUE)
    if known.position < head.position:
        found = f"{head.position - known.position} behind the log, as after a crash"
        return Check("head-file", NOTE, found, anew)
    return Check("head-file", OK, f"position {known.position}, as the log")


def _space(events: Events) -> Check:
    found = f"{_mebibytes(events.free_bytes)} free on the disk"
    if events.free_bytes >= FREE_BYTES_MIN:
        return Check("space", OK, found)
    found += f", less than {_mebibytes(FREE_BYTES_MIN)}"
    return Check(
        "space", WARNING, found, f"make room: `df -h {shlex.quote(events.folder)}`"
    )


def _wal(events: Events) -> Check:
    found = f"{_mebibytes(events.wal_bytes)} to be carried over into the database"
    if events.wal_bytes <= WAL_BYTES_OVERDUE:
        return Check("wal", OK, found)
    hint = "end what reads the log for long, then `sprintlog status` carries it over"
    return Check("wal", WARNING, f"{found}, which is overdue", hint)


def _lock(events: Events) -> Check:
    if not events.holders:
        return Check("lock", OK, "nobody has the log locked")
    names = " ".join(holder.split(" ")[1] for holder in events.holders)
    return Check("lock", NOTE, f"held by {_some(events.holders)}", f"`ps -fp {names}`")


def _displaced(events: Events) -> Check | None:
    if not events.displaced:
        return None
    found = f"a write that did not end had displaced {_some(events.displaced)}"
    return Check("left-over", WARNING, found, "`sprintlog rebuild` keeps what is in it")


def _left_over(events: Events) -> Check | None:
    if not events.drafts:
        nothing = Check("left-over", OK, "no write was left unfinished")
        return None if events.displaced else nothing
    found = f"a write that did not end left {_some(events.drafts)}"
    hint = f"when nothing records: `rm {' '.join(map(shlex.quote, events.drafts))}`"
    return Check("left-over", NOTE, found, hint)


def _chain(events: Events) -> Check:
    if events.damage:
        found = f"{len(events.damage)} damaged: {_some(events.damage)}"
        return Check("chain", PROBLEM, found, f"`sprintlog verify` shows all; {RESCUE}")
    if events.head is None:
        found = f"not looked into: {events.unread}"
        return Check("chain", WARNING, found, "mend that, or `sprintlog verify --quick`")
    found = f"of {events.head.position} events the newest {events.events} were read: sound"
    return Check("chain", OK, found)


def _state_files(events: Events) -> Iterator[Check]:
    if events.head is None:
        found = "not compared, because the log cannot be read"
        yield Check("state-file", NOTE, found, SEE_CHAIN)
        return
    drifted = [file for file in events.states.values() if file.problem]
    for file in drifted:
        hint = "`sprintlog rebuild`"
        name = (file.path or "").rpartition("/")[2]
        if file.state == "edited" and name in NAMES:
            path = shlex.quote(file.path or "")
            what = "progress" if name == PROGRESS else "journal"
            hint = f"`sprintlog import {what} {path}` makes it true, {hint} keeps it aside"
        yield Check("state-file", PROBLEM, str(file.problem), hint)
    if not drifted:
        yield Check("state-file", OK, f"no drift; files: {len(events.states)}")


def _others(events: Events) -> Check | None:
    if not events.busy:
        return None
    found = "recorded all the while, so files and log were not read as of one moment"
    return Check("others", NOTE, found, "`sprintlog verify --quick` waits for them")


def _kept_edits(events: Events) -> Check:
    if not events.edits:
        return Check("kept-edits", OK, "none")
    hint = "`sprintlog log --all --type edit-observed` tells what they changed"
    return Check("kept-edits", NOTE, f"{events.edits} in {events.folder}/edits", hint)


def _snapshots(events: Events) -> Check | None:
    if events.snapshots is None:
        return None
    hint = "`sprintlog verify --full` tells what is lost"
    if events.snapshots:
        found = f"damaged: {_some(events.snapshots)}"
        return Check(
            "snapshots", PROBLEM, found, f"{hint}; the next snapshot mends the rest"
        )
    if events.set_aside:
        found = f"sound; damaged packs set aside in snapshots/damaged: {events.set_aside}"
        return Check("snapshots", NOTE, found, hint)
    return Check("snapshots", OK, "every file of the store is what was written")


RULES: tuple[Rule, ...] = (
    _log,
    _git,
    _file_system,
    _journal_mode,
    _sqlite,
    _versions,
    _schema,
    _litestream,
    _permissions,
    _owner,
    _hard_links,
    _space,
    _wal,
    _lock,
    _displaced,
    _left_over,
    _head_file,
    _chain,
    _others,
    _kept_edits,
    _snapshots,
)


def _some(items: list[str]) -> str:
    shown = ", ".join(items[:SHOWN_MAX])
    return f"{shown} and {len(items) - SHOWN_MAX} more" if items[SHOWN_MAX:] else shown


def _mebibytes(count: int) -> str:
    return f"{count / 1024 / 1024:.1f} MiB"
