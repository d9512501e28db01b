"""The token in the log's folder: who may read it, and when it changes."""

import os
from pathlib import Path

import pytest

from sprintlog.cli.web.guard import NAME, form_token, kept_token
from sprintlog.engine.errors import InvalidInputError


def test_it_stays_the_same_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    """A server that is started again has the token that pages have; its file is 0600."""
    before = os.umask(0)
    try:
        first = kept_token(tmp_path)
    finally:
        os.umask(before)
    assert kept_token(tmp_path) == first
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    assert len(first) == 43


def test_a_new_one_ends_the_old_one(tmp_path: Path) -> None:
    """A requested new token replaces the old one, and is stored."""
    first = kept_token(tmp_path)
    second = kept_token(tmp_path, is_new=True)
    assert second != first
    assert kept_token(tmp_path) == second
    assert form_token(first) != form_token(second)
    assert first not in form_token(first)


@pytest.mark.parametrize("content", [b"", b"short\n", b"\xff" * 43, b"a" * 44, b"a" * 4096])
def test_what_is_no_token_is_refused(tmp_path: Path, content: bytes) -> None:
    """The error names the invalid file, and the command that creates a new token."""
    (tmp_path / NAME).write_bytes(content)
    (tmp_path / NAME).chmod(0o600)
    with pytest.raises(InvalidInputError, match="contains no token") as refused:
        kept_token(tmp_path)
    assert "--new-token" in str(refused.value.hint)


def test_one_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """A token that others could have read or written is invalid."""
    kept_token(tmp_path)
    (tmp_path / NAME).chmod(0o644)
    with pytest.raises(InvalidInputError, match="other users can read it"):
        kept_token(tmp_path)


def test_no_link_is_followed(tmp_path: Path) -> None:
    """A link is neither read nor written through, and a pipe does not block."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("a" * 43)
    elsewhere.chmod(0o600)
    (tmp_path / NAME).symlink_to(elsewhere)
    with pytest.raises(InvalidInputError):
        kept_token(tmp_path)
    kept_token(tmp_path, is_new=True)
    assert elsewhere.read_text() == "a" * 43
    (tmp_path / NAME).unlink()
    os.mkfifo(tmp_path / NAME, 0o600)
    with pytest.raises(InvalidInputError, match="is not a regular file"):
        kept_token(tmp_path)


def test_where_nothing_can_be_kept_it_is_of_this_process(tmp_path: Path) -> None:
    """Without a folder for it there is a token nevertheless."""
    nowhere = tmp_path / "nowhere"
    assert len(kept_token(nowhere)) == 43
    assert not nowhere.exists()
