"""What doctor says about what it found: pure rules from findings to checks."""

import shlex
from collections.abc import Callable, Iterator

from sprintlog.engine.errors import RESCUE
from sprintlog.engine.log.stores.sqlite.journal_mode import WAL_BYTES_MAX, has_wal_reset_bug

from ..state_places import NAMES, PROGRESS
from .findings import IN_GIT, IN_TREE, NOTE, OK, PROBLEM, WARNING, Check, Facts

FREE_BYTES_MIN = 64 * 1024 * 1024
"""With less room than this on the disk, sixteen write-ahead logs, doctor warns."""
WAL_BYTES_OVERDUE = 2 * WAL_BYTES_MAX
"""A write-ahead log this large was not carried over when it should have been."""
SHOWN_MAX = 3

SEE_CHAIN = "see the check `chain`"
_NAMES = {True: "write-ahead log", False: "rollback journal"}
_FROM_COPY = ("schema", "head-file", "chain", "state-file")

Rule = Callable[[Facts], Check | None]


def judge(facts: Facts) -> list[Check]:
    """Return the checks, in the order of the rules."""
    checks = [check for rule in RULES if (check := rule(facts))]
    checks.extend(_state_files(facts))
    if not facts.busy:
        return checks
    # The files of the log, and those beside it, were not read as of one moment.
    return [
        check._replace(status=NOTE)
        if check.status == PROBLEM and check.check in _FROM_COPY
        else check
        for check in checks
    ]


def _log(facts: Facts) -> Check:
    said = {IN_GIT: "in the git directory", IN_TREE: "in the work tree"}
    where = said.get(facts.place, "outside of git")
    return Check("log", OK, f"{facts.database} ({where})")


def _git(facts: Facts) -> Check:
    folder = shlex.quote(facts.folder)
    if facts.tracked:
        found = "git tracks the log: it is not used, since a pull could bring another"
        return Check("git", WARNING, found, f"`git rm -r --cached {folder}`")
    if facts.ignored is False:
        found = "git does not ignore the log: `git add` would track it"
        return Check("git", WARNING, found, f"`echo '*' > {folder}/.gitignore`")
    if facts.place == IN_TREE and facts.ignored is None:
        found = "git does not tell whether it ignores the log"
        return Check("git", NOTE, found, f"`git check-ignore -v {folder}`")
    return Check("git", OK, "git does not touch the log")


def _file_system(facts: Facts) -> Check:
    hint = "SPRINTLOG_DIR can name a folder on a local disk, where recording is faster"
    if facts.chosen.wal:
        return Check("file-system", OK, facts.chosen.reason)
    return Check("file-system", NOTE, facts.chosen.reason, hint)


def _journal_mode(facts: Facts) -> Check:
    chosen = f"{_NAMES[facts.chosen.wal]} is chosen, because {facts.chosen.reason}"
    if facts.wal is None:
        found = f"the database does not tell; {chosen}"
        return Check("journal-mode", NOTE, found, SEE_CHAIN)
    found = f"{_NAMES[facts.wal]} is in force; {chosen}"
    if facts.wal == facts.chosen.wal:
        return Check("journal-mode", OK, found)
    hint = "end every sprintlog process, then `sprintlog status` changes it"
    # A rollback journal is safe anywhere; a write-ahead log may corrupt silently.
    return Check("journal-mode", WARNING if facts.wal else NOTE, found, hint)


def _sqlite(facts: Facts) -> Check:
    version = ".".join(map(str, facts.sqlite))
    if not has_wal_reset_bug(facts.sqlite):
        return Check("sqlite", OK, f"{version}, without the WAL-reset bug")
    found = f"{version}, which has the WAL-reset bug; sprintlog works around it"
    hint = "let no other program write to log.db, or use SQLite 3.51.3 or newer"
    return Check("sqlite", NOTE, found, hint)


def _versions(facts: Facts) -> Check:
    named = [f"{name} {version}" for name, version in facts.versions.items()]
    return Check("versions", OK, ", ".join(named))


def _schema(facts: Facts) -> Check:
    known = facts.schema_known
    found = f"{facts.schema}, and {known} is the newest this sprintlog knows"
    if facts.schema is None:
        return Check("schema", NOTE, "the database does not tell", SEE_CHAIN)
    if facts.schema > known:
        hint = f"upgrade sprintlog; if it is the newest, the header is damaged: {RESCUE}"
        return Check("schema", PROBLEM, found, hint)
    if facts.schema < known:
        return Check("schema", NOTE, found, "`sprintlog status` carries it over")
    return Check("schema", OK, str(known))


def _litestream(facts: Facts) -> Check | None:
    if not facts.litestream:
        return None
    found = f"Litestream copies the log, or did: its {', '.join(facts.litestream)}"
    hint = "after `litestream restore`, `sprintlog verify` checks what came back"
    return Check("litestream", NOTE, found, hint)


def _permissions(facts: Facts) -> Check:
    open_files = [file for file in facts.files if file.mode & 0o077]
    if not open_files:
        return Check("permissions", OK, "nobody else may read or write the log")
    modes = _some([f"{file.path} is {file.mode:04o}" for file in open_files])
    found = f"others may read or write it: {modes}"
    hint = f"`chmod -R go= {shlex.quote(facts.folder)}`"
    return Check("permissions", WARNING, found, hint)


