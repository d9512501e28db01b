"""Checks for each kind of extension, for use in your package's tests."""

from .cli.extending.kits import check_event_type as check_event_type
from .cli.extending.kits import check_importer as check_importer
from .cli.extending.kits import check_projection as check_projection
from .cli.extending.kits import (
    check_agent as check_agent,
    check_notifier as check_notifier,
    check_report as check_report,
)
from .engine.log.stores.kit import check_store as check_store
