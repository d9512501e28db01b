"""Limits on the number of entries shown on a sprint's page; the newest are shown."""

ITERATIONS = 200
"""Iterations in the timeline, points of the chart, and rows that browsers parse at once."""
ROWS = 10_000
"""Iterations in the table; each has a view."""
VIEWS_BYTES = 2_500_000
"""The maximum total size of the whole views in a file; all others are brief."""
WHOLE_VIEWS = 40
"""If there are more iterations, the texts of their views in a file are shorter."""
BARS, SIGNS = 300, 300
"""Bars of phases in the timeline; gate checks, retries and similar events."""
NODES, PROMPT_CHARS = 400, 140
"""Nodes of the plan, and the length of their prompts."""
DECISIONS, EVENTS, EVENTS_WITH_DATA = 80, 200, 60
REMARK_CHARS = 300
