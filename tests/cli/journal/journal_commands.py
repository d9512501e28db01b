"""The command lines that produce a progress.json, generated from its contents."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

_CONTEXT = {
    "retry_count": "--retry-count",
    "previous_failure_reason": "--previous-failure",
    "recovery_action": "--recovery-action",
    "recovery_guidance": "--guidance",
}
_FLAGS = {
    ("blocker_verified", True): "--blocker-verified",
    ("blocker_verified", False): "--blocker-unverified",
    ("blocker_valid", True): "--blocker-valid",
    ("blocker_valid", False): "--blocker-invalid",
}


def command_lines(document: Any) -> Iterator[list[Any]]:
    """Yield the commands in the order of the file: its entries, then the learnings."""
    opened: list[Any] = ["journal", "open", "--at", document["created_at"]]
    yield [*opened, "--project-name", document["project_name"]]
    linked: dict[str, tuple[str, int]] = {}
    for entry in document["entries"]:
        for number, observation in enumerate(entry["observations"], 1):
            if named := observation.get("related_learning_id"):
                linked[named] = entry["id"], number
        yield _entry(entry)
    for learning in document["learnings"]:
        yield _learning(learning, linked.get(learning["id"]))
        for _ in range(learning["times_referenced"]):
            yield ["journal", "learning", "use", learning["id"]]
    for pattern in document["patterns"]:
        yield _pattern(pattern)


def without_empty(document: Any) -> Any:
    """Return a document in its written form, without empty fields (JRN-006)."""
    whole = deepcopy(document)
    for entry in whole["entries"]:
        for holder in (entry, entry["context"]):
            for name, value in list(holder.items()):
                if name != "observations" and not isinstance(value, bool) and not value:
                    del holder[name]
    for learning in whole["learnings"]:
        if not learning["times_referenced"]:
            del learning["times_referenced"]
    return whole


def _entry(entry: Any) -> list[Any]:
    line = ["journal", "entry", "record", entry["prd_id"], "--at", entry["timestamp"]]
    line += ["--status", entry["status"], "--duration", entry["duration_seconds"]]
    line += ["--summary", entry["summary"]]
    for observation in entry["observations"]:
        # The learning is recorded later and refers to the observation itself.
        said = {k: v for k, v in observation.items() if k != "related_learning_id"}
        line += ["--observation", json.dumps(said)]
    for name, option in (("files_modified", "--file"), ("git_commits", "--commit")):
        for value in entry[name]:
            line += [option, value]
    for name, value in entry["context"].items():
        if name == "dependencies_completed":
            for prd in value:
                line += ["--dependency", prd]
        elif name in _CONTEXT:
            line += [_CONTEXT[name], value]
        else:
            line.append(_FLAGS[name, value])
    return line


def _learning(learning: Any, linked: tuple[str, int] | None) -> list[Any]:
    line = ["journal", "learning", "add", learning["content"], "--type", learning["type"]]
    line += ["--context", learning["context"], "--at", learning["created_at"]]
    line += ["--from", learning["source_entry_id"]]
    if linked is not None:
        assert linked[0] == learning["source_entry_id"]
        line += ["--observation", linked[1]]
    return line


def _pattern(pattern: Any) -> list[Any]:
    line = ["journal", "pattern", "add", pattern["name"], "--type", pattern["type"]]
    line += ["--description", pattern["description"], "--at", pattern["discovered_at"]]
    for example in pattern["examples"]:
        line += ["--example", example]
    line += ["--prd", pattern["source_prd_id"]]
    return [*line, "--confidence", pattern["confidence"]]
