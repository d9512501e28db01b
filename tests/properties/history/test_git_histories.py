"""All versions of a sprint's file in git are found, and no other sprint's."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from sprintlog.cli.intake.versions import committed_versions

SEEDS = range(8)
STEPS = 14
FIRST_DAY = 1_767_225_600


class Repository:
    """A repository with a sprint's file, and its commits."""

    def __init__(self, root: Path, rng: random.Random) -> None:
        self.root = root
        self.rng = rng
        self.path = "PROGRESS.yaml"
        self.versions: list[int] = []
        """The content of every version of the sprint's file, in writing order."""
        self.day = self.made = self.now = 0
        self.git("init", "-q", "-b", "main")
        self.edit()

    def git(self, *arguments: str) -> None:
        """Run git; commits have distinct author dates, and one commit date."""
        names = {f"GIT_{who}_NAME": "t" for who in ("AUTHOR", "COMMITTER")}
        mails = {f"GIT_{who}_EMAIL": "t@t" for who in ("AUTHOR", "COMMITTER")}
        days = {"GIT_AUTHOR_DATE": self.day, "GIT_COMMITTER_DATE": 999}
        dates = {name: f"{FIRST_DAY + day * 86_400} +0000" for name, day in days.items()}
        kept = {"PATH": os.environ["PATH"], "HOME": str(self.root)}
        subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            check=True,
            capture_output=True,
            env={**kept, **names, **mails, **dates},
        )

    def write(self, path: str, number: int, *, sprint: str = "auth") -> None:
        """Write one version of a sprint's document; all sprints look alike."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(
            f"sprint-id: {sprint}\nstatus: in-progress\nnumber: {number}\n"
            "phases: [{id: a, status: pending, prompt: Do it}]\n"
        )

    def commit(self) -> None:
        """Commit all changes."""
        self.day += 1
        self.git("add", "-A", ".")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def edit(self) -> None:
        """Commit a new version of the sprint's file."""
        self.change()
        self.versions.append(self.now)
        self.commit()

    def change(self) -> None:
        """Write a new version of the sprint's file."""
        self.made += 1
        self.now = self.made
        self.write(self.path, self.now)

    def rename(self) -> None:
        """Move the file, perhaps with a change, perhaps with another file in its place."""
        old, self.path = self.path, f"sprints/{self.day}/PROGRESS.yaml"
        (self.root / self.path).parent.mkdir(parents=True)
        (self.root / old).rename(self.root / self.path)
        if self.rng.random() < 0.5:
            self.write(old, self.rng.randrange(9), sprint="other")
        if self.rng.random() < 0.5:
            self.change()
        self.versions.append(self.now)
        self.commit()

    def take_away(self) -> None:
        """Delete the file, and restore it."""
        (self.root / self.path).unlink()
        self.commit()
        self.write(self.path, self.now)
        self.versions.append(self.now)
        self.commit()

    def look_alike(self) -> None:
        """Write, change, move or delete the file of another sprint."""
        path = f"others/{self.rng.randrange(3)}/PROGRESS.yaml"
        there = self.root / path
        if there.exists() and self.rng.random() < 0.5:
            there.unlink()
        else:
            self.write(path, self.rng.randrange(9), sprint="other")
        self.commit()

    def part(self) -> None:
        """Change the file on two branches, and merge them in favour of one side."""
        side = f"side-{self.day}"
        self.git("checkout", "-q", "-b", side)
        self.edit()
        self.git("checkout", "-q", "main")
        self.edit()
        self.day += 1
        way = self.rng.choice((["-s", "ours"], ["-X", "theirs"], ["-X", "ours"]))
        self.git("merge", "-q", *way, "-m", "x", side)
        self.now -= "theirs" in way

    def ended(self) -> list[int]:
        """Return all versions; the last merge's choice is repeated at the end."""
        last = self.versions[-1]
        return self.versions if last == self.now else [*self.versions, self.now]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_version_is_found_and_no_other(tmp_path: Path, seed: int) -> None:
    """Through edits, renames, deletions and merges, exactly the sprint's are found."""
    repository = Repository(tmp_path, random.Random(seed))
    for _ in range(STEPS):
        repository.rng.choice(
            (
                repository.edit,
                repository.rename,
                repository.take_away,
                repository.look_alike,
                repository.part,
            )
        )()
    history = committed_versions(tmp_path / repository.path, sprint_id=None)
    found = [version.document["number"] for version in history.versions]
    assert found == repository.ended()
    assert {version.document["sprint-id"] for version in history.versions} == {"auth"}