def _owner(facts: Facts) -> Check:
    others = [file for file in facts.files if file.owner != facts.user]
    if facts.above_of_another and not others:
        found = (
            f"{facts.above_of_another} belongs to another user, who could put a log there"
        )
        hint = f"if you trust them, list {facts.folder} as a safe folder; else move the log"
        return Check("owner", WARNING, found, hint)
    if not others:
        return Check("owner", OK, f"user {facts.user}, as this process")
    owners = _some([f"{file.path} belongs to user {file.owner}" for file in others])
    hint = f"`sudo chown -R {facts.user} {shlex.quote(facts.folder)}`"
    return Check("owner", WARNING, f"this is user {facts.user}: {owners}", hint)


def _hard_links(facts: Facts) -> Check:
    linked = [file.path for file in facts.files if file.links > 1]
    if not linked:
        return Check("hard-links", OK, "every file has one name")
    found = f"with a second name, which is locked apart: {_some(linked)}"
    hint = f"`find / -xdev -samefile {shlex.quote(linked[0])}`, and remove the other name"
    return Check("hard-links", PROBLEM, found, hint)


def _head_file(facts: Facts) -> Check:
    known, head = facts.known, facts.head
    anew = "the next recording command writes it, such as `sprintlog note checked`"
    if known is None:
        said = "damaged" if facts.has_head_file else "missing"
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
    if not facts.holds_known:
        found = f"position {known.position} is not the event that was acknowledged there"
        return Check("head-file", PROBLEM, found, RESCUE)
    if known.position < head.position:
        found = f"{head.position - known.position} behind the log, as after a crash"
        return Check("head-file", NOTE, found, anew)
    return Check("head-file", OK, f"position {known.position}, as the log")


def _space(facts: Facts) -> Check:
    found = f"{_mebibytes(facts.free_bytes)} free on the disk"
    if facts.free_bytes >= FREE_BYTES_MIN:
        return Check("space", OK, found)
    found += f", less than {_mebibytes(FREE_BYTES_MIN)}"
    return Check("space", WARNING, found, f"make room: `df -h {shlex.quote(facts.folder)}`")


def _wal(facts: Facts) -> Check:
    found = f"{_mebibytes(facts.wal_bytes)} to be carried over into the database"
    if facts.wal_bytes <= WAL_BYTES_OVERDUE:
        return Check("wal", OK, found)
    hint = "end what reads the log for long, then `sprintlog status` carries it over"
    return Check("wal", WARNING, f"{found}, which is overdue", hint)


def _lock(facts: Facts) -> Check:
    if not facts.holders:
        return Check("lock", OK, "nobody has the log locked")
    names = " ".join(holder.split(" ")[1] for holder in facts.holders)
    return Check("lock", NOTE, f"held by {_some(facts.holders)}", f"`ps -fp {names}`")


def _displaced(facts: Facts) -> Check | None:
    if not facts.displaced:
        return None
    found = f"a write that did not end had displaced {_some(facts.displaced)}"
    return Check("left-over", WARNING, found, "`sprintlog rebuild` keeps what is in it")


def _left_over(facts: Facts) -> Check | None:
    if not facts.drafts:
        nothing = Check("left-over", OK, "no write was left unfinished")
        return None if facts.displaced else nothing
    found = f"a write that did not end left {_some(facts.drafts)}"
    hint = f"when nothing records: `rm {' '.join(map(shlex.quote, facts.drafts))}`"
    return Check("left-over", NOTE, found, hint)


def _chain(facts: Facts) -> Check:
    if facts.damage:
        found = f"{len(facts.damage)} damaged: {_some(facts.damage)}"
        return Check("chain", PROBLEM, found, f"`sprintlog verify` shows all; {RESCUE}")
    if facts.head is None:
        found = f"not looked into: {facts.unread}"
        return Check("chain", WARNING, found, "mend that, or `sprintlog verify --quick`")
    found = f"of {facts.head.position} events the newest {facts.events} were read: sound"
    return Check("chain", OK, found)


def _state_files(facts: Facts) -> Iterator[Check]:
    if facts.head is None:
        found = "not compared, because the log cannot be read"
        yield Check("state-file", NOTE, found, SEE_CHAIN)
        return
    drifted = [file for file in facts.states.values() if file.problem]
    for file in drifted:
        hint = "`sprintlog rebuild`"
        name = (file.path or "").rpartition("/")[2]
        if file.state == "edited" and name in NAMES:
            path = shlex.quote(file.path or "")
            what = "progress" if name == PROGRESS else "journal"
            hint = f"`sprintlog import {what} {path}` makes it true, {hint} keeps it aside"
        yield Check("state-file", PROBLEM, str(file.problem), hint)
    if not drifted:
        yield Check("state-file", OK, f"no drift; files: {len(facts.states)}")


def _others(facts: Facts) -> Check | None:
    if not facts.busy:
        return None
    found = "recorded all the while, so files and log were not read as of one moment"
    return Check("others", NOTE, found, "`sprintlog verify --quick` waits for them")


def _kept_edits(facts: Facts) -> Check:
    if not facts.edits:
        return Check("kept-edits", OK, "none")
    hint = "`sprintlog log --all --type edit-observed` tells what they changed"
    return Check("kept-edits", NOTE, f"{facts.edits} in {facts.folder}/edits", hint)


def _snapshots(facts: Facts) -> Check | None:
    if facts.snapshots is None:
        return None
    hint = "`sprintlog verify --full` tells what is lost"
    if facts.snapshots:
        found = f"damaged: {_some(facts.snapshots)}"
        return Check(
            "snapshots", PROBLEM, found, f"{hint}; the next snapshot mends the rest"
        )
    if facts.set_aside:
        found = f"sound; damaged packs set aside in snapshots/damaged: {facts.set_aside}"
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
