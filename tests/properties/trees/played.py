"""A history of work trees as played: real commands, checked against the model.

A step is a tuple of its name, a tree and a number that determines its random choices. An
impossible step changes nothing, so that any part of a history is a history.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from .model import OUTSIDE, SPRINT, Change, Point, Tree, Writers, held, left_out, lines
from .people import People
from .world import Agent, Files, Result, World, stats

Step = tuple[str, str, int]
OPEN_MAX = 2
OPERATIONS = {"recorder": 160, "rollback": 60}
"""About so many operations there are at which a recorder or a rollback can be killed."""


class Contradiction(AssertionError):  # noqa: N818 - what the model says is contradicted
    """A command violated the model; `kind` is the rule, from a to f."""

    def __init__(self, kind: str, told: object) -> None:
        super().__init__(f"({kind}) {told}")
        self.kind = kind


class History(People):
    """A world and a model of it, side by side."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.agents: dict[tuple[str, int], Agent] = {}

    def close(self) -> None:
        """End all processes."""
        for agent in self.agents.values():
            agent.kill()

    def play(self, step: Step) -> None:
        """Play one step, and check all invariants after it."""
        name, tree, number = step
        if tree in self.trees:
            method = f"_{name}".replace(" ", "_")
            play: Callable[[str, Random], None] = getattr(self, method)
            play(tree, Random(number))

    def _run(self, name: str, *words: str, writes: bool = False, die_at: int = 0) -> Result:
        with self._only(name, writes=writes):
            return self.world.run(self.paths[name], *words, die_at=die_at)

    def _ask(self, name: str, *words: str) -> Result:
        return self.world.run(self.paths[name], *words)

    # --- Recording -----------------------------------------------------------------------

    def _begin(self, name: str, chance: Random, *, die_at: int = 0) -> None:
        tree = self.trees[name]
        if len(tree.open) >= OPEN_MAX:
            return
        with self._only(name):
            agent = self.world.agent(self.paths[name], die_at=die_at)
            has_begun = agent.begin()
        if has_begun:
            self.agents[name, tree.begin(self._files(name))] = agent
        else:
            agent.end()
            if self._latest(name) > tree.number % SPRINT:
                tree.lose(tree.begin(self._files(name)))
            elif not tree.number % SPRINT:
                tree.is_unsure = True
        self._check_recorded(name, chance)

    def _mortal_begin(self, name: str, chance: Random) -> None:
        """Start an iteration whose recorder is killed somewhere at its start or end."""
        self._begin(name, chance, die_at=chance.randint(1, OPERATIONS["recorder"]))

    def _end(self, name: str, chance: Random) -> None:
        tree = self.trees[name]
        if not tree.open:
            return
        number = chance.choice(sorted(tree.open))
        agent = self.agents.pop((name, number))
        with self._only(name):
            said = agent.end()
        if agent.was_killed and not self._has_ended(name, number):
            tree.lose(number)
            return
        if not agent.was_killed and ("not recorded" in said or "not kept" in said):
            raise Contradiction("e", f"{name}: {said}")
        tree.end(number, self._files(name))
        self._check_recorded(name, chance)
        if not agent.was_killed:
            self._check_left_out(name, number, said)

    def _kill(self, name: str, chance: Random) -> None:
        tree = self.trees[name]
        if not tree.open:
            return
        number = chance.choice(sorted(tree.open))
        with self._only(name):
            self.agents.pop((name, number)).kill()
        tree.lose(number)

    def _finish(self, name: str, chance: Random) -> None:
        """Complete the sprint, after which an agent starts another one."""
        tree = self.trees[name]
        if tree.open or tree.sprint is None:
            return
        words = ("sprint", "complete", "--abandon-goal", "--reason", "enough")
        if (done := self._run(name, *words)).code:
            raise Contradiction("f", f"{name}: {done}")
        tree.finish()

    def _latest(self, name: str) -> int:
        status = self._ask(name, "status", "--json")
        if status.code or status.json["sprint"] in self.trees[name].finished:
            return 0
        return int(status.json["stats"].get("current-iteration", 0))

    def _has_ended(self, name: str, number: int) -> bool:
        listed = self._ask(name, "list", "--json")
        return any(
            one["iteration"] == number % SPRINT and one["status"] == "completed"
            for one in listed.json
        )

    # --- Rollbacks -----------------------------------------------------------------------

    def _target(self, name: str, chance: Random) -> tuple[str, Point] | None:
        tree = self.trees[name]
        numbers = sorted(n for n in tree.points if n % SPRINT or not tree.is_unsure)
        if not numbers:
            return None
        older = numbers[:-1] if chance.random() < 0.7 else []
        number = chance.choice(older or numbers)
        return f"iter:{number % SPRINT}", tree.points[number]

    def _rollback(self, name: str, chance: Random) -> None:
        tree, target = self.trees[name], self._target(name, chance)
        if target is None:
            return
        words = ["rollback", target[0], "--files", "--yes"]
        if tree.open:
            refused = self._run(name, *words)
            if refused.code != 1 or "--force" not in refused.err:
                raise Contradiction("a", f"{name}: an agent is at work: {refused}")
            words.append("--force")
        found = self._files(name)
        self._went_back(name, self._run(name, *words, writes=True), target[1], found)

    def _went_back(self, name: str, result: Result, to: Point, found: Files) -> None:
        tree = self.trees[name]
        expected = to.files | left_out(found)
        self._check_told(name, result, to, found)
        self._check_files(name, expected)
        if self.world.is_thorough:
            self._check_log(name)
        if found != expected:
            before = tree.record(found)
            tree.known = to.authors
            tree.undoable.append(Change(before, to))
            tree.redoable.clear()

    def _check_told(self, name: str, result: Result, to: Point, found: Files) -> None:
        """Check a rollback's output and exit status, if it was not killed."""
        if result.code is None:
            return
        differences = to.differences(found)
        is_nothing = held(found) == to.files and not differences
        if is_nothing != ("nothing to do" in result.out):
            raise Contradiction("c", f"{name}: {differences} differs: {result}")
        if result.code != (4 if differences and "--dry-run" not in result.out else 0):
            raise Contradiction("e", f"{name}: {differences} differs: {result}")
        if unnamed := [path for path in differences if path not in result.out]:
            raise Contradiction("e", f"{name}: {unnamed} is not named: {result}")

    def _undo(self, name: str, chance: Random) -> None:
        self._turn(name, "undo")

    def _redo(self, name: str, chance: Random) -> None:
        self._turn(name, "redo")

    def _turn(self, name: str, word: str) -> None:
        tree = self.trees[name]
        ways = [tree.undoable, tree.redoable]
        changes, others = ways if word == "undo" else reversed(ways)
        if not changes or tree.open:
            return
        change, found = changes.pop(), self._files(name)
        result = self._run(name, word, "--yes", writes=True)
        if result.code not in (0, 4):
            raise Contradiction("d", f"{name}: {result}")
        self._check_files(name, change.before.files | left_out(found))
        tree.record(found)
        tree.known = change.before.authors
        others.append(Change(change.after, change.before))

    def _dry_run(self, name: str, chance: Random) -> None:
        if (target := self._target(name, chance)) is None:
            return
        result = self._run(name, "rollback", target[0], "--files", "--dry-run")
        shown = result._replace(out=f"{result.out}--dry-run")
        self._check_told(name, shown, target[1], self._files(name))

    def _killed_rollback(self, name: str, chance: Random) -> None:
        """Kill a rollback somewhere; the next command that records finishes it."""
        tree, target = self.trees[name], self._target(name, chance)
        if target is None or tree.open:
            return
        found = self._files(name)
        die_at = chance.randint(1, OPERATIONS["rollback"])
        words = ("rollback", target[0], "--files", "--yes")
        killed = self._run(name, *words, writes=True, die_at=die_at)
        if killed.code is None:
            noted = self._run(name, "note", "go on", writes=True)
            if noted.code:
                raise Contradiction("d", f"{name}: after a killed rollback: {noted}")
            if self._files(name) == found:
                return
        self._went_back(name, killed, target[1], found)
        tree.forget()

    # --- Invariants ----------------------------------------------------------------------

    @contextmanager
    def _only(self, name: str, *, writes: bool = False) -> Iterator[None]:
        """Check that a command changes only one tree, or none."""
        before = self._seen(name, writes=writes)
        yield
        after = self._seen(name, writes=writes)
        changed = {p for p in before | after if before.get(p) != after.get(p)}
        if changed:
            raise Contradiction("a", f"a command in {name} changes {sorted(changed)}")

    def _seen(self, name: str, *, writes: bool) -> dict[str, object]:
        seen: dict[str, object] = {}
        for other, path in self.paths.items():
            if other != "sub" and (other != name or not writes or name == "main"):
                seen |= stats(path)
        if writes:
            here = f"{self.paths[name]}/"
            inner = tuple(f"{here}{path}/" for path in self.trees[name].nested)
            git_dir = (f"{here}.git/",)
            seen = {
                p: s
                for p, s in seen.items()
                if not p.startswith(here) or p.startswith((*inner, *git_dir))
            }
        return seen

    def _check_files(self, name: str, expected: Files) -> None:
        found = self._files(name)
        if found != expected:
            paths = {p for p in found | expected if found.get(p) != expected.get(p)}
            raise Contradiction("d", f"{name}: other files than predicted: {paths}")

    def _check_recorded(self, name: str, chance: Random) -> None:
        tree = self.trees[name]
        if not tree.number % SPRINT:
            return
        status = self._ask(name, "status", "--json")
        if status.code:
            raise Contradiction("f", f"{name}: {status}")
        sprint = status.json["sprint"]
        number = status.json["stats"].get("current-iteration", 0)
        tree.sprint = tree.sprint or sprint
        others = {other.sprint for other in self.trees.values() if other is not tree}
        others |= {*tree.finished}
        predicted = (tree.sprint, tree.number % SPRINT)
        if (sprint, number) != predicted or sprint in others:
            told = f"iteration {number} of {sprint}, not {tree.number} of {tree.sprint}"
            raise Contradiction("a", f"{name}: {told}")
        if self.world.is_thorough or not tree.open:
            self._check_log(name)
        # The quick form seldom checks during an iteration.
        is_asked = not tree.open or chance.random() < 0.3
        lines_asked = 3 if self.world.is_thorough else int(is_asked)
        found = sorted(lines(self._files(name)))
        if chance.random() < 0.5:
            # Most errors concern authors whose iterations have not ended.
            found = [x for x in found if (tree.author(x) or set()) - tree.ended] or found
        for line in chance.sample(found, min(len(found), lines_asked)):
            self._check_author(name, *line)

    def _check_log(self, name: str) -> None:
        verified = self._ask(name, "verify")
        if verified.code or not verified.out.startswith("sound"):
            raise Contradiction("f", f"{name}: {verified}")

    def _check_author(self, name: str, path: str, text: str) -> None:
        tree = self.trees[name]
        content = self._files(name)[path].decode().splitlines()
        place = f"{path}:{content.index(text) + 1}"
        answer = self._ask(name, "why", place, "--json")
        if answer.code:
            raise Contradiction("b", f"{name}: why {place}: {answer}")
        known, found = tree.author((path, text)), _writers(tree, answer.json)
        writers = tree.at_work() if known is None else known
        if not tree.is_right(writers, found):
            told = f"{name}: {place} is by one of {set(writers)}, not {set(found)}"
            raise Contradiction("b", f"{told}: {answer.out}")

    def _check_left_out(self, name: str, number: int, said: str) -> None:
        """Check that readers are warned of paths missing in an iteration's snapshot."""
        missing = {*self.trees[name].points[number].left_out}
        listed = self._ask(name, "log", "--type", "snapshot-taken", "--last", "1", "--json")
        status, report = self._ask(name, "status", "--json"), self._ask(name, "report")
        left = status.json.get("left_out")
        places = {
            "wrap": {path for path in missing if path in said},
            "report": {path for path in missing if path in report.out},
            "log": {one["path"] for one in listed.json["data"].get("left_out", ())},
            "status": {one["path"] for one in (left or {"paths": ()})["paths"]},
        }
        for place, told in places.items():
            if told != missing:
                raise Contradiction("e", f"{name}: {place} names {told}, not {missing}")


def _writers(tree: Tree, answer: Any) -> Writers:
    """Return the iterations that `why` names, and whether others may have written."""
    by, found = answer["written_by"], set[int]()
    for words in answer["iterations"]:
        sprint, _, number = words.rpartition(":")
        sprints = tree.finished if sprint else [*tree.finished, ""]
        found.add(sprints.index(sprint) * SPRINT + int(number))
    return frozenset(found | ({OUTSIDE} if by is None or "outside" in by else set()))
