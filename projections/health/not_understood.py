"""What an import did not understand, kept in the log's folder to be looked at."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.adapters.replace import replace_file
from sprintlog.engine.masking import cut, mask_all
from sprintlog.engine.service.agent_sessions.spool import FOLDER as FOLDER

from ..workspace import Workspace

LOCK = "not-understood.lock"


def keep_lines(workspace: Workspace, source: str, lines: list[dict[str, Any]]) -> Path:
    """Keep lines as JSON lines; return the file, the same for the same lines."""
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
