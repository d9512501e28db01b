"""What stands where a document has nothing."""

from enum import Enum
from typing import Final


class Missing(Enum):
    """What stands where a document has nothing: `null` is a value."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
