"""Actions of people and agents in work trees: edits, git, and moves of whole trees."""

import shutil
from contextlib import suppress
from pathlib import Path
from random import Random
from subprocess import CalledProcessError

from ...adapters.trees import git
from .model import Tree, held
from .world import LARGE, TREES, Files, World, files

WORDS = "the agent or the person wrote this line, and nobody writes it again"
PLACES = ("a.txt", "b.txt", "src/c.txt", "new")


class People:
    """A world, and manual changes in it that sprintlog does not see."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.trees = {name: Tree() for name in TREES}
        self.trees["main"].nested = ("sub",)
        self.paths = {name: world.folder / path for name, path in TREES.items()}
        self._moves = 0
        self._number_at_move: int | None = None

    def _files(self, name: str) -> Files:
        return files(self.paths[name], nested=self.trees[name].nested)

    # --- Changes by people and agents --------------------------------------------------

    def _edit(self, name: str, chance: Random) -> None:
        for _ in range(chance.randint(1, 2)):
            path = self.paths[name] / chance.choice(PLACES)
            text = path.read_text().splitlines() if path.is_file() else []
            drawn = chance.random()
            if drawn < 0.08 and text:
                path.unlink()
                continue
            if drawn < 0.3 and len(text) > 2:
                del text[chance.randrange(len(text))]
            else:
                line = f"{name} {chance.randrange(1 << 40)}: {WORDS}"
                text.insert(chance.randint(0, len(text)), line)
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in text))
        if chance.random() < 0.1:
            (self.paths[name] / "run.log").write_text(f"{chance.random()}\n")
        self.trees[name].forget()

    def _large(self, name: str, chance: Random) -> None:
        path = self.paths[name] / f"large-{chance.randrange(2)}.bin"
        if path.exists():
            path.unlink()
        else:
            with open(path, "wb") as file:
                file.truncate(LARGE + chance.randint(1, 9))
        self.trees[name].forget()

    def _git(self, name: str, *words: str) -> None:
        with suppress(CalledProcessError):
            git(self.paths[name], *words)
        self.trees[name].forget()

    def _commit(self, name: str, chance: Random) -> None:
        self._git(name, "add", "-A", "--", ".", ":!*.bin")
        self._git(name, "commit", "-qm", f"work {chance.random()}")

    def _stash(self, name: str, chance: Random) -> None:
        self._git(name, "stash", "-q")

    def _pop(self, name: str, chance: Random) -> None:
        before = held(self._files(name))
        self._git(name, "stash", "pop", "-q")
        after = held(self._files(name))
        if any(b"<<<<<<<" in content for content in after.values()):
            # A line that occurs twice in a conflict has no author known to the model.
            self._git(name, "reset", "-q")
            for path in after.keys() | before.keys():
                _write(self.paths[name] / path, before.get(path))

    def _switch(self, name: str, chance: Random) -> None:
        if chance.random() < 0.5:
            self._git(name, "switch", "-q", "-c", f"side-{name}")
        self._git(name, "switch", "-q", chance.choice((name, f"side-{name}")))

    # --- Copied, moved and deleted trees --------------------------------------------------

    def _is_busy(self, name: str) -> bool:
        """Return whether an agent works in a tree, or in one whose log it contains."""
        names = [*TREES] if name == "main" else [name]
        return any(self.trees[one].open for one in names)

    def _move(self, name: str, chance: Random) -> None:
        if name in ("sub", "copy") or self._is_busy(name):
            return
        copy = self.trees.get("copy")
        if name == "main" and copy is not None and not copy.number:
            # A copy whose original was deleted before the copy was used counts as the moved
            # tree.
            return
        self._moves += 1
        before = self.paths[name]
        after = before.with_name(f"{name}-moved-{self._moves}")
        if name == "main":
            before.rename(after)
            self._number_at_move = self.trees[name].number
            self.paths["sub"] = after / "sub"
            self.paths[name] = after
            git(after, "worktree", "repair")
        else:
            git(self.paths["main"], "worktree", "move", str(before), str(after))
            self.paths[name] = after

    def _remove(self, name: str, chance: Random) -> None:
        """Remove a worktree, and add another one with its path and name."""
        if name not in ("left", "right") or self._is_busy(name):
            return
        path, top = self.paths[name], self.paths["main"]
        git(top, "worktree", "remove", "--force", str(path))
        git(top, "worktree", "add", "-q", "--force", str(path), name)
        self.trees[name] = Tree()

    def _copy(self, name: str, chance: Random) -> None:
        if name != "main" or "copy" in self.trees or self._is_busy(name):
            return
        if self.trees[name].number == self._number_at_move:
            # A copy of a moved tree counts as the moved tree if it is used first.
            return
        self.paths["copy"] = self.world.folder / "copy"
        shutil.copytree(self.paths[name], self.paths["copy"], symlinks=True)
        self.trees["copy"] = Tree(nested=("sub",))


def _write(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
