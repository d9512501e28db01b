"""A loop towards a goal, and random work of an agent and a person in it."""

from pathlib import Path
from random import Random
from typing import Any

from ...adapters.trees import git
from ..conftest import Run


class Loop:
    """A loop towards a goal in a repository, and the work of an agent and a person."""

    def __init__(self, folder: Path, done: Run) -> None:
        self.folder, self.done = folder, done

    def iterate(self, *, start: tuple[str, ...] = ("--snapshot",), **files: str) -> None:
        """Let an iteration append lines to files."""
        self.done("iteration", "start", *start)
        self.append(**files)
        self.done("iteration", "end", "--snapshot")

    def append(self, **files: str) -> None:
        """Append a line to each of some text files."""
        for name, line in files.items():
            with (self.folder / f"{name}.txt").open("a") as file:
                file.write(f"{line}\n")

    def changed(self, number: int) -> dict[str, Any]:
        """Return the output of `iteration diff` for an iteration."""
        found = self.done("iteration", "diff", str(number), "--json").json
        by_author = {one["path"]: f"{one['how']} by {one['by']}" for one in found["files"]}
        outside = {one["path"]: one["how"] for one in found["outside"]["files"]}
        back = {one["path"]: one["how"] for one in found["rolled_back"]}
        subjects = [one["subject"] for one in found["outside"]["commits"]]
        return {"own": by_author, "outside": outside, "back": back, "commits": subjects}


class History:
    """Random changes to a loop's files by an agent, a person and restores."""

    def __init__(self, loop: Loop, run: Run, seed: int) -> None:
        self.loop, self.run, self.chance = loop, run, Random(seed)
        self.number = 0

    def go_on(self) -> None:
        """Take a step: an iteration, a manual edit, or a restore."""
        step = self.chance.random()
        if step < 0.5:
            self.iterate()
        elif step < 0.8:
            self.edit("P")
        else:
            self.restore("P")

    def iterate(self) -> None:
        """Let an agent work, with occasional rollbacks."""
        self.number += 1
        self.loop.done("iteration", "start", "--snapshot")
        self.edit(str(self.number))
        if self.chance.random() < 0.2:
            self.restore(str(self.number))
            self.edit(str(self.number))
        self.loop.done("iteration", "end", "--snapshot")

    def edit(self, who: str) -> None:
        """Write lines that name their author, and remove some."""
        folder, chance = self.loop.folder, self.chance
        names = sorted(path.name for path in folder.glob("*.txt"))
        for n in range(chance.randint(1, 3)):
            file = folder / chance.choice([*names, f"{who}{n}.txt"])
            lines = file.read_text().splitlines() if file.exists() else []
            lines.insert(chance.randint(0, len(lines)), f"{who}:{chance.random()}")
            if len(lines) > 4 and chance.random() < 0.3:
                del lines[chance.randrange(len(lines))]
            file.write_text("".join(f"{line}\n" for line in lines))
        if who == "P" and chance.random() < 0.4:
            git(folder, "add", "-A")
            git(folder, "commit", "-q", "--allow-empty", "-m", "mine")

    def restore(self, who: str) -> None:
        """Restore all or one of an iteration's files; sometimes undo that."""
        names = sorted(self.loop.folder.glob("*.txt"))
        point = f"iter:{self.chance.randint(0, self.number)}"
        is_one = names and self.chance.random() < 0.3
        paths = [self.chance.choice(names).name] if is_one else []
        agreed = ("--reason", "better", "--yes", "--force")
        self.run("rollback", point, "--files", *paths, *agreed)
        if self.chance.random() < 0.3:
            if self.chance.random() < 0.5:
                self.edit(who)
            self.run("undo", "--yes", "--force")
