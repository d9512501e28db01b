"""The journal: what was tried, noticed and learned, its events and its rules. Pure."""
