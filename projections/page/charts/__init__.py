"""Charts: a pure layout of what is drawn where, and SVG made from it."""
