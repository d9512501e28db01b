"""Read a prd.json or feature_list.json: stories that pass or do not yet.

A story becomes a phase. Stories are worked on by their priority, 1 first; whatever keys
they have stay on the phase, `passes` as its status.
"""

from hashlib import sha256
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.state.derived import settled
from sprintlog.engine.sprint.state.words import (
    COMPLETED,
    IN_PROGRESS,
    NOT_STARTED,
    PENDING,
)

from ..fields import Flag, Identity, Open, Text, Verbatim
from ..json_reader import load
from ..progress import check_shape

Data = dict[str, Any]


class Story(Verbatim):
    """A story of a prd.json."""

    id: Identity
    passes: Flag
    title: Text | None = None
    description: Text | None = None
    acceptanceCriteria: list[Text] | None = None  # noqa: N815
    priority: Annotated[float, Field(strict=True)] | None = None


class Prd(Verbatim):
    """A prd.json."""

    userStories: list[Story] = Field(min_length=1)  # noqa: N815
    project: Text | None = None
    branchName: Text | None = None  # noqa: N815
    description: Text | None = None


class Feature(Open):
    """An entry of a feature_list.json."""

    passes: Flag
    description: Text = Field(min_length=1)
    id: Identity | None = None
    category: Text | None = None
    steps: list[Text] | None = None


class FeatureList(Open):
    """A feature_list.json: its list, or an object that holds it."""

    features: list[Feature] = Field(min_length=1)


class Stories(NamedTuple):
    """What a file says."""

    document: Data
    """A plan in the shape of PROGRESS.yaml, without its id."""
    names: tuple[object, ...]
    """What its sprint may be called, by the first that has letters for an id."""
    digest: str
    total: int
    passed: int


def read_stories(content: bytes, *, file: str) -> Stories:
    """Return what a prd.json or a feature_list.json says.

    Raise `InvalidInputError` naming the field that is wrong.
    """
    given = load(content, file=file)
    if is_feature_list(given):
        listed = {"features": given} if isinstance(given, list) else given
        check_shape(FeatureList, listed, file)
        top, stories, key = dict(listed), _features(listed["features"]), "features"
    elif isinstance(given, dict):
        check_shape(Prd, given, file)
        top, stories, key = dict(given), given["userStories"], "userStories"
    else:
        raise InvalidInputError("is no object with stories", file=file, field="userStories")
    _check_ids(stories, file=file, key=key)
    del top[key]
    document = _document(top, stories)
    names = (top.get("branchName") or "").removeprefix("ralph/"), top.get("project")
    passed = sum(story["passes"] for story in stories)
    digest = sha256(content).hexdigest()
    return Stories(document, names, digest, len(stories), passed)


def is_feature_list(given: object) -> bool:
    """Tell whether this is a feature_list.json: objects that say `passes`, in a list."""
    listed = given.get("features") if isinstance(given, dict) else given
    return isinstance(listed, list) and any(
        isinstance(one, dict) and "passes" in one for one in listed
    )


def _features(listed: list[Data]) -> list[Data]:
    """Return features as stories: one without an id is called by its place."""
    return [
        {"id": f"feature-{number:03}", **one} for number, one in enumerate(listed, start=1)
    ]


def _check_ids(stories: list[Data], *, file: str, key: str) -> None:
    seen: set[str] = set()
    for index, story in enumerate(stories):
        if story["id"] in seen or not story["id"].isprintable():
            problem = "is there before" if story["id"] in seen else "is not printable"
            raise InvalidInputError(
                f"{story['id'][:40]!r} {problem}", file=file, field=f"{key}[{index}].id"
            )
        seen.add(story["id"])


def _document(top: Data, stories: list[Data]) -> Data:
    passed = [story["passes"] for story in stories]
    status = COMPLETED if all(passed) else IN_PROGRESS if any(passed) else NOT_STARTED
    ordered = sorted(stories, key=_priority)
    own = {k: v for k, v in top.items() if k not in OURS}
    document = {
        "status": status,
        **own,
        "phases": [_phase(story) for story in ordered],
        "current": {"phase": 0, "step": None, "sub-phase": None},
        "stats": {"started-at": None, "completed-at": None},
    }
    return settled(document)


OURS = {"sprint-id", "status", "phases", "current", "stats", "mode", "goal"}
"""Keys that mean something else at the top of a sprint's document."""
_PHASES_OWN = {"id", "passes", "status", "prompt", "steps", "phases", "gate"}


def _priority(story: Data) -> float:
    given = story.get("priority")
    return float(given) if isinstance(given, int | float) else float("inf")


def _phase(story: Data) -> Data:
    phase = {
        "id": story["id"],
        "prompt": _prompt(story),
        "status": COMPLETED if story["passes"] else PENDING,
    }
    return {**phase, **{k: v for k, v in story.items() if k not in _PHASES_OWN}}


def _prompt(story: Data) -> str:
    title, description = story.get("title") or "", story.get("description") or ""
    said = [part for part in (title, description) if part]
    for heading, key in (("Acceptance criteria", "acceptanceCriteria"), ("Steps", "steps")):
        if wanted := story.get(key):
            said.append("\n".join([f"{heading}:", *(f"- {one}" for one in wanted)]))
    return "\n\n".join(said) or story["id"]
