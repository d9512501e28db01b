"""The sprint's state file, PROGRESS.yaml."""

from typing import Any

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.service.state_file_owner import holder
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.words import COMPLETED

from .files import FilesService, Seen
from .refresh import ProjectedFile
from .yaml.writer import dump_bytes, has_long_list


def render(sprint: Sprint) -> bytes:
    """Return the file's content, which is always the same for the same state."""
    return dump_bytes(sprint.document)


class SprintFile(ProjectedFile[Sprint]):
    """The file PROGRESS.yaml."""

    def __init__(self, workspace: FilesService) -> None:
        super().__init__(workspace, workspace.repository)

    def path(self, state: Sprint) -> str | None:
        """Return the file's path in this work tree, or None if the file is elsewhere."""
        plan = state.plan
        place = plan.place
        if place is None or not self.workspace.tree.has(state.knowledge.own_tree):
            return None
        # A finished sprint may have left its path to another sprint.
        if plan.status == COMPLETED and holder(self.workspace, place) != state.id:
            return None
        return place.path

    def render(self, state: Sprint) -> bytes:
        """Return the file's content."""
        return render(state)

    def render_over(self, state: Sprint, path: str, seen: Seen) -> bytes:
        """Return the file's content; a large file reuses the text of unchanged blocks."""
        document = state.document
        if not has_long_list(document):
            return dump_bytes(document)
        # Imported here: most sprints are small.
        from .yaml.blocks import Touched, dump_after

        blocks, tree = self.files.blocks, state.plan.tree
        before = blocks.text_of(path, seen.digest, seen.content or b"")
        asked = blocks.asked_since(path, tree)
        touched = None if asked is None else Touched(document.get("phases"), asked)
        is_kept = blocks.is_kept(path)
        text = dump_after(document, before, is_kept=is_kept, touched=touched)
        digest = (
            self.files.digest_after(path, text.content, like=before.content, same=text.same)
            if is_kept
            else self.files.digest(path, text.content)
        )
        if text.spans and digest != seen.digest:
            blocks.keep_text(path, digest, text, asked=tree.watch())
        return text.content

    def document(self, state: Sprint) -> dict[str, Any]:
        """Return the data in the file."""
        return state.document

    def load(self, content: bytes, *, file: str) -> Any:
        """Return third-party content as data.

        Raise `InvalidInputError` if the content is invalid.
        """
        # Imported here: only third-party edits require the parser.
        from sprintlog.engine.sprint.plan import imported_documents

        from .yaml.reader import AsWritten, load

        document = load(content, file=file, builder=AsWritten())
        if not imported_documents.is_first_generation(document):
            return document
        try:
            return imported_documents.with_phases(document)
        except RefusedError as error:
            raise InvalidInputError(error.message, file=file) from error

    def stands_as_imported(self, state: Sprint, since: int | None) -> bool:
        """Return whether no sprintlog event has followed the import of the file."""
        knowledge = state.knowledge
        return (
            since is not None
            and since >= knowledge.imported_at
            and not state.plan.touched
            and not knowledge.rollbacks
        )
