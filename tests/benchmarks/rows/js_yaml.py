"""js-yaml 4 in a Node process that stays, so that its compiler is warm."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..measure import Skip

_MODULES = Path(__file__).resolve().parents[2] / "interop" / "node_modules"
_PROGRAM = """
const fs = require("fs");
const yaml = require(process.argv[2]);
const document = JSON.parse(fs.readFileSync(process.argv[3], "utf8"));
require("readline").createInterface({ input: process.stdin }).on("line", (file) => {
  const data = file ? yaml.load(fs.readFileSync(file, "utf8")) : document;
  if (file) data.phases[data.phases.length - 1].status = `${Date.now()}`;
  const text = yaml.dump(data, { lineWidth: -1, noRefs: true });
  if (file) {
    const draft = fs.openSync(`${file}.new`, "w");
    fs.writeFileSync(draft, text);
    fs.fsyncSync(draft);
    fs.closeSync(draft);
    fs.renameSync(`${file}.new`, file);
  }
  process.stdout.write(Buffer.from(text).length && text.length + "\\n");
});
"""


class JsYaml:
    """js-yaml with one document; raises `Skip` if js-yaml or Node is missing."""

    def __init__(self, folder: Path, document: dict[str, Any]) -> None:
        node = shutil.which("node")
        if node is None:
            raise Skip("node is not installed")
        package, self.version = _find()
        program, data = folder / "dump.cjs", folder / "document.json"
        program.write_text(_PROGRAM)
        data.write_text(json.dumps(document))
        self._process = subprocess.Popen(
            [node, program, package, data],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def dump(self) -> int:
        """Make js-yaml dump the document once; return the number of characters."""
        return self._ask("")

    def change(self, file: Path) -> int:
        """Make js-yaml load a file, change one phase, and write the file."""
        return self._ask(str(file))

    def _ask(self, line: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()


def _find() -> tuple[Path, str]:
    """Return the path of js-yaml 4, and its version."""
    named = os.environ.get("SPRINTLOG_NODE_MODULES")
    modules = Path(named).absolute() if named else _MODULES
    for description in sorted(modules.glob("js-yaml*/package.json")):
        version = str(json.loads(description.read_text())["version"])
        if version.startswith("4."):
            return description.parent, version
    raise Skip("js-yaml 4 was not found: SPRINTLOG_NODE_MODULES names its node_modules")
