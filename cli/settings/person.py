"""Where the person says something to sprintlog, outside of every tree."""

import os
from pathlib import Path


def home() -> Path:
    """Return the folder of what the person says."""
    above = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(above) / "sprintlog"


def safe_list() -> Path:
    """Return the person's own list of folders whose logs are used, whoever owns them."""
    return home() / "safe"
