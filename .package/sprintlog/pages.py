"""A log's pages as HTML, for use by a server."""

from .projections.page.live_pages import LivePages as LivePages
