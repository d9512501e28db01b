"""Real journals: progress.txt files of other loops, and the specification's example."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from tests.cli.journal.journal_commands import command_lines, without_empty
from tests.strict_journal import faults

from ..commands import answers, run
from ..criterion import Skip, Verdict

PLACE = Path(".ralph")


def texts(data: Path, seed: int) -> Verdict:
    """Every real progress.txt is imported with all its parts and all its text."""
    files = sorted((data / "journals").glob("*.txt"))
    if not files:
        raise Skip(f"there are no real journals in {data}")
    problems: list[str] = []
    length = parts = 0
    for file in files:
        content = file.read_bytes()
        length += len(content)
        with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
            folder = Path(name)
            (folder / PLACE).mkdir()
            (folder / PLACE / "progress.txt").write_bytes(content)
            run(folder, "init", "--here")
            run(folder, "journal", "migrate")
            written = json.loads((folder / PLACE / "progress.json").read_bytes())
            kept = (folder / PLACE / "progress.txt.backup").read_bytes()
            shown = answers(folder, "journal", "learning", "show", "learning-0000")[0]
            run(folder, "verify")
        text = content.decode()
        headings = len(re.findall(r"^## \[?\d{4}-", text, re.MULTILINE))
        if len(written["entries"]) != headings:
            found = len(written["entries"])
            problems.append(f"{file.name}: {found} entries of {headings} dated headings")
        points = [f"- {x['content']}" for x in written["learnings"][1:]]
        points += [f"- {x.get('description', x['name'])}" for x in written["patterns"]]
        lacking = [one for one in points if one.removeprefix("- ") not in text]
        if lacking or not points:
            problems.append(f"{file.name}: {len(lacking)} parts are not in the text")
        parts += len(points) + len(written["entries"])
        if faults(written):
            problems.append(f"{file.name}: a strict reader refuses what was written")
        said = {written["learnings"][0]["content"].encode(), shown["content"].encode()}
        if {kept, *said} != {content}:
            problems.append(f"{file.name}: its text is not the same")
    return Verdict(
        not problems, f"{len(files)} texts of {length} bytes, {parts} parts", problems
    )


def example(data: Path, seed: int) -> Verdict:
    """Create the specification's example by commands only, and by an import."""
    page = data.parent / "spec" / "progress-json-design.md"
    if not page.is_file():
        raise Skip(f"{page} is not there")
    found = re.search(
        r"^## Example Content$.*?^```json\n(.*?)^```$",
        page.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert found is not None
    document: Any = json.loads(found[1])
    expected = json.dumps(without_empty(document))
    problems = []
    lines = list(command_lines(document))
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        folder = Path(name)
        run(folder, "init", "--here")
        for line in lines:
            run(folder, *line)
        made = (folder / PLACE / "progress.json").read_bytes()
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        folder = Path(name)
        run(folder, "init", "--here")
        (folder / "example.json").write_text(found[1])
        run(folder, "import", "journal", "example.json")
        taken = (folder / PLACE / "progress.json").read_bytes()
    if json.dumps(json.loads(made)) != expected:
        problems.append("commands make another document")
    if taken != made:
        problems.append("an import makes other bytes than commands")
    return Verdict(not problems, f"{len(lines)} commands, {len(made)} bytes", problems)
