"""JSON is YAML but for two things: escapes in pairs, and characters that need no escape."""

import re

import msgspec

_PAIR = re.compile(rb"(?:\\\\)*\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_RAW = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def is_json(data: bytes) -> bool:
    """Tell whether this is JSON, an object or a list."""
    if data[:64].lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        msgspec.json.decode(data)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return False
    return True


def as_yaml(data: bytes) -> bytes:
    """Return JSON in words that YAML has, too.

    Only in strings can JSON hold either, so nothing else of it changes, no line either.
    """
    escaped = _RAW.sub(lambda found: f"\\u{ord(found[0]):04x}", data.decode())
    return _PAIR.sub(_character, escaped.encode())


def _character(found: re.Match[bytes]) -> bytes:
    """Return the character that a pair stands for, behind what stands before it."""
    slashes, high, low = found[0][:-12], int(found[0][-10:-6], 16), int(found[0][-4:], 16)
    return slashes + chr(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00).encode()
