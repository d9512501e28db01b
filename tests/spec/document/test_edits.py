"""Descriptions of an observed edit."""

from sprintlog.projections.history.edits import edited


def test_names_by_index_what_has_no_names() -> None:
    """An edit that was recorded without names is shown by its pointers, as paths."""
    patch = [{"op": "replace", "path": "/phases/3/a~1b", "value": 1}]
    said = edited({"path": "PROGRESS.yaml", "changes": patch})
    assert said.startswith(
        'PROGRESS.yaml was edited by hand: phases[3]["a/b"] (1 change), '
    )
    said = edited({"path": "progress.json", "changes": patch}, of_journal=True)
    assert said.endswith("`sprintlog adopt --journal` to adopt the edit")


def test_says_nothing_of_adopting_what_cannot_be() -> None:
    """The files of a loop follow from figures; an edit of them cannot be adopted."""
    said = edited({"path": "best.yaml", "changes": []})
    assert said == "best.yaml was edited by hand: 0 changes"
