"""HTML pages about a log, for use by a server."""

from .projections.page.live_pages import LivePages as LivePages
