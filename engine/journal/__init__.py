"""The journal: what was tried, noticed and learned, its facts and its rules. Pure."""
