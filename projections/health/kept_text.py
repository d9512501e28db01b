"""The registry of what keeps text: every place in which something that was said may stand.

It is here because only the projections reach all of it: the log, the store of snapshots,
the copies beside the log and the state files. What a person had made elsewhere (a backup,
an export, files brought back into another folder) is theirs; the log does not know where.
"""

from sprintlog.engine.adapters.snapshots.store import ASIDE, STORE
from sprintlog.engine.service.agent_sessions.beats import MARK
from sprintlog.engine.service.agent_sessions.places import FOLDER as SPOOL
from sprintlog.engine.service.place.location import (
    ADDRESS,
    CACHES,
    DATABASE,
    REDACTION,
)
from sprintlog.engine.service.work_tree.kept_reports import FOLDER as REPORTS
from sprintlog.engine.service.work_tree.kept_reports import LOCK as REPORTS_LOCK
from sprintlog.engine.service.work_tree.restore import KEPT
from sprintlog.engine.service.work_tree.snapshot import FOLDER as SNAPSHOTS

from ..sql import read_model, search
from ..state_files.files import EDITS, FINISHED
from ..state_files.files import LOCK as FILES_LOCK
from ..state_files.kept_blocks import BLOCKS
from . import not_understood
from .salvage import LOST
from .text_places import (
    Copy,
    Events,
    Files,
    KeptText,
    Pages,
    ResultFiles,
    Rows,
    Snapshots,
    Transcripts,
    TreeFiles,
    WaitingEvents,
    Why,
    matches,
)

REDACTION_LOCK = "redacting.lock"
UNDER_WAY = "a redaction under way"
_SNAPSHOTS_LOCK = f"{SNAPSHOTS}/lock"

KEPT_TEXT: tuple[KeptText, ...] = (
    Events("events", why=Why.CHAINED, tables=("events",)),
    Rows("saved states", tables=("checkpoints", "statuses")),
    Rows("digests written", why=Why.KNOWS_OURS, tables=("written", "_sqlite_migrations")),
    Pages("database pages", (f"{DATABASE}-*", DATABASE, f"{CACHES}*")),
    Copy("read model", (f"{read_model.NAME}*",), lock=read_model.LOCK),
    Copy("search index", (f"{search.SEARCH}*",), lock=search.LOCK),
    Files("kept edits", (f"{EDITS}/*",), lock=FILES_LOCK),
    Files("files of finished sprints", (f"{FINISHED}/*",), lock=FILES_LOCK),
    Files(
        "lines not understood", (f"{not_understood.FOLDER}/*",), lock=not_understood.LOCK
    ),
    WaitingEvents("events that wait", (f"{SPOOL}/*",), lock=not_understood.LOCK),
    Files("kept reports", (f"{REPORTS}/*",), lock=REPORTS_LOCK),
    Files("blocks of large files", (f"{BLOCKS}/*",), why=Why.NO_TEXT),
    Files("lost events", (LOST,), Why.NOT_ALONE),
    Files(UNDER_WAY, (f"{REDACTION}*",), lock=REDACTION_LOCK),
    Snapshots(
        "snapshots", (f"{SNAPSHOTS}/{STORE}/*", f"{SNAPSHOTS}/store.new/*"), Why.NAMED
    ),
    Files("displaced files", (f"{SNAPSHOTS}/{KEPT}/*",), lock=_SNAPSHOTS_LOCK),
    Files(
        "damaged packs",
        (f"{SNAPSHOTS}/{ASIDE}/*",),
        lock=_SNAPSHOTS_LOCK,
        is_compressed=True,
    ),
    Files(
        "names of known files",
        (f"{SNAPSHOTS}/known-*", f"{SNAPSHOTS}/tmp*"),
        lock=_SNAPSHOTS_LOCK,
    ),
    TreeFiles("state files", why=Why.FOLLOWS),
    ResultFiles("output"),
    Transcripts("transcripts"),
    Files(
        "locks",
        (
            *(FILES_LOCK, read_model.LOCK, search.LOCK, _SNAPSHOTS_LOCK),
            *(REPORTS_LOCK, REDACTION_LOCK),
            not_understood.LOCK,
            *(
                MARK,
                "run-*.lock",
                "sent-*",
                ".sent-*",
                ".gitignore",
                "..gitignore.*",
                ADDRESS,
            ),
            *("serve.token", "rpc.lock", "rpc.sock"),
        ),
        why=Why.NO_TEXT,
    ),
)
"""Everything that keeps text; what is not in here is not found, and not erased."""


def entry_of(name: str) -> KeptText | None:
    """Return what a file below the log's folder belongs to; None for a stranger."""
    found = (entry for entry in KEPT_TEXT if matches(name, entry.files))
    return next(found, None)
