"""The pages of a log as HTML, for a server."""

from .projections.page.live_pages import LivePages as LivePages
