"""sha256, without the library behind `hashlib` for as long as little is hashed.

To load that takes as long as to hash a megabyte without it. So who hashes writes
`hashes.sha256(…)` and does not keep the function: from some point on it is another one.
"""

from typing import TYPE_CHECKING

LITTLE_BYTES = 256 * 1024
"""So much does a process hash without the library."""

if TYPE_CHECKING:
    from hashlib import sha256 as sha256
else:
    try:
        # Inner modules of Python, which its own `random` takes for the same reason.
        from _sha2 import sha256 as _small  # since Python 3.12
    except ImportError:
        try:
            from _sha256 import sha256 as _small
        except ImportError:
            from hashlib import sha256 as _small

    _left = LITTLE_BYTES

    def sha256(content):
        """Return the hash of the content, as `hashlib.sha256` does."""
        global _left
        _left -= len(content)
        if _left < 0:
            hash_much()
            return sha256(content)
        return _small(content)


def hash_much() -> None:
    """Take the library from here on."""
    global sha256
    # Imported here: deferring this import is the purpose of this module.
    from hashlib import sha256
