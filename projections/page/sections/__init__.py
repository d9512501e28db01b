"""The sections of the page, from top to bottom: each from facts to HTML."""
