"""One module a verb or noun, imported only when it is typed."""
