"""Print the memory of a separate process in MiB before a fold and its maximum."""

import resource
import sys
from pathlib import Path

from sprintlog.projections.workspace import Workspace

from ..samples import SPRINT

_STATUS = Path("/proc/self/status")


def resident() -> tuple[float, float]:
    """Return the current and the maximum memory of this process."""
    if _STATUS.exists():
        # A child inherits the value of getrusage from the process that started it.
        lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
        now, most = (int(lines[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
        return now, most
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    most /= 1024 if sys.platform != "darwin" else 1024 * 1024
    return most, most


def main() -> None:
    """Fold the log of the folder that is named."""
    with Workspace.open(Path(sys.argv[1])) as workspace:
        before, _ = resident()
        workspace.repository.from_nothing(SPRINT)
        _, after = resident()
    print(before, after)


if __name__ == "__main__":
    main()
