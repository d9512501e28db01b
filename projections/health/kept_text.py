"""The registry of all places that store text, for scans and erasure.

The registry is in this package because only projections can access all of these places: the
log, the snapshot store, the copies next to the log, and the state files. Copies made
elsewhere (a backup, an export, files restored into another folder) are the responsibility
of their owner; they are not recorded in the log.
"""

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.adapters.replace import replace_file
from sprintlog.engine.adapters.snapshots.store import ASIDE, STORE
from sprintlog.engine.masking import cut, mask_all
from sprintlog.engine.service.agent_sessions import at_work
from sprintlog.engine.service.agent_sessions.spool import COPIES, COPIES_LOCK
from sprintlog.engine.service.agent_sessions.spool import FOLDER as FOLDER
from sprintlog.engine.service.place import location, trees
from sprintlog.engine.service.work_tree import kept_reports
from sprintlog.engine.service.work_tree.restore import KEPT
from sprintlog.engine.service.work_tree.snapshot import FOLDER as SNAPSHOTS

from ..sql import read_model, search
from ..state_files import files
from ..state_files.kept_blocks import BLOCKS
from ..workspace import Workspace
from . import text_places as places
from .salvage import LOST

LOCK = "not-understood.lock"


def keep_lines(workspace: Workspace, source: str, lines: list[dict[str, Any]]) -> Path:
    """Store lines as JSON Lines; return the file, which is the same for identical lines."""
    content = b"".join(msgspec.json.encode(mask_all(line)) + b"\n" for line in lines)
    folder = workspace.location.folder / FOLDER
    name = (
        f"{cut(mask_all(Path(source).name), 80)}-{sha256(content).hexdigest()[:12]}.jsonl"
    )
    with workspace.log.locks.hold(LOCK):
        folder.mkdir(mode=0o700, exist_ok=True)
        if not (folder / name).exists():
            replace_file(folder / name, content, mode=0o600)
    return folder / name


REDACTION_LOCK = "redacting.lock"
UNDER_WAY = "a redaction under way"
_SNAPSHOTS_LOCK = f"{SNAPSHOTS}/lock"

KEPT_TEXT: tuple[places.KeptText, ...] = (
    places.Events("events", why=places.Why.CHAINED, tables=("events",)),
    places.Rows("saved states", tables=("checkpoints", "statuses")),
    places.Rows(
        "digests written",
        why=places.Why.KNOWS_OURS,
        tables=("written", "_sqlite_migrations"),
    ),
    places.Pages(
        "database pages",
        (f"{location.DATABASE}-*", location.DATABASE, f"{location.CACHES}*"),
        places.Why.IN_USE,
    ),
    places.Copy("read model", (f"{read_model.NAME}*",), lock=read_model.LOCK),
    places.Copy("search index", (f"{search.SEARCH}*",), lock=search.LOCK),
    places.Files("kept edits", (f"{files.EDITS}/*",), lock=files.LOCK),
    places.Files("files of finished sprints", (f"{files.FINISHED}/*",), lock=files.LOCK),
    places.Files("lines not understood", (f"{FOLDER}/*",), lock=LOCK),
    places.WaitingEvents("events that wait", (f"{location.SPOOL}/*",), lock=LOCK),
    places.Files("kept reports", (f"{kept_reports.FOLDER}/*",), lock=kept_reports.LOCK),
    places.Files("copies of transcripts", (f"{COPIES}/*",), lock=COPIES_LOCK),
    places.Files("blocks of large files", (f"{BLOCKS}/*",), why=places.Why.NO_TEXT),
    places.Files("lost events", (LOST,), places.Why.NOT_ALONE),
    places.Files(UNDER_WAY, (f"{location.REDACTION}*",), lock=REDACTION_LOCK),
    places.Snapshots(
        "snapshots",
        (f"{SNAPSHOTS}/{STORE}/*", f"{SNAPSHOTS}/store.new/*"),
        places.Why.NAMED,
    ),
    places.Files("displaced files", (f"{SNAPSHOTS}/{KEPT}/*",), lock=_SNAPSHOTS_LOCK),
    places.Files(
        "damaged packs",
        (f"{SNAPSHOTS}/{ASIDE}/*",),
        lock=_SNAPSHOTS_LOCK,
        is_compressed=True,
    ),
    places.Files(
        "names of known files",
        (f"{SNAPSHOTS}/known-*", f"{SNAPSHOTS}/tmp*"),
        lock=_SNAPSHOTS_LOCK,
    ),
    places.TreeFiles("state files", why=places.Why.FOLLOWS),
    places.ResultFiles("output"),
    places.Transcripts("transcripts"),
    places.Files(
        "locks",
        (
            *(files.LOCK, read_model.LOCK, search.LOCK, _SNAPSHOTS_LOCK),
            *(kept_reports.LOCK, REDACTION_LOCK, LOCK, location.BEAT, location.ADDRESS),
            location.NOTES,
            *(
                COPIES_LOCK,
                "run-*.lock",
                "sent-*",
                ".sent-*",
                ".gitignore",
                "..gitignore.*",
            ),
            *(trees.FILE, f".{trees.FILE}-*", f"{trees.KNOWN}/*"),
            *("serve.token", "rpc.lock", "rpc.sock", at_work.LOCK, f"{at_work.FOLDER}/*"),
            f"{location.INSTALLED}/*",
        ),
        why=places.Why.NO_TEXT,
    ),
)
"""All places that store text; scans and erasures search nothing else."""


def entry_of(name: str) -> places.KeptText | None:
    """Return the registry entry for a file below the log's folder, or None."""
    return next((entry for entry in KEPT_TEXT if places.matches(name, entry.files)), None)
