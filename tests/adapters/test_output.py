"""Output of any length is truncated to a limit, and a cut never reveals part of a token."""

import tracemalloc
from hashlib import sha256

import pytest

from sprintlog.engine.adapters.processes.output import HEAD_BYTES, TAIL_BYTES, Output
from sprintlog.engine.masking import mask

TOKEN = "ghp_" + "a1" * 20
PRIVATE = f"-----BEGIN PRIVATE KEY-----\n{'MIIB' * 200}\n-----END PRIVATE KEY-----"


def output_of(*chunks: bytes) -> Output:
    """Return the output read in these chunks."""
    output = Output()
    for chunk in chunks:
        output.feed(chunk)
    return output


@pytest.mark.parametrize(
    "text", ["", "x", "no newline", "one\ntwo\n", "na\u00efve \U0001f600", "\0\r\x1b[0m"]
)
def test_keeps_short_output_whole(text: str) -> None:
    """Short output is stored completely, whether it arrives byte by byte or at once."""
    content = text.encode()
    for output in (output_of(content), output_of(*(bytes([b]) for b in content))):
        assert (output.text(), output.bytes) == (text, len(content))
        assert output.sha256 == sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\xffb", "a\udcffb"),
        (b"\xe2\x82", "\udce2\udc82"),
        (b"\xed\xa0\x80", "\udced\udca0\udc80"),
        (b"\xf5\x80", "\udcf5\udc80"),
    ],
)
def test_keeps_bytes_that_are_not_utf8(content: bytes, text: str) -> None:
    """Bytes that are not UTF-8 are stored as surrogates."""
    output = output_of(content)
    assert ascii(output.text()) == ascii(text)
    assert output.sha256 == sha256(content).hexdigest()


def test_keeps_head_and_tail() -> None:
    """Of long output, head and tail are stored, with the size of the omitted part."""
    lines = [f"{number:09}\n".encode() for number in range(20_000)]
    output = output_of(*lines)
    head, _, tail = output.text().partition("[sprintlog: ")
    out, _, tail = tail.partition(" bytes left out]\n")
    assert head.startswith("000000000\n000000001\n")
    assert tail.endswith("000019999\n")
    assert int(out) == 200_000 - len(head.removesuffix("\n")) - len(tail)
    assert (len(head) - 1, len(tail)) == (HEAD_BYTES, TAIL_BYTES)
    assert output.sha256 == sha256(b"".join(lines)).hexdigest()


@pytest.mark.parametrize("extra", range(4))
def test_cuts_no_character(extra: int) -> None:
    """Output is never cut within a character."""
    text = output_of(b"x" * extra + "\u20ac".encode() * 40_000).text()
    assert not any("\udc80" <= one <= "\udcff" for one in text)


def test_counts_what_it_leaves_out_of_garbage() -> None:
    """Bytes are counted even if they are not text."""
    text = output_of(b"\xff" * 100_000).text()
    assert f"[sprintlog: {100_000 - HEAD_BYTES - TAIL_BYTES} bytes left out]" in text
    assert text.count("\udcff") == HEAD_BYTES + TAIL_BYTES


@pytest.mark.parametrize("secret", [TOKEN, PRIVATE], ids=["token", "private key"])
def test_shows_no_part_of_a_token(secret: str) -> None:
    """A token that crosses a cut is omitted completely, so no part escapes masking."""
    size = len(secret)
    whole = 4 * (HEAD_BYTES + TAIL_BYTES)
    ends = (HEAD_BYTES, whole - TAIL_BYTES)
    for end in ends:
        for before in range(0, size + 2, 1 if size < 100 else 37):
            begin = end - before
            text = "." * (begin - 1) + " " + secret + " " + "." * (whole - begin - size - 1)
            shown = mask(output_of(text.encode()).text())
            assert secret[20:30] not in shown
            assert secret[-25:-18] not in shown


def test_holds_no_more_than_it_shows() -> None:
    """Memory is bounded, however much output arrives."""
    output, chunk = Output(), b"y\n" * (1 << 15)
    tracemalloc.start()
    for _ in range(2000):
        output.feed(chunk)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert output.bytes == 2000 * (1 << 16)
    assert peak < 1 << 20
    assert len(output.text()) < HEAD_BYTES + TAIL_BYTES + 100
