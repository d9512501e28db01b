"""sha256, without the library behind `hashlib` for as long as little is hashed.

To load the library takes as long as to hash a megabyte without it: `hash_much` loads it
before a large content. Callers use `hashes.sha256(…)` and do not keep the function.
"""

from typing import TYPE_CHECKING

LITTLE_BYTES = 256 * 1024
"""The size from which a content is hashed by the library."""

if TYPE_CHECKING:
    from hashlib import sha256 as sha256
else:
    try:
        # Inner modules of Python, which its own `random` takes for the same reason.
        from _sha2 import sha256 as sha256  # since Python 3.12
    except ImportError:
        try:
            from _sha256 import sha256 as sha256
        except ImportError:
            from hashlib import sha256 as sha256


def hash_much() -> None:
    """Hash by the library from here on."""
    global sha256
    # Imported here: deferring this import is the purpose of this module.
    from hashlib import sha256 as sha256
