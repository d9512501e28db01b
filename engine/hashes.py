"""SHA-256 that does not load the library behind `hashlib` for small amounts of data.

Loading the library takes as long as hashing a megabyte without it; `hash_much` loads it
before large amounts of data are hashed. Callers must use `hashes.sha256(…)` and must not
store the function.
"""

from typing import TYPE_CHECKING

LITTLE_BYTES = 256 * 1024
"""The size from which data is hashed by the library."""

if TYPE_CHECKING:
    from hashlib import sha256 as sha256
else:
    try:
        # Internal modules of Python, which `random` imports for the same reason.
        from _sha2 import sha256 as sha256  # since Python 3.12
    except ImportError:
        try:
            from _sha256 import sha256 as sha256
        except ImportError:
            from hashlib import sha256 as sha256


def hash_much() -> None:
    """Use the hashing library from now on."""
    global sha256
    # Imported here: deferring this import is the purpose of this module.
    from hashlib import sha256 as sha256
